import type { GraphQLError } from 'graphql';
import type { Person } from '../accounts.ts';
import { sliceConnection, formatGithubInstant, type Slice } from '../graphql/graphql-parts.ts';
import type { Call } from '../route.ts';
import type { StoredComment, StoredPull } from '../state.ts';
import type { StoredCheckRun, StoredReview, StoredReviewComment, StoredSuite, StoredThread } from './stored.ts';

/** The data that the fields of all pull requests share. */
interface Surroundings {
  readonly call: Call;
  readonly branches: Readonly<Record<string, string>>;
  readonly actor: (person: Person) => object | null;
  readonly forbidden: () => GraphQLError;
  readonly comment: (comment: StoredComment) => object;
  /** Returns the resolver of the timeline of a pull request or an issue. */
  readonly timeline: (number: number) => unknown;
}

interface RunFilter {
  readonly checkType?: 'ALL' | 'LATEST' | null;
  readonly conclusions?: readonly string[] | null;
}

/** Returns a branch of this repository with its pull requests, or null if it does not exist. */
export function resolveRefFields(at: Surroundings, qualifiedName: string): object | null {
  const { state, token } = at.call;
  const name = qualifiedName.replace(/^refs\/heads\//, '');
  if (at.branches[name] === undefined) return null;
  return {
    __typename: 'Ref',
    name,
    associatedPullRequests: ({ states, ...slice }: Slice & { readonly states?: readonly string[] | null }) => {
      if (token.permissions.pull_requests === undefined) throw at.forbidden();
      const found = state.pulls
        .filter((pull) => pull.fork === null && pull.head === name && (states?.includes(stateOf(at, pull)) ?? true))
        .toSorted((left, right) => right.number - left.number);
      return sliceConnection(
        found.map((pull) => resolvePullFields(at, pull)),
        slice,
      );
    },
  };
}

/** Returns the repository's pull requests, most recently changed first. */
export function resolvePullsFields(
  at: Surroundings,
  { states, slice }: { readonly states: readonly string[] | null; readonly slice: Slice },
): object {
  const { issues, pulls } = at.call.state;
  const updatedAt = ({ number }: StoredPull): number => issues.find((issue) => issue.number === number)?.updatedAt ?? 0;
  const found = pulls
    .filter((pull) => states?.includes(stateOf(at, pull)) ?? true)
    .toSorted((left, right) => updatedAt(right) - updatedAt(left));
  return sliceConnection(
    found.map((pull) => resolvePullFields(at, pull)),
    slice,
  );
}

/** Returns a pull request with the feedback of people and CI. */
export function resolvePullFields(at: Surroundings, pull: StoredPull): object {
  const { state, render } = at.call;
  const base = at.branches[pull.base];
  const head = headOf(at, pull);
  const closedAt = state.issues.find((issue) => issue.number === pull.number)?.closedAt ?? null;
  return {
    __typename: 'PullRequest',
    state: stateOf(at, pull),
    closedAt: closedAt === null ? null : formatGithubInstant(closedAt),
    // The stand-in does not know the merge commit, so it names the head.
    mergeCommit: pull.mergedAt === null ? null : resolveCommitFields(at, pull.headSha),
    id: `PR_${String(pull.id)}`,
    number: pull.number,
    body: state.issues.find((issue) => issue.number === pull.number)?.body ?? '',
    createdAt: formatGithubInstant(
      state.issues.find((issue) => issue.number === pull.number)?.createdAt ?? at.call.now,
    ),
    mergeStateStatus: () => mergeStateOf(at, pull),
    reviewDecision: () => decisionOf(at, pull),
    reviewRequests: (slice: Slice) =>
      sliceConnection(
        pull.reviewers.map((login) => ({ login })),
        slice,
      ),
    latestOpinionatedReviews: ({ writersOnly, ...slice }: Slice & { readonly writersOnly?: boolean | null }) =>
      sliceConnection(
        opinionsOn(at, pull, writersOnly === true).map((review) => reviewFields(at, review)),
        slice,
      ),
    autoMergeRequest: () => {
      const armed = state.autoMerge.get(pull.number);
      return armed === undefined ? null : { enabledAt: formatGithubInstant(armed.at), enabledBy: at.actor(armed.by) };
    },
    isInMergeQueue: state.mergeQueue.has(pull.number),
    timelineItems: at.timeline(pull.number),
    url: render.site(`/pull/${String(pull.number)}`),
    isCrossRepository: pull.fork !== null,
    isDraft: pull.draft,
    headRefName: pull.head,
    headRefOid: head,
    baseRefName: pull.base,
    baseRefOid: base ?? pull.baseSha,
    baseRef: base === undefined ? null : { name: pull.base, target: resolveCommitFields(at, base) },
    mergeable: () => at.call.mergeable({ ...pull, headSha: head, baseSha: base ?? pull.baseSha }),
    commits: (slice: Slice) => sliceConnection([{ commit: resolveCommitFields(at, head) }], slice),
    reviewThreads: (slice: Slice) =>
      sliceConnection(
        state.threads.filter((thread) => thread.pull === pull.number).map((thread) => threadFields(at, thread)),
        slice,
      ),
    comments: (slice: Slice) =>
      sliceConnection(state.comments.filter(({ issue }) => issue === pull.number).map(at.comment), slice),
    reviews: (slice: Slice) =>
      sliceConnection(
        state.reviews
          .filter((review) => review.pull === pull.number && isSeen(at, review))
          .map((review) => reviewFields(at, review)),
        slice,
      ),
  };
}

/**
 * Returns GitHub's merge state, as far as runs need it: BEHIND only if a rule requires an up-to-date branch.
 */
async function mergeStateOf(at: Surroundings, pull: StoredPull): Promise<string> {
  const { state } = at.call;
  const headSha = headOf(at, pull);
  const mergeable = await at.call.mergeable({ ...pull, headSha, baseSha: at.branches[pull.base] ?? pull.baseSha });
  if (mergeable !== 'MERGEABLE') return mergeable === 'CONFLICTING' ? 'DIRTY' : 'UNKNOWN';
  if (pull.draft) return 'BLOCKED';
  if (state.behind.has(pull.number)) return 'BEHIND';
  return ['CHANGES_REQUESTED', 'REVIEW_REQUIRED'].includes(decisionOf(at, pull) ?? '') ? 'BLOCKED' : 'CLEAN';
}

/** Returns the newest opinion of each reviewer, oldest first; a review that only comments does not count. */
function opinionsOn(
  { call: { state } }: Surroundings,
  pull: StoredPull,
  writersOnly: boolean,
): readonly StoredReview[] {
  const opinions = ['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED'];
  const said = state.reviews.filter((review) => review.pull === pull.number && opinions.includes(review.state));
  const isWriter = (login: string): boolean =>
    ['admin', 'write'].includes(state.collaborators.get(login)?.permission ?? 'read');
  const newest = [...new Map(said.map((review) => [review.author.login, review])).values()];
  return newest.filter(({ author }) => !writersOnly || isWriter(author.login));
}

/** Returns the review decision by the rules of the base branch, or null if they require no review. */
function decisionOf(at: Surroundings, pull: StoredPull): string | null {
  const { requiredApprovals } = at.call.state.settings;
  if (requiredApprovals === 0) return null;
  const opinions = opinionsOn(at, pull, true).map(({ state }) => state);
  if (opinions.includes('CHANGES_REQUESTED')) return 'CHANGES_REQUESTED';
  const approvals = opinions.filter((opinion) => opinion === 'APPROVED').length;
  return approvals >= requiredApprovals ? 'APPROVED' : 'REVIEW_REQUIRED';
}

function stateOf({ call: { state } }: Surroundings, { number, mergedAt }: StoredPull): 'OPEN' | 'CLOSED' | 'MERGED' {
  if (mergedAt !== null) return 'MERGED';
  return state.issues.find((issue) => issue.number === number)?.state === 'open' ? 'OPEN' : 'CLOSED';
}

function headOf(at: Surroundings, pull: StoredPull): string {
  return stateOf(at, pull) === 'OPEN' && pull.fork === null ? (at.branches[pull.head] ?? pull.headSha) : pull.headSha;
}

/** True unless the review is still pending; only its author can see a pending review. */
function isSeen({ call }: Surroundings, { state, author }: StoredReview): boolean {
  return state !== 'PENDING' || author.login === call.viewer.login;
}

function threadFields(at: Surroundings, thread: StoredThread): object {
  const { comments, side, startSide, hunk, id, ...fields } = thread;
  return {
    __typename: 'PullRequestReviewThread',
    ...fields,
    id: `PRRT_${String(id)}`,
    diffSide: side,
    startDiffSide: startSide,
    comments: (slice: Slice) =>
      sliceConnection(
        comments.map((comment) => commentFields(at, comment, hunk)),
        slice,
      ),
  };
}

function commentFields({ call: { state }, actor }: Surroundings, comment: StoredReviewComment, hunk: string): object {
  const review = state.reviews.find(({ id }) => id === comment.review);
  return {
    __typename: 'PullRequestReviewComment',
    fullDatabaseId: String(comment.id),
    state: review?.state === 'PENDING' ? 'PENDING' : 'SUBMITTED',
    isMinimized: comment.minimized,
    body: comment.body,
    createdAt: formatGithubInstant(comment.createdAt),
    diffHunk: hunk,
    author: actor(comment.author),
    pullRequestReview: review === undefined ? null : { fullDatabaseId: String(review.id) },
  };
}

function reviewFields({ call: { render }, actor }: Surroundings, review: StoredReview): object {
  const { id, pull, state, body, submittedAt, author } = review;
  return {
    __typename: 'PullRequestReview',
    fullDatabaseId: String(id),
    url: render.site(`/pull/${String(pull)}#pullrequestreview-${String(id)}`),
    state,
    body,
    submittedAt: submittedAt === null ? null : formatGithubInstant(submittedAt),
    author: actor(author),
  };
}

/** Returns a commit with its checks and statuses. */
export function resolveCommitFields(at: Surroundings, oid: string): object {
  const { state, token } = at.call;
  return {
    __typename: 'Commit',
    oid,
    message: 'A commit',
    author: { email: state.emails.get(oid) ?? 'ann@example.com' },
    parents: async (slice: Slice) => {
      const parents = [await at.call.parentOf(oid), state.mergedParents.get(oid) ?? null];
      return sliceConnection(
        parents.filter((parent) => parent !== null).map((parent) => resolveCommitFields(at, parent)),
        slice,
      );
    },
    checkSuites: (slice: Slice) => {
      if (token.permissions.checks === undefined) throw at.forbidden();
      return sliceConnection(
        state.suites.filter(({ head }) => head === oid).map((suite) => suiteFields(at, suite)),
        slice,
      );
    },
    statusCheckRollup: () => {
      if (token.permissions.checks === undefined) throw at.forbidden();
      const rollup = rollupOf(at, oid);
      return rollup === null ? null : { state: rollup };
    },
    status: () => {
      if (token.permissions.statuses === undefined) throw at.forbidden();
      const newest = new Map(state.statuses.filter(({ head }) => head === oid).map((one) => [one.context, one]));
      if (newest.size === 0) return null;
      return {
        contexts: [...newest.values()].map((one) => ({ ...one, createdAt: formatGithubInstant(one.createdAt) })),
      };
    },
  };
}

/** Returns the combined state of all checks and statuses of a commit, or null if none. */
function rollupOf({ call: { state } }: Surroundings, oid: string): string | null {
  const runs = state.suites
    .filter(({ head }) => head === oid)
    .flatMap((suite) => [...new Map(suite.runs.map((run) => [run.name, run])).values()])
    .map(({ status, conclusion }) => (status === 'COMPLETED' ? (conclusion ?? '') : 'PENDING'));
  const statuses = new Map(state.statuses.filter(({ head }) => head === oid).map((one) => [one.context, one.state]));
  const all: readonly string[] = [...runs, ...statuses.values()];
  if (all.length === 0) return null;
  if (all.some((one) => ['FAILURE', 'TIMED_OUT', 'STARTUP_FAILURE', 'CANCELLED', 'ERROR'].includes(one)))
    return 'FAILURE';
  return all.some((one) => ['PENDING', 'EXPECTED', 'ACTION_REQUIRED'].includes(one)) ? 'PENDING' : 'SUCCESS';
}

function suiteFields(at: Surroundings, suite: StoredSuite): object {
  const { render, token } = at.call;
  const { workflow } = suite;
  return {
    __typename: 'CheckSuite',
    databaseId: suite.id,
    status: suite.status,
    conclusion: suite.conclusion,
    createdAt: formatGithubInstant(suite.createdAt),
    url: render.site(`/commit/${suite.head}/checks?check_suite_id=${String(suite.id)}`),
    app: { slug: suite.app },
    workflowRun: () => {
      if (workflow === null) return null;
      if (token.permissions.actions === undefined) throw at.forbidden();
      return {
        databaseId: workflow.id,
        event: workflow.event,
        url: render.site(`/actions/runs/${String(workflow.id)}`),
        workflow: { name: workflow.name },
        file: { path: workflow.path },
      };
    },
    checkRuns: ({ filterBy, ...slice }: Slice & { readonly filterBy?: RunFilter | null }) =>
      sliceConnection(
        filtered(suite.runs, filterBy ?? {}).map((run) => runFields(at, run, suite)),
        slice,
      ),
  };
}

/** GitHub lists the newest first. */
function filtered(
  runs: readonly StoredCheckRun[],
  { checkType = 'LATEST', conclusions }: RunFilter,
): readonly StoredCheckRun[] {
  const wanted = checkType === 'ALL' ? runs : [...new Map(runs.map((run) => [run.name, run])).values()];
  return wanted.filter(({ conclusion }) => conclusions?.includes(conclusion ?? '') ?? true).toReversed();
}

function runFields({ call: { render } }: Surroundings, run: StoredCheckRun, { workflow }: StoredSuite): object {
  const { id, name, status, conclusion, startedAt, completedAt, title, summary } = run;
  return {
    __typename: 'CheckRun',
    ...{ databaseId: id, name, status, conclusion, title, summary },
    startedAt: formatGithubInstant(startedAt),
    completedAt: completedAt === null ? null : formatGithubInstant(completedAt),
    detailsUrl:
      workflow === null
        ? render.site(`/runs/${String(id)}`)
        : render.site(`/actions/runs/${String(workflow.id)}/job/${String(id)}`),
  };
}
