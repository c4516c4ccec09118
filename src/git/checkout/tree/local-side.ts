import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { Folder } from '../../../core/folder.ts';
import { sentence } from '../../../core/text/phrase.ts';
import { type BesideWork, LARGEST_PACK_BYTES, type StandIn, whyStandIn } from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import { lastWords } from '../../git.ts';
import { treeOf } from '../../objects.ts';
import { writeRegular } from '../../regular-files.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { headOf, setHeadAndIndex, type Workspace } from '../workspace.ts';
import type { AsFound } from './found/as-found.ts';
import { type BesideOptions, type BesideQuestion, findBeside, patchOf } from './found/beside.ts';
import { notePlaces, type PutBack, putBackWorkTree, readWorkTree, withoutNotes } from './work-tree.ts';

/** Makes a git directory that an agent broke or removed one that git accepts: without objects, and with HEAD on no commit. */
type WorkspaceRestorer = () => Promise<void>;

/** The two sides between which commits go: the checkout's own objects, and those of a repository that no agent writes. */
interface ExchangeSides {
  readonly workspace: Pick<Workspace, 'commonFolder'>;
  readonly checkout: PrivateRepository;
  readonly own: PrivateRepository;
  /** Commits of `own` whose past is not there. */
  readonly roots: readonly ObjectId[];
  /** Commits that it has, with all that they are made of. */
  readonly heads: readonly ObjectId[];
}

/** Takes commits out of the checkout and gives others to it. */
export interface Exchange {
  /** Takes `head` and what it is made of, as far as `known` has not; false when it cannot be had whole and sound. */
  take(commits: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean>;
  /** Gives `head` to the checkout; `has`: commits that it holds already, with all their files. */
  give(commits: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void>;
  /** A commit that was made in the repository that no agent writes. */
  know(head: ObjectId): void;
}

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

/** Rejects every request: no tree has been laid, or it has been removed. */
export const noSide: WorkTreeSide = {
  read: givenBack,
  patchOf: givenBack,
  withoutNotes: givenBack,
  putBack: givenBack,
  leavePlainCheckout: givenBack,
};

/** What works in the work tree as this process: over `own`, whose objects no agent writes. */
interface LocalSideOptions {
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
  const beside = { ...besideWith, workspace };

  /** The agent's HEAD, once its commits are here; null: they cannot be had, and the content alone counts. */
  async function takenHead(tip: ObjectId): Promise<ObjectId | null> {
    const head = await headOf(workspace);
    if (head === null || head === tip) return head;
    return (await exchange.take({ head, known: tip })) ? head : null;
  }

  return {
    async read(tip, asFound) {
      const taken = takenHead(tip);
      const reading = { asFound, tracked: await treeOf(own.git, tip), taken };
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

/** The content as it is committed, with the tree that evidence is taken from. */
export function contentOf(
  { tree, standIns }: Pick<ReadTree, 'tree' | 'standIns'>,
  evidence: ObjectId,
): WorkTreeContent {
  return { tree, evidence, standIns: new Map([...standIns].map(([path, standIn]) => [path, whyStandIn(standIn)])) };
}

function givenBack(): Promise<never> {
  return Promise.reject(new Error('the tree was left'));
}

/** Nothing that is taken comes in unless it is hashed and checked. */
export function createExchange({ workspace, checkout, own, roots, heads: given }: ExchangeSides): Exchange {
  const heads = new Set<ObjectId>([...roots, ...given]);

  async function take({ head, known }: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean> {
    if (heads.has(head)) return true;
    // An agent may have removed what is sealed.
    const isSealed = await Promise.all([checkout.seal(), own.seal()]).then(
      () => true,
      () => false,
    );
    if (!isSealed) return false;
    const packed = await checkout.git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
      input: `${head}\n^${known}\n`,
    });
    if (packed.exitCode !== 0) return false;
    const taken = await own.git.answer(
      ['index-pack', '--strict', '--stdin', `--max-input-size=${String(LARGEST_PACK_BYTES)}`],
      { input: packed.stdout },
    );
    if (taken.exitCode === 0) heads.add(head);
    return taken.exitCode === 0;
  }

  async function give({ head, has }: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void> {
    if (has.includes(head)) return;
    // The trees by themselves: of a commit that is not in the past of `head`, git leaves out the commits alone.
    const input = [head, ...has.flatMap((commit) => [`^${commit}`, `^${commit}^{tree}`]), ''].join('\n');
    const packed = await own.git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], { input });
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${own.folder}: ${sentence(lastWords(packed.stderr))}`,
      );
    await checkout.seal();
    // Strict: what the commits build on must be there as well.
    await checkout.git.text(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
    if (has.length === 0)
      await writeRegular(join(workspace.commonFolder, 'shallow'), roots.map((id) => `${id}\n`).join(''));
  }

  return { take, give, know: (head) => void heads.add(head) };
}

/** Makes it so with the config that the tree was laid with. */
export function createWorkspaceRestorer({ gitFolder, commonFolder }: Workspace, config: Buffer): WorkspaceRestorer {
  return async () => {
    const inside = ['objects', 'objects/pack', 'objects/info', 'refs', 'refs/heads'];
    for (const folder of [commonFolder, ...inside.map((name) => join(commonFolder, name)), gitFolder])
      await makeFolder(folder);
    await writeRegular(join(commonFolder, 'config'), config);
    await writeRegular(join(gitFolder, 'HEAD'), 'ref: refs/heads/lost\n');
    // What would lend it objects or a past that are not its own.
    for (const name of ['objects/info/alternates', 'objects/info/commit-graph', 'objects/info/grafts', 'packed-refs'])
      await rm(join(commonFolder, name), { recursive: true, force: true });
  };
}

/** Whatever else stands at its place goes. */
async function makeFolder(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true });
}
