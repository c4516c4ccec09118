import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  parseFoundStatus,
  parseOtherCircuit,
  parseProgress,
  type RunStatus,
} from '../../../core/local/status-document.ts';
import { isLaneId, issueOfId } from '../../../core/tasks/ids.ts';
import { cutText } from '../../../core/text/phrase.ts';
import { createRedactor, mapTexts } from '../../../core/text/redact.ts';
import { toPlainLine } from '../../arguments.ts';
import { readLane, type StatePlace } from '../../lane/read-lane.ts';
import { readCheckoutFile } from '../../command.ts';
import { laneOfLocalRun, type LocalPicture } from '../monitor-schema.ts';
import type { LastRun } from '../terminal-world.ts';
import { readLastBytes, usePlainFile } from '../../../files/plain-file.ts';

/** The folder where a local run leaves its files: `.ralph/` or, for early Ralphs, the folder of the prompt. */
export interface LocalFolder {
  /** The absolute path. */
  readonly folder: string;
  /** The prefix of file names: `.ralph/`, or empty. */
  readonly prefix: string;
  /** True if the state in `.ralph/state` at the top may be this run's; `readLocal` checks that. */
  readonly isLast: boolean;
}

/** The end of a file that is being written; the lines are clean, so nothing in them controls a terminal. */
interface LastLines {
  /** The file's name. */
  readonly file: string;
  /** The instant of the last write, in ms. */
  readonly at: number;
  readonly lines: readonly string[];
}

const SHOWN_LINES = 20;

/** Maximum number of bytes that are read from the end; one line of an agent may be long. */
const MAX_BYTES = 64 * 1024;

const MAX_LINE_CHARS = 500;

/** Maximum number of files that are considered, the last ones by name, because other Ralphs never remove a log. */
const MAX_FILES = 300;

const TAB = '  ';

const redact = createRedactor([]);

const MAX_TEXT_CHARS = 300;

/**
 * The dependencies of reading a local run. `last` is the checkout's last run; `place` is the directory with the lanes'
 * state, or null.
 */
interface LocalWorld {
  readonly where: LocalFolder;
  readonly last: LastRun | null;
  readonly place: StatePlace | null;
  readonly isAlive: (pid: number) => boolean;
}

/**
 * Reads the local run from its files. Every text in the picture is one clean line. Never throws because of the files'
 * contents.
 */
export async function readLocal({ where, last, place, isAlive }: LocalWorld, now: number): Promise<LocalPicture> {
  const { folder, prefix } = where;
  const [run, progress, output] = await Promise.all([
    readRun(where, isAlive),
    readCheckoutFile(folder, `${prefix}progress.json`),
    readLastLines(folder, `${prefix}logs`),
  ]);
  const lane = laneOfLocalRun(run);
  const state = place === null || !keepsStateOf(run, where, last) ? null : await readLane(lane, [place], now);
  const picture: LocalPicture = {
    folder,
    run,
    beside: run.kind === 'ours' ? await readBeside(where, run.status, isAlive) : [],
    agent: progress.kind === 'text' ? parseProgress(progress.text) : null,
    output: null,
    state,
  };
  return {
    ...mapTexts(picture, (text) => toPlainLine(text, MAX_TEXT_CHARS)),
    output:
      output === null
        ? null
        : { file: toPlainLine(output.file), at: new Date(output.at).toISOString(), lines: output.lines },
  };
}

/** Returns true if the checkout's state belongs to the run whose files are shown, which must be the last run. */
function keepsStateOf(run: LocalPicture['run'], { isLast }: LocalFolder, last: LastRun | null): boolean {
  switch (run.kind) {
    case 'ours':
      return last === null
        ? isLast
        : last.pid === run.status.pid && last.startedAt === Date.parse(run.status.startedAt);
    case 'other':
      return false;
    default:
      return isLast;
  }
}

async function readRun({ folder, prefix }: LocalFolder, isAlive: LocalWorld['isAlive']): Promise<LocalPicture['run']> {
  const name = `${prefix}status.json`;
  const file = await readCheckoutFile(folder, name);
  if (file.kind === 'absent') return { kind: 'none' };
  if (file.kind === 'refused') return { kind: 'unreadable', why: `\`${name}\` ${file.why}.` };
  const found = parseFoundStatus(file.text);
  switch (found.kind) {
    case 'ours':
      return { kind: 'ours', status: found.run, isAlive: isAlive(found.run.pid) };
    case 'other': {
      const circuit = await readCheckoutFile(folder, `${prefix}.circuit_breaker_state`);
      return {
        kind: 'other',
        status: found.run,
        circuit: circuit.kind === 'text' ? parseOtherCircuit(circuit.text) : null,
      };
    }
    case 'unreadable':
      return { kind: 'unreadable', why: `\`${name}\` ${found.why}.` };
  }
}

/** Returns the status of each lane that a process of the same run works on, in the order of the issues. */
async function readBeside(
  { folder, prefix }: LocalFolder,
  { startedAt }: RunStatus,
  isAlive: LocalWorld['isAlive'],
): Promise<LocalPicture['beside']> {
  const logs = await folderInside(folder, `${prefix}logs`);
  const names = logs === null ? [] : (await readdir(logs).catch(() => [])).filter(isLaneId);
  const found = await Promise.all(names.map((name) => readCheckoutFile(folder, `${prefix}logs/${name}/status.json`)));
  return found
    .flatMap((file) => {
      const status = file.kind === 'text' ? parseFoundStatus(file.text) : null;
      if (status?.kind !== 'ours' || Date.parse(status.run.startedAt) < Date.parse(startedAt)) return [];
      return [{ status: status.run, isAlive: isAlive(status.run.pid) }];
    })
    .toSorted((one, other) => (issueOfId(one.status.branchId) ?? 0) - (issueOfId(other.status.branchId) ?? 0));
}

/**
 * Returns the last lines of the newest file in a folder below `root`, or null if the folder has no file. Follows no
 * links and does not wait for pipes.
 */
export async function readLastLines(root: string, path: string): Promise<LastLines | null> {
  const folder = await folderInside(root, path);
  if (folder === null) return null;
  const names = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = names
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
  // The log without a date, to which another Ralph appends, sorts last among its dated files.
  const found = await Promise.all(files.slice(-MAX_FILES).map((name) => ageOf(folder, name)));
  const [newest] = found.flatMap((file) => file ?? []).toSorted((a, b) => b.at - a.at);
  return newest === undefined ? null : readEnd(folder, newest.name);
}

async function ageOf(folder: string, name: string): Promise<{ readonly name: string; readonly at: number } | null> {
  const stats = await stat(join(folder, name)).catch(() => null);
  return stats === null ? null : { name, at: stats.mtimeMs };
}

async function readEnd(folder: string, name: string): Promise<LastLines | null> {
  return usePlainFile(join(folder, name), async (file, stats) => {
    const text = (await readLastBytes(file, stats, MAX_BYTES)).toString('utf8');
    // Drop the first line, which may lack its beginning, unless it is the only one.
    const whole = stats.size <= MAX_BYTES || !text.includes('\n') ? text : text.slice(text.indexOf('\n') + 1);
    return { file: name, at: stats.mtimeMs, lines: cleanLines(whole) };
  }).catch(() => null);
}

/**
 * Returns the last lines of an output in a form that is safe for a terminal, without empty lines and those that were
 * overwritten in place.
 */
export function cleanLines(text: string): readonly string[] {
  return redact(stripVTControlCharacters(text))
    .split(/\r?\n/)
    .map(cleanLine)
    .filter((line) => line.trim() !== '')
    .slice(-SHOWN_LINES);
}

function cleanLine(line: string): string {
  const shown = line.slice(line.trimEnd().lastIndexOf('\r') + 1);
  return cutText(
    shown
      .toWellFormed()
      .replaceAll('\t', TAB)
      .replace(/[\p{Zl}\p{Zp}]/gu, ' ')
      .replace(/[\p{Cc}\p{Cf}]/gu, ''),
    MAX_LINE_CHARS,
  ).trimEnd();
}

/** Returns the real path of a folder, or null if it does not exist or is outside of `root`. */
async function folderInside(root: string, path: string): Promise<string | null> {
  try {
    const [from, to] = await Promise.all([realpath(root), realpath(join(root, path))]);
    const way = relative(from, to);
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? null : to;
  } catch {
    return null;
  }
}

/**
 * Returns the folder whose run is shown when the monitor starts in `folder`: the nearest folder, up to `top`, that has
 * files of a run. If only the top is left, it is the folder of the checkout's last run, which may be anywhere below, or
 * the top itself with another Ralph's run, whichever has the newer status. All paths are absolute and without links.
 */
export async function findLocalFolder(
  folder: string,
  { top, last }: { readonly top: string; readonly last: LastRun | null },
): Promise<LocalFolder> {
  const lastFolder = last === null ? null : await realFolderOfFile(top, last.folder);
  const isLast = (at: string): boolean => (lastFolder ?? top) === at;
  let withRalph: string | null = null;
  for (let at = folder; ; at = dirname(at)) {
    const isTop = at === top || dirname(at) === at;
    const prefix = await prefixIn(at);
    const here = prefix === null ? [] : [{ folder: at, prefix, isLast: isLast(at) }];
    if (!isTop && here[0] !== undefined) return here[0];
    if (await isFolder(join(at, '.ralph'))) withRalph ??= at;
    if (!isTop) continue;
    const elsewhere =
      lastFolder === null || lastFolder === at || (await prefixIn(lastFolder)) !== '.ralph/'
        ? []
        : [{ folder: lastFolder, prefix: '.ralph/', isLast: true }];
    // If no run has left any files, there is only the state.
    return (await newest([...elsewhere, ...here])) ?? { folder: withRalph ?? folder, prefix: '.ralph/', isLast: true };
  }
}

/** Returns the prefix of the files that a run has left in a folder, or null if it has left no files. */
async function prefixIn(folder: string): Promise<string | null> {
  for (const name of ['status.json', 'progress.json', 'logs'])
    if ((await lstat(join(folder, '.ralph', name)).catch(() => null)) !== null) return '.ralph/';
  return (await isRalphStatus(folder)) ? '' : null;
}

/** True if a Ralph wrote a `status.json`; other programs use that name as well. */
async function isRalphStatus(folder: string): Promise<boolean> {
  const file = await readCheckoutFile(folder, 'status.json');
  if (file.kind !== 'text') return false;
  const found = parseFoundStatus(file.text);
  return found.kind === 'other' && found.run.iteration !== null;
}

/** Returns the place with the newest status; of several with the same time, the first one. */
async function newest(places: readonly LocalFolder[]): Promise<LocalFolder | null> {
  const written = places.map(async (place) => ({
    place,
    at: (await lstat(join(place.folder, `${place.prefix}status.json`)).catch(() => null))?.mtimeMs ?? 0,
  }));
  return (await Promise.all(written)).toSorted((a, b) => b.at - a.at)[0]?.place ?? null;
}

/**
 * Returns the absolute path of a checkout's folder that a file names, or null if it does not exist or its path has a
 * link.
 */
async function realFolderOfFile(top: string, path: string): Promise<string | null> {
  const wanted = join(top, path);
  const real = await realpath(wanted).catch(() => null);
  return real === wanted && `${wanted}/`.startsWith(`${top}/`) && (await isFolder(wanted)) ? wanted : null;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
