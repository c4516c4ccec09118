import { type KnownAccounts, type Person, personOf } from './accounts.ts';
import type { StoredReview, StoredStatus, StoredSuite, StoredThread } from './feedback/stored.ts';

/**
 * The whole state of the GitHub stand-in. Tests and the testbed read it, and change it as people would. Instants in ms.
 */
export interface GitHubState extends KnownAccounts {
  readonly repository: { readonly owner: string; readonly name: string; readonly defaultBranch: string };
  readonly settings: Settings;
  /** The budget of REST and the separate one of GraphQL. */
  readonly rate: Rate;
  readonly graphqlRate: Rate;
  /**
   * Permissions by login; other logins have none. Role names are GitHub's: admin, maintain, write, triage, read, or a
   * custom one.
   */
  readonly collaborators: Map<string, { readonly permission: 'admin' | 'write' | 'read'; readonly roleName: string }>;
  readonly labels: StoredLabel[];
  /** Pull requests are issues too: each has an entry here and one of the same number in `pulls`. */
  readonly issues: StoredIssue[];
  readonly pulls: StoredPull[];
  /** Issues that were deleted or transferred, by number. */
  readonly gone: Map<number, Gone>;
  /** Texts of files of other repositories that any token may read, by `OWNER/REPO:PATH`. */
  readonly filesElsewhere: Map<string, string>;
  readonly comments: StoredComment[];
  readonly reviews: StoredReview[];
  readonly threads: StoredThread[];
  readonly suites: StoredSuite[];
  /** The statuses, oldest first; the newest of each context counts. */
  readonly statuses: StoredStatus[];
  /** Mergeability of pull requests by number; for others it is determined from the branches. */
  readonly mergeable: Map<number, Mergeability>;
  /** Pull requests with auto-merge armed, by number, with the person who armed it and the instant. */
  readonly autoMerge: Map<number, { readonly by: Person; readonly at: number }>;
  /** Pull requests in the merge queue, by number. */
  readonly mergeQueue: Set<number>;
  /** Numbers of pull requests that a rule blocks until they contain the newest base. */
  readonly behind: Set<number>;
  /** First parents of commits, by commit id; for others they are looked up. */
  readonly parents: Map<string, string>;
  /** Second parents of merges, by commit id. */
  readonly mergedParents: Map<string, string>;
  /** Email addresses of commit authors, by commit id; all other commits have a person's address. */
  readonly emails: Map<string, string>;
  /** Closed issues that the search index still lists as open. */
  readonly stillIndexed: Set<number>;
  readonly reactions: StoredReaction[];
  /** Jobs of workflow runs. */
  readonly jobs: StoredJob[];
  /** The Actions caches, unless a cache service keeps them. */
  readonly caches: StoredCache[];
  readonly setUp: SetUp;
  nextId: number;
}

export type Mergeability = 'MERGEABLE' | 'CONFLICTING' | 'UNKNOWN';

/** Repository switches that change the API's answers. */
interface Settings {
  /** "Allow GitHub Actions to create and approve pull requests". */
  actionsMayOpenPullRequests: boolean;
  issuesEnabled: boolean;
  draftsSupported: boolean;
  /** False on an old Enterprise server, which does not know issue dependencies and sub-issues. */
  dependenciesKnown: boolean;
  /** Number of approvals that the base branch's rules require; 0 without such a rule. */
  requiredApprovals: number;
  /** The word for a pull request that could be merged at once, in the refusal to arm auto-merge. */
  mergeableWord: 'clean' | 'unstable' | 'has_hooks';
  autoMergeAllowed: boolean;
  /** True if a ruleset of the default branch requires pull requests to be up to date. */
  mustBeCurrent: boolean;
  /** GraphQL fields that the server does not know; an old Enterprise server lacks some. */
  readonly unknownFields: string[];
}

/** The settings that people make in a repository. */
interface SetUp {
  /** True if a workflow without `permissions` gets a token that may write. */
  workflowsWrite: boolean;
  /** The names of the secrets. */
  readonly secrets: string[];
  readonly organizationSecrets: string[];
  readonly workflows: { readonly path: string; state: 'active' | 'disabled_inactivity' | 'disabled_manually' }[];
  /** Rules of rulesets. `branch` is the only branch that a rule applies to; without it, all branches. */
  readonly rules: { readonly type: string; readonly ruleset: number; readonly branch?: string }[];
  readonly pushRulesets: { readonly id: number; readonly name: string }[];
  /** Classic branch protections by branch, in the form of GitHub's answer. */
  readonly protections: Map<string, object>;
}

export interface Rate {
  readonly limit: number;
  remaining: number;
  resetAt: number;
}

export type Gone =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'transferred'; readonly to: string; readonly number: number };

export interface StoredLabel {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string;
}

/** An event of an issue's timeline, caused by `by`. */
export type StoredEvent = { readonly by: Person; readonly at: number } & (
  | { readonly kind: 'labeled' | 'unlabeled'; readonly label: string }
  | { readonly kind: 'renamed'; readonly from: string; readonly to: string }
  /** The issue got, or lost, a property that a search can name. */
  | { readonly kind: GivenKind; readonly what: string; readonly before: string | null }
  | { readonly kind: 'closed' | 'reopened' | 'base-deleted' | 'armed' | 'disarmed' }
);

/** Properties that an issue can get besides labels; `type` is the issue's only type. */
export type GivenField = 'assignee' | 'milestone' | 'type' | 'project';
type GivenKind = `${GivenField}-set` | `${GivenField}-unset`;

export interface StoredEdit {
  readonly by: Person;
  readonly at: number;
}

/**
 * An issue of this repository or, if `repository` (`owner/name`) is set, of another one, of which only the state is
 * known.
 */
export type IssueReference =
  | { readonly number: number }
  | { readonly number: number; readonly repository: string; readonly state: 'open' | 'closed' };

export interface StoredIssue {
  readonly id: number;
  readonly number: number;
  readonly author: Person;
  readonly createdAt: number;
  title: string;
  body: string;
  labels: string[];
  state: 'open' | 'closed';
  locked: boolean;
  readonly assignees: string[];
  /** Titles of its milestone and type, and its projects as `owner/number`. */
  readonly given: Record<Exclude<GivenField, 'assignee'>, string[]>;
  updatedAt: number;
  closedAt: number | null;
  /** The events, oldest first like `edits`, which are the changes of the body. */
  readonly events: StoredEvent[];
  readonly edits: (StoredEdit & { readonly before: string; readonly text: string })[];
  readonly blockedBy: IssueReference[];
  readonly subIssues: IssueReference[];
}

export interface StoredPull {
  readonly id: number;
  readonly number: number;
  readonly head: string;
  /** Owner of the fork that contains the head, or null for this repository. */
  readonly fork: string | null;
  readonly maintainerCanModify: boolean;
  base: string;
  draft: boolean;
  /** The head commit, which follows the branch while the pull request is open. */
  headSha: string;
  baseSha: string;
  mergedAt: number | null;
  /** Requested reviewers: logins and `team:SLUG`. */
  readonly reviewers: string[];
}

export interface StoredComment {
  readonly id: number;
  readonly issue: number;
  readonly author: Person;
  readonly createdAt: number;
  body: string;
  updatedAt: number;
  /** The last edit by a person or a token, or null if none. */
  edited: StoredEdit | null;
  minimized: boolean;
}

export interface StoredReaction {
  readonly id: number;
  readonly on:
    | { readonly kind: 'issue'; readonly number: number }
    | { readonly kind: 'comment' | 'review' | 'review-comment'; readonly id: number };
  readonly author: Person;
  readonly content: string;
  readonly createdAt: number;
}

export interface StoredJob {
  readonly id: number;
  readonly runId: number;
  readonly runAttempt: number;
  readonly name: string;
  readonly runnerName: string;
  readonly startedAt: number;
  /** The time of completion, or null while it runs. */
  completedAt: number | null;
  readonly steps: readonly StoredStep[];
}

interface StoredStep {
  readonly name: string;
  readonly status: 'queued' | 'in_progress' | 'completed';
}

export interface StoredCache {
  readonly id: number;
  readonly key: string;
  readonly ref: string;
  readonly version: string;
  readonly sizeInBytes: number;
  readonly createdAt: number;
}

/** The list of the repository's Actions caches. */
export interface CacheShelf {
  list(): readonly StoredCache[];
  remove(cache: StoredCache): void;
}

export function shelfOf(caches: StoredCache[]): CacheShelf {
  return { list: () => caches, remove: (cache) => void caches.splice(caches.indexOf(cache), 1) };
}

export function createState(repository: GitHubState['repository'], now: number): GitHubState {
  return {
    repository,
    settings: {
      ...{ actionsMayOpenPullRequests: true, issuesEnabled: true, draftsSupported: true, dependenciesKnown: true },
      ...{
        requiredApprovals: 0,
        mergeableWord: 'clean',
        autoMergeAllowed: true,
        mustBeCurrent: false,
        unknownFields: [],
      },
    },
    // GITHUB_TOKEN's limit is 1,000 requests an hour per repository.
    rate: { limit: 1000, remaining: 1000, resetAt: now + 3_600_000 },
    graphqlRate: { limit: 1000, remaining: 1000, resetAt: now + 3_600_000 },
    accounts: new Map(),
    collaborators: new Map([[repository.owner, { permission: 'admin', roleName: 'admin' }]]),
    labels: [],
    issues: [],
    pulls: [],
    gone: new Map(),
    filesElsewhere: new Map(),
    comments: [],
    reviews: [],
    threads: [],
    suites: [],
    statuses: [],
    mergeable: new Map(),
    autoMerge: new Map(),
    mergeQueue: new Set(),
    behind: new Set(),
    parents: new Map(),
    mergedParents: new Map(),
    emails: new Map(),
    stillIndexed: new Set(),
    reactions: [],
    jobs: [],
    caches: [],
    setUp: {
      workflowsWrite: false,
      secrets: [],
      organizationSecrets: [],
      workflows: [],
      rules: [],
      pushRulesets: [],
      protections: new Map(),
    },
    nextId: 1,
  };
}

/**
 * Opens an issue as `author` would on the site. `labelledBy` adds its labels at once; the default is the author, or the
 * owner if the author may not write.
 */
export function addIssue(
  state: GitHubState,
  issue: {
    readonly title: string;
    readonly body: string;
    readonly labels: readonly string[];
    readonly author: string;
    readonly labelledBy?: string;
  },
  now: number,
): StoredIssue {
  const labels = issue.labels.map((label) => ensureLabel(state, label).name);
  const added = createStoredIssue(
    state,
    { title: issue.title, body: issue.body, author: personOf(state, issue.author) },
    now,
  );
  const by = personOf(
    state,
    issue.labelledBy ?? (mayWrite(state, issue.author) ? issue.author : state.repository.owner),
  );
  added.labels.push(...labels);
  added.events.push(...labels.map((label) => ({ kind: 'labeled', label, by, at: now }) as const));
  return added;
}

/** Creates an open issue, or the part of a pull request that is an issue. */
export function createStoredIssue(
  state: GitHubState,
  { title, body, author }: Pick<StoredIssue, 'title' | 'body' | 'author'>,
  now: number,
): StoredIssue {
  const added: StoredIssue = {
    ...blankIssue(),
    id: createStoredId(state),
    number: nextNumber(state),
    author,
    createdAt: now,
    updatedAt: now,
    title,
    body,
  };
  state.issues.push(added);
  return added;
}

/** Creates an issue of another repository, with the few fields that the stand-in knows. */
export function createStrangeIssue({
  number,
  state,
}: {
  readonly number: number;
  readonly state: 'open' | 'closed';
}): StoredIssue {
  return { ...blankIssue(), number, state, closedAt: state === 'closed' ? 0 : null };
}

function blankIssue(): StoredIssue {
  return {
    id: 0,
    number: 0,
    author: { login: 'somebody', type: 'User' },
    createdAt: 0,
    title: 'An issue',
    body: '',
    labels: [],
    state: 'open',
    locked: false,
    assignees: [],
    given: { milestone: [], type: [], project: [] },
    updatedAt: 0,
    closedAt: null,
    events: [],
    edits: [],
    blockedBy: [],
    subIssues: [],
  };
}

function mayWrite(state: GitHubState, login: string): boolean {
  return ['admin', 'write'].includes(state.collaborators.get(login)?.permission ?? 'read');
}

/** Writes a comment as `author` would. */
export function addComment(
  state: GitHubState,
  comment: { readonly issue: number; readonly body: string; readonly author: Person },
  now: number,
): StoredComment {
  const { issue, body, author } = comment;
  const added: StoredComment = {
    id: createStoredId(state),
    issue,
    author,
    createdAt: now,
    body,
    updatedAt: now,
    edited: null,
    minimized: false,
  };
  state.comments.push(added);
  return added;
}

/**
 * Closes or merges an open pull request as the owner would; the git remote moves the base branch. A merge closes the
 * issues that the body names with a closing keyword.
 */
export function closePull(
  state: GitHubState,
  number: number,
  how: { readonly kind: 'merged' | 'closed'; readonly at: number },
): void {
  const pull = state.pulls.find((candidate) => candidate.number === number);
  const issue = state.issues.find((candidate) => candidate.number === number);
  if (pull === undefined || issue === undefined) throw new Error(`The stand-in has no pull request ${String(number)}.`);
  pull.mergedAt = how.kind === 'merged' ? how.at : null;
  const isMerged = how.kind === 'merged' && pull.base === state.repository.defaultBranch;
  const closed = isMerged
    ? [...issue.body.matchAll(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? #(\d+)/gi)].map((match) =>
        Number(match[1]),
      )
    : [];
  for (const ended of state.issues.filter(
    (candidate) => candidate.state === 'open' && [number, ...closed].includes(candidate.number),
  )) {
    ended.events.push({ kind: 'closed', by: personOf(state, state.repository.owner), at: how.at });
    Object.assign(ended, { state: 'closed', closedAt: how.at, updatedAt: how.at });
  }
}

/** Returns the label, and creates it at its first use as GitHub does. Names are compared without case. */
export function ensureLabel(state: GitHubState, name: string): StoredLabel {
  const known = state.labels.find((label) => isSameName(label.name, name));
  if (known !== undefined) return known;
  const added: StoredLabel = { id: createStoredId(state), name, color: 'ededed', description: '' };
  state.labels.push(added);
  return added;
}

export function isSameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** Starts a job that is in the step with the action, and returns it. */
export function startJob(
  state: GitHubState,
  job: Pick<StoredJob, 'runId' | 'runAttempt' | 'runnerName'>,
  now: number,
): StoredJob {
  const steps = [
    { name: 'Set up job', status: 'completed' },
    { name: 'Run actions/checkout@v6', status: 'completed' },
    { name: 'Run ralph', status: 'in_progress' },
    { name: 'Post Run ralph', status: 'queued' },
  ] as const;
  const added: StoredJob = {
    ...job,
    id: createStoredId(state),
    name: 'ralph',
    startedAt: now,
    completedAt: null,
    steps,
  };
  state.jobs.push(added);
  return added;
}

export function createStoredId(state: GitHubState): number {
  return state.nextId++;
}

/** Returns the next number. Issues and pull requests share one sequence, and no number is used twice. */
function nextNumber(state: GitHubState): number {
  return Math.max(0, ...state.issues.map((issue) => issue.number), ...state.gone.keys()) + 1;
}
