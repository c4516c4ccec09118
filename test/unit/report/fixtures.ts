import { noFeedback } from '../../../src/core/feedback/memory.ts';
import type { TrainPull } from '../../../src/core/train/train.ts';
import { noChange, EMPTY_SHARE, type BranchChange, type TaskShare } from '../../../src/core/lane/change.ts';
import type { Analysis } from '../../../src/core/analysis/analysis.ts';
import type { Evidence, Verification } from '../../../src/core/evidence.ts';
import type { JournalEntry } from '../../../src/core/journal/journal.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import type { Policy } from '../../../src/core/policy.ts';
import type { ShownProgress } from '../../../src/core/tasks/task.ts';
import type { LaneState } from '../../../src/core/lane/state/state.ts';
import type { Verdict } from '../../../src/core/lane/verdict/verdict.ts';
import { policy as defaults, task } from '../core/core-fixtures.ts';
import type { AnsweredReport, LaneView, TaskReport, WorkedReport } from '../../../src/handover/report.ts';

/** 2026-11-21 16:18 UTC. */
export const END = Date.UTC(2026, 10, 21, 16, 18);
const MINUTE = 60_000;
const SHA = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';
const REPOSITORY = 'https://github.com/acme/shop';

export const policy: Policy = {
  ...defaults,
  maxTokensPerHour: 500_000,
  maxCostUsd: 5,
  maxCostUsdPerDay: 20,
  verifies: true,
  allowedTools: ['Bash(npm:*)'],
};

export function taskReport(
  number: number,
  change: Partial<ShownProgress> & { readonly title?: string } = {},
): TaskReport {
  const { title = `Task ${number}`, ...progress } = change;
  const url = `${REPOSITORY}/issues/${number}`;
  return {
    task: task(number, { title, body: '', source: { kind: 'issue', number, url, labels: [] }, priority: 2 }),
    share: EMPTY_SHARE,
    asked: null,
    progress: {
      state: 'todo',
      attempts: 0,
      startedTree: null,
      doneCommit: null,
      reason: null,
      setAside: null,
      ...progress,
    },
  };
}

/** Returns the task with its part of the branch. */
export function sharing(one: TaskReport, share: Partial<TaskShare>): TaskReport {
  return { ...one, share: { ...one.share, title: one.task.title, ...share } };
}

/** Returns the content of the branch by task. */
export function changeOf(tasks: readonly TaskReport[], change: Partial<BranchChange> = {}): BranchChange {
  return { ...noChange, tasks: Object.fromEntries(tasks.map(({ task, share }) => [task.id, share])), ...change };
}

/** Returns an item of the plan. */
export function planTask(line: number, change: Partial<ShownProgress> & { readonly title?: string } = {}): TaskReport {
  const { task, progress, share } = taskReport(line, change);
  return {
    share,
    asked: null,
    task: {
      ...task,
      id: `plan-${String(line).padStart(8, '0')}`,
      source: { kind: 'plan', path: '.ralph/fix_plan.md', line },
    },
    progress,
  };
}

/** Returns an entry of the prd. */
export function prdTask(key: string, change: Partial<ShownProgress> = {}): TaskReport {
  const { task, progress, share } = taskReport(1, { ...change, title: `Build ${key}` });
  const source = { kind: 'prd', path: '.ralph/prd.json', key, issue: null } as const;
  return { share, asked: null, task: { ...task, id: `prd-${key}`, source }, progress };
}

export interface EntryChange {
  readonly taskId?: string;
  readonly taskNumber?: number;
  readonly taskTitle?: string;
  readonly agent?: JournalEntry['agent'];
  readonly passedOver?: JournalEntry['passedOver'];
  readonly commit?: string | null;
  readonly verification?: Verification;
  readonly analysis?: Partial<Analysis>;
  readonly recommendation?: string | undefined;
  readonly evidence?: Partial<Evidence>;
  readonly verdict?: Partial<Verdict>;
}

/** Returns an iteration of two minutes that changed one file, passed verification and cost 12 cents. */
export function entry(iteration: number, change: EntryChange = {}): JournalEntry {
  const startedAt = END - (12 - 2 * iteration) * MINUTE;
  const taskNumber = change.taskNumber ?? 12;
  return {
    version: 1,
    lane: 'queue',
    iteration,
    taskId: change.taskId ?? `issue-${taskNumber}`,
    taskTitle: change.taskTitle ?? `Task ${taskNumber}`,
    agent: change.agent ?? null,
    passedOver: change.passedOver ?? [],
    found: [],
    startedAt,
    endedAt: startedAt + 2 * MINUTE,
    taskTree: SHA,
    sessionDroppedAt: null,
    madeAgain: null,
    analysis: {
      format: 'jsonl',
      signal: {
        from: 'block',
        status: 'IN_PROGRESS',
        exitSignal: false,
        testsStatus: 'PASSING',
        workType: 'IMPLEMENTATION',
        tasksCompleted: 0,
        filesModified: 1,
        recommendation: change.recommendation ?? null,
        summary: null,
        asks: null,
        unreadable: [],
      },
      completionIndicator: false,
      confidence: 100,
      testOnly: false,
      noWork: false,
      question: false,
      agentError: null,
      errors: [],
      denials: [],
      usageLimit: null,
      sessionId: 's',
      turns: 4,
      tokens: 12_345,
      costUsd: 0.12,
      ...change.analysis,
    },
    evidence: {
      before: { head: SHA, tree: SHA },
      after: { head: SHA, tree: SHA },
      files: ['src/greeting.ts'],
      fileCount: 1,
      agentCommits: 0,
      insertions: 20,
      deletions: 1,
      end: { kind: 'exited', code: 0 },
      outputChars: 800,
      fencedBlock: false,
      withheld: [],
      doneMarker: null,
      merge: 'none',
      steps: [],
      checklist: null,
      verification: change.verification ?? { kind: 'passed', durationMs: 8000 },
      ...change.evidence,
    },
    commit: change.commit === undefined ? SHA : change.commit,
    lines: null,
    verdict: {
      progress: true,
      taskDone: false,
      alsoDone: [],
      testOnly: false,
      questionOnly: false,
      agentFailed: false,
      nothingToDo: false,
      baseIsRed: false,
      needsWithheld: false,
      setAside: null,
      discrepancies: [],
      vetoes: [],
      advice: [],
      countedDenials: 0,
      circuit: 'closed',
      ...change.verdict,
    },
  };
}

/** Returns the report of a run of one iteration that finished issue 12, one of two tasks. */
export function report(outcome: Outcome, change: Partial<WorkedReport> = {}): WorkedReport {
  return {
    kind: 'worked',
    outcome,
    lane: 'queue',
    branch: 'ralph/queue',
    baseBranch: 'main',
    headSha: SHA,
    pullRequest: { number: 7, url: `${REPOSITORY}/pull/7` },
    tasks: [
      taskReport(12, {
        title: 'Greet people by name',
        state: 'done',
        attempts: 1,
        doneCommit: SHA,
        reason: null,
        setAside: null,
      }),
      taskReport(13),
    ],
    feedback: [],
    answers: noFeedback,
    checks: null,
    held: null,
    before: null,
    train: null,
    unlisted: [],
    shown: null,
    waitSkippedBy: null,
    iterations: [entry(1, { verdict: { taskDone: true } })],
    circuit: 'closed',
    openedBy: 'streak',
    failure: null,
    callsRemaining: 99,
    tokens: 12_345,
    costUsd: 0.12,
    forecast: null,
    session: 'resumed, 2 h old',
    restored: 'restored #40 (cache and ref)',
    saved: { kind: 'saved', sequence: 41, where: 'cache ✓ ref ✓' },
    withheld: [],
    lookAt: [],
    isolation: null,
    change: noChange,
    baseVerification: null,
    redBase: null,
    headVerification: null,
    verifyCommands: ['npm test'],
    policy,
    agents: [{ name: 'claude', model: null }],
    prices: {},
    taskLabel: 'ralph',
    taskSources: ['issues', 'plan', 'prd'],
    agent: { name: 'Claude Code', version: '2.1.0' },
    repositoryUrl: REPOSITORY,
    runUrl: `${REPOSITORY}/actions/runs/99`,
    logUrl: `${REPOSITORY}/actions/runs/99`,
    startedAt: END - 10 * MINUTE,
    endedAt: END,
    warnings: [],
    found: [],
    testOnlyPercent: 30,
    answersReviews: true,
    issueQuery: null,
    requests: { sent: 14, limit: 1000, remaining: 986, resetAt: END + 42 * MINUTE },
    ...change,
  };
}

/** Returns the report of a run that answers with the state of its lane. */
export function answer(view: LaneView): AnsweredReport {
  return { ...report({ kind: 'idle', reason: 'answered' }), kind: 'answered', view };
}

/** State and view of a lane whose circuit is open and which is parked. */
export const laneState: LaneState = {
  version: 9,
  lane: 'queue',
  sequence: 41,
  agent: null,
  resting: {},
  providers: {},
  feedback: noFeedback,
  savedAt: END,
  circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: END - 600_000, taskId: null },
  windows: { hour: null, day: null },
  signals: { indicators: [], vetoed: [], outputChars: [], doneInARow: 0, blockedInARow: 0, testOnlyInARow: 0 },
  session: null,
  tasks: {},
  retriesAll: false,
  leftCircuit: null,
  currentTask: 'issue-13',
  park: { reason: 'usage_limit', resumeAt: END + 42 * 60_000, taskId: null, branchHead: null },
  pause: null,
  ordersApplied: 0,
  ledger: [],
  transitions: [{ at: END - 600_000, subject: 'circuit', from: 'closed', to: 'open', reason: 'no_progress' }],
  lastRun: { outcome: 'parked', reason: 'usage_limit', at: END - 600_000, published: null },
  lastIteration: null,
  transcript: null,
  journalHash: null,
  baseVerification: null,
  redBase: null,
  headVerification: null,
  refusedPush: null,
  change: noChange,
  notified: [],
  notifiedAt: [],
  steps: { markers: [], circuits: {} },
};

export const laneView: LaneView = {
  lane: 'queue',
  state: laneState,
  restored: 'restored #41 (cache and ref)',
  claimedBy: null,
  tasks: [
    taskReport(12, { state: 'done', attempts: 1 }),
    taskReport(13, { title: 'Greet @octocat', state: 'in-progress', attempts: 2 }),
  ],
  circuit: 'open',
  probeAt: END + 20 * 60_000,
  usage: {
    hour: { calls: 7, tokens: 34_500, endsAt: END + 42 * 60_000 },
    day: { costUsd: 8.2, endsAt: END + 462 * 60_000 },
  },
  limits: policy,
  receipt: null,
  pullRequest: { number: 7, url: `${REPOSITORY}/pull/7` },
  taskLabel: 'ralph',
  jobs: 'one',
  runUrl: `${REPOSITORY}/actions/runs/99`,
  now: END,
};

/** One outcome per kind and reason. */
export const OUTCOMES: readonly Outcome[] = [
  { kind: 'cancelled', reason: 'signal' },
  { kind: 'cancelled', reason: 'killed' },
  { kind: 'complete', reason: 'project_complete' },
  { kind: 'complete', reason: 'completion_signals' },
  { kind: 'complete', reason: 'plan_complete' },
  { kind: 'halted', reason: 'permission_denied' },
  { kind: 'halted', reason: 'test_saturation' },
  { kind: 'halted', reason: 'safety' },
  {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: 'no_progress',
    tripped: 'this-run',
    probeAt: END + 30 * MINUTE,
  },
  {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: 'same_error',
    tripped: 'earlier',
    probeAt: END + 5 * MINUTE,
  },
  { kind: 'blocked', reason: 'needs_human' },
  { kind: 'parked', reason: 'calls_per_hour', resumeAt: END + 42 * MINUTE },
  { kind: 'parked', reason: 'tokens_per_hour', resumeAt: END + 42 * MINUTE },
  { kind: 'parked', reason: 'cost_per_day', resumeAt: END + 462 * MINUTE },
  { kind: 'parked', reason: 'usage_limit', resumeAt: END + 185 * MINUTE },
  { kind: 'parked', reason: 'step_circuit', resumeAt: END + 30 * MINUTE, step: 'work' },
  { kind: 'limit', reason: 'iterations' },
  { kind: 'limit', reason: 'minutes' },
  { kind: 'limit', reason: 'cost' },
  { kind: 'limit', reason: 'checks' },
  { kind: 'limit', reason: 'unverified' },
  { kind: 'idle', reason: 'no_tasks' },
  { kind: 'idle', reason: 'all_done' },
  { kind: 'idle', reason: 'not_for_us' },
  { kind: 'idle', reason: 'answered' },
  { kind: 'idle', reason: 'updated', message: 'The label was taken off #12: it is not worked on.' },
  { kind: 'paused', reason: 'by_person', by: 'octocat' },
  { kind: 'refused', reason: 'not_allowed', message: '`/ralph run` by stranger: needs write permission, has read.' },
  {
    kind: 'refused',
    reason: 'another_run',
    message: 'Another run of lane queue saved its state while this one started.',
  },
  {
    kind: 'failed',
    reason: 'configuration',
    message:
      '2 problems:\n- `max-iterations` is `ten`: give a whole number.\n- `verifi` is no input; did you mean `verify`?',
  },
  { kind: 'failed', reason: 'infrastructure', message: 'The push was refused: GitHub said 403.' },
];

/** Returns an open pull request that nothing keeps people from merging. */
export function trainPull(number: number, change: Partial<TrainPull> = {}): TrainPull {
  return {
    ...{ number, branch: `ralph/issue-${String(number)}`, head: 'h', createdAt: number, obstacle: null },
    ...{ needsReview: false, isReviewRequested: false, isArmed: false, conflictsWith: [], behind: 'no', stale: [] },
    ...change,
  };
}
