import { constants } from 'node:fs';
import { chmod, copyFile, link, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { sentence } from '../../../core/text/sentence.ts';
import { UserError } from '../../../errors.ts';
import { lastWords } from '../../git.ts';
import type { Quarantine } from '../quarantine.ts';
import { copyIndex } from '../workspace.ts';
import { INBOX } from './requests.ts';

/** What we lend to the worker: commits and trees with all that they are made of, where it can read and nobody but us can write. */
export interface Inbox {
  readonly folder: string;
  /** Lends a commit or a tree of the quarantine. */
  lend(id: ObjectId): Promise<void>;
}

/** Lays the inbox in `folder`, with what the quarantine has packed: the lane's tip with its files. */
export async function createInbox(folder: string, quarantine: Quarantine, tip: ObjectId): Promise<Inbox> {
  const objects = join(folder, INBOX.objects);
  const packs = join(objects, 'pack');
  await rm(folder, { recursive: true, force: true });
  for (const place of [folder, objects, packs]) await makeReadable(place);
  const source = join(quarantine.folder, 'objects', 'pack');
  for (const name of await readdir(source))
    if (/^pack-[0-9a-f]+\.(?:pack|idx)$/.test(name)) await share(join(source, name), join(packs, name));
  await copyIndex(quarantine.indexFile, join(folder, INBOX.index));
  await chmod(join(folder, INBOX.index), 0o444).catch(() => undefined);

  const lent = new Set([tip]);
  let newest = tip;

  async function lend(id: ObjectId): Promise<void> {
    if (lent.has(id)) return;
    const packed = await quarantine.git.answer(
      ['pack-objects', '--quiet', '--revs', '--window=0', '--non-empty', join(packs, 'pack')],
      {
        // The tree by itself: of a commit that is not in the past of what is packed, git leaves out the commits alone.
        input: [id, `^${newest}`, `^${newest}^{tree}`, ''].join('\n'),
        // git writes a pack where its own objects are before it gives it its name.
        variables: {
          GIT_OBJECT_DIRECTORY: objects,
          GIT_ALTERNATE_OBJECT_DIRECTORIES: join(quarantine.folder, 'objects'),
        },
      },
    );
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${quarantine.folder}: ${sentence(lastWords(packed.stderr))}`,
      );
    const hash = packed.stdout.toString().trim();
    if (hash !== '') for (const kind of ['idx', 'pack']) await chmod(join(packs, `pack-${hash}.${kind}`), 0o444);
    lent.add(id);
  }

  return {
    folder,
    async lend(id) {
      await lend(id);
      // A tree is seldom wanted again.
      if ((await quarantine.git.answer(['cat-file', '-e', `${id}^{commit}`])).exitCode === 0) newest = id;
    },
  };
}

/** Whatever the mask of this process. */
async function makeReadable(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

/** At once where both are on one disk. */
async function share(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_FICLONE));
  await chmod(to, 0o444);
}
