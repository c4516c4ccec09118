import type { CheckNow } from '../../core/feedback/pull-request-now.ts';
import { cut, flatten, sentence } from '../../core/text/phrase.ts';
import { graphqlAnswerOf, isGraphqlWeather } from '../graphql/weather.ts';
import { type CommitAnswer, type RunAnswer, shown, type StatusAnswer, type SuiteAnswer } from './pull-request-query.ts';

/** What the token may not read of the checks of a pull request. */
export interface RefusedParts {
  /** Why checks cannot be read, as a sentence; null: they can. */
  readonly checks: string | null;
  /** The same of commit statuses. */
  readonly statuses: string | null;
  /** True if the checks could not be read for now only. */
  readonly isForNow: boolean;
}

/** Nothing was refused. */
const nothingRefused: RefusedParts = { checks: null, statuses: null, isForNow: false };

/** Every way in which a part of the checks can be refused takes these: a run of a workflow is read with `actions`. */
const NEEDED = { checks: ['checks: read', 'actions: read'], statuses: ['statuses: read'] } as const;

type Part = keyof typeof NEEDED;

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

/** GraphQL answers with data and errors at once where a token may read only some of it. Throws where anything but checks was refused, or all. */
export async function besideRefused<Answer extends { readonly repository: object }>(
  answer: Promise<Answer>,
): Promise<{ readonly data: Answer; readonly refused: RefusedParts }> {
  try {
    return { data: await answer, refused: nothingRefused };
  } catch (error) {
    const { errors = [], data: answered = null } = graphqlAnswerOf(error);
    const data = answered as (Omit<Answer, 'repository'> & { readonly repository: Answer['repository'] | null }) | null;
    const found = errors.map((one) => ({
      part: partAt(one.path ?? []),
      message: one.message ?? '',
      isForNow: isGraphqlWeather(one),
    }));
    if (data?.repository == null || found.length === 0 || found.some(({ part }) => part === null)) throw error;
    const why = (wanted: Part): string | null => {
      const first = found.find(({ part }) => part === wanted);
      return first === undefined ? null : whyRefused(first.message, NEEDED[wanted]);
    };
    const isForNow = found.some((one) => one.part === 'checks' && one.isForNow);
    return { data: data as Answer, refused: { checks: why('checks'), statuses: why('statuses'), isForNow } };
  }
}

/** What the field at the end of this path belongs to; null: to neither. */
function partAt(path: readonly unknown[]): Part | null {
  if (path.includes('checkSuites') || path.includes('statusCheckRollup')) return 'checks';
  return path.includes('status') ? 'statuses' : null;
}

function whyRefused(message: string, needed: readonly string[]): string {
  if (!/^Resource not accessible by/i.test(message)) return sentence(`GitHub answers: ${cut(flatten(message), 300)}`);
  const permissions = needed.map((permission) => `\`${permission}\``).join(' and ');
  return `The token may not read them. Add ${permissions} under \`permissions:\` in the workflow, or to the token that the input \`github-token\` gets.`;
}
