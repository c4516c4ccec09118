import { accountOf, computeNameChecksum, type Person } from './github/accounts.ts';
import type {
  StoredReview,
  StoredReviewComment,
  StoredStatus,
  StoredSuite,
  StoredThread,
} from './github/feedback/stored.ts';
import type { GitHubState, StoredPull } from './github/state.ts';

type Event = { readonly name: string; readonly payload: Record<string, unknown> };

/** Payloads of GitHub's events about reviews and checks, reduced to the fields that GitHub always sends. */
export const feedbackEvents = {
  reviewed: (
    state: GitHubState,
    review: StoredReview,
    action: 'submitted' | 'edited' | 'dismissed' = 'submitted',
  ): Event => ({
    name: 'pull_request_review',
    payload: {
      action,
      review: {
        id: review.id,
        node_id: `PRR_${String(review.id)}`,
        user: personJson(state, review.author),
        body: review.body === '' ? null : review.body,
        commit_id: pullOf(state, review.pull).headSha,
        submitted_at: review.submittedAt === null ? null : instant(review.submittedAt),
        state: review.state.toLowerCase(),
        author_association: 'NONE',
      },
      pull_request: pullJson(state, pullOf(state, review.pull)),
      ...around(state, review.author),
    },
  }),

  reviewComment: (
    state: GitHubState,
    { thread, comment }: { readonly thread: StoredThread; readonly comment: StoredReviewComment },
    action: 'created' | 'edited' | 'deleted' = 'created',
  ): Event => {
    const [first] = thread.comments;
    const { headSha } = pullOf(state, thread.pull);
    return {
      name: 'pull_request_review_comment',
      payload: {
        action,
        comment: {
          id: comment.id,
          node_id: `PRRC_${String(comment.id)}`,
          pull_request_review_id: comment.review,
          ...(first === undefined || first.id === comment.id ? {} : { in_reply_to_id: first.id }),
          diff_hunk: thread.hunk,
          path: thread.path,
          line: thread.line,
          start_line: thread.startLine,
          side: thread.side,
          start_side: thread.startSide,
          commit_id: headSha,
          user: personJson(state, comment.author),
          body: comment.body,
          created_at: instant(comment.createdAt),
          updated_at: instant(comment.updatedAt),
          author_association: 'NONE',
        },
        pull_request: pullJson(state, pullOf(state, thread.pull)),
        ...around(state, comment.author),
      },
    };
  },

  /** GitHub starts no workflow for a suite of GitHub Actions itself. */
  checkSuite: (state: GitHubState, suite: StoredSuite): Event => ({
    name: 'check_suite',
    payload: {
      action: 'completed',
      check_suite: {
        ...suiteJson(state, suite),
        before: null,
        after: suite.head,
        app: { slug: suite.app },
        latest_check_runs_count: suite.runs.length,
      },
      ...around(state, { login: `${suite.app}[bot]`, type: 'Bot' }),
    },
  }),

  workflowRun: (state: GitHubState, suite: StoredSuite, action: 'completed' | 'requested' = 'completed'): Event => {
    const { workflow } = suite;
    if (workflow === null) throw new Error(`The suite of ${suite.app} has no workflow.`);
    const file = { name: workflow.name, path: workflow.path };
    return {
      name: 'workflow_run',
      payload: {
        action,
        workflow: { id: workflow.id, ...file, state: 'active' },
        workflow_run: {
          ...suiteJson(state, suite),
          ...file,
          id: workflow.id,
          check_suite_id: suite.id,
          event: workflow.event,
          run_attempt: 1,
          run_number: 1,
          head_repository: here(state),
          repository: here(state),
        },
        ...around(state, { login: 'github-actions[bot]', type: 'Bot' }),
      },
    };
  },

  status: (state: GitHubState, { head, context, ...status }: StoredStatus, by = state.repository.owner): Event => ({
    name: 'status',
    payload: {
      id: 1,
      sha: head,
      name: fullName(state),
      context,
      description: status.description,
      target_url: status.targetUrl,
      state: status.state.toLowerCase(),
      commit: { sha: head },
      branches: headsOf(state, head).map((pull) => ({ name: pull.head, commit: { sha: head } })),
      created_at: instant(status.createdAt),
      updated_at: instant(status.createdAt),
      ...around(state, { login: by, type: 'User' }),
    },
  }),
} as const;

/** Returns the fields that suites and workflow runs have in common. */
function suiteJson(state: GitHubState, suite: StoredSuite): Record<string, unknown> {
  const pulls = headsOf(state, suite.head);
  return {
    id: suite.id,
    head_branch: pulls[0]?.head ?? state.repository.defaultBranch,
    head_sha: suite.head,
    status: suite.status.toLowerCase(),
    conclusion: suite.conclusion?.toLowerCase() ?? null,
    created_at: instant(suite.createdAt),
    updated_at: instant(suite.createdAt),
    // GitHub does not list pull requests from forks.
    pull_requests: pulls
      .filter(({ fork }) => fork === null)
      .map((pull) => ({
        id: pull.id,
        number: pull.number,
        head: { ref: pull.head, sha: pull.headSha, repo: { id: here(state).id } },
        base: { ref: pull.base, sha: pull.baseSha, repo: { id: here(state).id } },
      })),
  };
}

function headsOf({ pulls, issues }: GitHubState, head: string): readonly StoredPull[] {
  const isOpen = (number: number): boolean => issues.some((issue) => issue.number === number && issue.state === 'open');
  return pulls.filter(({ headSha, number }) => headSha === head && isOpen(number));
}

function pullOf({ pulls }: GitHubState, number: number): StoredPull {
  const found = pulls.find((pull) => pull.number === number);
  if (found === undefined) throw new Error(`The stand-in has no pull request ${String(number)}.`);
  return found;
}

function pullJson(state: GitHubState, pull: StoredPull): Record<string, unknown> {
  const issue = state.issues.find(({ number }) => number === pull.number);
  const repo = (owner: string) => ({ name: state.repository.name, full_name: `${owner}/${state.repository.name}` });
  return {
    id: pull.id,
    number: pull.number,
    state: issue?.state ?? 'closed',
    title: issue?.title ?? '',
    body: issue?.body ?? null,
    draft: pull.draft,
    merged_at: pull.mergedAt === null ? null : instant(pull.mergedAt),
    user: issue === undefined ? null : personJson(state, issue.author),
    head: { ref: pull.head, sha: pull.headSha, repo: repo(pull.fork ?? state.repository.owner) },
    base: { ref: pull.base, sha: pull.baseSha, repo: repo(state.repository.owner) },
  };
}

function around(state: GitHubState, by: Person): Record<string, unknown> {
  return { repository: repositoryJson(state), sender: personJson(state, by) };
}

function personJson(state: GitHubState, { login, type }: Person): Record<string, unknown> {
  return { login, id: accountOf(state, login).id, type };
}

function repositoryJson(state: GitHubState): Record<string, unknown> {
  const { owner, defaultBranch } = state.repository;
  return { ...here(state), default_branch: defaultBranch, owner: { login: owner } };
}

function here(state: GitHubState): { readonly id: number; readonly name: string; readonly full_name: string } {
  return { id: computeNameChecksum(fullName(state)), name: state.repository.name, full_name: fullName(state) };
}

function fullName({ repository: { owner, name } }: GitHubState): string {
  return `${owner}/${name}`;
}

function instant(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
