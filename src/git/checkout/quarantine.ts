import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { UserError } from '../../errors.ts';
import { lastWords } from '../git.ts';
import { writeRegular } from '../regular-files.ts';
import { createOwnRepository, type OwnRepository, type PrivateRepository } from './private-repository.ts';
import { copyIndex, type Workspace } from './workspace.ts';
import { sentence } from '../../core/text/sentence.ts';

/**
 * What may leave, out of the checkout's reach: objects, index and refs of our own, nothing borrowed. Inspection, diff,
 * evidence and push work on it alone. Content comes in by way of hashing it here, or as a pack whose every object is.
 */
export interface Quarantine extends PrivateRepository {
  /** Takes `head` and what it is made of, as far as `known` has not; false when it cannot be had whole and sound. */
  take(commits: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean>;
  /** Gives `head` to the checkout; `has`: commits that it holds already, with all their files. */
  give(commits: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void>;
  /** Keeps a commit reachable, and the one that is published next. */
  keep(head: ObjectId): Promise<void>;
  /** Writes the kept commit and what it builds on down to `since` into a bundle file. */
  bundle(file: { readonly path: string; readonly since: ObjectId }): Promise<void>;
}

/** The ref under which the newest commit of the lane stands. */
export const PUBLISHED_REF = 'refs/heads/published';

/** Folder of the quarantine in the work folder of its run. */
export function quarantineFolder(workFolder: string): string {
  return join(workFolder, 'quarantine');
}

/** GitHub takes no larger push; what an agent packs to be larger is not worth unpacking. */
const LARGEST_PACK_BYTES = 2 * 1024 * 1024 * 1024;

/** Copies `heads` with all their files and their past down to `roots` from `checkout`: what the job checked out, before an agent could touch it. */
export async function createQuarantine(
  workspace: Workspace,
  checkout: OwnRepository,
  {
    workFolder,
    heads: given,
    roots,
  }: { readonly workFolder: string; readonly heads: readonly ObjectId[]; readonly roots: readonly ObjectId[] },
): Promise<Quarantine> {
  const folder = quarantineFolder(workFolder);
  const objects = join(folder, 'objects');
  await mkdir(join(objects, 'pack'), { recursive: true });
  const fill = await checkout.git.answer(
    ['pack-objects', '--quiet', '--revs', '--shallow', '--window=0', join(objects, 'pack', 'pack')],
    {
      input: [...roots.map((root) => `--shallow ${root}`), ...given, ''].join('\n'),
      // git writes a pack where its own objects are before it gives it its name.
      variables: {
        GIT_OBJECT_DIRECTORY: objects,
        GIT_ALTERNATE_OBJECT_DIRECTORIES: join(workspace.commonFolder, 'objects'),
      },
    },
  );
  if (fill.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The commits that this run begins from cannot be read in ${workspace.top}: ${sentence(lastWords(fill.stderr))} Check the disk, then re-run the workflow.`,
    );
  const own = await createOwnRepository(workspace, { ...checkout.setup, folder, objects, shallow: roots });
  await copyIndex(checkout.indexFile, own.indexFile);
  const { git } = own;
  /** Those that are here. */
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
    const taken = await git.answer(
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
    const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], { input });
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${folder}: ${sentence(lastWords(packed.stderr))}`,
      );
    await checkout.seal();
    // Strict: what the commits build on must be there as well.
    await checkout.git.text(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
    if (has.length === 0)
      await writeRegular(join(workspace.commonFolder, 'shallow'), roots.map((id) => `${id}\n`).join(''));
  }

  return {
    ...own,
    take,
    give,
    keep: async (head) => {
      await rm(join(folder, `${PUBLISHED_REF}.lock`), { recursive: true, force: true });
      await writeRegular(join(folder, PUBLISHED_REF), `${head}\n`);
      heads.add(head);
    },
    bundle: async ({ path, since }) => {
      await own.seal();
      await git.text(['bundle', 'create', '--quiet', path, PUBLISHED_REF, `^${since}`]);
    },
  };
}
