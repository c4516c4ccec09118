/** Everything that the GitHub stand-in remembers. Tests and the sandbox read it, and change it as people would. Instants in ms. */
export interface GitHubState {
  readonly repository: { readonly owner: string; readonly name: string; readonly defaultBranch: string };
  readonly settings: Settings;
  readonly rate: { readonly limit: number; remaining: number; resetAt: number };
  /** Permission by login; who is not named has none. Role names of GitHub: admin, maintain, write, triage, read, or an own one. */
  readonly collaborators: Map<string, { readonly permission: 'admin' | 'write' | 'read'; readonly roleName: string }>;
  readonly labels: StoredLabel[];
  /** Pull requests are issues too: each has an entry here and one of the same number in `pulls`. */
  readonly issues: StoredIssue[];
  readonly pulls: StoredPull[];
  readonly comments: StoredComment[];
  readonly reactions: StoredReaction[];
  /** Unless a cache service keeps them. */
  readonly caches: StoredCache[];
  nextId: number;
}

/** The switches of a repository that change what the API answers. */
export interface Settings {
  /** "Allow GitHub Actions to create and approve pull requests". */
  actionsMayOpenPullRequests: boolean;
  issuesEnabled: boolean;
  draftsSupported: boolean;
}

export interface Person {
  readonly login: string;
  readonly type: 'User' | 'Bot';
}

export interface StoredLabel {
  readonly id: number;
  readonly name: string;
  readonly color: string;
}

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
  updatedAt: number;
  closedAt: number | null;
}

export interface StoredPull {
  readonly id: number;
  readonly number: number;
  readonly head: string;
  /** Owner of the fork that the head is in; null: this repository. */
  readonly fork: string | null;
  readonly maintainerCanModify: boolean;
  base: string;
  draft: boolean;
  /** Follows the branch while the pull request is open. */
  headSha: string;
  baseSha: string;
  mergedAt: number | null;
}

export interface StoredComment {
  readonly id: number;
  readonly issue: number;
  readonly author: Person;
  readonly createdAt: number;
  body: string;
  updatedAt: number;
}

export interface StoredReaction {
  readonly id: number;
  readonly on: { readonly kind: 'issue'; readonly number: number } | { readonly kind: 'comment'; readonly id: number };
  readonly author: Person;
  readonly content: string;
  readonly createdAt: number;
}

export interface StoredCache {
  readonly id: number;
  readonly key: string;
  readonly ref: string;
  readonly version: string;
  readonly sizeInBytes: number;
  readonly createdAt: number;
}

/** Where the repository's Actions caches are kept. */
export interface CacheShelf {
  list(): readonly StoredCache[];
  remove(cache: StoredCache): void;
}

export function shelfOf(caches: StoredCache[]): CacheShelf {
  return {
    list: () => caches,
    remove: (cache) => void caches.splice(caches.indexOf(cache), 1),
  };
}

export function createState(repository: GitHubState['repository'], now: number): GitHubState {
  return {
    repository,
    settings: { actionsMayOpenPullRequests: true, issuesEnabled: true, draftsSupported: true },
    // 1,000 an hour is GITHUB_TOKEN's limit in one repository.
    rate: { limit: 1000, remaining: 1000, resetAt: now + 3_600_000 },
    collaborators: new Map([[repository.owner, { permission: 'admin', roleName: 'admin' }]]),
    labels: [],
    issues: [],
    pulls: [],
    comments: [],
    reactions: [],
    caches: [],
    nextId: 1,
  };
}

/** Opens an issue as `author` would on the site. */
export function addIssue(state: GitHubState, issue: { readonly title: string; readonly body: string; readonly labels: readonly string[]; readonly author: string }, now: number): StoredIssue {
  for (const label of issue.labels) ensureLabel(state, label);
  const added: StoredIssue = {
    id: newId(state),
    number: nextNumber(state),
    author: { login: issue.author, type: 'User' },
    createdAt: now,
    title: issue.title,
    body: issue.body,
    labels: [...issue.labels],
    state: 'open',
    locked: false,
    updatedAt: now,
    closedAt: null,
  };
  state.issues.push(added);
  return added;
}

/** Writes a comment as `author` would. */
export function addComment(state: GitHubState, comment: { readonly issue: number; readonly body: string; readonly author: Person }, now: number): StoredComment {
  const { issue, body, author } = comment;
  const added: StoredComment = { id: newId(state), issue, author, createdAt: now, body, updatedAt: now };
  state.comments.push(added);
  return added;
}

/** Ends an open pull request as a person would; moving the base branch is the git remote's matter. */
export function closePull(state: GitHubState, number: number, how: { readonly kind: 'merged' | 'closed'; readonly at: number }): void {
  const pull = state.pulls.find((candidate) => candidate.number === number);
  const issue = state.issues.find((candidate) => candidate.number === number);
  if (pull === undefined || issue === undefined) throw new Error(`The stand-in has no pull request ${String(number)}.`);
  pull.mergedAt = how.kind === 'merged' ? how.at : null;
  Object.assign(issue, { state: 'closed', closedAt: how.at, updatedAt: how.at });
}

/** GitHub makes a label when it is first used. Names are compared without case. */
export function ensureLabel(state: GitHubState, name: string): StoredLabel {
  const known = state.labels.find((label) => sameName(label.name, name));
  if (known !== undefined) return known;
  const added: StoredLabel = { id: newId(state), name, color: 'ededed' };
  state.labels.push(added);
  return added;
}

export function sameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

export function newId(state: GitHubState): number {
  return state.nextId++;
}

/** Issues and pull requests are counted together. */
export function nextNumber(state: GitHubState): number {
  return Math.max(0, ...state.issues.map((issue) => issue.number)) + 1;
}
