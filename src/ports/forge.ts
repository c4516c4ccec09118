import type { ObjectId } from '../core/evidence.ts';
import type {
  CheckDetails,
  CheckNow,
  PullRequestNow,
  ReviewState,
  WaitingPullRequest,
} from '../core/feedback/pull-request-now.ts';
import type { Revision } from '../core/dashboard/boxes.ts';
import type { RepositorySettings } from '../core/doctor/facts.ts';
import type { RawComment } from '../core/people/comments.ts';
import type { Need } from '../core/people/notifications.ts';
import type { ConsentHistory } from '../core/people/consent.ts';
import type { ClosedPull } from '../core/snapshot/stored-pull.ts';
import type { IssueState } from '../core/tasks/dependencies.ts';
import type { TaskIssue } from '../core/tasks/issue-task.ts';

/** An account on GitHub. `id` is GitHub's number, which a rename does not change; it is null if it is unknown. */
export interface Account {
  readonly login: string;
  readonly id: number | null;
  readonly kind: 'user' | 'bot';
}

/** An issue as the forge lists it; its texts are raw and come from strangers. */
export interface Issue extends TaskIssue {
  readonly state: 'open' | 'closed';
  readonly isPullRequest: boolean;
}

export type IssueHistory = ConsentHistory<Account>;
export type IssueComment = RawComment<Account>;

/** An issue or pull request on which a task depends. `elsewhere` names its repository if that is another one. */
export interface Dependency {
  readonly number: number;
  readonly state: IssueState;
  readonly elsewhere: string | null;
}

/** A label of Ralph's, created with colour (six hex digits) and description if the repository lacks it. */
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
  /** The branch into which it will be merged. */
  readonly base: string;
  readonly draft: boolean;
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
}

/**
 * The issue of the dashboard. `revisions` are the newest versions of its body, oldest first; it is empty until somebody
 * edits the body. `edits` counts all versions.
 */
export interface DashboardIssue {
  readonly number: number;
  /** GraphQL id, by which the issue is changed. */
  readonly id: string;
  readonly isOpen: boolean;
  readonly body: string;
  readonly revisions: readonly Revision[];
  readonly edits: number;
}

/** An issue that this account made. `id` is GitHub's internal id, and `number` is the one that people see. */
export interface OpenedIssue {
  readonly number: number;
  readonly id: number;
}

/** A comment that was written; `id` is GitHub's id of it. */
interface WrittenComment {
  readonly id: number;
}

export type Permission = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none';

/** A commit to create. Its tree and its parents are already in the repository. */
interface CommitToMake {
  readonly message: string;
  readonly tree: ObjectId;
  readonly parents: readonly ObjectId[];
}

interface MadeCommit {
  readonly id: ObjectId;
  readonly isVerified: boolean;
  readonly reason: string;
}

/** The settings of a repository that are read. */
export interface SettingsQuery {
  readonly label: string | null;
  /** Workflow files whose text on the default branch is read. */
  readonly workflows: readonly string[];
  /** Branches whose rules are read. */
  readonly branches: readonly string[];
}

/**
 * The writes that help people but on which no run depends, as an adapter makes them. They throw UserError if GitHub
 * refuses; a run gets them as `Wishes` instead.
 */
export interface WishWrites {
  /** Replies in the review thread whose first comment is `replyTo`. */
  replyInThread(number: number, reply: { readonly replyTo: number; readonly body: string }): Promise<WrittenComment>;
  /** Marks a thread, by its GraphQL id, as resolved. */
  resolveThread(thread: string): Promise<void>;
  /**
   * Creates or updates the one comment whose first line is `marker` (a whole HTML comment); writes nothing if the text
   * is already there. `body` may be computed from the comment's present text, which is null if there is no comment.
   */
  upsertComment(
    number: number,
    marker: string,
    body: string | ((current: string | null) => string),
  ): Promise<WrittenComment>;
  /**
   * Marks our own notifications as settled: adds the reason below the first line of each, with one write for all.
   * `closing` hides a comment as resolved, so that no later `upsertComment` finds it. Leaves comments that are gone,
   * already settled, or not our own.
   */
  settleComments(
    settled: readonly { readonly id: number; readonly words: string; readonly closing: boolean }[],
  ): Promise<void>;
  /**
   * Settles our notifications of any of these needs on this issue or pull request, and hides those without another
   * need. Remembers other comments that it finds, as `upsertComment` does.
   */
  settleNotifications(number: number, over: { readonly needs: readonly Need[]; readonly words: string }): Promise<void>;
  /**
   * Rewrites the comment with this marker if `upsertComment` has found it on the same issue and its text is older than
   * `writtenBefore` (ms). Never searches for a comment and never creates one. `closing` works as in `settleComments`.
   */
  amendComment(
    number: number,
    marker: string,
    amendment: { readonly body: string; readonly writtenBefore: number; readonly closing: boolean },
  ): Promise<void>;
  /** Requests a review from people and teams (`slug` of the owner's teams), except from the author. */
  requestReview(
    number: number,
    of: { readonly logins: readonly string[]; readonly teams: readonly string[] },
  ): Promise<void>;
  /**
   * Enables GitHub's auto-merge for the open pull request of a branch if it is at `head`, with the repository's default
   * merge method, unless somebody else has switched it off. Never merges.
   */
  armAutoMerge(
    branch: string,
    head: ObjectId,
  ): Promise<{ readonly kind: 'armed' | 'at-once' | 'not-allowed' | 'switched-off'; readonly detail: string }>;
  /** Switches auto-merge of a branch's pull request off if this token's account switched it on; returns whether. */
  disarmAutoMerge(branch: string): Promise<boolean>;
  /** Rewrites descriptions of pull requests with one request, and a second one if any of them changes. */
  rewriteBodies(numbers: readonly number[], rewrite: (number: number, body: string) => string): Promise<void>;
  /** Returns an issue as a dashboard, or null if it no longer exists. Takes one request. */
  readDashboard(number: number): Promise<DashboardIssue | null>;
  /**
   * Replaces the body of the dashboard in one request. Returns the issue with the versions before that, or null if it
   * no longer exists. Notifies nobody.
   */
  writeDashboard(id: string, body: string): Promise<DashboardIssue | null>;
  /** Finds this account's dashboard by the beginning of its body, or makes one. Takes two requests. */
  openDashboard(text: {
    readonly title: string;
    readonly body: string;
  }): Promise<{ readonly isNew: boolean; readonly issue: Pick<DashboardIssue, 'number' | 'id'> }>;
  assign(number: number, logins: readonly string[]): Promise<void>;
  /** Adds and removes labels, and creates missing ones. Sends requests only for differences from `from`. */
  changeLabels(
    number: number,
    change: {
      readonly from: readonly string[];
      readonly add: readonly LabelDefinition[];
      readonly remove: readonly string[];
    },
  ): Promise<void>;
  /** Adds labels to an issue or pull request; GitHub creates those that the repository lacks. */
  addLabels(number: number, names: readonly string[]): Promise<void>;
  react(target: ReactionTarget, reaction: 'eyes' | '-1' | 'confused' | '+1'): Promise<void>;
}

/**
 * The result of a wish. `why` is a sentence with GitHub's answer. `isLasting` is true if GitHub would refuse again, as
 * in a locked conversation; otherwise GitHub was out of reach or asked for a pause.
 */
export type WishResult<T> =
  | { readonly kind: 'granted'; readonly value: T }
  | { readonly kind: 'refused'; readonly why: string; readonly isLasting: boolean };

/**
 * The wishes. They are like `WishWrites`, but never reject, so none can end a run. `refusedWishes` lists the refusals.
 */
export type Wishes = {
  readonly [Write in keyof WishWrites]: (
    ...asked: Parameters<WishWrites[Write]>
  ) => Promise<WishResult<Awaited<ReturnType<WishWrites[Write]>>>>;
};

/**
 * The reads, and the writes on which a run depends. Methods throw UserError with advice if the token lacks a permission
 * or the API is rate-limited.
 */
interface DecidingForge {
  defaultBranch(): Promise<string>;
  openIssuesWithLabel(label: string): Promise<readonly Issue[]>;
  /**
   * Returns the open issues of this repository that a search finds, at most the oldest 1,000. GitHub's index may be
   * minutes behind. Throws UserError if GitHub searched only a part, or refuses the search.
   */
  searchIssues(query: string): Promise<readonly Issue[]>;
  issue(number: number): Promise<Issue | null>;
  /** Returns the names of the repository's labels, at most 1,000. */
  labelNames(): Promise<readonly string[]>;
  permissionOf(login: string): Promise<Permission>;
  /** Returns the account of this login, or null if none. */
  account(login: string): Promise<Account | null>;
  /**
   * Returns histories by number, many issues per request, without issues that no longer exist. `demands` are the
   * properties that a query requires; the histories say who gave them to the issue.
   */
  issueHistories(
    numbers: readonly number[],
    taskLabel: string,
    demands?: readonly string[],
  ): Promise<ReadonlyMap<number, IssueHistory>>;
  /** Returns the newest 50 comments of each issue, oldest first, many issues per request. */
  commentsOf(numbers: readonly number[]): Promise<ReadonlyMap<number, readonly IssueComment[]>>;
  /**
   * Returns this account's newest comment whose first line is `marker`, among the newest 100 of the issue, or null if
   * none. `isEdited` is true once anybody has edited it.
   */
  ownComment(
    number: number,
    marker: string,
  ): Promise<{ readonly body: string; readonly at: number; readonly isEdited: boolean } | null>;
  /** Returns the issues that this account made, among the newest 100 of the repository. */
  ownIssues(): Promise<readonly (OpenedIssue & { readonly body: string })[]>;
  /**
   * Opens an issue without labels, or uses the `known` one, and makes it a sub-issue of `parent` unless it already is
   * one.
   */
  openSubIssue(
    parent: number,
    issue: { readonly title: string; readonly body: string },
    known: OpenedIssue | null,
  ): Promise<OpenedIssue>;
  /** Marks an issue as blocked by the issue with the id `blockedBy`, unless it is already marked. */
  addDependency(number: number, blockedBy: number): Promise<void>;
  /** Returns the issues for which the issue waits according to GitHub: its dependencies and its sub-issues. */
  dependenciesOf(number: number): Promise<readonly Dependency[]>;
  /** Returns the states of issues and pull requests by number, many per request. */
  statesOf(numbers: readonly number[]): Promise<ReadonlyMap<number, Dependency['state']>>;
  /** Returns the newest pull request whose head is `branch` of this repository. */
  pullRequestOf(branch: string): Promise<PullRequest | null>;
  /**
   * Returns what people and CI say about the open pull request whose head is `branch` of this repository, or null if
   * there is no such pull request. Usually takes one request.
   */
  pullRequestNow(branch: string): Promise<PullRequestNow | null>;
  /**
   * Returns people's decisions on the open pull request whose head is `branch` of this repository, or null if there is
   * no such pull request. Takes one request.
   */
  headNow(branch: string): Promise<ReviewState | null>;
  /**
   * Removes a pull request from the merge queue, makes it a draft and disables its auto-merge, each only if `standing`
   * shows the need. Throws UserError if GitHub refuses one of these.
   */
  withdrawFromMerging(number: number, standing: ReviewState): Promise<void>;
  /**
   * Returns this repository's pull requests whose head begins with `prefix`: open ones among the 200 open ones that
   * changed last, and closed ones, with those that revert any of them, among the 50 closed ones that changed last.
   * Takes one request as a rule; asks again after two seconds while GitHub computes whether one can be merged.
   */
  waitingPullRequests(
    prefix: string,
  ): Promise<{ readonly open: readonly WaitingPullRequest[]; readonly closed: readonly ClosedPull[] }>;
  /** Returns true if a pull request was closed because its base branch was deleted. Takes one request. */
  wasClosedWithBase(number: number): Promise<boolean>;
  /** Returns those of these pull requests that are closed. Takes one request. */
  closedAmong(numbers: readonly number[]): Promise<readonly ClosedPull[]>;
  /** Returns the checks of the five base commits before `tip`, oldest first; empty if unreadable. Takes one request. */
  checksBefore(tip: ObjectId): Promise<readonly CheckNow[]>;
  /**
   * Returns job, step, annotations and the end of the log of a failed check. Takes at most three requests, and one to
   * the log storage of GitHub. Never throws for parts that cannot be read, but says which are missing.
   */
  checkDetails(check: CheckNow): Promise<CheckDetails>;
  /**
   * Returns the numbers of this repository's open pull requests whose head begins with `prefix`, among the newest 100.
   */
  openPullRequests(prefix: string): Promise<readonly number[]>;
  /** Returns the branch of a pull request and whether it is from a fork, for comments on it. */
  pullRequestHead(number: number): Promise<{ readonly branch: string; readonly fromFork: boolean } | null>;
  /** Throws UserError if this token could not open a pull request; leaves nothing behind. */
  checkMayOpenPullRequests(baseBranch: string): Promise<void>;
  /** Throws UserError if this token could not update that pull request; changes nothing. */
  checkMayUpdatePullRequest(number: number): Promise<void>;
  /** Opens a pull request; returns null if the base has all commits of the branch. */
  openPullRequest(request: {
    readonly title: string;
    readonly body: string;
    readonly head: string;
    readonly base: string;
    readonly draft: boolean;
  }): Promise<PullRequest | null>;
  updatePullRequest(number: number, change: { readonly title: string; readonly body: string }): Promise<void>;
  /** Marks a draft as ready for review (GraphQL). */
  markReady(number: number): Promise<void>;
  /** Turns a pull request that is ready for review into a draft (GraphQL). */
  makeDraft(number: number): Promise<void>;
  /**
   * Deletes Actions caches whose key begins with `keyPrefix`, except the newest `keep` that a run can find, and returns
   * the number of deleted ones. Time-bounded; never throws, because this is housekeeping.
   */
  deleteSupersededCaches(keyPrefix: string, keep: number): Promise<number>;
  /**
   * Returns the page of the step that runs now in this run's job on that runner, or of the job; returns null if the job
   * cannot be identified. Takes one request.
   */
  stepUrl(run: {
    readonly runId: string;
    readonly runAttempt: number;
    readonly runnerName: string;
  }): Promise<string | null>;
  /** Returns the number of attempts of a workflow run; 0 while one of them works. Asks GitHub once for each run. */
  countEndedAttempts(runId: string): Promise<number>;
  /**
   * Creates a commit that no ref names, with the token's account as its author. GitHub signs it if that account belongs
   * to an app; otherwise `reason` is GitHub's word for the missing signature.
   */
  makeCommit(commit: CommitToMake): Promise<MadeCommit>;
  /** Returns the repository's settings that the token can read; changes nothing. */
  settings(query: SettingsQuery): Promise<RepositorySettings>;
  /** Returns the number of requests that the run has sent so far. */
  requests(): RequestsSent;
}

/** GitHub as an adapter provides it. */
export type ForgeAdapter = DecidingForge & WishWrites;

/** GitHub as a run uses it. */
export interface Forge extends DecidingForge, Wishes {
  /** Returns GitHub's refusals of wishes so far, one sentence for each reason that it gave. */
  refusedWishes(): readonly string[];
}

/**
 * The number of HTTP requests sent so far, including retries, and the token's hourly budget according to GitHub's
 * newest REST answer, which is null before the first one. `resetAt` is in ms.
 */
export interface RequestsSent {
  readonly sent: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
}

/** The target of a reaction; `review` has GraphQL's id of a review or of a review comment. */
export type ReactionTarget =
  | { readonly kind: 'issue'; readonly number: number }
  | { readonly kind: 'comment'; readonly id: number }
  | { readonly kind: 'review'; readonly id: string };
