import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type FileIndex,
  indexHistory,
  predictFiles,
  type PredictedFiles,
  findSharedFile,
  buildDefinitionPattern,
  type Definitions,
  parseDefinitions,
  findSymbols,
} from '../../src/core/parallel/predict-files.ts';
import type { Row } from '../measure.ts';

/** Number of commits that are predicted, and number of older commits that each prediction is based on. */
const PREDICTED = 300;
const KNOWN = 500;

/** Number of commits that share an index: building one for each would take minutes. */
const STEP = 25;

/** Maximum number of files of a commit that counts as one task. */
const MAX_FILES = 30;

/** Number of the following commits that each is compared with, in place of tasks of one queue. */
const NEIGHBOURS = 10;

/** A commit in place of a task: its message, and the files that it changed. */
interface PastTask {
  readonly id: string;
  readonly text: string;
  readonly files: readonly string[];
}

interface Predicted {
  readonly predicted: PredictedFiles;
  readonly actual: ReadonlySet<string>;
}

/**
 * Measures the prediction of files on the history of this repository: each commit's message is a task, predicted from
 * the commits before it. The figures depend on the history, so they have no goal.
 */
export async function measurePredictions(): Promise<readonly Row[]> {
  const repository = join(import.meta.dirname, '../..');
  const tasks = await readPastTasks(repository);
  const predictions = await predictAll(repository, tasks);
  const known = predictions.flatMap(({ predicted, actual }) => (predicted === null ? [] : [{ predicted, actual }]));
  const what = 'predicted files of commits in this repository';
  if (known.length === 0) return [{ measure: what, value: 'the history is too short', goal: '', isMet: null }];
  const sum = (of: (one: (typeof known)[number]) => number): number => known.reduce((total, one) => total + of(one), 0);
  const hits = sum(({ predicted, actual }) => [...predicted].filter((path) => actual.has(path)).length);
  const pairs = predictions.flatMap((one, at) =>
    predictions.slice(at + 1, at + NEIGHBOURS).map((other) => [one, other] as const),
  );
  const allowed = pairs.filter(
    ([{ predicted: a }, { predicted: b }]) => a !== null && b !== null && findSharedFile(a, b) === null,
  );
  const wrong = (some: typeof pairs): string =>
    percent(some.filter(([a, b]) => findSharedFile(a.actual, b.actual) !== null).length, some.length);
  const rows = [
    ['known', percent(known.length, predictions.length)],
    [
      'precision',
      percent(
        hits,
        sum(({ predicted }) => predicted.size),
      ),
    ],
    [
      'recall',
      percent(
        hits,
        sum(({ actual }) => actual.size),
      ),
    ],
    ['pairs that may be worked on at once', percent(allowed.length, pairs.length)],
    ['of these, with a file in common (of all pairs)', `${wrong(allowed)} (${wrong(pairs)})`],
  ] as const;
  return rows.map(([measure, value]) => ({ measure: `${what}: ${measure}`, value, goal: '', isMet: null }));
}

async function predictAll(repository: string, tasks: readonly PastTask[]): Promise<readonly Predicted[]> {
  const all: Predicted[] = [];
  for (let from = 0; from < Math.min(PREDICTED, tasks.length - KNOWN); from += STEP) {
    const predicted = tasks.slice(from, from + STEP);
    const before = tasks.slice(from + STEP, from + STEP + KNOWN);
    const index = await indexBefore(
      repository,
      before,
      predicted.map(({ text }) => text),
    );
    for (const { text, files } of predicted)
      if (files.length > 0 && files.length <= MAX_FILES)
        all.push({ predicted: predictFiles(index, { text, touched: [] }), actual: new Set(files) });
  }
  return all;
}

async function indexBefore(
  repository: string,
  before: readonly PastTask[],
  texts: readonly string[],
): Promise<FileIndex> {
  const listed = await git(repository, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', before[0]?.id ?? 'HEAD']);
  const definitions = await definitionsIn(repository, before[0]?.id ?? 'HEAD', texts);
  return indexHistory({ files: listed.split('\0'), commits: before.map(({ files }) => files), definitions });
}

async function definitionsIn(repository: string, commit: string, texts: readonly string[]): Promise<Definitions> {
  const pattern = buildDefinitionPattern(findSymbols(texts.join('\n')));
  // git exits with 1 if it finds nothing.
  const found = await git(repository, ['grep', '-I', '-z', '-o', '-w', '-E', '-e', pattern, commit]).catch(() => '');
  return parseDefinitions(found);
}

/** Returns the newest commits first. */
async function readPastTasks(repository: string): Promise<readonly PastTask[]> {
  const count = `--max-count=${String(PREDICTED + STEP + KNOWN)}`;
  const log = await git(repository, [
    'log',
    '--no-merges',
    '--no-renames',
    '--name-only',
    count,
    '--format=%x01%H%x02%B%x02',
  ]);
  return log
    .split('\x01')
    .slice(1)
    .map((commit) => {
      const [id = '', text = '', names = ''] = commit.split('\x02');
      return { id, text, files: names.split('\n').filter((name) => name !== '') };
    });
}

async function git(repository: string, args: readonly string[]): Promise<string> {
  const asked = ['-C', repository, '-c', 'core.quotePath=false', ...args];
  return (await promisify(execFile)('git', asked, { maxBuffer: 256 * 1024 * 1024 })).stdout;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(0)} %`;
}
