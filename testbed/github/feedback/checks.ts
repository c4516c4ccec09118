import { computeNameChecksum } from '../accounts.ts';
import { type GitHubState, createStoredId } from '../state.ts';
import type {
  Conclusion,
  Status,
  StoredAnnotation,
  StoredCheckRun,
  StoredCheckStep,
  StoredLog,
  StoredStatus,
  StoredSuite,
  StoredWorkflowRun,
} from './stored.ts';

interface Step {
  readonly name: string;
  readonly conclusion?: StoredCheckStep['conclusion'];
  /** The lines that the step writes to the log. */
  readonly lines?: readonly string[];
}

/** Duration of each step of a stand-in's job. */
export const STEP_MS = 10_000;

/** A check as a workflow or an app would report it. */
export interface ReportedCheck {
  readonly head: string;
  readonly name: string;
  /** The workflow that ran the check, or null for a check of another app. */
  readonly workflow?: { readonly name: string; readonly path?: string; readonly event?: string } | null;
  readonly app?: string;
  /** The conclusion, or null while the check runs. */
  readonly conclusion: Conclusion | null;
  readonly status?: Status;
  readonly title?: string;
  readonly summary?: string;
  readonly annotations?: readonly StoredAnnotation[];
  /** The steps, ten seconds each; by default a set-up step and one step with the conclusion of the job. */
  readonly steps?: readonly Step[];
  /** Lines of the failing step, if `steps` have none; or the whole log as GitHub keeps it. */
  readonly log?: string | StoredLog;
}

/**
 * Reports a check. It joins an existing suite of the same head and workflow, where a check of the same name counts as
 * run again.
 */
export function addCheck(state: GitHubState, check: ReportedCheck, reportedAt: number): StoredCheckRun {
  const { workflow = { name: 'CI' }, conclusion } = check;
  const app = workflow === null ? (check.app ?? 'some-ci') : 'github-actions';
  const suite = suiteOf(state, { head: check.head, app, workflow }, reportedAt);
  // A check can only be run again after it has ended.
  const before = suite.runs.findLast(({ name }) => name === check.name);
  const now = Math.max(reportedAt, before?.completedAt ?? 0);
  const steps = check.steps ?? usualSteps(check);
  const run: StoredCheckRun = {
    id: createStoredId(state),
    name: check.name,
    status: check.status ?? (conclusion === null ? 'IN_PROGRESS' : 'COMPLETED'),
    conclusion,
    startedAt: now,
    completedAt: conclusion === null ? null : now + steps.length * STEP_MS,
    title: check.title ?? null,
    summary: check.summary ?? null,
    annotations: check.annotations ?? [],
    steps: steps.map(({ name, conclusion: ended = 'success' }, index) => ({
      name,
      conclusion: ended,
      startedAt: now + index * STEP_MS,
      completedAt: now + (index + 1) * STEP_MS,
    })),
    log: typeof check.log === 'object' ? check.log : { kind: 'text', content: logOf(steps, now) },
  };
  suite.runs.push(run);
  settle(suite);
  return run;
}

/** Adds a workflow run without jobs: it waits for a person, has not started yet, or its file is invalid. */
export function addWorkflowRun(
  state: GitHubState,
  run: {
    readonly head: string;
    readonly workflow: NonNullable<ReportedCheck['workflow']>;
    readonly status: Status;
    readonly conclusion: Conclusion | null;
  },
  now: number,
): StoredSuite {
  const suite = suiteOf(state, { head: run.head, app: 'github-actions', workflow: run.workflow }, now);
  return Object.assign(suite, { status: run.status, conclusion: run.conclusion });
}

export function addStatus(
  state: GitHubState,
  status: Pick<StoredStatus, 'head' | 'context' | 'state'> & Partial<Pick<StoredStatus, 'description' | 'targetUrl'>>,
  now: number,
): StoredStatus {
  const added: StoredStatus = { description: null, targetUrl: null, ...status, createdAt: now };
  state.statuses.push(added);
  return added;
}

/** Returns the job with this id and its suite, or null if none. */
export function checkRunOf(
  state: GitHubState,
  id: number,
): { readonly run: StoredCheckRun; readonly suite: StoredSuite } | null {
  for (const suite of state.suites) {
    const run = suite.runs.find((candidate) => candidate.id === id);
    if (run !== undefined) return { run, suite };
  }
  return null;
}

function suiteOf(
  state: GitHubState,
  { head, app, workflow }: Pick<StoredSuite, 'head' | 'app'> & Required<Pick<ReportedCheck, 'workflow'>>,
  now: number,
): StoredSuite {
  // Two workflows may have the same name.
  const path = workflow === null ? undefined : pathOf(workflow);
  const isSame = (suite: StoredSuite): boolean =>
    suite.head === head && suite.app === app && suite.workflow?.path === path;
  const known = state.suites.find(isSame);
  if (known !== undefined) return known;
  const added: StoredSuite = {
    id: createStoredId(state),
    head,
    app,
    workflow: workflow === null ? null : workflowRun(state, workflow),
    status: 'QUEUED',
    conclusion: null,
    createdAt: now,
    runs: [],
  };
  state.suites.push(added);
  return added;
}

function workflowRun(state: GitHubState, workflow: NonNullable<ReportedCheck['workflow']>): StoredWorkflowRun {
  const { name, event = 'pull_request' } = workflow;
  return { id: createStoredId(state), name, path: pathOf(workflow), event };
}

function pathOf({ name, path }: NonNullable<ReportedCheck['workflow']>): string {
  return path ?? `.github/workflows/${name.toLowerCase()}.yml`;
}

/** Sets the conclusion of a suite from the newest run of each name. */
function settle(suite: StoredSuite): void {
  const newest = [...new Map(suite.runs.map((run) => [run.name, run])).values()];
  if (newest.some(({ status }) => status !== 'COMPLETED')) {
    Object.assign(suite, { status: 'IN_PROGRESS', conclusion: null });
    return;
  }
  const bad = newest.find(({ conclusion }) => !['SUCCESS', 'NEUTRAL', 'SKIPPED'].includes(conclusion ?? ''));
  Object.assign(suite, { status: 'COMPLETED', conclusion: bad?.conclusion ?? 'SUCCESS' });
}

function usualSteps({ conclusion, log }: ReportedCheck): readonly Step[] {
  const ended = conclusion === 'SUCCESS' ? 'success' : conclusion === 'TIMED_OUT' ? 'cancelled' : 'failure';
  const lines = typeof log === 'string' ? log.split('\n') : [`##[group]Run npm test`, `##[error]Process completed`];
  return [
    { name: 'Set up job', lines: ['Current runner version'] },
    { name: 'Run npm test', conclusion: ended, lines },
    { name: 'Complete job', lines: ['Cleaning up orphan processes'] },
  ];
}

/** Every line begins with the instant at which it was written. */
function logOf(steps: readonly Step[], startedAt: number): string {
  return steps
    .flatMap(({ lines = [] }, index) => {
      const at = new Date(startedAt + index * STEP_MS + 1000).toISOString().replace('Z', '0000Z');
      return lines.map((line) => `${at} ${line}\n`);
    })
    .join('');
}

/** Returns the key in the address of a log, which opens it. */
export function signatureOf(run: StoredCheckRun): string {
  return computeNameChecksum(`log ${String(run.id)}`).toString(16);
}
