import { accountOf, computeNameChecksum, type Person, personOf } from './accounts.ts';
import type {
  GitHubState,
  IssueReference,
  StoredCache,
  StoredComment,
  StoredIssue,
  StoredJob,
  StoredLabel,
  StoredPull,
  StoredReaction,
} from './state.ts';

/**
 * Renders the stored data in the form of GitHub's REST API, reduced to what the OpenAPI description requires and what a
 * client may read.
 */
export interface Renderer {
  repository(): object;
  /** Renders an issue; `repository` is `owner/name` and defaults to this repository. */
  issue(issue: StoredIssue, repository?: string): object;
  comment(comment: StoredComment): object;
  /** Returns the relation of an account to the repository. */
  association(person: Person): string;
  label(label: StoredLabel): object;
  reaction(reaction: StoredReaction): object;
  pull(pull: StoredPull): object;
  pullInList(pull: StoredPull): object;
  person(person: Person): object;
  /** Renders an account's public profile. */
  user(login: string): object;
  /** Returns the full URL of an API path. */
  address(path: string): string;
  /** Returns the full URL of a page of the repository. */
  site(path: string): string;
  cache(cache: StoredCache): object;
  job(job: StoredJob): object;
  /** Renders the workflow run of these jobs, which are all of its jobs. */
  workflowRun(jobs: readonly StoredJob[]): object;
  rate(): object;
}

/**
 * Creates a renderer. The stand-in listens at `apiUrl`; the addresses for people point there too, so that none leads to
 * the real site.
 */
export function createRenderer(state: GitHubState, apiUrl: string): Renderer {
  const fullName = `${state.repository.owner}/${state.repository.name}`;
  const api = `${apiUrl}/repos/${fullName}`;
  const site = `${apiUrl}/${fullName}`;
  const issueOf = (number: number) => state.issues.find((issue) => issue.number === number);
  const labelsNamed = (names: readonly string[]) =>
    state.labels.filter((label) => names.includes(label.name)).map(renderer.label);

  const renderer: Renderer = {
    association,
    address: (path) => `${apiUrl}${path}`,
    site: (path) => `${site}${path}`,
    user: (login) => ({
      ...renderer.person(personOf(state, login)),
      ...Object.fromEntries(
        ['name', 'company', 'blog', 'location', 'email', 'hireable', 'bio'].map((key) => [key, null]),
      ),
      ...zeros(['public_repos', 'public_gists', 'followers', 'following']),
      ...Object.fromEntries(['created_at', 'updated_at'].map((key) => [key, instant(0)])),
    }),
    person: ({ login, type: usual }) => {
      const name = encodeURIComponent(login);
      const type = state.accounts.get(login)?.type ?? usual;
      return {
        ...identity('U', accountOf(state, login).id),
        ...addresses(`${apiUrl}/users/${name}`, userAddresses),
        login,
        type,
        html_url: `${apiUrl}/${name}`,
        avatar_url: `${apiUrl}/avatars/${name}`,
        gravatar_id: '',
        site_admin: false,
      };
    },
    repository: () => ({
      ...repositoryJson(state.repository.owner),
      has_discussions: false,
      network_count: 0,
      subscribers_count: 0,
    }),
    label: (label) => ({
      ...identity('LA', label.id),
      url: `${api}/labels/${encodeURIComponent(label.name)}`,
      name: label.name,
      description: label.description,
      color: label.color,
      default: false,
    }),
    issue: (issue, repository = fullName) => {
      const pull =
        repository === fullName ? state.pulls.find((candidate) => candidate.number === issue.number) : undefined;
      return {
        ...issueJson(issue, repository),
        ...relations(issue),
        ...(pull === undefined
          ? {}
          : { draft: pull.draft, pull_request: { ...pullAddresses(pull), merged_at: instant(pull.mergedAt) } }),
      };
    },
    comment: (comment) => ({
      ...identity('IC', comment.id),
      url: `${api}/issues/comments/${String(comment.id)}`,
      html_url: `${site}/issues/${String(comment.issue)}#issuecomment-${String(comment.id)}`,
      issue_url: `${api}/issues/${String(comment.issue)}`,
      body: comment.body,
      user: renderer.person(comment.author),
      created_at: instant(comment.createdAt),
      updated_at: instant(comment.updatedAt),
      author_association: association(comment.author),
    }),
    reaction: (reaction) => ({
      ...identity('REA', reaction.id),
      user: renderer.person(reaction.author),
      content: reaction.content,
      created_at: instant(reaction.createdAt),
    }),
    pullInList: (pull) => pullJson(pull),
    pull: (pull) => ({
      ...pullJson(pull),
      merged: pull.mergedAt !== null,
      merged_by: null,
      mergeable: null,
      mergeable_state: 'unknown',
      maintainer_can_modify: pull.maintainerCanModify,
      ...zeros(['comments', 'review_comments', 'commits', 'additions', 'deletions', 'changed_files']),
    }),
    cache: (cache) => ({
      id: cache.id,
      key: cache.key,
      ref: cache.ref,
      version: cache.version,
      size_in_bytes: cache.sizeInBytes,
      created_at: instant(cache.createdAt),
      last_accessed_at: instant(cache.createdAt),
    }),
    workflowRun: (jobs) => {
      const id = jobs[0]?.runId ?? 0;
      const url = `${api}/actions/runs/${String(id)}`;
      const ends = jobs.map(({ completedAt }) => completedAt);
      const isOver = !ends.includes(null);
      const parts = ['jobs', 'logs', 'check_suite', 'cancel', 'rerun', 'artifacts', 'workflow'];
      return {
        id,
        node_id: `WFR_${String(id)}`,
        ...{ run_number: id, run_attempt: Math.max(...jobs.map(({ runAttempt }) => runAttempt)), workflow_id: 1 },
        ...{ display_title: 'ralph', event: 'schedule', path: '.github/workflows/ralph.yml' },
        ...{ head_branch: state.repository.defaultBranch, head_sha: '0'.repeat(40), head_commit: null },
        status: isOver ? 'completed' : 'in_progress',
        conclusion: isOver ? 'success' : null,
        ...{ url, html_url: `${site}/actions/runs/${String(id)}`, pull_requests: [] },
        ...Object.fromEntries(parts.map((part) => [`${part}_url`, `${url}/${part}`])),
        created_at: instant(Math.min(...jobs.map(({ startedAt }) => startedAt))),
        updated_at: instant(Math.max(...jobs.map(({ startedAt, completedAt }) => completedAt ?? startedAt))),
        repository: renderer.repository(),
        head_repository: renderer.repository(),
      };
    },
    job: (job) => {
      const status = job.completedAt === null ? 'in_progress' : 'completed';
      return {
        id: job.id,
        node_id: `CR_${String(job.id)}`,
        run_id: job.runId,
        run_attempt: job.runAttempt,
        run_url: `${api}/actions/runs/${String(job.runId)}`,
        url: `${api}/actions/jobs/${String(job.id)}`,
        html_url: `${site}/actions/runs/${String(job.runId)}/job/${String(job.id)}`,
        check_run_url: `${api}/check-runs/${String(job.id)}`,
        head_sha: '0'.repeat(40),
        head_branch: state.repository.defaultBranch,
        workflow_name: 'ralph',
        name: job.name,
        status,
        conclusion: job.completedAt === null ? null : 'success',
        created_at: instant(job.startedAt),
        started_at: instant(job.startedAt),
        completed_at: job.completedAt === null ? null : instant(job.completedAt),
        labels: ['ubuntu-latest'],
        runner_id: 1,
        runner_name: job.runnerName,
        runner_group_id: 0,
        runner_group_name: 'GitHub Actions',
        steps: job.steps.map((step, index) => {
          const of = job.completedAt === null ? step.status : status;
          return {
            name: step.name,
            number: index + 1,
            status: of,
            conclusion: of === 'completed' ? 'success' : null,
            started_at: of === 'queued' ? null : instant(job.startedAt),
            completed_at: of === 'completed' ? instant(job.completedAt ?? job.startedAt) : null,
          };
        }),
      };
    },
    rate: () => {
      const core = {
        limit: state.rate.limit,
        remaining: state.rate.remaining,
        used: state.rate.limit - state.rate.remaining,
        reset: Math.floor(state.rate.resetAt / 1000),
      };
      return { rate: core, resources: { core, search: core } };
    },
  };
  return renderer;

  function association(person: Person): string {
    if (person.login === state.repository.owner) return 'OWNER';
    return state.collaborators.has(person.login) ? 'COLLABORATOR' : 'NONE';
  }

  /** Returns an issue's dependencies and sub-issues; an old Enterprise server omits them. */
  function relations({ blockedBy, subIssues }: StoredIssue): object {
    if (!state.settings.dependenciesKnown) return {};
    const total = subIssues.length;
    const completed = total - subIssues.filter(isOpen).length;
    return {
      issue_dependencies_summary: {
        blocked_by: blockedBy.filter(isOpen).length,
        blocking: 0,
        total_blocked_by: blockedBy.length,
        total_blocking: 0,
      },
      sub_issues_summary: {
        total,
        completed,
        percent_completed: total === 0 ? 0 : Math.floor((completed / total) * 100),
      },
    };
  }

  function isOpen(reference: IssueReference): boolean {
    return ('state' in reference ? reference.state : issueOf(reference.number)?.state) === 'open';
  }

  function issueJson(issue: StoredIssue, repository: string): object {
    const home = `${apiUrl}/repos/${repository}`;
    const url = `${home}/issues/${String(issue.number)}`;
    return {
      ...identity('I', issue.id),
      ...addresses(url, ['labels', 'comments', 'events']),
      repository_url: home,
      html_url: `${apiUrl}/${repository}/issues/${String(issue.number)}`,
      number: issue.number,
      title: issue.title,
      body: issue.body,
      state: issue.state,
      state_reason: issue.state === 'closed' ? 'completed' : null,
      locked: issue.locked,
      user: renderer.person(issue.author),
      author_association: association(issue.author),
      labels: labelsNamed(issue.labels),
      assignee: null,
      milestone: null,
      comments: state.comments.filter((comment) => comment.issue === issue.number).length,
      ...lifetime(issue),
    };
  }

  function pullAddresses(pull: StoredPull) {
    const html = `${site}/pull/${String(pull.number)}`;
    return {
      url: `${api}/pulls/${String(pull.number)}`,
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
    };
  }

  function pullJson(pull: StoredPull): object {
    const issue = issueOf(pull.number);
    if (issue === undefined) throw new Error(`The stand-in lost the issue of pull request ${String(pull.number)}.`);
    const at = pullAddresses(pull);
    const links = {
      commits_url: `${at.url}/commits`,
      review_comments_url: `${at.url}/comments`,
      review_comment_url: `${api}/pulls/comments{/number}`,
      comments_url: `${api}/issues/${String(pull.number)}/comments`,
      statuses_url: `${api}/statuses/${pull.headSha}`,
      issue_url: `${api}/issues/${String(pull.number)}`,
    };
    return {
      ...identity('PR', pull.id),
      ...at,
      ...links,
      number: pull.number,
      title: issue.title,
      body: issue.body,
      state: issue.state,
      locked: issue.locked,
      draft: pull.draft,
      user: renderer.person(issue.author),
      author_association: association(issue.author),
      labels: labelsNamed(issue.labels),
      head: side(pull.head, pull.headSha, pull.fork ?? state.repository.owner),
      base: side(pull.base, pull.baseSha, state.repository.owner),
      merged_at: instant(pull.mergedAt),
      merge_commit_sha: null,
      assignee: null,
      milestone: null,
      auto_merge: null,
      ...lifetime(issue),
      _links: {
        self: { href: at.url },
        html: { href: at.html_url },
        issue: { href: links.issue_url },
        comments: { href: links.comments_url },
        commits: { href: links.commits_url },
        statuses: { href: links.statuses_url },
        review_comments: { href: links.review_comments_url },
        review_comment: { href: links.review_comment_url },
      },
    };
  }

  function side(branch: string, sha: string, owner: string): object {
    return {
      label: `${owner}:${branch}`,
      ref: branch,
      sha,
      user: renderer.person({ login: owner, type: 'User' }),
      repo: repositoryJson(owner),
    };
  }

  function repositoryJson(owner: string): object {
    const name = `${owner}/${state.repository.name}`;
    return {
      ...identity('R', computeNameChecksum(name)),
      ...addresses(`${apiUrl}/repos/${name}`, repositoryAddresses),
      name: state.repository.name,
      full_name: name,
      owner: renderer.person({ login: owner, type: 'User' }),
      html_url: `${apiUrl}/${name}`,
      ...Object.fromEntries(
        ['clone_url', 'git_url', 'ssh_url', 'svn_url'].map((key) => [key, `${apiUrl}/${name}.git`]),
      ),
      default_branch: state.repository.defaultBranch,
      private: false,
      fork: owner !== state.repository.owner,
      has_issues: state.settings.issuesEnabled,
      ...Object.fromEntries(
        ['has_projects', 'has_wiki', 'has_pages', 'has_downloads', 'archived', 'disabled'].map((key) => [key, false]),
      ),
      ...Object.fromEntries(['description', 'homepage', 'language', 'license', 'mirror_url'].map((key) => [key, null])),
      ...zeros([
        'forks',
        'forks_count',
        'open_issues',
        'open_issues_count',
        'size',
        'stargazers_count',
        'watchers',
        'watchers_count',
      ]),
      ...Object.fromEntries(['pushed_at', 'created_at', 'updated_at'].map((key) => [key, instant(0)])),
    };
  }
}

const userAddresses = [
  'followers',
  'following',
  'gists',
  'starred',
  'subscriptions',
  'organizations',
  'repos',
  'events',
  'received_events',
];
const repositoryAddresses = [
  ...[
    'archive',
    'assignees',
    'blobs',
    'branches',
    'collaborators',
    'comments',
    'commits',
    'compare',
    'contents',
    'contributors',
    'deployments',
    'downloads',
    'events',
    'forks',
    'git_commits',
    'git_refs',
    'git_tags',
    'hooks',
  ],
  ...[
    'issue_comment',
    'issue_events',
    'issues',
    'keys',
    'labels',
    'languages',
    'merges',
    'milestones',
    'notifications',
    'pulls',
    'releases',
    'stargazers',
    'statuses',
    'subscribers',
    'subscription',
    'tags',
    'teams',
    'trees',
  ],
];

/** Returns `url` and, for each name, one `<name>_url` below it. */
function addresses(url: string, names: readonly string[]): Record<string, string> {
  return { url, ...Object.fromEntries(names.map((name) => [`${name}_url`, `${url}/${name}`])) };
}

function identity(prefix: string, id: number): { readonly id: number; readonly node_id: string } {
  return { id, node_id: `${prefix}_${String(id)}` };
}

function lifetime(issue: StoredIssue): object {
  return {
    created_at: instant(issue.createdAt),
    updated_at: instant(issue.updatedAt),
    closed_at: instant(issue.closedAt),
  };
}

function zeros(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, 0]));
}

/** Formats an instant as GitHub does, without a fraction of a second. */
function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
