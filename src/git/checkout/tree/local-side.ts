import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { Folder } from '../../../core/folder.ts';
import { treeOf } from '../../objects.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { headOf, setHeadAndIndex, type Workspace } from '../workspace.ts';
import { findBeside, patchOf, type BesideOptions } from './found/beside.ts';
import type { Exchange } from './exchange.ts';
import type { WorkspaceRestorer } from './restore.ts';
import type { WorkTreeSide } from './side.ts';
import { notePlaces, putBackWorkTree, readWorkTree, withoutNotes } from './work-tree.ts';

/** What works in the work tree as this process: over `own`, whose objects no agent writes. */
export interface LocalSideOptions {
  readonly workspace: Workspace;
  /** The working directory, where notes are. */
  readonly folder: Folder;
  readonly own: PrivateRepository;
  readonly exchange: Exchange;
  /** Makes the git directory one that git accepts again. */
  readonly restore: WorkspaceRestorer;
  /** Options for looking at work beside the work tree. */
  readonly besideWith: Pick<BesideOptions, 'own' | 'objects'>;
}

/** A work tree that belongs to the user of this process. */
export function createLocalSide({
  workspace,
  folder,
  own,
  exchange,
  restore,
  besideWith,
}: LocalSideOptions): WorkTreeSide {
  const trees = new Map<ObjectId, ObjectId>();
  const beside = { ...besideWith, workspace };

  /** The tree of a commit, which is asked for once. */
  async function treeAt(commit: ObjectId): Promise<ObjectId | null> {
    const tree = trees.get(commit) ?? (await treeOf(own.git, commit));
    if (tree !== null) trees.set(commit, tree);
    return tree;
  }

  /** The agent's HEAD, once its commits are here; null: they cannot be had, and the content alone counts. */
  async function takenHead(tip: ObjectId): Promise<ObjectId | null> {
    const head = await headOf(workspace);
    if (head === null || head === tip) return head;
    return (await exchange.take({ head, known: tip })) ? head : null;
  }

  return {
    async read(tip, asFound) {
      const taken = takenHead(tip);
      const reading = { asFound, tracked: await treeAt(tip), taken };
      const [head, content, found] = await Promise.all([
        taken,
        readWorkTree(own, workspace, reading),
        findBeside(beside, asFound).catch(() => []),
      ]);
      return { head, ...content, beside: found };
    },

    patchOf: (question) => patchOf(beside, question),

    withoutNotes: (tree) => withoutNotesOf({ workspace, repository: own, folder }, tree),

    putBack: (wanted, asFound) => putBackWorkTree(own, workspace, { wanted, asFound }),

    async leavePlainCheckout({ branch, tip, has, hasIndex }) {
      exchange.know(tip);
      await own.withIndex('copy', async (indexFile) => {
        if (!hasIndex) await own.git.text(['read-tree', '-m', '-i', tip], { variables: { GIT_INDEX_FILE: indexFile } });
        try {
          await exchange.give({ head: tip, has });
          await setHeadAndIndex(workspace, branch, { commit: tip, indexFile });
        } catch {
          await rebuild().catch(() => undefined);
        }

        async function rebuild(): Promise<void> {
          await restore();
          await exchange.give({ head: tip, has: [] });
          await setHeadAndIndex(workspace, branch, { commit: tip, indexFile });
        }
      });
    },
  };
}

/** A work tree in which notes may be. */
interface NotedTree {
  readonly workspace: Pick<Workspace, 'top'>;
  readonly repository: PrivateRepository;
  readonly folder: Folder;
}

/** The tree without the agent's notes; nothing is asked of git where there are none on the disk. */
async function withoutNotesOf(
  { workspace: { top }, repository, folder }: NotedTree,
  tree: ObjectId,
): Promise<ObjectId> {
  const found = await Promise.all(
    notePlaces(folder).map((path) =>
      lstat(join(top, path)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true) ? await withoutNotes(repository, folder, tree) : tree;
}
