import { cut } from '../../core/text/cut.ts';
import type { CheckNow } from '../../core/feedback/pull-request-now.ts';
import { type CommitAnswer, type RunAnswer, shown, type StatusAnswer, type SuiteAnswer } from './pull-request-query.ts';

/** Of what an app says of a check; GitHub takes 64 KiB of it. */
const MAX_SUMMARY_CHARS = 4_000;

/** All checks of a commit, the oldest first. */
export function checksOf(commit: CommitAnswer | null): readonly CheckNow[] {
  const suites = shown(commit?.checkSuites).flatMap(ofSuite);
  const statuses = (commit?.status?.contexts ?? []).map(ofStatus);
  return [...suites, ...statuses].toSorted(
    (left, right) =>
      (left.at ?? Number.POSITIVE_INFINITY) - (right.at ?? Number.POSITIVE_INFINITY) ||
      (left.id ?? 0) - (right.id ?? 0),
  );
}

/** A suite without a check of its own is one only where a workflow stands behind it: GitHub makes an empty one for every app that might check something. */
function ofSuite(suite: SuiteAnswer): readonly CheckNow[] {
  const { workflowRun: run, app, status, conclusion } = suite;
  const workflow =
    run === null
      ? null
      : { path: run.file?.path ?? null, name: run.workflow.name, run: run.databaseId ?? 0, event: run.event };
  const runs = new Map([...shown(suite.runs), ...shown(suite.failed)].map((one, index) => [idOf(one) ?? -index, one]));
  const checks = [...runs.values()].map((one) => ofRun(one, app?.slug ?? null, workflow));
  // GitHub lets a person approve a run before it makes the run's jobs.
  if (run === null || (checks.length > 0 && conclusion !== 'ACTION_REQUIRED')) return checks;
  const ofAll: CheckNow = {
    of: 'workflow',
    id: null,
    name: run.workflow.name,
    app: app?.slug ?? null,
    workflow,
    result: resultOf(status, conclusion),
    conclusion: (conclusion ?? status).toLowerCase(),
    summary: '',
    url: run.url,
    began: Date.parse(suite.createdAt),
    at: Date.parse(suite.createdAt),
  };
  return [...checks, ofAll];
}

function ofRun(run: RunAnswer, app: string | null, workflow: CheckNow['workflow']): CheckNow {
  const { name, status, conclusion, startedAt, completedAt, detailsUrl: url, title, summary } = run;
  const at = completedAt ?? startedAt;
  return {
    of: 'check-run',
    id: idOf(run),
    name,
    app,
    workflow,
    result: resultOf(status, conclusion),
    conclusion: (conclusion ?? status).toLowerCase(),
    summary: cut([title, summary].filter(Boolean).join('\n\n'), MAX_SUMMARY_CHARS),
    url,
    began: startedAt === null ? null : Date.parse(startedAt),
    at: at === null ? null : Date.parse(at),
  };
}

/** GitHub keeps the newest of each context. */
function ofStatus({ context, state, description, targetUrl: url, createdAt }: StatusAnswer): CheckNow {
  return {
    of: 'status',
    id: null,
    name: context,
    app: null,
    workflow: null,
    result: statusResults[state] ?? 'running',
    conclusion: state.toLowerCase(),
    summary: cut(description ?? '', MAX_SUMMARY_CHARS),
    url,
    began: null,
    at: Date.parse(createdAt),
  };
}

/** Where GraphQL says no number, the address of a job ends in it. */
function idOf({ databaseId, detailsUrl }: RunAnswer): number | null {
  return databaseId ?? (Number(/\/job\/(\d{1,15})$/.exec(detailsUrl ?? '')?.[1] ?? 0) || null);
}

function resultOf(status: string, conclusion: string | null): CheckNow['result'] {
  if (status === 'COMPLETED') return conclusions[conclusion ?? ''] ?? 'skipped';
  return status === 'WAITING' ? 'waiting' : 'running';
}

/** What says nothing of the change does not count: a check that was cancelled, or that GitHub gave up after two weeks. */
const conclusions: Readonly<Record<string, CheckNow['result']>> = {
  SUCCESS: 'passed',
  NEUTRAL: 'passed',
  FAILURE: 'failed',
  TIMED_OUT: 'failed',
  STARTUP_FAILURE: 'failed',
  ACTION_REQUIRED: 'waiting',
  CANCELLED: 'skipped',
  SKIPPED: 'skipped',
  STALE: 'skipped',
};

/** `EXPECTED`: a rule of the branch asks for it, and nothing has reported it. */
const statusResults: Readonly<Record<string, CheckNow['result']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
  PENDING: 'running',
  EXPECTED: 'waiting',
};
