import type { TaskSize } from '../core/lane/change.ts';
import type { LookAt } from '../core/review/look-at.ts';
import type { ObjectId, Snapshot } from '../core/evidence.ts';
import type { LockResult } from '../core/feedback/conflict/lock-tools.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import type { StateUpdate, Written } from './state.ts';
import type { Refusal } from '../core/refusals/refusal.ts';

/** Where the lane's branch comes from. `restart`: its pull request was merged at `mergedHead`, so it begins again at the base. `reuse`: the same on a server that does not let the branch be deleted. */
export type LaneStart =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'continue'; readonly remoteHead: ObjectId }
  | { readonly kind: 'restart'; readonly mergedHead: ObjectId }
  | { readonly kind: 'reuse'; readonly mergedHead: ObjectId };

export interface WantedLane {
  readonly branch: string;
  readonly baseBranch: string;
  readonly start: LaneStart;
}

/** The checkout in the workspace. No method runs hooks, filters or config-named programs of the repository. */
export interface Repository {
  /** Why there is no checkout to read from, as a sentence for a person; null: there is one. Asks nobody but the disk. */
  missing(): Promise<string | null>;
  /** Everything that makes the checkout unusable, as sentences for a person; empty when it is fine. */
  problems(): Promise<readonly string[]>;
  /** Fetches what `start` names (command-scoped header); from `base`, where another job of this run has found the tip of the base branch. What the checkout has already is not fetched then. */
  openLane(lane: WantedLane, base?: ObjectId): Promise<OpenedLane>;
  /** Text files of the checkout as the job made it, and of a lane's branch as the remote has it (fetched). Folders: `.beads/*.jsonl` style patterns are allowed in the last segment, and `specs/**` for all below one. Where the checkout has none and no lane is asked for, nothing but the disk is asked. */
  readTexts(
    paths: readonly string[],
    lane: { readonly branch: string; readonly head: ObjectId } | null,
  ): Promise<ReadTexts>;
  /** Which of these names the checkout has as the job made it: of files and links, and of folders, which end with a slash. `*` stands for any part of the last name. None is read. */
  namesOf(names: readonly string[]): Promise<readonly string[]>;
  /** The same of names at the root, wherever in the repository the run works. */
  namesAtRoot(names: readonly string[]): Promise<readonly string[]>;
  /** Content of the work tree now; what was withheld before counts as unchanged. */
  snapshot(): Promise<Snapshot>;
  compare(before: Snapshot, after: Snapshot): Promise<TreeChange>;
  /** Makes the agent's commits again with our words, commits what is not committed, leaves out and reports what must not be published. */
  commit(iteration: IterationCommit): Promise<CommittedIteration>;
  /** Text files of the lane's newest commit, which is what is published. */
  publishedTexts(paths: readonly string[]): Promise<FileTexts>;
  /** Commits these files on top of the lane's newest commit and nothing else, whatever the work tree holds: all of them or, where one must not be published, none. */
  commitTexts(commit: TextsCommit): Promise<Pick<CommittedIteration, 'head' | 'withheld'>>;
  /** Takes commits that were made again elsewhere as the lane's newest ones: `head` has all but what `refused` names, which stays in the work tree and is withheld from now on; `putBack`: the work tree becomes what `head` has. */
  takeHead(remade: {
    readonly head: ObjectId;
    readonly refused: readonly RefusedPath[];
    readonly putBack: boolean;
  }): Promise<void>;
  /** Merges the base branch's tip, as `openLane` found it, into the work tree without a commit. What conflicts has git's markers, but for lock files, which are as the base has them. The next `commit` is the merge, once no marker is left; until then it makes no commit and withholds the files that have some. */
  beginMerge(): Promise<MergeBegun>;
  /** Lock files that conflicted in the merge that lies in the work tree and are files still; none while something else of it is not merged. A snapshot. */
  lockFilesLeft(): Promise<readonly string[]>;
  /** Keeps what a tool made of such a file since the last snapshot, where that is all that changed and may be published: a snapshot. Else all is put back. */
  keepAlone(lockFile: string): Promise<KeptAlone>;
  /** Puts the lane's newest commit back where a merge was begun and is not finished; nothing where none was. */
  abandonMerge(): Promise<void>;
  /** Puts the files back that differ from the last snapshot, but for ignored ones; returns their paths. What a verification leaves is nobody's work. */
  putBack(): Promise<readonly string[]>;
  /** All that the lane's branch has changed since it left the base branch; null: no lane is open. */
  review(): Promise<Review | null>;
  /** Lays the tree that the agent works in: the lane's newest commit, with what git ignores in the checkout. The returned function ends what still runs there and moves the checkout, which is only read until then, to the lane's newest commit. After `openLane`. Rejects when `signal` is aborted. */
  layTree(signal: AbortSignal): Promise<() => Promise<void>>;
  /** Lays one of the lane's commits in a folder of its own, where the agent has no hand, for a verification; returns the folder. Rejects when `signal` is aborted. */
  layClean(commit: ObjectId, signal: AbortSignal): Promise<string>;
  /** Writes the lane's commits since `since` into a bundle file, for a job that publishes them. */
  bundle(file: { readonly path: string; readonly since: ObjectId }): Promise<void>;
}

/** Text files of the work tree, as the agent leaves them: no link is followed. */
export interface WorkFiles {
  /** As they are now; `*` stays within its folder. A file that is absent, no text or larger than 1 MiB is left out. */
  read(paths: readonly string[]): Promise<FileTexts>;
  /** Replaces a file, whole or not at all; throws when it is not any more what `old` says (null: it is not there). */
  replace(change: { readonly path: string; readonly old: string | null; readonly text: string }): Promise<void>;
  /** Removes a file; what is no regular file, or is not there, stays as it is. */
  remove(path: string): Promise<void>;
}

/** The same with files of which the end is enough. */
export interface WorkTreeFiles extends WorkFiles {
  /** At most the last `maxBytes` of a text file; null when there is none, or a link leads out of the work tree. */
  readEnd(path: string, maxBytes: number): Promise<string | null>;
}

/** Text by path. */
export type FileTexts = Readonly<Record<string, string>>;

/** Files that are absent, no text or larger than 1 MiB are left out. */
interface ReadTexts {
  readonly base: FileTexts;
  /** null: no lane was asked for. */
  readonly lane: FileTexts | null;
  /** Of the commit at which the lane left the base; null: no lane was asked for, or it is not known. */
  readonly fork: FileTexts | null;
  /** Files of the base that are there and were left out: why, by path. */
  readonly unread: FileTexts;
  /** Symbolic links of the base that stand at a path, or on the way to it, by their own path; why they are not followed. */
  readonly links: FileTexts;
}

export interface OpenedLane {
  readonly head: ObjectId;
  /** Tip of the base branch. */
  readonly base: ObjectId;
  /** Where the lane left the base branch. */
  readonly fork: ObjectId;
  /** Tree of `fork`. */
  readonly baseTree: ObjectId;
  /** Commits of the lane that the base branch lacks. */
  readonly ahead: number;
}

/** A branch, measured for those who review it. */
export interface Review {
  /** What a reviewer looks at first. */
  readonly lookAt: readonly LookAt[];
  /** Changed lines, without generated and lock files. */
  readonly lines: number;
  /** What the commits of each task changed, all together. */
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
  readonly before: Snapshot;
  /** What is committed: the content that was measured, whatever happened to the work tree since. */
  readonly after: Snapshot;
  /** Subject and body, without trailers. */
  readonly message: string;
  readonly trailers: Readonly<Record<string, string>>;
}

/** `texts`: content by path. */
export interface TextsCommit extends Pick<IterationCommit, 'message' | 'trailers'> {
  readonly texts: FileTexts;
}

export interface CommittedIteration {
  readonly head: ObjectId;
  /** The newest commit of this iteration; null when there is none. */
  readonly commit: ObjectId | null;
  /** What this iteration changed, is published, and a reviewer looks at first. */
  readonly lookAt: readonly LookAt[];
  /** What this iteration changed and must not be published. */
  readonly withheld: readonly Withheld[];
  /** What of the work tree is kept out of the branch, whenever it was changed. */
  readonly withheldNow: readonly Withheld[];
  /** Paths whose content in the branch this iteration changed. */
  readonly publishedPaths: readonly string[];
  /** HEAD and content of what is published: the work tree without what is withheld. */
  readonly published: Snapshot;
  /** What the agent did in this iteration that is not in the work tree: branches, stashes, work trees of its own. */
  readonly beside: readonly WorkBeside[];
  /** Names of all such work that is not in the work tree by now. */
  readonly besideNow: readonly string[];
  /** Whether a merge of the base branch is still to be finished (`open`), or this is it. */
  readonly merge: 'none' | 'open' | 'made';
}

/** A merge in the work tree: files that hold conflict markers, and lock files that conflicted; `up-to-date`: the lane has the base's tip already. */
export type MergeBegun =
  | { readonly kind: 'begun'; readonly conflicts: readonly string[]; readonly lockFiles: readonly string[] }
  | { readonly kind: 'up-to-date' };

/** Why it was put back: `failed`: it is no file any more. */
export type KeptAlone = 'kept' | Extract<LockResult, 'failed' | 'marked' | 'elsewhere' | 'withheld'>;

/** Work beside the work tree; `patch`: what it would change there, cut where it is long. */
export interface WorkBeside {
  readonly name: string;
  readonly patch: string;
}

/** A changed file that was left out of the commit. */
export interface Withheld {
  readonly path: string;
  readonly why: string;
}

/** A file that the server refused; `whatever`: whatever it holds, as opposed to what it holds now. */
export interface RefusedPath extends Withheld {
  readonly whatever: boolean;
}

/** Commits behind `since`, up to `commit`. */
export interface CommitRange {
  readonly commit: ObjectId;
  readonly since: ObjectId;
}

/** What the commits of a task change; '' for those of no task. */
export interface TaskPaths {
  readonly task: TaskId;
  readonly paths: readonly string[];
}

/** Commits that were made again. `places`: by old id the new one, null: it changed nothing else; `tasks`: those whose commits lost something. */
export interface Remade {
  readonly head: ObjectId;
  readonly places: Readonly<Record<ObjectId, ObjectId | null>>;
  readonly tasks: readonly TaskId[];
}

/** The remote side of the repository. What is pushed was inspected commit by commit, from objects that were hashed right before. */
export interface Remote {
  /** Tip of every branch that starts with `prefix`, by name, and of those whose name is a folder of it (\`ralph\` for \`ralph/\`); throws UserError when the remote refuses even reading. */
  branches(prefix: string): Promise<Readonly<Record<string, ObjectId>>>;
  /** Why this token may not push; null when it may. `newBranch`: the branch that the run would make, so that the rules for it and for the run's commits are asked as well; null: the token alone. Leaves nothing behind. */
  pushObstacle(newBranch: string | null): Promise<PushObstacle | null>;
  /** Publishes `commit` as `branch`, never forced: it must build on what `start` says that the remote holds. */
  push(push: Push & { readonly start: LaneStart }): Promise<PushResult>;
  /** The same in one request, for a branch that is at `at` as far as this run knows; null: it is created. */
  pushOn(push: Push & { readonly at: ObjectId | null }): Promise<PushResult>;
  /** The same with the state in one push: the server takes both or neither. Where the state alone is forbidden, the branch goes without it. */
  pushWithState(push: Push & { readonly at: ObjectId | null; readonly along: StateUpdate }): Promise<PushedWithState>;
  /** What the server says of one more commit of this run on the branch, which is at `at`. Leaves nothing behind, whatever it says. */
  probePush(branch: string, at: ObjectId): Promise<PushResult>;
  /** What the server says of a merge of the base branch into the branch, which is at `at`, as far as the merge brings workflow files. Leaves nothing behind. */
  probeMerge(branch: string, merge: { readonly at: ObjectId; readonly base: ObjectId }): Promise<PushResult>;
  /** The tasks of commits that were not taken, and the paths that they change. */
  pathsByTask(commits: CommitRange): Promise<readonly TaskPaths[]>;
  /** Makes commits again with these paths as the commit before them has them; null: it cannot be done. */
  remakeWithout(commits: CommitRange & { readonly paths: readonly string[] }): Promise<Remade | null>;
  /** Takes the commits of a bundle that another job left, so that they can be inspected and pushed, and measures the branch with them. */
  receive(branch: ReceivedBranch): Promise<Received>;
  /** Deletes a branch, if its tip is still `head`. */
  deleteBranch(branch: { readonly branch: string; readonly head: ObjectId }): Promise<BranchDeleted>;
}

/** `since`: a commit that `commit` builds on and that was published before; what lies between is inspected. */
interface Push {
  readonly branch: string;
  readonly commit: ObjectId;
  readonly since: ObjectId;
}

/** A branch that left its base at `fork` and is at `since` on the server; `base` is the one commit that it may have merged since; what was made beyond that is in a bundle whose newest commit must be `commit`; null: nothing was. */
export interface ReceivedBranch {
  readonly fork: ObjectId;
  readonly base: ObjectId;
  readonly since: ObjectId;
  readonly bundle: { readonly path: string; readonly commit: ObjectId } | null;
  /** What people call the tasks that its commits may be part of: `#12`. */
  readonly names: readonly string[];
}

/** `made`: the newest commit of the bundle for each task; `why`: a sentence. */
export type Received =
  | { readonly kind: 'received'; readonly review: Review; readonly made: Readonly<Record<TaskId, ObjectId>> }
  | { readonly kind: 'refused'; readonly why: string };

/** `state`: what became of it; null: it is not known to have gone along. */
export type PushedWithState =
  | { readonly kind: 'pushed'; readonly state: Written | null }
  /** Nothing was pushed: somebody else has written the state since it was read. */
  | { readonly kind: 'overtaken' }
  | Exclude<PushResult, { kind: 'pushed' }>;

export type BranchDeleted =
  | { readonly kind: 'deleted' }
  /** Somebody deleted it before. */
  | { readonly kind: 'gone' }
  /** It holds other commits than what was merged. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'rejected'; readonly why: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** `configuration`: it stays so until a person changes something; `weather`: it may pass. `why`: sentences for a person. */
export interface PushObstacle {
  readonly kind: 'configuration' | 'weather';
  readonly why: string;
}

export type PushResult =
  | { readonly kind: 'pushed' }
  /** We ourselves do not send it, or it cannot be told who is to blame. */
  | { readonly kind: 'rejected'; readonly why: string }
  /** The server will not take it: a refusal of its content, its branch or its name. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The branch is not where this run left it. */
  | { readonly kind: 'moved'; readonly why: string }
  /** Nobody answered: another try may succeed. */
  | { readonly kind: 'unreachable'; readonly why: string };
