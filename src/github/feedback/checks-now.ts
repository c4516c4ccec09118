import type { CheckNow } from '../../core/feedback/pull-request-now.ts';
import { cutText, flattenText, completeSentence } from '../../core/text/phrase.ts';
import { extractGraphqlAnswer, isServerFailure } from '../graphql/errors.ts';
import {
  type CommitAnswer,
  type CheckRunAnswer,
  keepShownEntries,
  type StatusAnswer,
  type SuiteAnswer,
} from './pull-request-query.ts';

/** The parts of a pull request's checks that the token may not read. */
export interface RefusedParts {
  /** A sentence with the reason why checks cannot be read, or null if they can be read. */
  readonly checks: string | null;
  /** A sentence with the reason why commit statuses cannot be read, or null if they can be read. */
  readonly statuses: string | null;
  /** True if the checks are unreadable only temporarily. */
  readonly isTemporary: boolean;
}

const nothingRefused: RefusedParts = { checks: null, statuses: null, isTemporary: false };

/** The permissions that each part requires; a workflow run is read with `actions`. */
const NEEDED = { checks: ['checks: read', 'actions: read'], statuses: ['statuses: read'] } as const;

type Part = keyof typeof NEEDED;

/** Maximum length of an app's text about a check; GitHub accepts 64 KiB. */
const MAX_SUMMARY_CHARS = 4_000;

/** Returns all checks of a commit, oldest first. */
export function listChecks(commit: CommitAnswer | null): readonly CheckNow[] {
  const suites = keepShownEntries(commit?.checkSuites).flatMap(ofSuite);
  const statuses = (commit?.status?.contexts ?? []).map(ofStatus);
  return [...suites, ...statuses].toSorted(
    (left, right) =>
      (left.at ?? Number.POSITIVE_INFINITY) - (right.at ?? Number.POSITIVE_INFINITY) ||
      (left.id ?? 0) - (right.id ?? 0),
  );
}

/**
 * Returns the checks of a suite. An empty suite becomes a check only if it belongs to a workflow, because GitHub
 * creates an empty suite for every app that might check something.
 */
function ofSuite(suite: SuiteAnswer): readonly CheckNow[] {
  const { workflowRun: run, app, status, conclusion } = suite;
  const workflow =
    run === null
      ? null
      : { path: run.file?.path ?? null, name: run.workflow.name, run: run.databaseId ?? 0, event: run.event };
  const runs = new Map(
    [...keepShownEntries(suite.runs), ...keepShownEntries(suite.failed)].map((one, index) => [
      idOf(one) ?? -index,
      one,
    ]),
  );
  const checks = [...runs.values()].map((one) => ofRun(one, app?.slug ?? null, workflow));
  // A run that waits for a person's approval has no jobs yet, so report the suite itself.
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

function ofRun(run: CheckRunAnswer, app: string | null, workflow: CheckNow['workflow']): CheckNow {
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
    summary: cutText([title, summary].filter(Boolean).join('\n\n'), MAX_SUMMARY_CHARS),
    url,
    began: startedAt === null ? null : Date.parse(startedAt),
    at: at === null ? null : Date.parse(at),
  };
}

/** Returns a commit status as a check; GitHub keeps only the newest of each context. */
function ofStatus({ context, state, description, targetUrl: url, createdAt }: StatusAnswer): CheckNow {
  return {
    of: 'status',
    id: null,
    name: context,
    app: null,
    workflow: null,
    result: statusResults[state] ?? 'running',
    conclusion: state.toLowerCase(),
    summary: cutText(description ?? '', MAX_SUMMARY_CHARS),
    url,
    began: null,
    at: Date.parse(createdAt),
  };
}

/** Returns the id of a check run. If GraphQL gives no number, takes it from the end of the job's address. */
function idOf({ databaseId, detailsUrl }: CheckRunAnswer): number | null {
  return databaseId ?? (Number(/\/job\/(\d{1,15})$/.exec(detailsUrl ?? '')?.[1] ?? 0) || null);
}

function resultOf(status: string, conclusion: string | null): CheckNow['result'] {
  if (status === 'COMPLETED') return conclusions[conclusion ?? ''] ?? 'skipped';
  return status === 'WAITING' ? 'waiting' : 'running';
}

/**
 * The result of each conclusion. A check that was cancelled, or that GitHub gave up on after two weeks, says nothing
 * about the change and is ignored.
 */
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

/**
 * The result of each status. `EXPECTED` means that a rule of the branch requires the status and nothing has reported
 * it.
 */
const statusResults: Readonly<Record<string, CheckNow['result']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
  PENDING: 'running',
  EXPECTED: 'waiting',
};

/**
 * Returns the data of an answer and the parts that this token may not read, for which GraphQL returns errors together
 * with the data. Throws if anything other than checks and statuses was refused, or everything.
 */
export async function readAllowedParts<Answer extends { readonly repository: object }>(
  answer: Promise<Answer>,
): Promise<{ readonly data: Answer; readonly refused: RefusedParts }> {
  try {
    return { data: await answer, refused: nothingRefused };
  } catch (error) {
    const { errors = [], data: answered = null } = extractGraphqlAnswer(error);
    const data = answered as (Omit<Answer, 'repository'> & { readonly repository: Answer['repository'] | null }) | null;
    const found = errors.map((one) => ({
      part: partAt(one.path ?? []),
      message: one.message ?? '',
      isTemporary: isServerFailure(one),
    }));
    if (data?.repository == null || found.length === 0 || found.some(({ part }) => part === null)) throw error;
    const why = (wanted: Part): string | null => {
      const first = found.find(({ part }) => part === wanted);
      return first === undefined ? null : whyRefused(first.message, NEEDED[wanted]);
    };
    const isTemporary = found.some((one) => one.part === 'checks' && one.isTemporary);
    return { data: data as Answer, refused: { checks: why('checks'), statuses: why('statuses'), isTemporary } };
  }
}

/** Returns the part to which the field at the end of this path belongs, or null if it belongs to neither part. */
function partAt(path: readonly unknown[]): Part | null {
  if (path.includes('checkSuites') || path.includes('statusCheckRollup')) return 'checks';
  return path.includes('status') ? 'statuses' : null;
}

function whyRefused(message: string, needed: readonly string[]): string {
  if (!/^Resource not accessible by/i.test(message))
    return completeSentence(`GitHub answers: ${cutText(flattenText(message), 300)}`);
  const permissions = needed.map((permission) => `\`${permission}\``).join(' and ');
  return `The token may not read them. Add ${permissions} under \`permissions:\` in the workflow, or to the token that the input \`github-token\` gets.`;
}
