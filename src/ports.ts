import type { Analysis } from './core/analysis/analysis.ts';
import type { Budget } from './core/budget.ts';
import type { AgentEnd, ObjectId, Snapshot, Verification } from './core/evidence.ts';
import type { Lease } from './core/lease.ts';
import type { Order, OrderGiven } from './core/orders.ts';
import type { LaneId } from './core/state.ts';

/** Instants in ms since the epoch. */
export interface Clock {
  now(): number;
}

/** The job log. Text given to it is cleaned of workflow commands and redacted by the adapter. */
export interface Log {
  info(text: string): void;
  warning(text: string): void;
  error(text: string): void;
  /** One collapsible group; nests not. */
  group<T>(title: string, body: () => Promise<T>): Promise<T>;
}

/** One agent call. `signal` aborts it: the whole process tree is ended before `call` settles. */
export interface AgentCall {
  readonly prompt: string;
  readonly resume: string | null;
  readonly timeoutMs: number;
  /** Which clock `timeoutMs` was cut from. */
  readonly timeoutOf: 'call' | 'run';
  /** What the run may still spend in US dollars; null = no limit. */
  readonly budgetUsd: number | null;
  readonly signal: AbortSignal;
}

/** What came of a call. Never throws for what the agent did; only for a CLI that cannot be started. */
export interface AgentRun {
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  /** Whether the final message ends in a status block that a code fence makes void. */
  readonly fencedBlock: boolean;
  readonly durationMs: number;
}

/** A coding agent's CLI. */
export interface Agent {
  /** Installs the CLI when it is absent and returns its version; throws UserError when it cannot. */
  prepare(): Promise<string>;
  call(call: AgentCall): Promise<AgentRun>;
  /** Copies the session's transcript into `folder`; false when there is none. */
  exportSession(sessionId: string, folder: string): Promise<boolean>;
  /** Puts a transcript from `folder` where the CLI finds it; false when there is none. */
  importSession(sessionId: string, folder: string): Promise<boolean>;
  /** Ends every process that any call started and left behind. */
  sweep(): Promise<void>;
}

/** Runs the user's verify commands, one after another, until one fails. */
export interface Verifier {
  verify(timeoutMs: number, signal: AbortSignal): Promise<Verification>;
}

/** Where the lane's branch comes from. `restart`: its pull request was merged at `mergedHead`, so it begins again at the base. */
export type LaneStart =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'continue'; readonly remoteHead: ObjectId }
  | { readonly kind: 'restart'; readonly mergedHead: ObjectId };

/** The checkout in the workspace. No method runs hooks, filters or config-named programs of the repository. */
export interface Repository {
  /** Everything that makes the checkout unusable, as sentences for a person; empty when it is fine. */
  problems(): Promise<readonly string[]>;
  /** Fetches what `start` names (command-scoped header) and checks the lane's branch out. */
  openLane(lane: { readonly branch: string; readonly baseBranch: string; readonly start: LaneStart }): Promise<OpenedLane>;
  /** Text files of the checkout as the job made it, and of a lane's branch as the remote has it (fetched). Folders: `.beads/*.jsonl` style patterns are allowed in the last segment. Where the checkout has none and no lane is asked for, nothing but the disk is asked. */
  readTexts(paths: readonly string[], lane: { readonly branch: string; readonly head: ObjectId } | null): Promise<ReadTexts>;
  /** Content of the work tree now; what was withheld before counts as unchanged. */
  snapshot(): Promise<Snapshot>;
  compare(before: Snapshot, after: Snapshot): Promise<TreeChange>;
  /** Commits what is not committed, leaves out and reports what must not be published; rewrites agent commits only if they hold such a thing. */
  commit(iteration: IterationCommit): Promise<CommittedIteration>;
  /** Takes credentials out of the repository's config and included files; the returned function puts them back. */
  hideCredentials(): Promise<() => Promise<void>>;
}

/** Text files of the work tree, as the agent leaves them: no link is followed. */
export interface WorkFiles {
  /** As they are now; `*` stays within its folder. A file that is absent, no text or longer than 1 MiB is left out. */
  read(paths: readonly string[]): Promise<FileTexts>;
  /** Replaces a file, whole or not at all; throws when it is not any more what `old` says (null: it is not there). */
  replace(change: { readonly path: string; readonly old: string | null; readonly text: string }): Promise<void>;
}

/** Text by path. */
export type FileTexts = Readonly<Record<string, string>>;

/** Files that are absent, no text or longer than 1 MiB are left out. */
export interface ReadTexts {
  readonly base: FileTexts;
  /** null: no lane was asked for. */
  readonly lane: FileTexts | null;
  /** Of the commit at which the lane left the base; null: no lane was asked for, or it cannot be told. */
  readonly fork: FileTexts | null;
  /** Files of the base that are there and were left out: why, by path. */
  readonly unread: FileTexts;
}

export interface OpenedLane {
  readonly head: ObjectId;
  /** Tree of the merge base with the base branch. */
  readonly baseTree: ObjectId;
  /** Commits of the lane that the base branch lacks. */
  readonly ahead: number;
}

export interface TreeChange {
  readonly files: readonly string[];
  readonly fileCount: number;
  readonly insertions: number;
  readonly deletions: number;
  readonly agentCommits: number;
}

export interface IterationCommit {
  readonly before: Snapshot;
  /** What is committed: the content that was measured, whatever happened to the work tree since. */
  readonly after: Snapshot;
  /** Subject and body, without trailers. */
  readonly message: string;
  readonly trailers: Readonly<Record<string, string>>;
}

export interface CommittedIteration {
  readonly head: ObjectId;
  /** The newest commit of this iteration; null when there is none. */
  readonly commit: ObjectId | null;
  /** What this iteration changed and must not be published. */
  readonly withheld: readonly Withheld[];
  /** Paths of the work tree whose content is kept out of the branch, whenever they were changed. */
  readonly withheldNow: readonly string[];
  /** HEAD and content of what is published: the work tree without what is withheld. */
  readonly published: Snapshot;
}

/** A changed file that was left out of the commit. */
export interface Withheld {
  readonly path: string;
  readonly why: string;
}

/** The remote side of the repository. */
export interface Remote {
  /** Tip of every branch that starts with `prefix`, by name; throws UserError when the remote refuses even reading. */
  branches(prefix: string): Promise<Readonly<Record<string, ObjectId>>>;
  /** Why this token may not push, as a sentence for a person; null when it may. Leaves nothing behind. */
  pushObstacle(): Promise<string | null>;
  /** Publishes `commit` as `branch`, never forced: it must build on what `start` says that the remote holds. */
  push(push: { readonly branch: string; readonly commit: ObjectId; readonly start: LaneStart }): Promise<PushResult>;
  /** Deletes a merged branch, if its tip is still what was merged. */
  deleteMerged(merged: { readonly branch: string; readonly head: ObjectId }): Promise<BranchDeleted>;
}

export type BranchDeleted =
  | { readonly kind: 'deleted' }
  /** Somebody deleted it before. */
  | { readonly kind: 'gone' }
  /** It holds other commits than what was merged. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'rejected'; readonly why: string };

export type PushResult =
  | { readonly kind: 'pushed' }
  | { readonly kind: 'rejected'; readonly why: string };

/** Who did something. `id` is GitHub's own number, which a rename does not change; null where GitHub does not tell it. */
export interface Account {
  readonly login: string;
  readonly id: number | null;
  readonly kind: 'user' | 'bot';
}

/** An issue as the forge lists it: raw text of strangers. */
export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly url: string;
  readonly labels: readonly string[];
  readonly state: 'open' | 'closed';
  readonly isPullRequest: boolean;
  /** Issues that GitHub's own dependencies say must be closed first, how many. */
  readonly blockedBy: number;
  /** Sub-issues that are not closed, how many. */
  readonly openSubIssues: number;
}

/** What happened to an issue, as far as consent depends on it. Accounts are null where GitHub does not tell them (deleted). Instants in ms. */
export interface IssueHistory {
  /** Newest last: the task label and `ralph:needs-approval` put on and taken off. */
  readonly labelings: readonly { readonly kind: 'labeled' | 'unlabeled'; readonly label: string; readonly by: Account | null; readonly at: number }[];
  readonly reopenings: readonly { readonly by: Account | null; readonly at: number }[];
  /** Changes of title or body, newest last; the first writing is none. */
  readonly edits: readonly { readonly by: Account | null; readonly at: number }[];
  /** Whether any of the lists above is cut: older entries exist that are not in it. */
  readonly truncated: boolean;
}

export interface IssueComment {
  readonly by: Account | null;
  readonly body: string;
  readonly at: number;
  /** The last change; null: never changed. */
  readonly edited: { readonly by: Account | null; readonly at: number } | null;
  /** Hidden by people (spam, outdated, resolved …). */
  readonly minimized: boolean;
}

/** What another issue or pull request is, for a task that depends on it. `elsewhere`: in another repository. */
export interface Dependency {
  readonly number: number;
  readonly state: 'open' | 'closed' | 'missing';
  readonly elsewhere: string | null;
}

/** A label that Ralph keeps: created with colour (six hex digits) and description when the repository does not have it. */
export interface LabelDefinition {
  readonly name: string;
  readonly color: string;
  readonly description: string;
}

export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'open' | 'merged' | 'closed';
  readonly headSha: string;
  readonly draft: boolean;
  readonly body: string;
}

export type Permission = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none';

/** GitHub, as far as a run needs it. Methods throw UserError with what to do when the token may not, or the API is rate-limited. */
export interface Forge {
  defaultBranch(): Promise<string>;
  openIssuesWithLabel(label: string): Promise<readonly Issue[]>;
  issue(number: number): Promise<Issue | null>;
  permissionOf(login: string): Promise<Permission>;
  /** The account of this login; null when there is none. */
  account(login: string): Promise<Account | null>;
  /** Histories by number, many issues a request; an issue that is not there any more is left out. */
  issueHistories(numbers: readonly number[], taskLabel: string): Promise<ReadonlyMap<number, IssueHistory>>;
  /** The newest 50 comments of each issue, oldest first, many issues a request. */
  commentsOf(numbers: readonly number[]): Promise<ReadonlyMap<number, readonly IssueComment[]>>;
  /** What GitHub itself says that the issue waits for: its dependencies and its sub-issues. */
  dependenciesOf(number: number): Promise<readonly Dependency[]>;
  /** Issues and pull requests by number, many a request. */
  statesOf(numbers: readonly number[]): Promise<ReadonlyMap<number, Dependency['state']>>;
  /** The newest pull request whose head is `branch` of this repository. */
  pullRequestOf(branch: string): Promise<PullRequest | null>;
  /** Branch and fork-ness of a pull request, for comments on it. */
  pullRequestHead(number: number): Promise<{ readonly branch: string; readonly fromFork: boolean } | null>;
  /** Throws UserError when this token could not open a pull request; leaves nothing behind. */
  checkMayOpenPullRequests(baseBranch: string): Promise<void>;
  /** Throws UserError when this token could not update that pull request; changes nothing. */
  checkMayUpdatePullRequest(number: number): Promise<void>;
  openPullRequest(request: { readonly title: string; readonly body: string; readonly head: string; readonly base: string; readonly draft: boolean }): Promise<PullRequest>;
  updatePullRequest(number: number, change: { readonly title: string; readonly body: string }): Promise<void>;
  /** Draft → ready for review (GraphQL). */
  markReady(number: number): Promise<void>;
  /** Creates or updates the one comment whose first line is `marker` (a whole HTML comment); writes nothing when the text is already there. */
  upsertComment(number: number, marker: string, body: string): Promise<void>;
  /** Puts labels on and takes others off; one that the repository lacks is created. Asks only for what differs from `from`. */
  changeLabels(number: number, change: { readonly from: readonly string[]; readonly add: readonly LabelDefinition[]; readonly remove: readonly string[] }): Promise<void>;
  react(target: ReactionTarget, reaction: 'eyes' | '-1' | 'confused' | '+1'): Promise<void>;
  /** Deletes Actions caches whose key begins with `keyPrefix`, but the newest `keep` that a run can find; returns how many. Housekeeping: time-bounded, never throws. */
  deleteSupersededCaches(keyPrefix: string, keep: number): Promise<number>;
  /** What the run has cost so far. */
  requests(): RequestsSent;
}

/** HTTP requests sent so far, retries included; and what GitHub's newest REST answer said of the token's hourly budget: null while nothing said so. `resetAt` in ms. */
export interface RequestsSent {
  readonly sent: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
}

export type ReactionTarget =
  | { readonly kind: 'issue'; readonly number: number }
  | { readonly kind: 'comment'; readonly id: number };

/** Where a lane's state is kept between runs, and which run may write it. Time-bounded; never throws. */
export interface StateStore {
  restore(lane: LaneId): Promise<RestoredState>;
  /** Makes this run the only one that works on the lane; it must have been restored before. */
  claim(lane: LaneId): Promise<Claimed>;
  /** Keeps a new copy, reads it back, and gives the claim back. */
  save(copy: StateCopy): Promise<SavedState>;
  /** Gives the claim back without a new copy. */
  release(lane: LaneId): Promise<Released>;
  /** Leaves an order for the lane's next run, whoever works on the lane now. */
  order(lane: LaneId, order: OrderGiven): Promise<Ordered>;
  /** The lane's orders as they are now; cheap while nobody wrote since this run last looked. */
  orders(lane: LaneId): Promise<OrdersNow>;
}

export interface StateCopy {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  /** A folder to keep beside the document, or null. */
  readonly sessionFolder: string | null;
}

/** `origin`: where the copy came from, for a person; `warnings`: what was wrong with other copies, as sentences. */
export type RestoredState =
  | { readonly kind: 'found'; readonly document: string; readonly sessionFolder: string | null; readonly origin: string; readonly orders: readonly Order[]; readonly lease: Lease | null; readonly warnings: readonly string[] }
  | { readonly kind: 'absent'; readonly orders: readonly Order[]; readonly lease: Lease | null; readonly warnings: readonly string[] }
  | { readonly kind: 'newer'; readonly version: number; readonly origin: string }
  | { readonly kind: 'unavailable'; readonly why: string };

export type Claimed =
  /** `sequence`: of the copy that the lane has where the claim was made; a new copy must go beyond it. */
  | { readonly kind: 'claimed'; readonly sequence: number }
  /** Another run has the lane. */
  | { readonly kind: 'taken'; readonly lease: Lease }
  /** The lane is not any more what was restored: restore it again. */
  | { readonly kind: 'changed' }
  /** This store can never keep two runs apart here: it takes no writes, or it is the cache alone. */
  | { readonly kind: 'unguarded'; readonly why: string }
  /** It did not answer: whether another run has the lane is not known. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** Whether a run has given its lane back. */
export type Released =
  /** It does not hold the lane, or not any more. */
  | { readonly kind: 'free' }
  /** It may still hold it. */
  | { readonly kind: 'held'; readonly why: string };

/** `lane`: a copy may be kept in one place, and the claim stand in another that did not answer. */
export type SavedState = SavedCopy & { readonly lane: Released };

/** `where`: `cache ✓ ref ✓`. */
export type SavedCopy =
  | { readonly kind: 'saved'; readonly where: string }
  | { readonly kind: 'not-saved'; readonly why: string };

export type Ordered =
  | { readonly kind: 'kept'; readonly where: string }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported'; readonly why: string }
  | { readonly kind: 'not-kept'; readonly why: string };

export type OrdersNow =
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'unavailable'; readonly why: string };

/** Copies of lanes' states with their session folders, without any order between two writers: the Actions cache. Time-bounded; never throws. */
export interface CopyStore {
  restore(lane: LaneId): Promise<RestoredCopy>;
  save(copy: StateCopy): Promise<SavedCopy>;
}

export type RestoredCopy =
  | { readonly kind: 'found'; readonly sequence: number; readonly document: string; readonly sessionFolder: string | null }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable'; readonly why: string };

/** Named texts that several machines may change: only who has read the newest may replace it. Time-bounded; never throws. */
export interface CellStore {
  /** What people call the place: `ref`, `directory`. */
  readonly place: string;
  /** The texts under these names, in their order, asked for at once. */
  read(names: readonly CellName[]): Promise<readonly CellRead[]>;
  /** Compare-and-swap: replaces the text that has `expected` as its head, null: creates it. */
  write(name: CellName, expected: CellHead | null, text: string): Promise<CellWritten>;
  /** What the place itself says is the head now. */
  readHead(name: CellName): Promise<{ readonly kind: 'head'; readonly head: CellHead | null } | { readonly kind: 'unavailable'; readonly why: string }>;
}

/** `queue`, `issue-7`, `budget`. */
export type CellName = string;
/** Identity of a stored text: a commit, a generation. */
export type CellHead = string;

export type CellRead =
  | { readonly kind: 'found'; readonly head: CellHead; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable'; readonly why: string };

export type CellWritten =
  | { readonly kind: 'written'; readonly head: CellHead }
  /** Somebody was faster. */
  | { readonly kind: 'conflict' }
  /** The place lets this run write nothing, now or later: a permission, a ruleset. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string };

/** The repository's usage windows, over all lanes. Time-bounded; never throws. */
export interface BudgetStore {
  /** The newest budget; `problem` is a sentence about a stored one that had to be replaced. */
  read(): Promise<ReadBudget>;
  /** Changes the newest budget; asked again when somebody was faster. */
  update(change: (budget: Budget) => Budget): Promise<ReadBudget>;
}

export type ReadBudget =
  | { readonly kind: 'budget'; readonly budget: Budget; readonly problem: string | null }
  | { readonly kind: 'unavailable'; readonly why: string };
