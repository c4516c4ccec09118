import { dirname, join } from 'node:path';
import type { ObjectId, TreeSnapshot } from '../../core/evidence.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { TreeChange, WorkTreeFiles } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { decodeGitName } from '../names.ts';
import { type PathChange, diffTrees, readTreeId } from '../objects.ts';
import { removeTree } from '../remove-tree.ts';
import type { FoundCredentials } from './credentials/credentials.ts';
import type { OpenedCheckout, RepositoryOptions } from './lane.ts';
import { createUncheckedRepository } from './private-repository.ts';
import type { Quarantine } from './quarantine.ts';
import { type ToleratedChange, tolerateChanges, writeToleratedToIndex } from './tree/differences/tolerated-changes.ts';
import type { Inbox } from './tree/inbox.ts';
import { type CommitToCheckOut, checkOutTree } from './tree/check-out-tree.ts';
import {
  createExchange,
  createLocalAccess,
  createWorkspaceRestorer,
  type WorkTreeAccess,
} from './tree/work-tree-access.ts';
import { giveToSandbox, lendToSandbox, type RepositorySandbox } from './tree/agent-tree.ts';
import { plainReading, readWorkTree } from './tree/work-tree.ts';
import { copyIndex, readConfig, type Workspace, createWorkspaceAt } from './workspace.ts';

const MAX_CHANGED_FILES = 200;

/** A lane as it was opened; it does not change afterwards. */
export interface LaneAtOpening {
  readonly branch: string;
  /** The lane's newest commit at that time. */
  readonly start: ObjectId;
  /** Tip of the base branch. */
  readonly base: { readonly branch: string; readonly commit: ObjectId };
  /** The quarantine, bound to no work tree. */
  readonly detached: Quarantine;
}

/** The tree that the agent works in, with this program's access to it. */
export interface WorkTree {
  readonly top: string;
  readonly access: WorkTreeAccess;
  /** The quarantine, bound to the tree if this process may work in the tree. */
  readonly quarantine: Quarantine;
  /** Files that git writes differently from the commit (line ends, filters); they are treated as unchanged. */
  readonly tolerated: readonly ToleratedChange[];
  /** Reads the tree's files as their owner; null if this process can read them itself. */
  readonly files: WorkTreeFiles | null;
  /** Ends the processes that run in the tree, so that it may be removed. Throws UserError if some cannot be ended. */
  leave(): Promise<void>;
}

/** Checks out the trees in which a lane's code runs, and gives them to the agent's sandbox, if there is one. */
export interface LaneTrees {
  layWork(signal: AbortSignal): Promise<WorkTree>;
  /** Implements `Repository.checkOutCommitAlone`: checks out a commit where the agent cannot reach it. */
  checkOutCommitAlone(commit: ObjectId, signal: AbortSignal): Promise<string>;
}

/** Time in ms from SIGTERM to SIGKILL for processes that an agent left running. */
const GRACE_MS = 500;

/** Creates the trees of a lane; none is checked out before it is needed. */
export function createLaneTrees(
  options: Pick<RepositoryOptions, 'workFolder' | 'workingDirectory' | 'env' | 'log'>,
  { workspace: checkout, repository }: OpenedCheckout,
  lazy: {
    readonly credentials: () => Promise<FoundCredentials>;
    readonly agentSandboxOf: () => Promise<RepositorySandbox | null>;
    readonly lane: LaneAtOpening;
  },
): LaneTrees {
  const { credentials, agentSandboxOf, lane } = lazy;
  const { workFolder, workingDirectory: folder, env, log } = options;
  const { branch, start, base, detached } = lane;
  /** Objects lent to the agent's sandbox. */
  let lent: Promise<Inbox> | null = null;

  async function checkOut(
    given: RepositorySandbox | null,
    wanted: Pick<CommitToCheckOut, 'kind' | 'commit' | 'branch' | 'sparseSince'>,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { top, ...place } = await checkOutTree(
      {
        ...{ workspace: checkout, repository, credentials: await credentials(), workFolder, env, log, signal },
        agentSandbox: given?.agentSandbox ?? null,
      },
      { ...wanted, base, hasIgnored: true, objects: await objectsFor(given, wanted.commit) },
    );
    return {
      ...createWorkspaceAt({ top, ...place }, { env, log, borrowed: [detached.folder] }),
      shallow: checkout.shallow,
    };
  }

  /** Returns the folders of objects in which a tree finds the commit. */
  async function objectsFor(given: RepositorySandbox | null, commit: ObjectId): Promise<readonly string[]> {
    if (given === null) return ownObjects();
    const { lend, objects } = await (lent ??= lendToSandbox(given, detached, { tip: start, checkout }));
    await lend(commit);
    return objects;
  }

  function ownObjects(): readonly string[] {
    return [detached.folder, checkout.commonFolder].map((one) => join(one, 'objects'));
  }

  return {
    async layWork(signal) {
      const given = await agentSandboxOf();
      const tree = await checkOut(given, { kind: 'work', commit: start, branch, sparseSince: start }, signal);
      const quarantine = await detached.over(tree);
      await copyIndex(join(tree.gitFolder, 'index'), quarantine.indexFile);
      const content = await readWorkTree(quarantine, tree, plainReading);
      const wanted = await readTreeId(quarantine.git, start);
      const isAsWanted = wanted === null || wanted === content.tree;
      const tolerated = isAsWanted ? [] : tolerateChanges(await diffTrees(quarantine.git, wanted, content.tree));
      await writeToleratedToIndex(quarantine, tolerated);
      const { top } = tree;
      if (given !== null && lent !== null) {
        const inbox = await lent;
        await inbox.lendIndex(quarantine.indexFile);
        const own = repository.setup;
        const access = await giveToSandbox({ ...given, tree, quarantine: detached, inbox, folder, own, log });
        const leave = async (): Promise<void> => {
          const left = await given.agentSandbox.end(GRACE_MS);
          if (left.length > 0)
            throw new UserError(
              'infrastructure',
              `Processes of the isolated agent cannot be ended: ${listFirstNames(left)}. Work finished before that is published. Restart the runner.`,
            );
        };
        return { top, access, quarantine: detached, tolerated, files: access.files, leave };
      }
      const own = await createUncheckedRepository(tree, {
        ...repository.setup,
        folder: join(workFolder, 'tree-repository'),
        objects: join(tree.gitFolder, 'objects'),
        borrowed: [],
        shallow: [],
      });
      const ends = { roots: quarantine.roots, heads: [start, base.commit] };
      const access = createLocalAccess({
        ...{ workspace: tree, folder, own: quarantine },
        exchange: createExchange({ workspace: tree, checkout: own, own: quarantine, ...ends }),
        restore: createWorkspaceRestorer(tree, (await readConfig(tree)) ?? Buffer.alloc(0)),
        besideWith: { own: repository, objects: [...ownObjects(), join(tree.gitFolder, 'objects')] },
      });
      return { top, access, quarantine, tolerated, files: null, leave: () => removeTree(dirname(top)) };
    },

    async checkOutCommitAlone(commit, signal) {
      const given = await agentSandboxOf();
      // The base has only files that the job checked out, but the lane may also have changed others, so write these
      // too.
      const sparseSince = base.commit === commit ? commit : start;
      const { top } = await checkOut(given, { kind: 'clean', commit, branch: null, sparseSince }, signal);
      await given?.agentSandbox.give(top);
      return top;
    },
  };
}

/**
 * Returns what changed from one snapshot to the next. `known` is the list of changes between their trees, if it is
 * already known.
 */
export async function measureChange(
  git: Git,
  compared: {
    readonly before: TreeSnapshot;
    readonly after: TreeSnapshot;
    readonly known: readonly PathChange[] | null;
  },
): Promise<TreeChange> {
  const { before, after, known } = compared;
  const [changes, agentCommits] = await Promise.all([
    known ?? diffTrees(git, before.tree, after.tree),
    countCommits(git, before.head, after.head),
  ]);
  return {
    files: changes.slice(0, MAX_CHANGED_FILES).map(({ path }) => decodeGitName(path)),
    fileCount: changes.length,
    insertions: changes.reduce((sum, change) => sum + (change.insertions ?? 0), 0),
    deletions: changes.reduce((sum, change) => sum + (change.deletions ?? 0), 0),
    agentCommits,
  };
}

async function countCommits(git: Git, before: ObjectId, after: ObjectId): Promise<number> {
  if (before === after) return 0;
  return Number((await git.answer(['rev-list', '--count', `${before}..${after}`])).stdout.toString().trim());
}
