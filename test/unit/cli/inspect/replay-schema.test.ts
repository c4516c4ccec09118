import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { replaySchema } from '../../../../src/cli/inspect/replay-schema.ts';
import { chainJournalLine, CHAIN_START } from '../../../../src/core/journal/chain.ts';
import { ralph } from '../fixture.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { idle, noon, progress, task } from '../../core/core-fixtures.ts';
import { record } from '../../core/journal/journal-fixtures.ts';
import { publishedSchema } from '../../../published-schema.ts';

const journal = record([progress(), idle, idle, idle]).text;
const twoTasks = record([idle, idle, idle], { tasks: [task(1), task(2)] }).text;

/** Returns the command's output about a journal. */
async function replayed(text: string, ...args: readonly string[]): Promise<unknown> {
  return JSON.parse((await printed(text, '--json', ...args)).out);
}

async function printed(text: string, ...args: readonly string[]): ReturnType<typeof ralph> {
  const directory = await mkdtemp(path.join(tmpdir(), 'ralph-replay-'));
  try {
    const file = path.join(directory, 'journal.jsonl');
    await writeFile(file, text);
    return await ralph(['replay', file, ...args]);
  } finally {
    await rm(directory, { recursive: true });
  }
}

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph replay --json', replaySchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../../schemas/ralph-replay.schema.json');
});

test('the printed object has exactly the fields of the schema', async () => {
  expect(Object.keys((await replayed(journal)) as object).sort()).toEqual(
    Object.keys((publishedSchema('ralph replay --json', replaySchema) as { properties: object }).properties).sort(),
  );
});

describe('answers without a call', () => {
  const asked = { ...task(7), id: 'thread-7' };
  const [start = '', ...rest] = record([progress({ output: { signal: { status: 'COMPLETE', exitSignal: false } } })], {
    tasks: [task(1), asked],
    state: { ...createInitialState('queue', noon), tasks: { 'thread-7': { ...untouchedProgress, state: 'done' } } },
  }).text.split('\n');
  const answer = { kind: 'answer', version: 1, lane: 'queue', answeredAt: noon, tasks: ['thread-7'] };
  const commit = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';
  test.each<[string, object, string, object]>([
    ['changed', { result: 'changed' }, 'changed in a1b2c3d', { result: 'changed' }],
    ['not changed', { result: 'unchanged' }, 'nothing changed at a1b2c3d', { result: 'unchanged' }],
    ['by an earlier version', {}, 'done at a1b2c3d', { result: null }],
  ])('%s, has a line in its place', async (_, change, words, expected) => {
    const text = [start, JSON.stringify({ ...answer, commit, ...change }), ...rest].join('\n');
    const lines = (await printed(text)).out.split('\n');
    expect(lines.slice(1, 3)).toEqual([
      `    –  thread-7 · answered without a call, ${words}`,
      expect.stringMatching(/^ {4}1 {2}issue-1/),
    ]);
    expect(await replayed(text)).toMatchObject({
      answers: [{ after: 0, tasks: ['thread-7'], commit, ...expected }],
      differences: [],
    });
  });
});

test('a journal whose lines do not follow one another is not replayed, and the line is named', async () => {
  const sha256 = (line: string): string => createHash('sha256').update(line).digest('hex');
  let hash = CHAIN_START;
  const lines = journal
    .trimEnd()
    .split('\n')
    .map((line) => {
      const chained = chainJournalLine(line, hash);
      hash = sha256(chained);
      return chained;
    });
  const replayOf = async (kept: readonly string[]) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'ralph-replay-'));
    const file = path.join(directory, 'journal.jsonl');
    await writeFile(file, `${kept.join('\n')}\n`);
    try {
      return await ralph(['replay', file]);
    } finally {
      await rm(directory, { recursive: true });
    }
  };
  expect(await replayOf(lines)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Hash of the last line: ${hash}\n`) as string,
  });
  expect(await replayOf(lines.toSpliced(2, 1))).toMatchObject({
    code: 1,
    out: '',
    error: expect.stringContaining('line 3: the chain of hashes is broken') as string,
  });
  expect(await replayOf(journal.trimEnd().split('\n'))).toMatchObject({
    code: 0,
    out: expect.stringContaining('An earlier version wrote this journal') as string,
  });
});

describe('the published JSON Schema accepts', () => {
  const validate = new Ajv2020({ strict: false }).compile(publishedSchema('ralph replay --json', replaySchema));

  test.each<[string, string, readonly string[], object]>([
    ['a run that decides the same', journal, [], { outcome: { kind: 'halted' }, differences: [], whatIf: null }],
    [
      'a run without an end',
      `${journal.split('\n').slice(0, 3).join('\n')}\n`,
      [],
      { iterations: 2, torn: false, outcome: null },
    ],
    [
      'a journal that was cut off',
      journal.slice(0, journal.indexOf('"iteration":3')),
      [],
      { iterations: 2, torn: true },
    ],
    [
      'another task, another verdict',
      twoTasks.replace('"progress":false', '"progress":true').replace('"priority":3', '"priority":4'),
      [],
      { differences: [{ of: 'task' }, { of: 'verdict.progress' }] },
    ],
    [
      'another end',
      journal.replace('"circuitReason":"no_progress"', '"circuitReason":"same_error"'),
      [],
      { differences: [{ line: 6, of: 'outcome' }] },
    ],
    [
      'what if: it ends',
      journal,
      ['--set', 'max-iterations=1'],
      { whatIf: { kind: 'ended', set: { 'max-iterations': '1' }, iterations: 1, outcome: { kind: 'limit' } } },
    ],
    [
      'what if: it continues',
      journal,
      ['--set', 'circuit-no-progress=9'],
      { whatIf: { kind: 'goes-on', iterations: 4, taskId: 'issue-1' } },
    ],
    [
      'what if: it takes another task',
      twoTasks,
      ['--set', 'max-iterations-per-task=1'],
      { whatIf: { kind: 'other-task', iterations: 1, taskId: 'issue-2' } },
    ],
  ])('%s', async (_, text, args, expected) => {
    const result = await replayed(text, ...args);
    expect(result).toMatchObject(expected);
    validate(result);
    expect(validate.errors).toBeNull();
  });

  test.each([
    ['a field that is not in it', { more: 1 }],
    ['an unknown decision', { differences: [{ line: 2, of: 'verdict.mood', recorded: 1, replayed: 2 }] }],
    ['an unknown end', { outcome: { kind: 'won', reason: 'luck' } }],
  ])('but not %s', async (_, change) => {
    expect(validate({ ...((await replayed(journal)) as object), ...change })).toBe(false);
  });
});
