import type { ObjectId } from '../core/evidence.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import type { StateUpdate, WriteResult } from './state.ts';
import type { Refusal } from '../core/refusals/refusal.ts';
import type { LaneStart, Review } from './repository.ts';

/** The commits after `since`, up to `commit`. */
export interface CommitRange {
  readonly commit: ObjectId;
  readonly since: ObjectId;
}

/** The paths that the commits of a task change; `task` is '' for commits without a task. */
export interface TaskPaths {
  readonly task: TaskId;
  readonly paths: readonly string[];
}

/**
 * Rewritten commits. `places` maps each old id to the new one, or to null if the commit became empty. `tasks` lists the
 * tasks whose commits lost something.
 */
export interface RemadeCommits {
  readonly head: ObjectId;
  readonly places: Readonly<Record<ObjectId, ObjectId | null>>;
  readonly tasks: readonly TaskId[];
}

/**
 * The remote side of the repository. Pushed content is inspected commit by commit, from objects that were hashed right
 * before.
 */
export interface Remote {
  /**
   * Returns the tip of every branch that starts with `prefix`, by name, and of a branch with the name of a folder in
   * the prefix (`ralph` for `ralph/`). Throws UserError if the remote even refuses reading.
   */
  branches(prefix: string): Promise<Readonly<Record<string, ObjectId>>>;
  /**
   * Returns the reason why this token may not push, or null if it may. `newBranch` is the branch that the run would
   * create, so that its rules and those for the run's commits are checked as well; null checks the token alone. Leaves
   * nothing behind.
   */
  pushObstacle(newBranch: string | null): Promise<PushObstacle | null>;
  /**
   * Publishes `commit` as `branch`, never forced. It must build on the remote's commits according to `start`. Merges
   * commits that people pushed to a continued branch in the meantime.
   */
  push(push: Push & { readonly start: LaneStart }): Promise<PushResult>;
  /**
   * Publishes like `push`, in one request, a branch that this run knows to be at `at`; null creates it. `mergesOthers`
   * merges commits that people pushed in the meantime.
   */
  pushOn(push: Push & { readonly at: ObjectId | null; readonly mergesOthers?: true }): Promise<PushResult>;
  /**
   * Publishes like `pushOn`, with the state in the same push. The server accepts both or neither. If only the state is
   * forbidden, the branch is pushed without it.
   */
  pushWithState(push: Push & { readonly at: ObjectId | null; readonly along: StateUpdate }): Promise<PushedWithState>;
  /**
   * Makes the commits again through the server's API, which signs them, if signatures are required or the server has
   * refused the commits without them. The trees, messages and order stay the same, and the branch does not move. Safe
   * to repeat: commits whose signed form is already on the branch are not signed again.
   */
  sign(push: Push): Promise<SignResult>;
  /**
   * Returns the server's answer to a push of another commit of this run on top of `at`; the server's branch is at
   * `since`. Leaves nothing behind.
   */
  probePush(branch: string, commits: { readonly at: ObjectId; readonly since: ObjectId }): Promise<PushResult>;
  /**
   * Returns the server's answer to a merge of the base branch, with its content, into the branch, which is at `at`.
   * Leaves nothing behind.
   */
  probeMerge(branch: string, merge: { readonly at: ObjectId; readonly base: ObjectId }): Promise<PushResult>;
  /** Returns the tasks of commits that were refused, with the paths that they change. */
  pathsByTask(commits: CommitRange): Promise<readonly TaskPaths[]>;
  /** Rewrites commits so that these paths keep the content from before them; returns null if that is not possible. */
  remakeCommitsWithout(commits: CommitRange & { readonly paths: readonly string[] }): Promise<RemadeCommits | null>;
  /**
   * Reads the commits of a bundle that another job left, so that they can be inspected and pushed, and measures the
   * branch with them.
   */
  receive(branch: ReceivedBranch): Promise<ReceiveResult>;
  /** Deletes a branch if its tip is still `head`. */
  deleteBranch(branch: { readonly branch: string; readonly head: ObjectId }): Promise<BranchDeleted>;
}

/**
 * A push. `since` is a commit on which `commit` builds and that was published before; the commits between them are
 * inspected.
 */
interface Push {
  readonly branch: string;
  readonly commit: ObjectId;
  readonly since: ObjectId;
}

/**
 * A branch that left its base at `fork` and is at `since` on the server. `base` is the one commit that it may have
 * merged since. Later commits are in a bundle whose newest commit must be `commit`; null without later commits.
 */
export interface ReceivedBranch {
  readonly fork: ObjectId;
  readonly base: ObjectId;
  readonly since: ObjectId;
  readonly bundle: { readonly path: string; readonly commit: ObjectId } | null;
  /** Names of the tasks to which its commits may belong, as people call them: `#12`. */
  readonly names: readonly string[];
}

/**
 * Result of `sign`. `as-they-are`: signatures are not required, or all commits have one. `places` maps each old id to
 * the new one.
 */
export type SignResult =
  | { readonly kind: 'as-they-are' }
  | { readonly kind: 'signed'; readonly head: ObjectId; readonly places: Readonly<Record<ObjectId, ObjectId>> }
  | Exclude<PushResult, { kind: 'pushed' }>;

/** Result of `receive`. `made` contains the bundle's newest commit of each task; `why` is a sentence. */
export type ReceiveResult =
  | { readonly kind: 'received'; readonly review: Review; readonly made: Readonly<Record<TaskId, ObjectId>> }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Result of `pushWithState`. `state` is the result of the state's write, or null if the state is not known to have been
 * pushed.
 */
export type PushedWithState =
  | { readonly kind: 'pushed'; readonly state: WriteResult | null; readonly merged?: ObjectId }
  /** Nothing was pushed: another run has written the state since it was read. */
  | { readonly kind: 'overtaken' }
  | Exclude<PushResult, { kind: 'pushed' }>;

export type BranchDeleted =
  | { readonly kind: 'deleted' }
  /** The branch was already deleted. */
  | { readonly kind: 'gone' }
  /** The branch has other commits than those that were merged. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'rejected'; readonly why: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * A reason not to push. `configuration` stays until a person changes something; `transient` may pass by itself. `why`
 * contains sentences for a person.
 */
export interface PushObstacle {
  readonly kind: 'configuration' | 'transient';
  readonly why: string;
}

export type PushResult =
  /** `merged`: the branch is at this merge of the pushed commit and of commits that people pushed in the meantime. */
  | { readonly kind: 'pushed'; readonly merged?: ObjectId }
  /** Our own inspection rejects the push, or the cause is unknown. */
  | { readonly kind: 'rejected'; readonly why: string }
  /** The server refuses the content, the branch or its name. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The branch is not where this run left it. */
  | { readonly kind: 'moved'; readonly why: string }
  /** The server did not answer, so another attempt may succeed. */
  | { readonly kind: 'unreachable'; readonly why: string };
