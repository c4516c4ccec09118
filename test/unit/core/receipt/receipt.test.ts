import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { parseJournalLine } from '../../../../src/core/journal/journal.ts';
import { CHAIN_START, chainJournalLine } from '../../../../src/core/journal/chain.ts';
import {
  parseNamedRun,
  parseReceipts,
  receiptsSchema,
  parseReceiptRecord,
  groupReceipts,
  type RunReceipt,
  selectReceipts,
  serializeReceipts,
} from '../../../../src/core/receipt/receipt.ts';
import type { CloneCommit } from '../../../../src/core/receipt/check-content.ts';
import {
  buildBranchQuestion,
  type CloneBranch,
  receiptVerificationSchema,
  verifyReceipts,
} from '../../../../src/core/receipt/verify-receipts.ts';
import type { StoredRun } from '../../../../src/core/snapshot/stored-run.ts';
import { runs } from '../../../runs.ts';
import { idle, noon, policy, progress, MINUTE } from '../core-fixtures.ts';
import { record } from '../journal/journal-fixtures.ts';
import { storedRun, storedTask } from '../snapshot/fixtures.ts';
import { publishedSchema } from '../../../published-schema.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const tools = { sha256, kindsOf: kindOfDenialBy };

/** Returns the receipt of a run with this journal, whose lines are chained first. */
function receipt(journal: string | null, own: Partial<StoredRun> = {}): RunReceipt {
  let prev = CHAIN_START;
  const lines = journal?.trimEnd().split('\n') ?? [];
  const chained = lines.map((line) => {
    const text = chainJournalLine(line, prev);
    prev = sha256(text);
    return text;
  });
  const journalHash = journal === null ? null : prev;
  const entries = lines
    .map((line) => parseJournalLine(line))
    .flatMap((line) => (line.kind === 'iteration' ? [line.entry] : []));
  const sum = (of: 'tokens' | 'costUsd'): number => entries.reduce((all, { analysis }) => all + (analysis[of] ?? 0), 0);
  const used = { iterations: 0, calls: 0, tokens: sum('tokens'), costUsd: sum('costUsd'), endedAt: noon + 60 * MINUTE };
  const tasks = [storedTask({ state: 'in-progress', title: entries[0]?.taskTitle ?? '' })];
  const run = storedRun({ ...used, tasks, journalHash, ...own });
  const made = parseReceiptRecord(run, journal === null ? null : `${chained.join('\n')}\n`);
  if (made === null) throw new Error('The receipt does not fit its own schema.');
  return made;
}

const iterations = (count: number): Partial<StoredRun> => ({ iterations: count, calls: count });
const unpublished = { head: null };

/** Returns the findings about the receipt of a run that published nothing. */
function findingsAbout(journal: string, own: Partial<StoredRun>): readonly string[] {
  const { findings } = verifyReceipts([receipt(journal, { ...unpublished, ...own })], null, tools);
  return findings
    .filter(({ text }) => text !== 'These runs published no commit.')
    .map(({ part, kind, text }) => `${kind} ${part}: ${text}`);
}

describe('the published JSON Schemas are those of the code (vitest -u writes them)', () => {
  test.each([
    ['receipt', publishedSchema('ralph receipt --json', receiptsSchema)],
    ['verify', publishedSchema('ralph verify --json', receiptVerificationSchema)],
  ])('ralph %s --json', async (name, schema) => {
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
      `../../../../schemas/ralph-${name}.schema.json`,
    );
  });
});

describe('a receipt', () => {
  test('survives being written and read', () => {
    const full = receipt(record([progress()]).text, {
      tasks: [storedTask({ askedBy: 'ann', askedAt: noon, textHash: 'f'.repeat(32), labels: ['P1'] })],
      isolation: { level: 'user', network: 'limited', keyHidden: true, probe: { checks: 3, failed: ['use Docker'] } },
      headVerification: { commit: 'a'.repeat(40), result: 'passed' },
    });
    const text = serializeReceipts([full]);
    expect(parseReceipts(text)).toEqual([full]);
    expect(parseReceipts(text.replace('"branchId"', '"lane"'))).toEqual([full]);
  });

  test('has its cost in dollars', () => {
    expect(serializeReceipts([receipt(null, { costUsd: 0.1234 })])).toContain('"costUsd": 0.1234,');
  });

  test('is not made of a record that no run can have written', () => {
    expect(parseReceiptRecord(storedRun({ base: 'main' }), null)).toBeNull();
  });
});

describe('a person names', () => {
  test.each([
    ['12', { kind: 'any', id: '12' }],
    ['#12', { kind: 'pull-request', id: '12' }],
    ['https://github.com/o/r/pull/12/files', { kind: 'pull-request', id: '12', repository: 'o/r' }],
    ['https://github.com/o/r/actions/runs/99?pr=1', { kind: 'run', id: '99', repository: 'o/r' }],
    ['one two', null],
    ['', null],
  ])('%s', (text, named) => {
    expect(parseNamedRun(text)).toEqual(named);
  });

  const [early, first, second, beside] = [
    receipt(null, {
      runId: '1',
      pullRequest: null,
      endedAt: noon + MINUTE,
      base: 'b'.repeat(40),
      head: 'c'.repeat(40),
    }),
    receipt(null, { runId: '2', endedAt: noon + 2 * MINUTE, base: 'c'.repeat(40), head: 'd'.repeat(40) }),
    receipt(null, { runId: '3', endedAt: noon + 3 * MINUTE, base: 'd'.repeat(40), head: 'e'.repeat(40) }),
    receipt(null, { runId: '3', lane: 'issue-7', pullRequest: 13, endedAt: noon + 4 * MINUTE }),
  ];
  const all = [beside, second, first, early];

  test('a pull request: its runs, and those before it was opened', () => {
    expect(selectReceipts(all, { kind: 'any', id: '12' })).toEqual([early, first, second]);
    expect(buildBranchQuestion([early, first, second])).toMatchObject({
      ...{ base: 'b'.repeat(40), heads: ['c', 'd', 'e'].map((letter) => letter.repeat(40)), runs: ['1', '2', '3'] },
    });
  });

  test('a run: each of its branches, with all runs on it', () => {
    const chosen = selectReceipts(all, { kind: 'any', id: '3' });
    expect(chosen).toEqual([second, beside]);
    expect(groupReceipts(all, chosen)).toEqual([[early, first, second], [beside]]);
  });

  test('a run whose id is the number of a pull request', () => {
    const odd = receipt(null, { runId: '12', pullRequest: 5 });
    expect(selectReceipts([odd, ...all], { kind: 'run', id: '12' })).toEqual([odd]);
  });
});

describe('a journal', () => {
  test('of a whole run has nothing against it', () => {
    expect(findingsAbout(record([progress(), idle, idle, idle]).text, { ...iterations(4), outcome: halted })).toEqual(
      [],
    );
  });

  test('of an earlier version, without hashes, is not checked', () => {
    const text = record([progress(), idle, idle, idle]).text;
    const old = {
      ...receipt(text, { ...unpublished, ...iterations(4), outcome: halted }),
      journal: text,
      journalHash: null,
    };
    expect(verifyReceipts([old], null, tools)).toMatchObject({ verdict: 'part' });
  });

  test('without an end is of a killed run, which is said', () => {
    const lines = record([progress(), idle, idle, idle]).text.trimEnd().split('\n').slice(0, -1);
    expect(findingsAbout(lines.join('\n'), { ...iterations(4), outcome: halted })).toEqual([
      'note record: Its journal has no end: it was killed, or failed.',
    ]);
  });

  test.each<[string, Partial<StoredRun>, string]>([
    [
      'did not finish',
      { tasks: [storedTask({ title: 'Title 1' })] },
      'bad record: Its record says that issue-1 is done',
    ],
    ['worked on', { tasks: [] }, 'bad record: Its record does not name issue-1'],
    [
      'never verified',
      { headVerification: { commit: 'a'.repeat(40), result: 'passed' } },
      'bad record: Its result of `verify` is passed',
    ],
  ])('contradicts a record about a task that it %s', (_, own, words) => {
    const { text } = record([progress(), idle, idle, idle]);
    expect(findingsAbout(text, { ...iterations(4), outcome: halted, ...own })).toEqual([
      expect.stringContaining(words) as string,
    ]);
  });

  test('of another branch contradicts the record', () => {
    const text = record([progress(), idle, idle, idle]).text;
    expect(findingsAbout(text, { ...iterations(4), outcome: halted, lane: 'issue-7' })).toEqual([
      'bad record: Its branch is issue-7 in its record, and queue in its journal.',
    ]);
  });

  const halted = { kind: 'halted', reason: 'circuit_open' };
});

describe('limits', () => {
  const dear = progress({ output: { costUsd: 2 } });
  const limited = { kind: 'limit', reason: 'cost' };

  test('that the last answer exceeded are said', () => {
    const { text } = record([dear], { policy: { ...policy, maxCostUsd: 1.5 } });
    expect(findingsAbout(text, { ...iterations(1), costUsd: 2, outcome: limited })).toEqual([
      'note limits: Its last call took it to $2, over its limit of $1.5.',
    ]);
  });

  test('that a run did not stop at are bad', () => {
    const { text } = record([dear, dear], { policy: { ...policy, maxCostUsd: 3 } });
    const lower = text.replace('"maxCostUsd":3', '"maxCostUsd":1.5');
    expect(findingsAbout(lower, { ...iterations(2), costUsd: 4, outcome: limited })).toContain(
      'bad limits: It continued after its limit of $1.5 was reached.',
    );
  });

  test('of iterations are the most of all that the run had', () => {
    const { text } = record([idle, idle, idle], { policy: { ...policy, maxIterations: 3 } });
    const fewer = text.replace('"maxIterations":3', '"maxIterations":2');
    expect(findingsAbout(fewer, { ...iterations(3), outcome: { kind: 'halted', reason: 'circuit_open' } })).toContain(
      'bad limits: It made more than the 2 iterations allowed.',
    );
  });
});

describe('commits', () => {
  const id = (letter: string): string => letter.repeat(40);
  const own = { base: id('b'), head: id('a') };
  const commit = (change: Partial<CloneCommit>): CloneCommit => ({
    ...{ id: id('a'), tree: id('1'), parents: [id('b')], author: 'ralph-action', run: '7', iteration: '1', paths: [] },
    isSigned: false,
    ...change,
  });
  const clone = (change: Partial<CloneBranch>): CloneBranch => ({
    ...{ tip: id('a'), line: [commit({})], strange: [], isMerged: false },
    ...change,
  });
  const about = (change: Partial<CloneBranch>, changed: Partial<StoredRun> = {}) =>
    verifyReceipts([receipt(null, { ...own, ...changed })], clone(change), tools);
  const texts = (result: ReturnType<typeof about>): readonly string[] =>
    result.findings.filter(({ part }) => part === 'commits').map(({ kind, text }) => `${kind}: ${text}`);

  test('of a run are named with it', () => {
    const result = about({});
    expect(result.commits).toEqual([{ id: id('a'), run: '7', author: 'ralph-action' }]);
    expect(texts(result)).toEqual([]);
  });

  test('that a killed attempt of the run left are not checked', () => {
    const before = receipt(null, { runId: '6', base: id('b'), head: id('e'), endedAt: noon });
    const after = receipt(null, { runAttempt: 2, base: id('d'), head: id('a') });
    const line = [
      commit({ id: id('e'), run: '6' }),
      commit({ id: id('d'), parents: [id('e')] }),
      commit({ parents: [id('d')] }),
    ];
    expect(texts(verifyReceipts([before, after], clone({ line }), tools))).toEqual([
      'unchecked: ddddddd says that run 7 made it, but there is no record of that.',
      'note: 1 of its 3 commits is not by a run: ddddddd (ralph-action).',
    ]);
  });

  test.each<[string, Partial<CloneCommit>, readonly string[]]>([
    ['with the id in the journal', { id: id('c') }, []],
    ['made again by GitHub, signed', { isSigned: true }, []],
    ['made again without a signature', {}, ['which is not among its commits']],
    ['signed with other content', { isSigned: true, tree: id('2'), paths: ['README.md'] }, ['does not change what']],
    ['signed beside other files', { isSigned: true, tree: id('2'), paths: ['src/a.ts'] }, ['only its paths are']],
    ['signed as a merge', { isSigned: true, tree: id('2'), paths: null }, ['its content is not compared']],
  ])('of an iteration, %s', (_, change, words) => {
    const made = record([progress({ to: id('1') })]).text.replace(/"commit":[^,]+/, `"commit":"${id('c')}"`);
    const one = receipt(made, { ...iterations(1), base: id('b'), head: change.id ?? id('a') });
    const { findings } = verifyReceipts([one], clone({ line: [commit(change)] }), tools);
    const content = findings.filter(({ part }) => part === 'content').map(({ text }) => text);
    expect(content).toEqual(words.map((part) => expect.stringContaining(part) as string));
  });

  test.each<[string, Partial<CloneCommit>, string]>([
    ['signed, from the middle of the run', { isSigned: true }, 'unchecked: The branch in this clone ends before'],
    ['signed, with other content', { isSigned: true, tree: id('2') }, 'bad: The branch does not have its commits'],
  ])('of a branch that ends with a commit %s', (_, change, words) => {
    const made = record([progress({ to: id('1') })]).text.replace(/"commit":[^,]+/, `"commit":"${id('c')}"`);
    const one = receipt(made, { ...iterations(1), base: id('b'), head: id('d') });
    expect(texts(verifyReceipts([one], clone({ line: [commit(change)] }), tools))[0]).toContain(words);
  });

  test('that a merge brought in from elsewhere are said', () => {
    expect(texts(about({ strange: [{ id: id('e'), run: null }] }))).toEqual([
      'note: Merges brought in commits that the base branch does not have: eeeeeee.',
    ]);
  });

  test('that a merge brought in, and that name a run, are not checked', () => {
    expect(texts(about({ strange: [{ id: id('e'), run: '1' }] }))).toEqual([
      'note: Merges brought in commits that the base branch does not have: eeeeeee.',
      'unchecked: eeeeeee says that run 1 made it, but a merge brought it in, and it is not checked.',
    ]);
  });

  test('of a run of an earlier version are checked up to its head', () => {
    expect(texts(about({ tip: null }, { branch: null, baseBranch: null }))).toEqual([
      'unchecked: An earlier version did not record its branch: commits after the last run are not checked.',
    ]);
  });

  const fetch = 'git fetch --depth=2147483647 origin';
  test.each<[string, Partial<RunReceipt>, string]>([
    ['the branch', { pullRequest: null }, `${fetch} +refs/heads/ralph/queue:refs/remotes/origin/ralph/queue`],
    [
      'the branch or, without it, the pull request',
      {},
      `${fetch} +refs/heads/ralph/queue:refs/remotes/origin/ralph/queue; if the branch is gone, name refs/pull/12/head instead`,
    ],
    ['the pull request', { branch: null }, `${fetch} refs/pull/12/head`],
    [
      'a branch with an odd name',
      { branch: "a'b", pullRequest: null },
      `${fetch} '+refs/heads/a'\\''b:refs/remotes/origin/a'\\''b'`,
    ],
  ])('that the clone lacks can be fetched by %s', (_, own, words) => {
    expect(texts(about({ tip: null, line: null }, own)).filter((text) => text.includes('Fetch'))).toEqual([
      `unchecked: This clone does not have all commits up to aaaaaaa. Fetch them: ${words}`,
    ]);
  });
});

describe('no bytes make a check throw', () => {
  const valid = serializeReceipts([receipt(record([progress(), idle]).text, { head: null })]);

  test('whatever a file contains', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) => {
        expect(() => parseReceipts(text)).not.toThrow();
        expect(() => parseNamedRun(text)).not.toThrow();
      }),
      { numRuns: runs(300) },
    );
  });

  test('whatever is changed in a receipt', () => {
    const changes = fc.array(fc.record({ at: fc.nat(valid.length), text: fc.string(), length: fc.nat(20) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(changes, (edits) => {
        const text = edits.reduce(
          (now, { at, text: put, length }) => now.slice(0, at) + put + now.slice(at + length),
          valid,
        );
        for (const one of parseReceipts(text) ?? []) expect(() => verifyReceipts([one], null, tools)).not.toThrow();
      }),
      { numRuns: runs(500) },
    );
  });

  test('whatever is in place of a journal, which is never good', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, isNamed) => {
        const journalHash = isNamed ? sha256(text) : null;
        const one = { ...receipt(null, { head: null }), journal: text, journalHash };
        expect(verifyReceipts([one], null, tools).verdict).toBe('bad');
      }),
      { numRuns: runs(300) },
    );
  });
});
