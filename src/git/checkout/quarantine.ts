import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ObjectId } from '../../core/evidence.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import { MAX_PACK_BYTES } from '../../core/work-tree/answers.ts';
import { UserError } from '../../errors.ts';
import { lastLinesOfError } from '../git.ts';
import { removePipes } from '../pipes.ts';
import { writeRegular } from '../regular-files.ts';
import {
  createOwnRepository,
  buildObjectSources,
  type OwnRepository,
  type OwnTree,
  type PrivateRepository,
} from './private-repository.ts';
import type { Workspace } from './workspace.ts';
import { completeSentence } from '../../core/text/phrase.ts';

/**
 * Everything that may be published, out of the checkout's reach, with objects, index and refs of its own and nothing
 * borrowed. Inspection, diff, evidence and push use only the quarantine. Content enters only if it is hashed here, or
 * in a pack in which every object is hashed.
 */
export interface Quarantine extends PrivateRepository {
  /** Commits whose past is missing here. */
  readonly roots: readonly ObjectId[];
  /**
   * Takes a pack and hashes every object in it; returns false if it is unusable. For `commits`, each must be sound and
   * build on commits that are here.
   */
  receive(pack: Readable, of: 'commits' | 'content'): Promise<boolean>;
  /** Keeps a commit reachable and makes it the next one to publish. */
  keep(head: ObjectId): Promise<void>;
  /** Writes the kept commit, with the commits that it builds on down to `since` and `base`, into a bundle file. */
  bundle(file: { readonly path: string; readonly since: ObjectId; readonly base: ObjectId }): Promise<void>;
  /** Returns the same quarantine over the files of a tree. */
  over(tree: OwnTree): Promise<Quarantine>;
}

/** The ref of the lane's newest commit. */
export const PUBLISHED_REF = 'refs/heads/published';

/** Maximum time to receive a pack, in ms: enough for two gigabytes that arrive in parts. */
const RECEIVE_MS = 3 * MINUTE_MS;

/** Returns the folder of the quarantine in the work folder of its run. */
export function locateQuarantine(workFolder: string): string {
  return join(workFolder, 'quarantine');
}

/**
 * Copies `heads` with all their files and their past down to `roots` from `checkout`. None of its commands touches the
 * files of a tree.
 */
export async function createQuarantine(
  workspace: Workspace,
  checkout: OwnRepository,
  options: { readonly workFolder: string; readonly heads: readonly ObjectId[]; readonly roots: readonly ObjectId[] },
): Promise<Quarantine> {
  const { workFolder, heads: given, roots } = options;
  const folder = locateQuarantine(workFolder);
  const objects = join(folder, 'objects');
  await mkdir(join(objects, 'pack'), { recursive: true });
  const fill = await checkout.git.answer(
    ['pack-objects', '--quiet', '--revs', '--shallow', '--window=0', join(objects, 'pack', 'pack')],
    {
      input: [...roots.map((root) => `--shallow ${root}`), ...given, ''].join('\n'),
      // git writes a pack next to its own objects before renaming it, so these must be ours.
      variables: { GIT_OBJECT_DIRECTORY: objects, ...buildObjectSources([join(workspace.commonFolder, 'objects')]) },
    },
  );
  if (fill.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The commits that this run begins from cannot be read in ${workspace.top}: ${completeSentence(lastLinesOfError(fill.stderr))} Check the disk, then re-run the workflow.`,
    );
  const top = join(workFolder, 'no-work-tree');
  await rm(top, { recursive: true, force: true });
  await mkdir(top, { mode: 0o700 });
  const nowhere = {
    top,
    gitFolder: folder,
    removePipes: async (ours: readonly string[]) => {
      await removePipes(ours.map((one) => ({ kind: 'git-directory', folder: one }) as const));
    },
  };
  const setup = { ...checkout.setup, folder, objects, borrowed: [], shallow: roots };
  const over = async (tree: OwnTree): Promise<Quarantine> =>
    quarantineOf(await createOwnRepository(tree, setup), { roots, over });
  await rm(join(folder, 'index'), { recursive: true, force: true });
  return await over(nowhere);
}

function quarantineOf(own: PrivateRepository, { roots, over }: Pick<Quarantine, 'roots' | 'over'>): Quarantine {
  const { git, folder } = own;
  return {
    ...own,
    roots,
    receive: async (input, of) => {
      await own.seal();
      // Do not check content strictly: a file to which git objects (a `.gitmodules`, for example) must not cost all
      // other files.
      const how = of === 'commits' ? ['--strict'] : [];
      const taken = await git.answer(['index-pack', ...how, '--stdin', `--max-input-size=${String(MAX_PACK_BYTES)}`], {
        input,
        timeoutMs: RECEIVE_MS,
      });
      return taken.exitCode === 0;
    },
    keep: async (head) => {
      await rm(join(folder, `${PUBLISHED_REF}.lock`), { recursive: true, force: true });
      await writeRegular(join(folder, PUBLISHED_REF), `${head}\n`);
    },
    bundle: async ({ path, since, base }) => {
      await own.seal();
      await git.text(['bundle', 'create', '--quiet', path, PUBLISHED_REF, `^${since}`, `^${base}`]);
    },
    over,
  };
}
