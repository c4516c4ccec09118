import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHAIN_START, chainLine } from '../../src/core/journal/parse-journal.ts';
import type { StoredRun } from '../../src/core/snapshot/stored-run.ts';
import type { ReceiptVerification } from '../../src/core/receipt/verify-receipts.ts';
import { ralph } from '../unit/cli/fixture.ts';
import { createScene } from './e2e-fixture.ts';

const STATE = 'refs/ralph/v2/state';
const BRANCH = 'refs/remotes/origin/ralph/queue';
const MAIN = 'refs/remotes/origin/main';

const folder = mkdtempSync(join(tmpdir(), 'ralph-receipts-'));
const original = join(folder, 'original');
let pull = '';
let receiptFile = '';

/** Runs git in a clone and returns its output without the last line feed. */
function git(clone: string, args: readonly string[], input = ''): string {
  const identity = { GIT_AUTHOR_NAME: 'Mallory', GIT_AUTHOR_EMAIL: 'm@example.com' };
  const committer = { GIT_COMMITTER_NAME: 'Mallory', GIT_COMMITTER_EMAIL: 'm@example.com' };
  const env = { PATH: process.env['PATH'], HOME: folder, ...identity, ...committer };
  return execFileSync('git', [...args], { cwd: clone, input, encoding: 'utf8', env, stdio: 'pipe' }).trimEnd();
}

beforeAll(async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.openIssue('Greet');
  const inputs = { verify: 'true', 'max-iterations': '2', settings: 'receipts: true' };
  await scene.run({ inputs });
  const last = await scene.run({ inputs });
  pull = String(scene.pullOf('ralph/queue').number);
  receiptFile = join(folder, 'receipt.json.gz');
  cpSync(last.outputs['receipt-path'] ?? '', receiptFile);
  git(folder, ['clone', '--quiet', scene.testbed.remote.repositoryFolder, original]);
  git(original, ['fetch', '--quiet', 'origin', `+${STATE}:${STATE}`]);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a copy of the clone that a test may change. */
function copyClone(): string {
  const clone = mkdtempSync(join(folder, 'clone-'));
  cpSync(original, clone, { recursive: true });
  return clone;
}

async function verified(
  clone: string,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly result: ReceiptVerification; readonly texts: string }> {
  const { code, out, error } = await ralph(['verify', pull, '--dir', clone, '--json', ...args]);
  expect(error).toBe('');
  const result = JSON.parse(out) as ReceiptVerification;
  const texts = result.branches.flatMap(({ findings }) =>
    findings.map(({ part, kind, text }) => `${kind} ${part}: ${text}`),
  );
  return { code, result, texts: texts.join('\n') };
}

function tipOf(clone: string, ref = BRANCH): string {
  return git(clone, ['rev-parse', ref]);
}

/** Makes a commit with the tree of `of`, and returns its id. */
function commitLike(clone: string, of: string, parents: readonly string[], message: string): string {
  return git(
    clone,
    ['commit-tree', `${of}^{tree}`, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'],
    message,
  );
}

/** Changes a run's record in the state of the clone; the newest run unless `which` says otherwise. */
function changeRecord(
  clone: string,
  change: (run: StoredRun) => object | null,
  which: 'first' | 'last' = 'last',
): void {
  const paths = git(clone, ['ls-tree', '--name-only', STATE, 'runs/']).split('\n').toSorted();
  const path = (which === 'last' ? paths.at(-1) : paths[0]) ?? '';
  const changed = change(JSON.parse(git(clone, ['cat-file', 'blob', `${STATE}:${path}`])) as StoredRun);
  git(clone, ['read-tree', STATE]);
  if (changed === null) git(clone, ['rm', '--cached', '--quiet', path]);
  else {
    const id = git(clone, ['hash-object', '-w', '--stdin'], JSON.stringify(changed));
    git(clone, ['update-index', '--add', '--cacheinfo', `100644,${id},${path}`]);
  }
  git(clone, ['update-ref', STATE, git(clone, ['commit-tree', git(clone, ['write-tree']), '-m', 'changed'])]);
}

/** Returns the record with a journal of these lines, whose hashes are made again. */
function withJournal(run: StoredRun, change: (lines: readonly string[]) => readonly string[]): StoredRun {
  const text = gunzipSync(Buffer.from(run.journal ?? '', 'base64')).toString();
  let prev = CHAIN_START;
  const lines = change(text.trimEnd().split('\n')).map((line) => {
    const chained = chainLine(line.replace(/^\{"prev":"[0-9a-f]*",/, '{'), prev);
    prev = createHash('sha256').update(chained).digest('hex');
    return chained;
  });
  return { ...run, journalHash: prev, journal: gzipSync(`${lines.join('\n')}\n`).toString('base64') };
}

test('the receipts of two real runs are good', async () => {
  const { code, result, texts } = await verified(original);
  expect([code, result.verdict, texts]).toEqual([0, 'good', '']);
  expect(result.branches).toMatchObject([{ branch: 'ralph/queue', pullRequest: Number(pull) }]);
  expect(result.branches[0]?.runs).toHaveLength(2);
  expect(result.branches[0]?.commits.every(({ run }) => run !== null)).toBe(true);
});

test('a run is checked like its pull request, and for people the output says what it proves', async () => {
  const [, last = ''] = (await verified(original)).result.branches[0]?.runs ?? [];
  const { code, out } = await ralph(['verify', last, '--dir', original]);
  expect(code).toBe(0);
  expect(out).toContain(`ralph/queue, pull request #${pull}: 2 runs`);
  expect(out).toContain('Good: record, journal and commits agree.\nThis proves consistency, not origin');
});

test('the receipt that the job kept is the one of the state', async () => {
  const { out } = await ralph(['receipt', pull, '--dir', original, '--json']);
  const { receipts } = JSON.parse(out) as { readonly receipts: readonly object[] };
  const kept = JSON.parse(gunzipSync(readFileSync(receiptFile)).toString()) as { readonly receipts: readonly object[] };
  expect(kept.receipts).toEqual([receipts.at(-1)]);
  expect(receipts).toMatchObject([
    { tasks: [{ askedBy: 'octo', textHash: expect.stringMatching(/^[0-9a-f]{32}$/) as string }] },
    {},
  ]);
});

test('a receipt from an artifact replaces the state, and the command that checks its signature is printed', async () => {
  const clone = copyClone();
  git(clone, ['update-ref', '-d', STATE]);
  const { code, result, texts } = await verified(clone, '--receipt', receiptFile);
  // The receipt of the first run is missing.
  expect(code).toBe(3);
  expect(texts).toContain('are no longer remembered');
  expect(result.signature).toEqual([`gh attestation verify ${receiptFile} --repo octo/sample`]);
});

test('a clone without the state says how to fetch it', async () => {
  const clone = copyClone();
  git(clone, ['update-ref', '-d', STATE]);
  const { code, error } = await ralph(['verify', pull, '--dir', clone]);
  expect(code).toBe(2);
  expect(error).toContain('Fetch it: git fetch origin +refs/ralph/v2/state:refs/ralph/v2/state\n');
});

describe('commits', () => {
  test('of a person on top are named, and are not wrong', async () => {
    const clone = copyClone();
    const added = commitLike(clone, MAIN, [tipOf(clone)], 'Polish');
    git(clone, ['update-ref', BRANCH, added]);
    const { code, result, texts } = await verified(clone);
    expect([code, texts]).toEqual([
      0,
      `note commits: 1 of its ${String(result.branches[0]?.commits.length)} commits are not by a run: ${added.slice(0, 7)} (Mallory).`,
    ]);
  });

  test.each([
    ['a known run that did not make them are bad', 1, (run: string) => run],
    ['an unknown run are not checked', 3, () => '424242'],
  ])('that claim %s', async (_, expected, runOf) => {
    const clone = copyClone();
    const [first = ''] = (await verified(clone)).result.branches[0]?.runs ?? [];
    const claim = `Polish\n\nRalph-Run: ${runOf(first)}\nRalph-Iteration: 1\nRalph-Task: issue-1`;
    git(clone, ['update-ref', BRANCH, commitLike(clone, MAIN, [tipOf(clone)], claim)]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(expected);
    expect(texts).toContain('says that run');
  });

  test('that were amended are bad', async () => {
    const clone = copyClone();
    const words = git(clone, ['log', '-1', '--format=%B', BRANCH]).replace(/^/, 'Really ');
    git(clone, ['update-ref', BRANCH, commitLike(clone, BRANCH, [tipOf(clone, `${BRANCH}~1`)], words)]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(1);
    expect(texts).toContain('they were rebased, amended or removed');
  });

  test('that were rebased to another base are bad', async () => {
    const clone = copyClone();
    let parent = commitLike(clone, MAIN, [tipOf(clone, MAIN)], 'Another base');
    for (const id of git(clone, ['rev-list', '--reverse', `${MAIN}..${BRANCH}`]).split('\n'))
      parent = commitLike(clone, id, [parent], git(clone, ['log', '-1', '--format=%B', id]));
    git(clone, ['update-ref', BRANCH, parent]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(1);
    expect(texts).toContain('The branch does not build on');
  });

  test('hidden by a replacement in the clone are still seen', async () => {
    const clone = copyClone();
    const tip = tipOf(clone);
    git(clone, ['replace', tip, commitLike(clone, MAIN, [tipOf(clone, `${BRANCH}~1`)], 'Other')]);
    expect((await verified(clone)).code).toBe(0);
  });

  test('that a branch was set back from are not checked', async () => {
    const clone = copyClone();
    git(clone, ['update-ref', BRANCH, `${BRANCH}~1`]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain('The branch in this clone ends before its commits');
  });

  test('squashed into the base, with the branch gone, are checked as far as the clone has them', async () => {
    const clone = copyClone();
    const squashed = commitLike(clone, BRANCH, [tipOf(clone, MAIN)], `Ralph (#${pull})`);
    git(clone, ['update-ref', MAIN, squashed]);
    git(clone, ['update-ref', '-d', BRANCH]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toMatch(/^unchecked commits: The branch is gone, and main does not have its commits: [^\n]*$/);
  });

  test('squashed into the base, and absent from the clone, can be fetched', async () => {
    const clone = mkdtempSync(join(folder, 'clone-'));
    git(clone, ['init', '--quiet']);
    git(clone, ['fetch', '--quiet', original, `${STATE}:${STATE}`, `${MAIN}:${MAIN}`]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain(`Fetch them: git fetch origin refs/pull/${pull}/head`);
  });

  test('merged into the base, with the branch gone, are good', async () => {
    const clone = copyClone();
    git(clone, ['update-ref', MAIN, commitLike(clone, BRANCH, [tipOf(clone, MAIN), tipOf(clone)], 'Merge')]);
    git(clone, ['update-ref', '-d', BRANCH]);
    const { code, texts } = await verified(clone);
    expect([code, texts]).toEqual([0, 'note commits: The branch is gone; main has its commits.']);
  });
});

describe('the record', () => {
  const other = 'c'.repeat(40);
  test.each<[string, number, string, (run: StoredRun) => object | null]>([
    ['another base', 1, 'rebased, amended or removed', (run) => ({ ...run, base: other })],
    ['another head', 1, 'rebased, amended or removed', (run) => ({ ...run, head: other })],
    ['less cost', 1, 'the iterations of its journal cost', (run) => ({ ...run, costUsd: 0 })],
    ['fewer calls', 1, 'more calls than', (run) => ({ ...run, calls: 0 })],
    ['too many calls', 1, 'calls, and', (run) => ({ ...run, calls: 100 })],
    ['fewer iterations', 1, 'iterations, its journal has', (run) => ({ ...run, iterations: 0 })],
    [
      'another result of verify',
      1,
      'that it did not',
      (run) => ({ ...run, headVerification: { commit: run.headVerification?.commit, result: 'failed' } }),
    ],
    [
      'another text',
      1,
      'different texts or people',
      (run) => ({ ...run, tasks: run.tasks.map((task) => ({ ...task, textHash: 'f'.repeat(32) })) }),
    ],
    [
      'another person',
      1,
      'different texts or people',
      (run) => ({ ...run, tasks: run.tasks.map((task) => ({ ...task, askedBy: 'eve' })) }),
    ],
    ['no journal', 3, 'Its journal is not kept', (run) => ({ ...run, journal: null })],
    ['bytes in place of a journal', 1, 'does not end with the line', (run) => ({ ...run, journal: 'AAAA' })],
    ['the hash of another journal', 1, 'does not end with the line', (run) => ({ ...run, journalHash: other })],
    [
      'a journal that lacks its end',
      1,
      'does not end with the line',
      (run) => ({ ...withJournal(run, (lines) => lines.slice(0, -1)), journalHash: run.journalHash }),
    ],
    [
      'a journal with other costs',
      1,
      'do not follow from its journal',
      (run) => withJournal(run, (lines) => lines.map((line) => line.replace('"taskDone":true', '"taskDone":false'))),
    ],
    [
      'a journal with another commit',
      1,
      'which is not among its commits',
      (run) =>
        withJournal(run, (lines) =>
          lines.map((line) =>
            line
              .replaceAll(/"commit":"\w{40}"/g, `"commit":"${other}"`)
              .replaceAll(/("after":\{"head":"\w+","tree":")\w+/g, `$1${other}`),
          ),
        ),
    ],
    [
      'a journal with other files',
      1,
      'does not change what its journal says',
      (run) =>
        withJournal(run, (lines) =>
          lines.map((line) =>
            line
              .replaceAll(/("after":\{"head":"\w+","tree":")\w+/g, `$1${other}`)
              .replaceAll(/"files":\["[^"]+"/g, '"files":["src/other.mjs"'),
          ),
        ),
    ],
    ['the first run only', 3, 'there is no record of that', () => null],
  ])('with %s ends with %i', async (_, expected, words, change) => {
    const clone = copyClone();
    changeRecord(clone, change);
    const { code, texts } = await verified(clone);
    expect(texts).toContain(words);
    expect(code).toBe(expected);
  });

  test('that lacks the first of two runs ends with 3', async () => {
    const clone = copyClone();
    changeRecord(clone, () => null, 'first');
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain('are no longer remembered');
  });

  test('with a changed line of the journal, and its old hashes, names the line', async () => {
    const clone = copyClone();
    changeRecord(clone, (run) => {
      const text = gunzipSync(Buffer.from(run.journal ?? '', 'base64')).toString();
      const changed = text.replace('"taskTitle":"', '"taskTitle":"Not ');
      return { ...run, journal: gzipSync(changed).toString('base64') };
    });
    const { code, texts } = await verified(clone);
    expect(code).toBe(1);
    expect(texts).toMatch(/Line \d+ of its journal does not carry the hash of the line before/);
  });
});

test('a file that is not a receipt is wrong usage', async () => {
  const file = join(folder, 'other.gz');
  writeFileSync(file, gzipSync('{}'));
  const { code, error } = await ralph(['verify', pull, '--dir', original, '--receipt', file]);
  expect([code, error.includes('is not a receipt')]).toEqual([2, true]);
});
