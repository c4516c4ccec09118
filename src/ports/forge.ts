import type { ObjectId } from '../core/evidence.ts';
import type {
  CheckDetails,
  CheckNow,
  PullRequestNow,
  Standing,
  WaitingPullRequest,
} from '../core/feedback/pull-request-now.ts';
import type { RepositorySettings } from '../core/doctor/facts.ts';
import type { RawComment } from '../core/people/comments.ts';
import type { Need } from '../core/people/notifications.ts';
import type { History } from '../core/people/consent.ts';
import type { IssueState } from '../core/tasks/dependencies.ts';

/** Who did something. `id` is GitHub's own number, which a rename does not change; null where GitHub does not say. */
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

export type IssueHistory = History<Account>;
export type IssueComment = RawComment<Account>;

/** What another issue or pull request is, for a task that depends on it. `elsewhere`: in another repository. */
export interface Dependency {
  readonly number: number;
  readonly state: IssueState;
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
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
}

/** `id`: GitHub's number of the comment. */
interface WrittenComment {
  readonly id: number;
}

export type Permission = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none';

/** What of a repository's settings is of interest. */
export interface SettingsQuery {
  readonly label: string | null;
  /** Workflow files whose text on the default branch is wanted. */
  readonly workflows: readonly string[];
  /** The branches whose rules are wanted. */
  readonly branches: readonly string[];
}

/**
 * Writes that people like to see and that no run depends on, as an adapter makes them: throws UserError for what GitHub
 * refuses. A run never gets these: it gets `Wishes`.
 */
export interface WishWrites {
  /** Answers in the thread of a review whose first comment is `replyTo`. */
  replyInThread(number: number, reply: { readonly replyTo: number; readonly body: string }): Promise<WrittenComment>;
  /** Marks a thread, by its GraphQL id, as resolved. */
  resolveThread(thread: string): Promise<void>;
  /** Creates or updates the one comment whose first line is `marker` (a whole HTML comment); writes nothing when the text is already there. `body` may be made from what the comment says now; null: there is none. */
  upsertComment(
    number: number,
    marker: string,
    body: string | ((current: string | null) => string),
  ): Promise<WrittenComment>;
  /** Says below the first line of notifications of ours what settles them, with one write for all: `closing` hides one as resolved, and no later `upsertComment` finds it. What is gone, settled already, or not ours, stays as it is. */
  settleComments(
    settled: readonly { readonly id: number; readonly words: string; readonly closing: boolean }[],
  ): Promise<void>;
  /** Looks on this issue or pull request for notifications of ours of any of these needs, and settles each: hidden when it is about nothing else. On the way it comes across other comments, as `upsertComment` does. */
  settleNotifications(number: number, over: { readonly needs: readonly Need[]; readonly words: string }): Promise<void>;
  /** Rewrites the comment of that marker if `upsertComment` came across it on the same issue and its text is from before `writtenBefore` (ms); never looks for one, never creates one. `closing`: as `settleComments`. */
  amendComment(
    number: number,
    marker: string,
    amendment: { readonly body: string; readonly writtenBefore: number; readonly closing: boolean },
  ): Promise<void>;
  /** Asks people and teams (`slug` of the owner's) for a review, but the author. */
  requestReview(
    number: number,
    of: { readonly logins: readonly string[]; readonly teams: readonly string[] },
  ): Promise<void>;
  assign(number: number, logins: readonly string[]): Promise<void>;
  /** Puts labels on and takes others off; one that the repository lacks is created. Asks only for what differs from `from`. */
  changeLabels(
    number: number,
    change: {
      readonly from: readonly string[];
      readonly add: readonly LabelDefinition[];
      readonly remove: readonly string[];
    },
  ): Promise<void>;
  /** Puts labels on a pull request; GitHub creates those that the repository lacks. */
  addLabels(number: number, names: readonly string[]): Promise<void>;
  react(target: ReactionTarget, reaction: 'eyes' | '-1' | 'confused' | '+1'): Promise<void>;
}

/** What came of a wish. `why`: a sentence of what GitHub said. `isLasting`: it would be refused again, as in a locked conversation; otherwise GitHub was out of reach or asked for a pause. */
export type Wished<T> =
  | { readonly kind: 'granted'; readonly value: T }
  | { readonly kind: 'refused'; readonly why: string; readonly isLasting: boolean };

/** The same writes as a run gets them: none of them rejects, so none of them can end a run. What is refused is in `refusedWishes`. */
export type Wishes = {
  readonly [Write in keyof WishWrites]: (
    ...asked: Parameters<WishWrites[Write]>
  ) => Promise<Wished<Awaited<ReturnType<WishWrites[Write]>>>>;
};

/** Reads, and the writes that a run stands or falls with. Methods throw UserError with what to do when the token may not, or the API is rate-limited. */
interface DecidingForge {
  defaultBranch(): Promise<string>;
  openIssuesWithLabel(label: string): Promise<readonly Issue[]>;
  issue(number: number): Promise<Issue | null>;
  /** Names of the repository's labels, at most 1,000 of them. */
  labelNames(): Promise<readonly string[]>;
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
  /** What people and CI say of the open pull request whose head is `branch` of this repository; null: there is none. One request as a rule. */
  pullRequestNow(branch: string): Promise<PullRequestNow | null>;
  /** What people have decided of the open pull request whose head is `branch` of this repository; null: there is none. One request. */
  headNow(branch: string): Promise<Standing | null>;
  /** Takes a pull request out of the merge queue, makes it a draft and switches its auto-merge off, as far as it stands otherwise. Throws UserError where one of it is refused. */
  freeHead(number: number, standing: Standing): Promise<void>;
  /** The open pull requests of this repository whose head begins with `prefix`, of the 200 that changed last. One request as a rule. */
  waitingPullRequests(prefix: string): Promise<readonly WaitingPullRequest[]>;
  /** Checks of the five commits that the base branch had before `tip`, the oldest first; empty where they cannot be read. One request. */
  checksBefore(tip: ObjectId): Promise<readonly CheckNow[]>;
  /** Job, step, annotations and end of the log of a failed check: at most three requests, and one to where GitHub keeps logs. Never throws for what cannot be read; says what is missing. */
  checkDetails(check: CheckNow): Promise<CheckDetails>;
  /** Numbers of the open pull requests of this repository whose head begins with `prefix`, of the newest 100. */
  openPullRequests(prefix: string): Promise<readonly number[]>;
  /** Branch and fork-ness of a pull request, for comments on it. */
  pullRequestHead(number: number): Promise<{ readonly branch: string; readonly fromFork: boolean } | null>;
  /** Throws UserError when this token could not open a pull request; leaves nothing behind. */
  checkMayOpenPullRequests(baseBranch: string): Promise<void>;
  /** Throws UserError when this token could not update that pull request; changes nothing. */
  checkMayUpdatePullRequest(number: number): Promise<void>;
  openPullRequest(request: {
    readonly title: string;
    readonly body: string;
    readonly head: string;
    readonly base: string;
    readonly draft: boolean;
  }): Promise<PullRequest>;
  updatePullRequest(number: number, change: { readonly title: string; readonly body: string }): Promise<void>;
  /** Draft → ready for review (GraphQL). */
  markReady(number: number): Promise<void>;
  /** Ready for review → draft (GraphQL). */
  makeDraft(number: number): Promise<void>;
  /** Deletes Actions caches whose key begins with `keyPrefix`, but the newest `keep` that a run can find; returns how many. Housekeeping: time-bounded, never throws. */
  deleteSupersededCaches(keyPrefix: string, keep: number): Promise<number>;
  /** Page of the step that is running now in this run's job on that runner, or of the job; null: it cannot be told apart from others. One request. */
  stepUrl(run: {
    readonly runId: string;
    readonly runAttempt: number;
    readonly runnerName: string;
  }): Promise<string | null>;
  /** The repository's settings, as far as the token may look; changes nothing. */
  settings(query: SettingsQuery): Promise<RepositorySettings>;
  /** What the run has cost so far. */
  requests(): RequestsSent;
}

/** GitHub as an adapter offers it. */
export type ForgeAdapter = DecidingForge & WishWrites;

/** GitHub, as far as a run needs it. */
export interface Forge extends DecidingForge, Wishes {
  /** What GitHub refused of the wishes so far, one sentence for each reason that it gave. */
  refusedWishes(): readonly string[];
}

/** HTTP requests sent so far, retries included; and what GitHub's newest REST answer said of the token's hourly budget: null while nothing said so. `resetAt` in ms. */
export interface RequestsSent {
  readonly sent: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
}

/** What is reacted to. `review-comment`: one in a review thread. */
export type ReactionTarget =
  | { readonly kind: 'issue'; readonly number: number }
  | { readonly kind: 'comment' | 'review-comment'; readonly id: number };
