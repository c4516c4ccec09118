import type { TaskSize } from '../core/lane/change.ts';
import type { FilesToLookAt } from '../core/review/look-at.ts';
import type { ObjectId, TreeSnapshot } from '../core/evidence.ts';
import type { LockResult } from '../core/feedback/conflict/lock-tools.ts';
import type { JudgedPull, RevertCommit } from '../core/snapshot/stored-pull.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import type { TaskChanges, RestoredFile } from '../core/proof/judge.ts';
import type { FileHistory } from '../core/parallel/predict-files.ts';
import type { ComparedPull } from '../core/train/train.ts';

/**
 * The origin of the lane's branch. `restart`: its pull request was merged at `mergedHead`, so the branch begins again
 * at the base. `reuse`: like `restart`, on a server that does not allow the branch to be deleted.
 */
export type LaneStart =
  | { readonly kind: 'fresh' }
  /** `personHead`: as in OpenedLane; absent until the branch was opened. */
  | { readonly kind: 'continue'; readonly remoteHead: ObjectId; readonly personHead?: ObjectId | null }
  | { readonly kind: 'restart'; readonly mergedHead: ObjectId }
  | { readonly kind: 'reuse'; readonly mergedHead: ObjectId };

export interface WantedLane {
  readonly branch: string;
  readonly baseBranch: string;
  readonly start: LaneStart;
}

/** The checkout in the workspace. No method runs hooks, filters or programs that the repository's config names. */
export interface Repository {
  /**
   * Returns the reason why there is no checkout to read from, as a sentence for a person, or null if there is one.
   * Reads only the local disk.
   */
  missing(): Promise<string | null>;
  /** Returns everything that makes the checkout unusable, as sentences for a person; empty if it is usable. */
  problems(): Promise<readonly string[]>;
  /**
   * Fetches the commits that `start` names; the token is in a header of this one command. `base` is the tip of the base
   * branch that another job of this run has found. Does not fetch commits that the checkout already has.
   */
  openLane(lane: WantedLane, base?: ObjectId): Promise<OpenedLane>;
  /**
   * Returns text files of the checkout as the job made it, and of a lane's branch on the remote (fetched). The last
   * segment of a path may be a pattern such as `.beads/*.jsonl`, or `specs/**` for everything below a folder. Reads
   * only the local disk if the checkout lacks the files and no lane is requested.
   */
  readTexts(
    paths: readonly string[],
    lane: { readonly branch: string; readonly head: ObjectId } | null,
  ): Promise<ReadTexts>;
  /**
   * Returns which of these names the checkout has as the job made it: files and links, and folders, which end with a
   * slash. `*` matches any part of the last name. No file is read.
   */
  namesOf(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Compares open pull requests with each other and with their base branch, and leaves nothing behind. Takes one fetch.
   * Returns null if git cannot compare them.
   */
  compareOpen(open: OpenPulls): Promise<readonly ComparedPull[] | null>;
  /**
   * Returns what the checkout and its history, as the job made them, show about files and these symbols, and for each
   * of these branches the files that it has changed since it left the base branch. Takes one fetch if there are
   * branches. Returns null if git fails.
   */
  history(asked: {
    readonly branches: readonly RemoteBranch[];
    readonly symbols: readonly string[];
  }): Promise<(FileHistory & { readonly changed: FilesByBranch }) | null>;
  /**
   * Returns the commits up to `tip` that revert others, made after `since` (ms), newest first; empty if git fails.
   * Contacts no server.
   */
  revertsIn(tip: ObjectId, since: number): Promise<readonly RevertCommit[]>;
  /**
   * Returns the commits of these pull requests that differ from git's own merge of their parents; empty if git fails.
   * Takes one fetch.
   */
  editedMerges(asked: readonly JudgedPull[]): Promise<readonly ObjectId[]>;
  /**
   * Returns those of these branches whose history has the commit; empty if git cannot tell. Takes one fetch.
   */
  branchesWith(commit: ObjectId, branches: readonly string[]): Promise<readonly string[]>;
  /** Like `namesOf`, but always relative to the repository root. */
  namesAtRoot(names: readonly string[]): Promise<readonly string[]>;
  /** Records the present content of the work tree; treats paths that were withheld before as unchanged. */
  snapshot(): Promise<TreeSnapshot>;
  compare(before: TreeSnapshot, after: TreeSnapshot): Promise<TreeChange>;
  /**
   * Rewrites the agent's commits with our words, commits the rest, and leaves out and reports content that must not be
   * published.
   */
  commit(iteration: IterationCommit): Promise<CommittedIteration>;
  /** Returns text files of the lane's newest commit, which is what is published. */
  publishedTexts(paths: readonly string[]): Promise<FileTexts>;
  /**
   * Commits only these files on top of the lane's newest commit, regardless of the work tree. Commits all of them or,
   * if one must not be published, none.
   */
  commitTexts(commit: TextsCommit): Promise<Pick<CommittedIteration, 'head' | 'withheld'>>;
  /**
   * Makes rewritten commits the lane's newest ones. `head` lacks only the paths in `refused`, which stay in the work
   * tree and are withheld from now on. The work tree is left as it is, is reset to `head`, or gets only what `head`
   * changes.
   */
  takeHead(remade: {
    readonly head: ObjectId;
    readonly refused: readonly RefusedPath[];
    readonly workTree: 'as-it-is' | 'reset' | 'updated';
  }): Promise<void>;
  /**
   * Merges the base branch's tip, as `openLane` found it, into the work tree without a commit. Conflicts have git's
   * markers, except in lock files, which get the content of the base. The next `commit` makes the merge commit once no
   * marker is left; until then it makes no commit and withholds the files with markers.
   */
  beginMerge(): Promise<MergeBegun>;
  /**
   * Returns the lock files that conflicted in the open merge and still exist; empty while anything else of the merge is
   * unresolved. Takes a snapshot.
   */
  lockFilesLeft(): Promise<readonly string[]>;
  /**
   * Keeps a tool's change of a conflicting lock file since the last snapshot, if nothing else changed and the file may
   * be published, and takes a snapshot. Otherwise puts everything back.
   */
  keepAlone(lockFile: string): Promise<KeepAloneResult>;
  /** Resets the work tree to the lane's newest commit if a merge is unfinished, otherwise does nothing. */
  abandonMerge(): Promise<void>;
  /**
   * Undoes everything that a verification or a review did in the work tree since the last snapshot: files, except
   * ignored ones, and commits. Never reports work that it left outside of the work tree. Returns the paths of the
   * files.
   */
  putBack(): Promise<readonly string[]>;
  /**
   * Measures everything that the lane's branch has changed since it left the base branch; returns null if no lane is
   * open.
   */
  review(): Promise<Review | null>;
  /**
   * Creates the tree in which the agent works: the lane's newest commit, with the files that git ignores in the
   * checkout. Must be called after `openLane`. The returned function ends processes that still run in the tree and
   * moves the checkout, which is only read until then, to the lane's newest commit. Rejects if `signal` is aborted.
   */
  checkOutTree(signal: AbortSignal): Promise<() => Promise<void>>;
  /**
   * Checks out one of the lane's commits into a separate folder that the agent cannot reach, for a verification;
   * returns the folder. Rejects if `signal` is aborted.
   */
  checkOutCommitAlone(commit: ObjectId, signal: AbortSignal): Promise<string>;
  /** Returns the changes that the commits of each task made on the lane's branch; empty if no lane is open. */
  taskChanges(): Promise<readonly TaskChanges[]>;
  /** Makes a commit on top of `commit`, on no branch, that reverts these files. */
  commitReverted(taken: { readonly commit: ObjectId; readonly files: readonly RestoredFile[] }): Promise<ObjectId>;
  /** Writes the lane's commits since `since` into a bundle file, for a job that publishes them. */
  bundle(file: { readonly path: string; readonly since: ObjectId }): Promise<void>;
}

/** A branch of the server, and its tip there. */
export interface RemoteBranch {
  readonly branch: string;
  readonly head: ObjectId;
}

export type FilesByBranch = Readonly<Record<string, readonly string[]>>;

/** Open pull requests into one base branch, the oldest first. */
export interface OpenPulls {
  readonly base: { readonly branch: string; readonly tip: ObjectId };
  readonly pulls: readonly (RemoteBranch & { readonly number: number })[];
}

/** Text files of the work tree as the agent leaves them; links are not followed. */
export interface WorkFiles {
  /**
   * Returns the present texts; `*` stays within its folder. Leaves out a file that is absent, not text or larger than 1
   * MiB.
   */
  read(paths: readonly string[]): Promise<FileTexts>;
  /**
   * Replaces a file, completely or not at all; throws if its content is no longer `old` (null means that it does not
   * exist).
   */
  replace(change: { readonly path: string; readonly old: string | null; readonly text: string }): Promise<void>;
  /** Removes a regular file; does nothing if none. */
  remove(path: string): Promise<void>;
}

/** Text files of the work tree, whose end can be read separately. */
export interface WorkTreeFiles extends WorkFiles {
  /**
   * Returns at most the last `maxBytes` of a text file; returns null if none, or a link leads out of the work
   * tree.
   */
  readEnd(path: string, maxBytes: number): Promise<string | null>;
}

/** Texts by path. */
export type FileTexts = Readonly<Record<string, string>>;

/** Texts that were read. Files that are absent, not text or larger than 1 MiB are left out. */
interface ReadTexts {
  readonly base: FileTexts;
  /** Texts of the lane's branch, or null if no lane was requested. */
  readonly lane: FileTexts | null;
  /** Texts of the commit at which the lane left the base; null without a lane, or if that commit is unknown. */
  readonly fork: FileTexts | null;
  /** Files of the base that exist and were left out, each path with the reason. */
  readonly unread: FileTexts;
  /** Symbolic links of the base at or above a path, each with the reason why it is not followed. */
  readonly links: FileTexts;
}

export interface OpenedLane {
  readonly head: ObjectId;
  /** Tip of the base branch. */
  readonly base: ObjectId;
  /** Commit at which the lane left the base branch. */
  readonly fork: ObjectId;
  /** Tree of `fork`. */
  readonly baseTree: ObjectId;
  /** Number of commits of the lane that the base branch lacks. */
  readonly ahead: number;
  /** Number of those before the first commit of a run; it is above 0 if the base branch was rewritten, for example. */
  readonly below: number;
  /**
   * The newest commit of a person on the lane, or null if none. A merge is a person's commit only if a person
   * edited it.
   */
  readonly personHead: ObjectId | null;
  /**
   * The tasks that the newest commits of the branch name. Null if no commit that the base branch lacks names one,
   * because a person may have squashed them.
   */
  readonly tasks: readonly TaskId[] | null;
  /** Sentences about the checkout that people should know. */
  readonly warnings: readonly string[];
}

/** A branch, measured for those who review it. */
export interface Review {
  /** Files that a reviewer looks at first. */
  readonly lookAt: readonly FilesToLookAt[];
  /** Changed lines, without generated and lock files. */
  readonly lines: number;
  /** Size of each task's change, over all of its commits. */
  readonly sizes: Readonly<Record<TaskId, TaskSize>>;
}

export interface TreeChange {
  readonly files: readonly string[];
  readonly fileCount: number;
  readonly insertions: number;
  readonly deletions: number;
  readonly agentCommits: number;
}

export interface IterationCommit {
  readonly before: TreeSnapshot;
  /** Content to commit, as it was measured, regardless of later changes of the work tree. */
  readonly after: TreeSnapshot;
  /** Subject and body, without trailers. */
  readonly message: string;
  readonly trailers: Readonly<Record<string, string>>;
}

/** A commit of texts; `texts` are the contents by path. */
export interface TextsCommit extends Pick<IterationCommit, 'message' | 'trailers'> {
  readonly texts: FileTexts;
}

export interface CommittedIteration {
  readonly head: ObjectId;
  /** The newest commit of this iteration, or null if none. */
  readonly commit: ObjectId | null;
  /** Published changes of this iteration that a reviewer looks at first. */
  readonly lookAt: readonly FilesToLookAt[];
  /** Changes of this iteration that must not be published. */
  readonly withheld: readonly WithheldChange[];
  /** Files of the work tree that are kept out of the branch, regardless of when they were changed. */
  readonly withheldNow: readonly WithheldChange[];
  /** Paths whose content in the branch this iteration changed. */
  readonly publishedPaths: readonly string[];
  /** HEAD and the published content: the work tree without the withheld files. */
  readonly published: TreeSnapshot;
  /** Work of this iteration outside of the work tree: branches, stashes, the agent's own work trees. */
  readonly beside: readonly WorkBeside[];
  /** Names of all work outside of the work tree that still exists. */
  readonly besideNow: readonly string[];
  /** Files and folders of this iteration that git ignores; folders end with a slash. */
  readonly newlyIgnored: readonly string[];
  /** State of a merge of the base branch: still to be finished (`open`), or made by this commit. */
  readonly merge: 'none' | 'open' | 'made';
}

/**
 * A merge in the work tree: files with conflict markers, and lock files that conflicted. `up-to-date`: the lane already
 * has the base's tip.
 */
export type MergeBegun =
  | { readonly kind: 'begun'; readonly conflicts: readonly string[]; readonly lockFiles: readonly string[] }
  | { readonly kind: 'up-to-date' };

/** Result of `keepAlone`: kept, or why the change was put back. `failed`: the lock file is no longer a file. */
export type KeepAloneResult = 'kept' | Extract<LockResult, 'failed' | 'marked' | 'elsewhere' | 'withheld'>;

/** Work outside of the work tree. `patch` contains its changes to the work tree, and is cut if it is long. */
export interface WorkBeside {
  readonly name: string;
  readonly patch: string;
}

/** A changed file that was left out of the commit. */
export interface WithheldChange {
  readonly path: string;
  readonly why: string;
}

/**
 * A file that the server refused. `refusesAnyContent` is true if the server refuses every content of the file, not only
 * the present one.
 */
export interface RefusedPath extends WithheldChange {
  readonly refusesAnyContent: boolean;
}
