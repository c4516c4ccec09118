import type { ReportedLane, LaneStatusReport } from '../../../../src/cli/lane/lane-schema.ts';
import type { LocalPicture, Picture } from '../../../../src/cli/monitor/monitor-schema.ts';
import type { Line } from '../../../../src/cli/monitor/view/columns.ts';
import type { RunStatus } from '../../../../src/core/local/status-document.ts';
import { noon } from '../../core/core-fixtures.ts';

export const iso = (instant: number): string => new Date(instant).toISOString();

/** A run in the middle of its work. */
export const runStatus: RunStatus = {
  version: 1,
  pid: 4711,
  startedAt: iso(noon - 725_000),
  updatedAt: iso(noon - 5000),
  branchId: 'queue',
  branch: 'ralph/queue',
  doing: 'agent',
  iteration: 3,
  maxIterations: 10,
  task: { id: 'issue-12', title: 'Fix the login form' },
  tasks: { done: 2, all: 5 },
  circuit: 'closed',
  calls: { used: 12, limit: 100 },
  cost: { run: 0.84, runLimit: 5, day: 3.2, dayLimit: 20 },
  signals: { done: 1, doneLimit: 2, testOnly: 0, testOnlyLimit: 3 },
  resumeAt: null,
  outcome: null,
};

/** A lane without a lease. */
export const knownLane: ReportedLane = {
  kind: 'branch',
  place: 'directory',
  saved: { sequence: 1, origin: 'directory', at: iso(noon) },
  working: null,
  circuit: { kind: 'closed', noProgress: 0, totalOpens: 0 },
  pause: null,
  park: null,
  session: null,
  currentTask: 'issue-12',
  tasks: [
    { id: 'issue-9', title: null, state: 'blocked', attempts: 2 },
    { id: 'issue-11', title: null, state: 'failed', attempts: 5 },
    { id: 'issue-12', title: null, state: 'in-progress', attempts: 1 },
  ],
  lastRun: null,
  usage: null,
  feedback: [],
  ordersWaiting: [],
  transitions: [],
  warnings: [],
};

export const stateOf = (change: Partial<ReportedLane> = {}): LaneStatusReport => ({
  branchId: 'queue',
  at: iso(noon),
  places: [{ ...knownLane, ...change }],
});

export const localRun: LocalPicture = {
  folder: '/home/ann/shop',
  run: { kind: 'ours', status: runStatus, isAlive: true },
  beside: [],
  agent: { status: 'executing', elapsedSeconds: 40, lastOutput: 'Reading' },
  output: {
    file: 'iteration_2026-11-21_12-04-35_003.log',
    at: iso(noon),
    lines: Array.from({ length: 20 }, (_, index) => `line ${String(index + 1)} of the agent`),
  },
  state: stateOf(),
};

/** Returns the local run with another status. */
export const withRun = (change: Partial<RunStatus>, isAlive = true): LocalPicture => ({
  ...localRun,
  run: { kind: 'ours', status: { ...runStatus, ...change }, isAlive },
});

export const localPicture = (local: LocalPicture = localRun): Picture => ({
  at: iso(noon),
  name: 'shop',
  shows: 'local',
  local,
  all: null,
  problems: [],
});

type Overview = NonNullable<Picture['all']>;
type OverviewLane = Extract<Overview['branches'][number], { kind: 'branch' }>;

const queue: OverviewLane = {
  kind: 'branch',
  branchId: 'queue',
  place: 'ref',
  pullRequest: { number: 4, url: 'https://github.com/acme/shop/pull/4', title: 'Ralph: the queue', state: 'open' },
  tasks: [
    { id: 'issue-12', name: '#12', title: 'Fix the login form', state: 'failed', attempts: 5, current: true },
    { id: 'issue-13', name: '#13', title: null, state: 'done', attempts: 1, current: false },
  ],
  waits: [
    { kind: 'pause', task: null, on: 'octocat', until: null, command: 'ralph resume' },
    { kind: 'person', task: 'issue-12', on: 'gave up after 5 iterations', until: null, command: 'ralph retry 12' },
  ],
  spend: { calls: 6, tokens: 1000, costUsd: 1.5, minutes: 30 },
  warnings: [],
};

export const overview: Overview = {
  at: iso(noon),
  repository: 'acme/shop',
  branches: [
    queue,
    {
      ...queue,
      branchId: 'issue-7',
      place: 'directory',
      pullRequest: null,
      tasks: [{ id: 'issue-7', name: '#7', title: 'Dark mode', state: 'todo', attempts: 0, current: false }],
      waits: [],
    },
    { kind: 'unavailable', branchId: 'issue-8', place: 'ref', why: 'The remote cannot be reached: no answer.' },
  ],
  spend: [{ day: '2026-11-21', calls: 6, tokens: 1000, costUsd: 1.5, minutes: 30 }],
  runs: [],
  problems: [],
};

export const allPicture: Picture = {
  at: iso(noon),
  name: 'acme/shop',
  shows: 'all',
  local: null,
  all: overview,
  problems: [],
};

/** Returns lines as a person reads them. */
export const textOf = (lines: readonly Line[]): readonly string[] =>
  lines.map((line) =>
    line
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );
