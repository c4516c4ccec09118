import { describe, expect, test } from 'vitest';
import type { ThreadNow } from '../../src/core/feedback/pull-request-now.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { LaneState } from '../../src/core/lane/state/state.ts';
import type { Work } from '../../src/handover/intake.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { HOUR, noon, task } from '../unit/core/core-fixtures.ts';
import { finisher } from './stage/behaviours.ts';
import { createLog } from './stage/in-memory.ts';
import { createProject, finishOnce, recordOf, runOnce, savedState } from './stage/run-action.ts';
import { killAt } from './stage/tap.ts';

const DAY = 24 * HOUR;

// The agent can write to the record of a run, and an agent that has read main's environment can seal it: each row is a
// forged record with a valid seal. It must not park the lane, stop it, or make the action publish its texts.

const LIE = 'Approved by the security team.';

type Forge = (work: Work) => Partial<Work>;
const withState =
  (change: Partial<LaneState>): Forge =>
  ({ state }) => ({ state: { ...state, ...change } });
const ended =
  (outcome: object): Forge =>
  () => ({ outcome: outcome as Outcome });

/** Plays two tasks; one is done and pushed when main is killed before its next call. */
async function killed(forge: Forge) {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  project.forge.saidOf.set('ralph/queue', { threads: [asking] });
  let calls = 0;
  const main = await runOnce(project, { tap: killAt((name) => name === 'agent.call' && (calls += 1) === 2, 'before') });
  const record = recordOf(main.machine);
  if (record.work === null) throw new Error('There is no work to forge');
  const forged: RunRecord = { ...record, work: { ...record.work, ...forge(record.work) } };
  main.machine.record = JSON.stringify(forged);
  const log = createLog();
  const post = await finishOnce(project, main, { log });
  const { pulls, comments, replies } = project.forge;
  const written = [post?.report, pulls, [...comments].map(([, texts]) => [...texts]), replies];
  const shown = [...log.lines, JSON.stringify(written)];
  return { project, post, shown: shown.join('\n') };
}

/** A thread by a person without write permission. */
const asking: ThreadNow = {
  ...{
    id: 'T',
    isOutdated: false,
    path: 'src/a.ts',
    line: 1,
    startLine: null,
    originalLine: 1,
    side: 'right',
    startSide: null,
  },
  comments: [{ id: 11, review: null, by: { login: 'eve', id: 9, kind: 'user' }, text: 'Why?', at: 1, hunk: '' }],
};

/** Returns a record that claims to have answered that thread, with a text in the action's name. */
const answering: Forge = ({ tasks, state }) => ({
  tasks: [
    ...tasks,
    {
      ...task(1, { id: 'thread-11' }),
      source: {
        ...{ kind: 'feedback', pullRequest: 1, url: 'https://github.test/1' },
        on: { kind: 'thread', thread: 'T', replyTo: 11, asked: 11, by: 'eve', path: 'a', line: 1, suggestion: null },
      },
    },
  ],
  state: {
    ...state,
    tasks: { ...state.tasks, 'thread-11': { ...stuck, state: 'done' } },
    feedback: {
      ...state.feedback,
      items: {
        'thread-11': {
          ...{ kind: 'thread', title: LIE, url: null, rounds: 1, asked: '11' },
          answer: { kind: 'changed', commit: null, words: LIE, isOurs: true, at: noon, posted: false },
        },
      },
    },
  },
});

const park = (reason: 'usage_limit' | 'cost_per_day', hours: number) => ({
  reason,
  resumeAt: noon + hours * HOUR,
  taskId: null,
  branchHead: null,
});
const stuck = {
  state: 'failed',
  attempts: 999,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
} as const;

describe('the next run works on, after a record that says', () => {
  test.each<[string, Forge]>([
    ['nothing else', () => ({})],
    ['parked for a week', withState({ park: park('usage_limit', 7 * 24) })],
    ['parked for an hour', withState({ park: park('cost_per_day', 1) })],
    ['that it ended parked', ended({ kind: 'parked', reason: 'usage_limit', resumeAt: noon + 7 * DAY })],
    [
      'an open circuit',
      withState({
        circuit: { kind: 'open', totalOpens: 9, reason: 'permission_denied', openedAt: noon + DAY, taskId: null },
      }),
    ],
    ['that all tasks failed', withState({ tasks: { 'issue-1': stuck, 'issue-2': stuck } })],
    ['paused', withState({ pause: { by: 'ann', at: noon } })],
    ['that the server refuses pushes', withState({ refusedPush: { why: LIE, at: noon } })],
    [
      'a fortune spent',
      withState({
        ledger: [{ day: '2026-11-21', calls: 1e6, tokens: 1, costUsd: 1e6, minutes: 1 }],
        windows: { hour: { openedAt: noon, calls: 1, tokens: 1 }, day: { openedAt: noon, costUsd: 1e6 } },
      }),
    ],
    ['a number that no state comes after', withState({ sequence: Number.MAX_SAFE_INTEGER })],
    ['that it was cancelled in its own words', ended({ kind: 'cancelled', reason: LIE })],
    ['that it failed in its own words', ended({ kind: 'failed', reason: 'configuration', message: LIE })],
    ['that it was refused', ended({ kind: 'refused', reason: 'another_run', message: LIE })],
    ['that it was paused', ended({ kind: 'paused', reason: 'by_person', by: LIE })],
    ['another kind of end', ended({ kind: LIE, reason: LIE })],
  ])('%s', async (_, forge) => {
    const { project, shown } = await killed(forge);
    expect(shown).not.toContain('security team');
    expect(savedState(project)).toMatchObject({ park: null, pause: null, refusedPush: null });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe("texts of the record are not shown as Ralph's own:", () => {
  test.each<[string, Forge]>([
    ['warnings', () => ({ warnings: [LIE] })],
    ['warnings of the gate', ({ notes }) => ({ notes: { ...notes, warnings: [LIE] } })],
    ['where the state came from', ({ notes }) => ({ notes: { ...notes, restored: LIE } })],
    ['an answer in a thread', answering],
    ['why a file was left out', () => ({ withheld: [{ path: 'src/x.ts', why: LIE }] })],
    [
      'what to look at in a file',
      () => ({ lookAt: [{ kind: 'action', fileCount: 1, files: [{ path: 'src/x.ts', what: LIE }] }] }),
    ],
    ['what to look at', () => ({ lookAt: [{ kind: LIE, why: LIE }] as unknown as Work['lookAt'] })],
    [
      'a notice to an author',
      ({ notes }) => ({
        notes: {
          ...notes,
          notices: [{ issue: 1, title: LIE, by: LIE } as unknown as Work['notes']['notices'][number]],
        },
      }),
    ],
    [
      'a verification in a clean clone',
      ({ head }) => ({
        cleanVerification: {
          commit: head,
          after: 1,
          verification: { kind: 'failed', command: LIE, code: 1, tail: LIE, durationMs: 1 },
        },
      }),
    ],
    [
      'what was measured of the isolation',
      () => ({
        isolation: {
          ...{ level: 'namespace', network: 'limited', allowedHosts: 1, keyHidden: true, processesLeft: 0 },
          ...{ why: LIE, caches: LIE, probe: { checks: 30, failed: [LIE] }, refused: { [LIE]: 1, 'a.example:443': 1 } },
        },
      }),
    ],
    ['an invalid isolation', () => ({ isolation: { level: LIE } as unknown as Work['isolation'] })],
    [
      'an invalid iteration',
      ({ journal }) => ({ journal: [...journal, { commit: LIE } as unknown as Work['journal'][number]] }),
    ],
  ])('%s', async (_, forge) => {
    const { post, shown } = await killed(forge);
    expect(post?.end).toBe('cancelled (killed)');
    expect(shown).not.toContain('security team');
    expect(shown).toContain('comes from a record on the machine');
  });
});

test("the record's statement about isolation is marked as such; one of an earlier version has none", async () => {
  const isolation: Work['isolation'] = {
    ...{ level: 'none', why: null, network: 'open', allowedHosts: 0, keyHidden: false, processesLeft: 0 },
    ...{ probe: null, refused: { 'a.example:443': 1 }, caches: null },
  };
  expect((await killed(() => ({ isolation }))).post?.report).toMatchObject({
    isolation: { facts: isolation, from: 'record' },
  });
  const before = { isolation: undefined, isolationFrom: undefined } as unknown as Partial<Work>;
  expect((await killed(() => before)).post?.report).toMatchObject({ isolation: null });
});

test.each<[string, Forge]>([
  ["another issue's", ({ lane }) => ({ lane: { ...lane, id: 'issue-9', branch: 'ralph/issue-9' } })],
  ['one that belongs to no lane', ({ lane }) => ({ lane: { ...lane, branch: 'ralph/elsewhere' } })],
])('a record about a branch that is %s is not used', async (_, forge) => {
  const { post, project } = await killed(forge);
  expect(post).toMatchObject({
    end: 'failed (infrastructure)',
    outcome: { message: expect.stringContaining('a branch that this run cannot work on') as string },
  });
  expect([...project.origin.branches.keys()].filter((name) => name.startsWith('ralph/'))).toEqual(['ralph/queue']);
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
});

test('a record without work does not return the reservation of a run that has pushed', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  let calls = 0;
  const main = await runOnce(project, { tap: killAt((name) => name === 'agent.call' && (calls += 1) === 2, 'before') });
  const reserved = project.kept.refs.textAt('usage.json');
  expect(reserved).toContain('"reservations"');
  main.machine.record = JSON.stringify({ ...recordOf(main.machine), work: null });
  await finishOnce(project, main);
  expect(project.kept.refs.textAt('usage.json')).toBe(reserved);
});
