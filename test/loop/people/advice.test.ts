import { expect, test } from 'vitest';
import { claimsBlocked, denied, finisher, liar, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { BEFORE, on, person } from '../stage/people.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  green,
  labeled,
  red,
  runOnce,
  savedState,
  schedule,
  type Event,
} from '../stage/run-action.ts';
import { notificationKinds } from '../../../src/core/people/notifications.ts';
import { HOUR, MINUTE } from '../../unit/core/core-fixtures.ts';
import { reviewedOn } from '../feedback/reviewing.ts';
import { comment, review, thread } from '../feedback/said.ts';

/** The actions of a person who follows the steps in the notification; null if it contains no command. */
type Obeying = (project: Project, command: string | null) => readonly Event[];

const PULL = 101;
const comments =
  (thread: number): Obeying =>
  (_project, command) => [commented(command ?? '', { issue: thread, isPullRequest: thread === PULL })];

const again = (behaviour: Behaviour, times: number): Behaviour[] => Array.from({ length: times }, () => behaviour);
/** Answers that there is nothing to do. */
const idle: Behaviour = () => ({
  output: { signal: { status: 'COMPLETE', exitSignal: false, summary: 'It is there.' } },
});

/** Changes only tests. */
const tester: Behaviour = ({ turn }) => ({
  writes: { 'test/cart.test.ts': `test ${String(turn)}` },
  output: { testOnly: true, signal: { status: 'IN_PROGRESS', exitSignal: false, workType: 'TESTING' } },
});

/** Changes only a protected file, and claims that its task is done. */
const protectedWriter: Behaviour = (call) => ({
  ...finisher(call),
  writes: { '.github/workflows/ci.yml': `on: [${String(call.turn)}]` },
});

const overSpent: Behaviour = () => ({
  exitCode: 1,
  output: {
    agentError: { kind: 'rate-limit', text: "You've hit your monthly spend limit" },
    usageLimit: { window: 'unknown', resumeAt: null, byPerson: true },
  },
});

const deniedHalts = { 'on-permission-denied': 'halt' };
const allowsAndComments: Obeying = (project, command) => {
  project.inputs = { 'on-permission-denied': 'count' };
  return comments(1)(project, command);
};

interface Row {
  readonly issues?: readonly number[];
  readonly agent: readonly Behaviour[];
  readonly inputs?: Readonly<Record<string, string>>;
  readonly label?: true;
  /** The lane on which the person starts work; defaults to the one that stopped. */
  readonly worksOn?: 'issue-1';
  readonly prepare?: (project: Project) => void;
  readonly hasProviderKey?: false;
  /** The kind of the need, which its marker begins with. */
  readonly need: string;
  readonly says?: RegExp;
  readonly obey: Obeying;
}

const HALTED = /stopped on \[#1\].*“Title 1”/;

const rows: readonly [string, Row][] = [
  ['blocked', { agent: again(claimsBlocked, 3), need: 'blocked:issue-1', obey: comments(1) }],
  [
    'blocked, on its own branch',
    { agent: again(claimsBlocked, 3), label: true, need: 'blocked:issue-1', obey: comments(1) },
  ],
  ['stuck', { issues: [1, 2], agent: [stuck, stuck, stuck, finisher], need: 'stuck:issue-1', obey: comments(1) }],
  [
    'stuck, on the pull request',
    { issues: [1, 2], agent: [stuck, stuck, stuck, finisher], need: 'stuck:issue-1', obey: comments(PULL) },
  ],
  [
    'failed',
    {
      agent: again(steadyWorker, 3),
      inputs: { 'max-iterations-per-task': '3' },
      need: 'failed:issue-1',
      obey: comments(1),
    },
  ],
  [
    'failed, on the pull request',
    {
      agent: again(steadyWorker, 3),
      inputs: { 'max-iterations-per-task': '3' },
      need: 'failed:issue-1',
      obey: comments(PULL),
    },
  ],
  [
    'work that the git server refuses',
    {
      agent: again(finisher, 3),
      prepare: ({ remote }) => {
        remote.contentRule = (files) => ('src/issue-1.ts' in files ? 'remote: error: GH009: Secrets detected!' : null);
      },
      need: 'push_refused:issue-1',
      says: /Secrets detected/,
      obey: (project, command) => {
        project.remote.contentRule = () => null;
        return comments(1)(project, command);
      },
    },
  ],
  [
    'files that Ralph does not publish',
    {
      agent: again(protectedWriter, 3),
      need: 'withheld:issue-1',
      says: /`allow-protected-paths: '\.github\/workflows\/ci\.yml'`/,
      obey: comments(1),
    },
  ],
  [
    'a base branch on which `verify` fails',
    {
      agent: again(stuck, 3),
      inputs: { verify: 'npm test' },
      prepare: (project) => {
        project.verifier = red;
      },
      need: 'base_is_red:lane-queue',
      says: /`npm test` fails on `main` as well/,
      obey: (project) => {
        project.verifier = green;
        const { branches, commits } = project.origin;
        const parent = branches.get('main') ?? '';
        const tree = { ...commits.get(parent)?.tree, 'fix.txt': 'fixed' };
        branches.set('main', addCommit(project.origin, { tree, parent, message: 'Fix' }));
        return [schedule];
      },
    },
  ],
  [
    'a limit that only a person lifts',
    {
      agent: [overSpent],
      need: 'usage_limit:lane-queue',
      says: /monthly spend limit/,
      obey: (project) => {
        project.clock.advance(HOUR + MINUTE);
        return [schedule];
      },
    },
  ],
  ['nothing to do', { agent: [idle], need: 'nothing_to_do:issue-1', obey: comments(1) }],
  ['an open circuit', { agent: again(stuck, 3), need: 'circuit_open:lane-queue', obey: comments(1) }],
  [
    'an open circuit of a branch',
    { agent: again(stuck, 3), label: true, need: 'circuit_open:lane-issue-1', obey: comments(1) },
  ],
  [
    'a denied tool',
    { agent: [denied], inputs: deniedHalts, need: 'halted:lane-queue', says: HALTED, obey: allowsAndComments },
  ],
  [
    'a denied tool, and the schedule does it',
    {
      agent: [denied],
      inputs: deniedHalts,
      need: 'halted:lane-queue',
      says: HALTED,
      obey: (project) => {
        project.inputs = {};
        return [schedule];
      },
    },
  ],
  [
    'a denied tool, on its own branch',
    {
      agent: [denied],
      inputs: deniedHalts,
      label: true,
      need: 'halted:lane-issue-1',
      says: HALTED,
      obey: allowsAndComments,
    },
  ],
  ['tests alone', { agent: again(tester, 3), need: 'halted:lane-queue', says: HALTED, obey: comments(1) }],
  [
    'tests alone, on its own branch',
    { agent: again(tester, 3), label: true, need: 'halted:lane-issue-1', says: HALTED, obey: comments(1) },
  ],
  [
    'claims without evidence',
    {
      issues: [1, 2],
      agent: again(liar, 5),
      inputs: { 'circuit-no-progress': '100' },
      need: 'halted:lane-queue',
      says: HALTED,
      obey: comments(1),
    },
  ],
  [
    'tools that are denied again and again',
    { agent: [denied, denied], need: 'circuit_open:lane-queue', says: HALTED, obey: comments(1) },
  ],
  [
    'a text that waits for approval',
    {
      agent: [finisher],
      prepare: ({ forge }) =>
        on(forge, 1)
          .label(person('ann'), BEFORE)
          .edit(person('eve'), BEFORE + MINUTE, 'Changed.'),
      need: 'needs_approval:issue-1',
      worksOn: 'issue-1',
      obey: (project) => {
        on(project.forge, 1)
          .unlabel(person('ann'), BEFORE + 2 * MINUTE)
          .label(person('ann'), BEFORE + 3 * MINUTE);
        return [labeled(1)];
      },
    },
  ],
  [
    'a configuration that stops every run',
    { agent: [finisher], hasProviderKey: false, need: 'configuration:every-run', obey: () => [schedule] },
  ],
  [
    'work that waits for review',
    {
      issues: [1, 2],
      agent: [finisher],
      inputs: { 'max-tasks-per-pr': '1' },
      need: 'waiting_for_review:lane-queue',
      obey: (project) => {
        const [pull] = project.forge.pulls;
        if (pull === undefined) throw new Error('There is no pull request.');
        Object.assign(pull, { state: 'merged', headSha: project.origin.branches.get('ralph/queue') });
        project.origin.branches.delete('ralph/queue');
        return [schedule];
      },
    },
  ],
  [
    'ready, and changes are requested',
    {
      agent: [finisher],
      need: 'ready:lane-queue',
      obey: (project) => {
        const threads = [thread([comment(11, 'Make it blue.')])];
        project.forge.saidOf.set('ralph/queue', { reviews: [review()], threads });
        return [reviewedOn('ralph/queue')];
      },
    },
  ],
  [
    'ready, and changes are requested, where reviews are not answered',
    {
      agent: [finisher],
      inputs: { 'answer-reviews': 'false' },
      need: 'ready:lane-queue',
      obey: (project, command) => {
        addIssue(project.forge, 1, { title: 'Title 1', body: 'Make it blue.' });
        return [commented(command ?? '', { issue: 1 })];
      },
    },
  ],
];

test('each kind of need has a row', () => {
  const kinds = rows.map(([, { need }]) => need.split(':')[0]);
  // Other tests cover the rounds of feedback and people's decisions about a pull request (held-head.test.ts).
  expect(notificationKinds.filter((kind) => !kinds.includes(kind))).toEqual(['feedback_rounds', 'auto_merge_off']);
});

test.each(rows)("following the comment's advice makes the work continue: %s", async (_, row) => {
  const project = createProject({ issues: [...(row.issues ?? [1])], agent: [...row.agent], inputs: row.inputs ?? {} });
  row.prepare?.(project);
  const event = row.label === true ? labeled(1) : schedule;
  await runOnce(project, { event, hasProviderKey: row.hasProviderKey ?? true });
  const texts = [...project.forge.notifications.values()].flatMap((thread) => [...thread.values()]);
  const said = texts.find((text) => text.includes(`notification ${row.need} `)) ?? '';
  expect(said).toContain('**Next:**');
  if (row.says !== undefined) expect(said).toMatch(row.says);
  const command = /`(\/ralph [^`]+)`/.exec(said)?.[1] ?? null;

  project.script.behaviours = again(finisher, 5);
  let calls = 0;
  for (const event of row.obey(project, command)) calls += (await runOnce(project, { event })).calls;
  expect(calls).toBeGreaterThan(0);
  if (!row.need.startsWith('ready')) {
    const open = [...project.forge.notifications.values()].flatMap((thread) => [...thread.keys()]);
    expect(open.filter((marker) => marker.includes(row.need))).toEqual([]);
    expect(
      savedState(project, row.worksOn ?? (row.label === true ? 'issue-1' : 'queue')).notified.map(({ kind }) => kind),
    ).toEqual(['ready']);
  }
});
