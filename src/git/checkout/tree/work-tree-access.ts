import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { Folder } from '../../../core/folder.ts';
import { completeSentence } from '../../../core/text/phrase.ts';
import {
  type BesideWork,
  MAX_PACK_BYTES,
  type Substitute,
  explainSubstitute,
} from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import { lastLinesOfError, LOCAL_IDENTITY, MERGE_ALONE } from '../../git.ts';
import { decodeNames } from '../../names.ts';
import { diffTrees, type PathChange, readTreeId, writeTreeWith } from '../../objects.ts';
import { writeRegular } from '../../regular-files.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { readHead, setHeadAndIndex, type Workspace } from '../workspace.ts';
import type { ToleratedChange } from './differences/tolerated-changes.ts';
import { type BesideOptions, type BesideQuestion, findBeside, createBesidePatch } from './differences/beside.ts';
import { dropUntracked, listHiddenPaths } from './untracked.ts';
import {
  listIgnoredPaths,
  listNotePlaces,
  type RestoredTree,
  putBackWorkTree,
  readWorkTree,
  withoutNotes,
} from './work-tree.ts';

/**
 * Repairs a git directory that an agent broke or removed. git then accepts it again, without objects and with HEAD on
 * no commit.
 */
type WorkspaceRestorer = () => Promise<void>;

/**
 * The two sides that exchange commits: the checkout's own objects, and those of a repository that no agent can write.
 */
interface ExchangeSides {
  readonly workspace: Pick<Workspace, 'commonFolder'>;
  readonly checkout: PrivateRepository;
  readonly own: PrivateRepository;
  /** Commits of `own` whose past is missing. */
  readonly roots: readonly ObjectId[];
  /** Commits of `own`, with all their objects. */
  readonly heads: readonly ObjectId[];
}

/** Takes commits from the checkout and gives commits to it. */
export interface Exchange {
  /** Takes `head` and its objects that `known` lacks; returns false if they are incomplete or damaged. */
  take(commits: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean>;
  /** Gives `head` to the checkout; `has` are commits that the checkout has already, with all their files. */
  give(commits: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void>;
  /** Registers a commit that was made in the repository that no agent can write. */
  know(head: ObjectId): void;
}

/**
 * The operations in the work tree of an open lane. This process performs them itself or, if the tree belongs to another
 * user, through a worker process that runs as that user.
 */
export interface WorkTreeAccess {
  /** Reads the work tree as it is now. `tip` is the newest commit of the lane. Only `all` names the ignored paths. */
  read(tip: ObjectId, tolerated: readonly ToleratedChange[], wanted: ReadPart): Promise<ReadTree>;
  /**
   * Returns the patch of work that `read` found outside of the work tree, or null if the tree already contains the work
   * or it cannot be read.
   */
  patchOf(question: BesideQuestion): Promise<string | null>;
  /** Returns the tree without the agent's notes, which is used as evidence. */
  withoutNotes(tree: ObjectId): Promise<ObjectId>;
  /** Makes the work tree equal to `wanted`, except for ignored files and paths that cannot be changed here. */
  putBack(wanted: ObjectId, tolerated: readonly ToleratedChange[]): Promise<RestoredTree>;
  /**
   * Leaves a plain checkout of the tip whose withheld files show up as uncommitted changes. If an agent broke the git
   * directory beyond repair, the run continues without it.
   */
  leavePlainCheckout(lane: LeftLane): Promise<void>;
}

export type ReadPart = 'all' | 'content';

/**
 * HEAD and content of the work tree, complete in the quarantine. `head` is null if there is no usable HEAD; then only
 * the content is used.
 */
export interface ReadTree {
  readonly head: ObjectId | null;
  readonly tree: ObjectId;
  readonly substitutes: ReadonlyMap<string, Substitute>;
  /** Work that the git directory knows of and the work tree lacks, regardless of its author. */
  readonly beside: readonly BesideWork[];
  /** Files and folders that git ignores, if they were asked for; a folder stands for everything in it. */
  readonly ignored: readonly string[];
}

/**
 * A lane whose tree is left. `has` are commits that the checkout has (the previous tip and the agent's own). `hasIndex`
 * is true if the last reading found the work tree equal to the tip.
 */
interface LeftLane {
  readonly branch: string;
  readonly tip: ObjectId;
  readonly has: readonly ObjectId[];
  readonly hasIndex: boolean;
}

/**
 * Content of the work tree as it is committed. `evidence` is `tree` without the agent's own notes, which are published
 * but are not progress. `substitutes` are paths that are in the tree under a substitute, with the reason.
 */
export interface WorkTreeContent {
  readonly tree: ObjectId;
  readonly evidence: ObjectId;
  readonly substitutes: ReadonlyMap<string, string>;
}

/** The access while no tree is checked out: it rejects every request. */
export const noAccess: WorkTreeAccess = {
  read: rejectWithoutTree,
  patchOf: rejectWithoutTree,
  withoutNotes: rejectWithoutTree,
  putBack: rejectWithoutTree,
  leavePlainCheckout: rejectWithoutTree,
};

/** Options of the access by this process. `own` is the repository that it uses, whose objects no agent can write. */
interface LocalAccessOptions {
  readonly workspace: Workspace;
  /** The working directory, which contains the notes. */
  readonly folder: Folder;
  readonly own: PrivateRepository;
  readonly exchange: Exchange;
  /** Repairs the git directory, so that git accepts it again. */
  readonly restore: WorkspaceRestorer;
  /** Options for looking at work outside of the work tree. */
  readonly besideWith: Pick<BesideOptions, 'own' | 'objects'>;
}

/** Creates the access to a work tree that belongs to the user of this process. */
export function createLocalAccess(options: LocalAccessOptions): WorkTreeAccess {
  const { workspace, folder, own, exchange, restore, besideWith } = options;
  const beside = { ...besideWith, workspace };
  const agentIndex = join(workspace.gitFolder, 'index');
  /** True if our index still has files that the agent has untracked. */
  let untracks = false;

  /**
   * Returns the agent's HEAD once its commits are here, or null if they cannot be read and only the content is used.
   */
  async function takenHead(tip: ObjectId): Promise<ObjectId | null> {
    const head = await readHead(workspace);
    if (head === null || head === tip) return head;
    return (await exchange.take({ head, known: tip })) ? head : null;
  }

  async function readOnce(tip: ObjectId, tolerated: readonly ToleratedChange[], wanted: ReadPart): Promise<ReadTree> {
    const taken = takenHead(tip);
    const reading = { tolerated, tracked: await readTreeId(own.git, tip), agentIndex, taken };
    const [head, { trackedAndIgnored, ...content }, found] = await Promise.all([
      taken,
      readWorkTree(own, workspace, reading),
      findBeside(beside, tolerated).catch(() => []),
    ]);
    const tree = await dropUntracked(own, content.tree, { agentIndex, trackedAndIgnored, head, tip });
    untracks = tree !== content.tree;
    return { head, ...content, tree, beside: found, ignored: wanted === 'all' ? await listIgnoredPaths(own) : [] };
  }

  /**
   * Puts back what the agent's `git checkout main` removed: merges the lane's branch into the work tree, which keeps
   * the files that conflict. Returns false if the agent did not leave the branch, or has moved the branch itself.
   */
  async function bringLeftFiles(
    { head, tree, beside: found }: Pick<ReadTree, 'head' | 'tree' | 'beside'>,
    tip: ObjectId,
    tolerated: readonly ToleratedChange[],
  ): Promise<boolean> {
    const isLeft = found.some(({ is, id }) => is === 'branch' && id === tip);
    if (head === null || head === tip || !isLeft) return false;
    if ((await own.git.answer(['merge-base', '--is-ancestor', tip, head])).exitCode === 0) return false;
    const now = await own.git.text(['commit-tree', tree, '-p', head, '-m', 'side'], { variables: LOCAL_IDENTITY });
    const merged = await own.git.answer([...MERGE_ALONE, '-z', '--name-only', now, tip]);
    const [result = '', ...conflicts] = decodeNames(merged.stdout).split('\0');
    if (merged.exitCode > 1) return false;
    const changes = (await diffTrees(own.git, tree, result)).filter(({ path }) => !conflicts.includes(path));
    return bring(tree, changes, tolerated);
  }

  /** Puts back what the agent's `git sparse-checkout` removed. Returns false if nothing. */
  async function bringHiddenFiles(
    { head, tree }: Pick<ReadTree, 'head' | 'tree'>,
    tip: ObjectId,
    tolerated: readonly ToleratedChange[],
  ): Promise<boolean> {
    if (!(await lstat(join(workspace.gitFolder, 'info', 'sparse-checkout')).catch(() => null))) return false;
    const hidden = await listHiddenPaths(own, agentIndex);
    const changes = await diffTrees(own.git, tree, head ?? tip);
    return bring(
      tree,
      changes.filter(({ path, oldId }) => oldId === null && hidden.has(path)),
      tolerated,
    );
  }

  /** Makes the work tree equal to `base` with these changes. Returns false if none. */
  async function bring(
    base: ObjectId,
    changes: readonly PathChange[],
    tolerated: readonly ToleratedChange[],
  ): Promise<boolean> {
    if (changes.length === 0) return false;
    const wanted = await own.withIndex('empty', (indexFile) => writeTreeWith(own.git, indexFile, { base, changes }));
    await putBackWorkTree(own, workspace, { wanted, tolerated });
    return true;
  }

  return {
    async read(tip, tolerated, wanted) {
      let found = await readOnce(tip, tolerated, wanted);
      if (await bringLeftFiles(found, tip, tolerated)) found = await readOnce(tip, tolerated, wanted);
      return (await bringHiddenFiles(found, tip, tolerated)) ? await readOnce(tip, tolerated, wanted) : found;
    },

    patchOf: (question) => createBesidePatch(beside, question),

    withoutNotes: (tree) => withoutNotesOf({ workspace, repository: own, folder }, tree),

    putBack: (wanted, tolerated) => putBackWorkTree(own, workspace, { wanted, tolerated }),

    async leavePlainCheckout({ branch, tip, has, hasIndex }) {
      exchange.know(tip);
      await own.withIndex('copy', async (indexFile) => {
        if (!hasIndex || untracks)
          await own.git.text(['read-tree', '-m', '-i', tip], { variables: { GIT_INDEX_FILE: indexFile } });
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

/** A work tree that may contain notes. */
interface NotedTree {
  readonly workspace: Pick<Workspace, 'top'>;
  readonly repository: PrivateRepository;
  readonly folder: Folder;
}

/** Returns the tree without the agent's notes; runs no git command if the disk has no notes. */
async function withoutNotesOf(
  { workspace: { top }, repository, folder }: NotedTree,
  tree: ObjectId,
): Promise<ObjectId> {
  const found = await Promise.all(
    listNotePlaces(folder).map((path) =>
      lstat(join(top, path)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true) ? await withoutNotes(repository, folder, tree) : tree;
}

/** Returns the content as it is committed, and the tree from which evidence is taken. */
export function selectContent(
  { tree, substitutes }: Pick<ReadTree, 'tree' | 'substitutes'>,
  evidence: ObjectId,
): WorkTreeContent {
  return {
    tree,
    evidence,
    substitutes: new Map([...substitutes].map(([path, substitute]) => [path, explainSubstitute(substitute)])),
  };
}

function rejectWithoutTree(): Promise<never> {
  return Promise.reject(new Error('there is no work tree'));
}

/** Creates the exchange. Every object that is taken is hashed and checked. */
export function createExchange({ workspace, checkout, own, roots, heads: given }: ExchangeSides): Exchange {
  const heads = new Set<ObjectId>([...roots, ...given]);

  async function take({ head, known }: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean> {
    if (heads.has(head)) return true;
    // An agent may have removed the sealed files, so write them again first.
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
      ['index-pack', '--strict', '--stdin', `--max-input-size=${String(MAX_PACK_BYTES)}`],
      { input: packed.stdout },
    );
    if (taken.exitCode === 0) heads.add(head);
    return taken.exitCode === 0;
  }

  async function give({ head, has }: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void> {
    if (has.includes(head)) return;
    // List the trees separately: for a commit outside of the history of `head`, git leaves out only commits.
    const input = [head, ...has.flatMap((commit) => [`^${commit}`, `^${commit}^{tree}`]), ''].join('\n');
    const packed = await own.git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], { input });
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${own.folder}: ${completeSentence(lastLinesOfError(packed.stderr))}`,
      );
    await checkout.seal();
    // Use `--strict`, which also fails if the commits that these build on are missing.
    await checkout.git.text(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
    if (has.length === 0)
      await writeRegular(join(workspace.commonFolder, 'shallow'), roots.map((id) => `${id}\n`).join(''));
  }

  return { take, give, know: (head) => void heads.add(head) };
}

/** Creates the restorer. It uses the config with which the tree was checked out. */
export function createWorkspaceRestorer({ gitFolder, commonFolder }: Workspace, config: Buffer): WorkspaceRestorer {
  return async () => {
    const inside = ['objects', 'objects/pack', 'objects/info', 'refs', 'refs/heads'];
    for (const folder of [commonFolder, ...inside.map((name) => join(commonFolder, name)), gitFolder])
      await makeFolder(folder);
    await writeRegular(join(commonFolder, 'config'), config);
    await writeRegular(join(gitFolder, 'HEAD'), 'ref: refs/heads/lost\n');
    // Remove entries that would give this repository objects or history from elsewhere.
    for (const name of ['objects/info/alternates', 'objects/info/commit-graph', 'objects/info/grafts', 'packed-refs'])
      await rm(join(commonFolder, name), { recursive: true, force: true });
  };
}

/** Creates the folder, and removes anything else at its path. */
async function makeFolder(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats !== null && !stats.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true });
}
