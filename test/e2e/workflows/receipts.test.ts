import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHAIN_START, chainJournalLine } from '../../../src/core/journal/chain.ts';
import { parseReceipts, type RunReceipt, serializeReceipts } from '../../../src/core/receipt/receipt.ts';
import {
  buildBranchQuestion,
  type CloneBranch,
  ONLY_RECORDED,
  type ReceiptVerification,
  verifyReceipts,
} from '../../../src/core/receipt/verify-receipts.ts';
import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import { openReceiptClone } from '../../../src/git/home/receipt-clone.ts';
import { hashText } from '../../../src/run/packed-journal.ts';
import { ralph } from '../../unit/cli/fixture.ts';
import { createScene } from '../e2e-fixture.ts';

const STATE = 'refs/ralph/v2/state';
const BRANCH = 'refs/remotes/origin/ralph/queue';
const MAIN = 'refs/remotes/origin/main';

const folder = mkdtempSync(join(tmpdir(), 'ralph-receipts-'));
const original = join(folder, 'original');
let pull = '';
let receiptFile = '';
/** The receipts that the clone's state has, oldest first, and their branch in it. */
let receipts: readonly RunReceipt[] = [];
let branch: CloneBranch | null = null;

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
  receipts = parseReceipts((await ralph(['receipt', pull, '--dir', original, '--json'])).out) ?? [];
  const question = buildBranchQuestion(receipts);
  const clone = await openReceiptClone({ folder: original, remote: 'origin' }, process.env);
  branch = question === null ? null : await clone.readBranch(question);
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

/** Checks the receipts in a clone, after a change of the newest. */
function verifiedAfter(change: (receipt: RunReceipt) => RunReceipt): {
  readonly verdict: string;
  readonly texts: string;
} {
  const [first, ...others] = [...receipts.slice(0, -1), ...receipts.slice(-1).map(change)];
  if (first === undefined) throw new Error('There is no receipt.');
  const tools = { sha256: hashText, kindsOf: kindOfDenialBy };
  const { verdict, findings } = verifyReceipts([first, ...others], branch, tools);
  return { verdict, texts: findings.map(({ kind, text }) => `${kind}: ${text}`).join('\n') };
}

/** Returns the receipt with a journal of these lines, whose hashes are made again. */
function withJournal(receipt: RunReceipt, change: (text: string) => string): RunReceipt {
  let prev = CHAIN_START;
  const plain = (receipt.journal ?? '').replaceAll(/^\{"prev":"[0-9a-f]*",/gm, '{').trimEnd();
  const lines = change(plain)
    .split('\n')
    .map((line) => {
      const chained = chainJournalLine(line, prev);
      prev = hashText(chained);
      return chained;
    });
  return { ...receipt, journalHash: prev, journal: `${lines.join('\n')}\n` };
}

/** Replaces the state in a clone by one without the oldest run. */
function forgetFirstRun(clone: string): void {
  const [path = ''] = git(clone, ['ls-tree', '--name-only', STATE, 'runs/']).split('\n').toSorted();
  git(clone, ['read-tree', STATE]);
  git(clone, ['rm', '--cached', '--quiet', path]);
  git(clone, ['update-ref', STATE, git(clone, ['commit-tree', git(clone, ['write-tree']), '-m', 'changed'])]);
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

test('the receipt that the job kept is the one of the state', () => {
  expect(parseReceipts(gunzipSync(readFileSync(receiptFile)).toString())).toEqual([receipts.at(-1)]);
  expect(receipts).toMatchObject([
    { tasks: [{ askedBy: 'octo', textHash: expect.stringMatching(/^[0-9a-f]{32}$/) as string }] },
    {},
  ]);
});

test('a receipt from an artifact replaces the state, and the command that checks its signature is printed', async () => {
  const clone = copyClone();
  git(clone, ['update-ref', '-d', STATE]);
  // A receipt of another repository is never checked against that.
  git(clone, ['remote', 'set-url', 'origin', 'git@github.com:acme/shop.git']);
  const { code, result, texts } = await verified(clone, '--receipt', receiptFile);
  // The receipt of the first run is missing.
  expect(code).toBe(3);
  expect(texts).toContain('have no receipt here');
  expect(result.signature).toEqual([`gh attestation verify ${receiptFile} --repo acme/shop`]);
});

test.each<[string, Partial<RunReceipt>, number]>([
  ['as it is', {}, 0],
  ['moved to another pull request', { pullRequest: 99 }, 3],
  ['with another model', { model: 'best' }, 3],
])('a receipt %s is compared with the state of the clone', async (_, change, expected) => {
  const file = join(folder, 'given.json');
  writeFileSync(file, serializeReceipts(receipts.map((one) => ({ ...one, ...change }))));
  const { code, out } = await ralph([
    'verify',
    String(change.pullRequest ?? pull),
    '--dir',
    original,
    '--receipt',
    file,
  ]);
  expect([code, out.includes('The state has another record of this run.')]).toEqual([expected, expected === 3]);
});

test('the output names what only the record says, and every other fact that is changed is found', async () => {
  const { out } = await ralph(['verify', pull, '--dir', original]);
  expect(out).toContain(`\nOnly the record says: ${ONLY_RECORDED.join(', ')}.\n`);
  const recorded: Partial<RunReceipt> = {
    ...{ agent: { name: 'x', version: 'x' }, model: 'x', isolation: null, requests: 99, requestedBy: 'eve' },
    ...{ runAttempt: 9, runUrl: 'https://example.com', pullRequest: 99, baseVerification: null },
  };
  const tasks = (of: RunReceipt): RunReceipt['tasks'] => of.tasks.map((task) => ({ ...task, labels: ['x'] }));
  expect(verifiedAfter((one) => ({ ...one, ...recorded, tasks: tasks(one) })).verdict).toBe('good');
  // The end may be later than that of the loop, and GitHub makes the verified commit again to sign it.
  const notSwept = [
    'version',
    'endedAt',
    'headVerification',
    'journal',
    'baseBranch',
    'tasks',
    ...Object.keys(recorded),
  ];
  const kept = Object.entries(receipts[0] ?? {}).filter(([name]) => !notSwept.includes(name));
  expect(kept.map(([name]) => name)).toContain('outcome');
  for (const [name, value] of kept) {
    const other = typeof value === 'number' ? value + 1 : typeof value === 'string' ? 'c'.repeat(40) : null;
    const changed = name === 'outcome' ? { kind: 'complete', reason: 'x' } : other;
    expect([name, verifiedAfter((one) => ({ ...one, [name]: changed })).verdict]).not.toEqual([name, 'good']);
  }
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
      `note commits: 1 of its ${String(result.branches[0]?.commits.length)} commits is not by a run: ${added.slice(0, 7)} (Mallory).`,
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

  test.each([
    ['a newer base', (base: string) => [base], 'they were rebased, amended or removed'],
    ['another base', () => [], 'The branch does not build on'],
  ])('that were rebased to %s are bad', async (_, parentsOf, words) => {
    const clone = copyClone();
    let parent = commitLike(clone, MAIN, parentsOf(tipOf(clone, MAIN)), 'Another base');
    for (const id of git(clone, ['rev-list', '--reverse', `${MAIN}..${BRANCH}`]).split('\n'))
      parent = commitLike(clone, id, [parent], git(clone, ['log', '-1', '--format=%B', id]));
    git(clone, ['update-ref', BRANCH, parent]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(1);
    expect(texts).toContain(words);
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
    expect(texts).toMatch(
      /^unchecked commits: The branch is not in this clone, or has other work, and main does not have its commits: [^\n]*$/,
    );
  });

  test.each([
    ['in the middle of them', 3],
    ['before them', 100],
  ])(
    'of which a shallow clone has those after a cut %s are never bad, and its advice completes it',
    async (_, depth) => {
      const clone = mkdtempSync(join(folder, 'clone-'));
      const url = `file://${original}`;
      git(clone, ['init', '--quiet', '.']);
      git(clone, ['remote', 'add', 'origin', url]);
      // The base alone first, as a job's checkout does it.
      git(clone, ['fetch', '--quiet', '--depth=1', 'origin', `${MAIN}:${MAIN}`, `${STATE}:${STATE}`]);
      git(clone, ['fetch', '--quiet', `--depth=${String(depth)}`, 'origin', `${BRANCH}:${BRANCH}`]);
      const cut = await verified(clone);
      expect([depth, cut.code]).toEqual([depth, depth === 3 ? 3 : 0]);
      if (depth !== 3) return;
      const [, advice = ''] = /Fetch them: git (.*?);/.exec(cut.texts) ?? [];
      // The clone of the test has the branch where a clone keeps those of its remote.
      git(clone, advice.replace('refs/heads/', 'refs/remotes/origin/').split(' '));
      expect((await verified(clone)).code).toBe(0);
    },
  );

  test('squashed into the base, and absent from the clone, can be fetched', async () => {
    const clone = mkdtempSync(join(folder, 'clone-'));
    git(clone, ['init', '--quiet']);
    git(clone, ['fetch', '--quiet', original, `${STATE}:${STATE}`, `${MAIN}:${MAIN}`]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain(`if the branch is gone, name refs/pull/${pull}/head instead`);
  });

  test('merged into the base, with the branch gone, are good', async () => {
    const clone = copyClone();
    git(clone, ['update-ref', MAIN, commitLike(clone, BRANCH, [tipOf(clone, MAIN), tipOf(clone)], 'Merge')]);
    git(clone, ['update-ref', '-d', BRANCH]);
    const { code, texts } = await verified(clone);
    expect([code, texts]).toEqual([
      0,
      'note commits: The branch is not in this clone, or has other work; main has its commits.',
    ]);
  });

  test('of people that were merged with them are named', async () => {
    const clone = copyClone();
    const added = commitLike(clone, MAIN, [tipOf(clone)], 'Mine');
    const merge = commitLike(clone, BRANCH, [tipOf(clone, MAIN), added], 'Merge');
    git(clone, ['update-ref', MAIN, commitLike(clone, BRANCH, [merge], 'Later')]);
    git(clone, ['update-ref', '-d', BRANCH]);
    const { code, texts } = await verified(clone);
    expect([code, texts.split('\n')]).toEqual([
      0,
      [
        expect.stringContaining(`commits is not by a run: ${added.slice(0, 7)} (Mallory).`),
        'note commits: The branch is not in this clone, or has other work; main has its commits.',
      ],
    ]);
  });

  test.each([
    ['squashed', 3],
    ['merged', 0],
  ])('%s into the base, whose branch has the next work under the same name, are not bad', async (how, expected) => {
    const clone = copyClone();
    const parents = [tipOf(clone, MAIN), ...(how === 'merged' ? [tipOf(clone)] : [])];
    const message = git(clone, ['log', '--format=%B', `${MAIN}..${BRANCH}`]);
    const merged = commitLike(clone, BRANCH, parents, how === 'merged' ? 'Merge' : message);
    git(clone, ['update-ref', MAIN, commitLike(clone, BRANCH, [merged], 'Later')]);
    const next = commitLike(clone, BRANCH, [merged], 'Next\n\nRalph-Run: 99\nRalph-Iteration: 1');
    git(clone, ['update-ref', BRANCH, next]);
    const { code, result } = await verified(clone);
    expect([code, result.branches[0]?.commits]).toEqual([
      expected,
      (await verified(original)).result.branches[0]?.commits,
    ]);
  });

  test('that name a run, below the tip of a merged branch, are not checked', async () => {
    const clone = copyClone();
    const named = commitLike(clone, MAIN, [tipOf(clone, MAIN)], 'Other\n\nRalph-Run: 1002');
    const above = commitLike(clone, MAIN, [named], 'Above');
    git(clone, ['update-ref', BRANCH, commitLike(clone, BRANCH, [tipOf(clone), above], 'Merge')]);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain(`unchecked commits: ${named.slice(0, 7)} says that run 1002 made it`);
  });

  test('that a person pulled into a branch with a commit of their own are there', async () => {
    const clone = copyClone();
    const mine = commitLike(clone, MAIN, [tipOf(clone, `${BRANCH}~1`)], 'Mine');
    git(clone, ['update-ref', BRANCH, commitLike(clone, BRANCH, [mine, tipOf(clone)], 'Merge')]);
    const { code, texts, result } = await verified(clone);
    const made = (await verified(original)).result.branches[0]?.commits ?? [];
    expect(code).toBe(0);
    expect(result.branches[0]?.commits).toEqual(expect.arrayContaining([...made]));
    expect(texts).toMatch(/^note commits: 2 of its \d commits are not by a run: [^\n]*$/);
  });
});

describe('a receipt', () => {
  const other = 'c'.repeat(40);
  const otherTree = (text: string): string => text.replaceAll(/("after":\{"head":"\w+","tree":")\w+/g, `$1${other}`);
  const shift = (text: string): string => text.replaceAll(/"commit":"\w{40}"/g, `"commit":"${other}"`);
  const first = ({ tasks }: RunReceipt, own: object): Pick<RunReceipt, 'tasks'> => ({
    tasks: tasks.map((task) => ({ ...task, ...own })),
  });

  test.each<[string, ReceiptVerification['verdict'], string, (receipt: RunReceipt) => RunReceipt]>([
    ['another base', 'bad', 'rebased, amended', (one) => ({ ...one, base: other })],
    ['another head', 'bad', 'rebased, amended', (one) => ({ ...one, head: other })],
    ['no head', 'part', 'its record says that it published none', (one) => ({ ...one, head: null })],
    ['less cost', 'bad', '`costUsd` is 0 in its record', (one) => ({ ...one, costUsd: 0 })],
    ['more cost', 'bad', '`costUsd` is 9 in its record', (one) => ({ ...one, costUsd: 9 })],
    ['other tokens', 'bad', '`tokens` is 9 in its record', (one) => ({ ...one, tokens: 9 })],
    ['unknown cost', 'bad', '`unpriced` is 9', (one) => ({ ...one, unpriced: 9 })],
    ['fewer calls', 'bad', '`calls` is 0 in its record', (one) => ({ ...one, calls: 0 })],
    ['too many calls', 'bad', 'calls, and', (one) => ({ ...one, calls: 100 })],
    ['fewer iterations', 'bad', 'number of iterations is 0', (one) => ({ ...one, iterations: 0 })],
    ['another beginning', 'bad', 'beginning is 1', (one) => ({ ...one, startedAt: 1 })],
    ['an earlier end', 'bad', 'end is 1 in', (one) => ({ ...one, endedAt: 1 })],
    [
      'another end',
      'bad',
      'outcome is limit (cost) in its record',
      (one) => ({ ...one, outcome: { kind: 'limit', reason: 'cost' } }),
    ],
    [
      'a failure after its end',
      'good',
      'note: Its journal ends with complete (plan_complete); only its record says what followed: failed (push).',
      (one) => ({ ...one, outcome: { kind: 'failed', reason: 'push' } }),
    ],
    [
      'a task that it did not work on',
      'bad',
      'names issue-9, on which it did not work',
      (one) => ({ ...one, tasks: [...one.tasks, ...first(one, { id: 'issue-9', textHash: null }).tasks] }),
    ],
    ['another branch', 'bad', 'branch is main', (one) => ({ ...one, branch: 'main' })],
    ['another title', 'bad', 'differently', (one) => ({ ...one, ...first(one, { title: 'Pay' }) })],
    [
      'another time of asking',
      'bad',
      'different texts or people',
      (one) => ({ ...one, ...first(one, { askedAt: 1 }) }),
    ],
    [
      'another result of verify',
      'bad',
      'result of `verify` is failed',
      (one) => ({ ...one, headVerification: { commit: one.head ?? '', result: 'failed' } }),
    ],
    ['no task', 'bad', 'does not name', (one) => ({ ...one, tasks: [] })],
    ['another text', 'bad', 'different texts or people', (one) => ({ ...one, ...first(one, { textHash: other }) })],
    ['another person', 'bad', 'different texts or people', (one) => ({ ...one, ...first(one, { askedBy: 'eve' }) })],
    ['no journal', 'part', 'Its journal is not kept', (one) => ({ ...one, journal: null })],
    ['bytes in place of a journal', 'bad', 'does not end with the line', (one) => ({ ...one, journal: 'AAAA' })],
    ['another hash of its journal', 'bad', 'does not end with the line', (one) => ({ ...one, journalHash: other })],
    [
      'a journal without its end',
      'bad',
      'does not end with the line',
      (one) => ({ ...one, journal: (one.journal ?? '').replace(/[^\n]+\n$/, '') }),
    ],
    [
      'a changed line in its journal',
      'bad',
      'does not carry the hash of the line before',
      (one) => ({ ...one, journal: (one.journal ?? '').replace('"taskTitle":"', '"taskTitle":"Not ') }),
    ],
    [
      'another decision in a journal with new hashes',
      'bad',
      'do not follow from its journal',
      (one) => withJournal(one, (text) => text.replace('"taskDone":true', '"taskDone":false')),
    ],
    [
      'another commit in a journal with new hashes',
      'bad',
      'which is not among its commits',
      (one) => withJournal(one, (text) => shift(otherTree(text))),
    ],
    [
      'other files in a journal with new hashes',
      'bad',
      'does not change what its journal says',
      (one) => withJournal(one, (text) => otherTree(text).replaceAll(/"files":\["[^"]+"/g, '"files":["src/other.mjs"')),
    ],
  ])('with %s is judged as %s', (_, expected, words, change) => {
    const { verdict, texts } = verifiedAfter(change);
    expect(texts).toContain(words);
    expect(verdict).toBe(expected);
  });

  test('of the first of two runs is missing: commits before the second are not checked', async () => {
    const clone = copyClone();
    forgetFirstRun(clone);
    const { code, texts } = await verified(clone);
    expect(code).toBe(3);
    expect(texts).toContain('have no receipt here');
  });
});

test.each<[string, Partial<RunReceipt>]>([
  ['cost not known', { costUsd: 0, unpriced: 2 }],
  ['cost not known', { costUsd: 0, unpriced: null, tokens: 7 }],
  ['at least $0.5', { costUsd: 0.5, unpriced: 1 }],
  ['tokens, $0', { costUsd: 0, unpriced: 0, tokens: 7 }],
])('an unknown cost is never $0: %s', async (words, own) => {
  const file = join(folder, 'priced.json');
  writeFileSync(file, serializeReceipts(receipts.map((one) => ({ ...one, ...own }))));
  expect((await ralph(['receipt', pull, '--dir', original, '--receipt', file])).out).toContain(words);
});

test('a file that is not a receipt is wrong usage', async () => {
  const file = join(folder, 'other.gz');
  writeFileSync(file, gzipSync('{}'));
  const { code, error } = await ralph(['verify', pull, '--dir', original, '--receipt', file]);
  expect([code, error.includes('is not a receipt')]).toEqual([2, true]);
});

test.each<[string, (clone: string) => void, string]>([
  ['without the clone', (clone) => rmSync(join(clone, '.git'), { recursive: true }), 'is not in a git checkout'],
  [
    'for a clone of another repository',
    (clone) => git(clone, ['remote', 'set-url', 'origin', 'https://github.com/octo/sample.git']),
    'is not of octo/sample',
  ],
])('%s, there is no answer, which is not bad', async (_, change, words) => {
  const clone = copyClone();
  change(clone);
  const { code, error } = await ralph(['verify', `https://github.com/octo/other/pull/${pull}`, '--dir', clone]);
  expect([code, error]).toEqual([2, expect.stringContaining(words)]);
});
