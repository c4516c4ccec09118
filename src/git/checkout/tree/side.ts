import type { ObjectId } from '../../../core/evidence.ts';
import type { BesideWork } from '../../../core/work-tree/beside.ts';
import { whyStandIn, type StandIn } from '../../../core/work-tree/stand-in.ts';
import type { AsFound } from './found/as-found.ts';
import type { BesideQuestion } from './found/beside.ts';
import type { PutBack } from './work-tree.ts';

/** What is done in the work tree while a lane is open: by this process or, where the tree belongs to another user, by a worker of ours that runs as that user. */
export interface WorkTreeSide {
  /** The work tree as it is now. `tip`: the newest commit of the lane. */
  read(tip: ObjectId, asFound: readonly AsFound[]): Promise<ReadTree>;
  /** What work that `read` named beside the work tree would change in it; null: nothing that is not there already, or it cannot be had. */
  patchOf(question: BesideQuestion): Promise<string | null>;
  /** The tree without the agent's notes, from which evidence is taken. */
  withoutNotes(tree: ObjectId): Promise<ObjectId>;
  /** Makes the work tree what `wanted` says, but for ignored files and for what nobody here can change. */
  putBack(wanted: ObjectId, asFound: readonly AsFound[]): Promise<PutBack>;
  /** Leaves a plain checkout of the tip whose withheld files show up as changes that are not committed. An agent may have broken the git directory beyond repair: the run does without it. */
  leavePlainCheckout(lane: LeftLane): Promise<void>;
}

/** HEAD and content of the work tree, in the quarantine with all that they are made of. `head` is null where there is none that can be had: then the content alone counts. */
export interface ReadTree {
  readonly head: ObjectId | null;
  readonly tree: ObjectId;
  readonly standIns: ReadonlyMap<string, StandIn>;
  /** Work of whomever that is not in the work tree. */
  readonly beside: readonly BesideWork[];
}

/** `has`: commits that the checkout holds, which is the tip before and the agent's own; `hasIndex`: the work tree was read last as the very tree of the tip. */
interface LeftLane {
  readonly branch: string;
  readonly tip: ObjectId;
  readonly has: readonly ObjectId[];
  readonly hasIndex: boolean;
}

/** Content of the work tree as it is committed. `evidence`: `tree` without the agent's own notes, which are published but are no progress. `standIns`: paths that are in the tree under a substitute, and why their own content is not. */
export interface WorkTreeContent {
  readonly tree: ObjectId;
  readonly evidence: ObjectId;
  readonly standIns: ReadonlyMap<string, string>;
}

/** The content as it is committed, with the tree that evidence is taken from. */
export function contentOf(
  { tree, standIns }: Pick<ReadTree, 'tree' | 'standIns'>,
  evidence: ObjectId,
): WorkTreeContent {
  return { tree, evidence, standIns: new Map([...standIns].map(([path, standIn]) => [path, whyStandIn(standIn)])) };
}

/** Rejects every request: no tree has been laid, or it has been removed. */
export const noSide: WorkTreeSide = {
  read: givenBack,
  patchOf: givenBack,
  withoutNotes: givenBack,
  putBack: givenBack,
  leavePlainCheckout: givenBack,
};

function givenBack(): Promise<never> {
  return Promise.reject(new Error('the tree was left'));
}
