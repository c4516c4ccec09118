import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { checkChain } from '../../src/core/journal/chain.ts';
import { type Journal, parseJournal } from '../../src/core/journal/parse-journal.ts';
import { parseReceipts } from '../../src/core/receipt/receipt.ts';
import { finisher, forgetful, steadyWorker, type Behaviour } from './stage/behaviours.ts';
import {
  createProject,
  finishOnce,
  labeled,
  loseState,
  runOnce,
  savedState,
  storedRuns,
  type Run,
} from './stage/run-action.ts';
import { killAt } from './stage/tap.ts';

// runOnce itself checks, for every run of every test, that the journal replays to the same decisions.

function journalOf(run: Run): Journal {
  const parsed = parseJournal(run.journal);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

test('a run leaves a start, a line for each iteration, and an end', async () => {
  const run = await runOnce(createProject({ issues: [1, 2], agent: [finisher] }));
  expect(journalOf(run)).toMatchObject({
    start: { lane: 'queue', tasks: [{ id: 'issue-1' }, { id: 'issue-2' }] },
    entries: [
      { iteration: 1, taskId: 'issue-1' },
      { iteration: 2, taskId: 'issue-2' },
    ],
    end: { cancelled: false, outcome: run.outcome },
  });
});

test('its lines are a chain, and the state of the lane contains the hash of the last', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const { journal } = await runOnce(project);
  const chain = checkChain(journal, (line) => createHash('sha256').update(line).digest('hex'));
  expect(chain).toEqual({ kind: 'intact', last: savedState(project).journalHash });
});

test('a run that ends in the gate leaves none', async () => {
  expect((await runOnce(createProject({ issues: [], agent: [] }))).journal).toBe('');
});

test('it contains neither the body of an issue nor a secret', async () => {
  const leaky: Behaviour = () => ({
    writes: { 'hunter2.ts': 'x' },
    output: { errors: [{ text: 'hunter2 is wrong', fingerprint: 'hunter2 is wrong' }] },
  });
  const run = await runOnce(createProject({ agent: [leaky], inputs: { 'max-iterations': '1' } }), {
    redact: (text) => text.replaceAll('hunter2', '***'),
  });
  expect(run.journal).toContain('*** is wrong');
  expect(run.journal).not.toContain('hunter2');
  expect(run.journal).not.toContain('Body 1');
});

test('it records a session that the CLI forgot: the replay drops it, too', async () => {
  const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
  await runOnce(project);
  project.script.behaviours = [forgetful];
  expect(journalOf(await runOnce(project)).entries[0]?.sessionDroppedAt).toBe(project.clock.now() - 60_000);
});

test('it records that a lane lost its state: the replay measures a task against the base, too', async () => {
  const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
  await runOnce(project);
  loseState(project);
  project.script.behaviours = [finisher];
  const journal = journalOf(await runOnce(project));
  expect(journal.entries[0]?.taskTree).not.toBe(journal.entries[0]?.evidence.before.tree);
});

test('a cancelled run says so', async () => {
  const person = new AbortController();
  const run = await runOnce(
    createProject({
      agent: [
        () => ({
          meanwhile: () => {
            person.abort();
          },
        }),
      ],
    }),
    { signal: person.signal },
  );
  expect(journalOf(run)).toMatchObject({
    entries: [{ evidence: { end: { kind: 'cancelled' } } }],
    end: { cancelled: true, outcome: { kind: 'cancelled' } },
  });
});

test('a failed run leaves its finished work, without an end', async () => {
  const project = createProject({ agent: [steadyWorker] });
  const run = await runOnce(project, {
    onRecord: (work) => {
      if (work.journal.length === 2) project.script.broken = new Error('gone');
    },
  });
  expect(run.outcome.kind).toBe('failed');
  expect(parseJournal(run.journal)).toMatchObject({
    kind: 'journal',
    journal: { entries: [{ iteration: 1 }, { iteration: 2 }], end: null },
  });
});

describe('the prompt', () => {
  test('of a diagnosis contains the attempts of this run', async () => {
    const fails: Behaviour = () => ({ output: { errors: [{ text: 'Error: no such module', fingerprint: 'f' }] } });
    const project = createProject({ agent: [fails] });
    await runOnce(project);
    expect(project.script.calls.map(({ prompt }) => prompt.includes('Error: no such module'))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('after a status block in a fence says so', async () => {
    const project = createProject({
      agent: [(call) => ({ ...steadyWorker(call), output: {}, fencedBlock: true })],
      inputs: { 'max-iterations': '2' },
    });
    const run = await runOnce(project);
    expect(journalOf(run).entries[0]?.evidence.fencedBlock).toBe(true);
    expect(project.script.calls[1]?.prompt).toContain('was in a code fence');
  });
});

describe('the repository remembers a run', () => {
  test('that worked: its end, its tasks, what it used, and its whole journal', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const run = await runOnce(project, { event: labeled(1) });
    const [stored, ...others] = storedRuns(project);
    expect(others).toEqual([]);
    expect(stored).toMatchObject({
      lane: 'issue-1',
      requestedBy: 'ann',
      outcome: { kind: run.outcome.kind, reason: run.outcome.reason },
      branch: 'ralph/issue-1',
      baseBranch: 'main',
      model: null,
      journalHash: savedState(project, 'issue-1').journalHash,
      tasks: [
        {
          ...{ id: 'issue-1', title: 'Title 1', state: 'done', labels: ['ralph'], askedBy: 'owner' },
          textHash: createHash('sha256').update('["Title 1","Body 1"]').digest('hex').slice(0, 32),
        },
      ],
      iterations: 1,
      calls: 1,
      pullRequest: 101,
    });
    // The end of the loop is part of it, and the state names its last line.
    expect(stored?.journal).toBe(run.journal);
  });

  test('and keeps its receipt as a file of the job only if asked to', async () => {
    const receiptsWith = async (inputs: Readonly<Record<string, string>>) => {
      const { machine } = await runOnce(createProject({ issues: [1], agent: [finisher], inputs }));
      return machine.receipt === null ? null : parseReceipts(gunzipSync(machine.receipt).toString());
    };
    expect(await receiptsWith({})).toBeNull();
    expect(await receiptsWith({ receipts: 'true' })).toMatchObject([
      { runId: '1', pullRequest: 101, tasks: [{ id: 'issue-1', askedBy: 'owner' }] },
    ]);
  });

  test('once, if main was killed and post published it', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    const main = await runOnce(project, { tap: killAt((name) => name === 'forge.openPullRequest', 'before') });
    await finishOnce(project, main);
    await finishOnce(project, main);
    expect(storedRuns(project)).toMatchObject([{ iterations: 1, tasks: [{ id: 'issue-1' }] }]);
    expect(storedRuns(project)[0]?.journal).toContain('"iteration":1');
  });

  test('but not one that made no call, and no secret of it', async () => {
    const project = createProject({ issues: [], agent: [] });
    await runOnce(project);
    expect(storedRuns(project)).toEqual([]);
  });
});
