import { constants } from 'node:fs';
import { chmod, copyFile, link, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { completeSentence } from '../../../core/text/phrase.ts';
import type { TreeQuestion } from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import type { WorkFiles } from '../../../ports/repository.ts';
import { lastLinesOfError } from '../../git.ts';
import { readRegular } from '../../regular-files.ts';
import { buildObjectSources, type OwnSetup } from '../private-repository.ts';
import type { Quarantine } from '../quarantine.ts';
import { copyIndex, type Workspace, type WorkspacePlace } from '../workspace.ts';
import type { ToleratedChange } from './differences/tolerated-changes.ts';
import type { BesideQuestion } from './differences/beside.ts';
import type { ReadPart } from './work-tree-access.ts';

/** The worker's setup for the work tree, all of which was read before an agent could touch the tree. */
export interface TreeSetup {
  readonly place: WorkspacePlace;
  /** Settings and excludes of our git directories over the tree. */
  readonly own: Pick<OwnSetup, 'config' | 'excludes' | 'sparse'>;
  /** The checkout's own config, without credentials, in base64. */
  readonly config: string;
  /** The folder of the worker's git directories; it is not trusted, because the agent can change it. */
  readonly outbox: string;
  /** The folder of the objects that are lent to the worker; it belongs to us and is read-only for the worker. */
  readonly inbox: string;
  /** Commits whose past is not in the inbox. */
  readonly roots: readonly ObjectId[];
}

interface Questions {
  /** The setup; always the first question. */
  readonly open: TreeSetup;
  /** Drops everything that the worker kept between calls. */
  readonly reset: object;
  /** Reads the work tree; `has` are trees that need not be sent again. */
  readonly read: {
    readonly tip: ObjectId;
    readonly has: readonly ObjectId[];
    readonly tolerated: readonly ToleratedChange[];
    readonly wanted: ReadPart;
  };
  /** Returns a part of the content that was read. */
  readonly pack: { readonly of: 'commits' | 'content'; readonly from: number };
  readonly 'put-back': { readonly wanted: ObjectId; readonly tolerated: readonly ToleratedChange[] };
  readonly 'patch-of': BesideQuestion;
  readonly leave: { readonly branch: string; readonly tip: ObjectId; readonly has: readonly ObjectId[] };
  readonly 'read-texts': { readonly paths: readonly string[] };
  readonly 'read-end': { readonly path: string; readonly maxBytes: number };
  readonly replace: Parameters<WorkFiles['replace']>[0];
  readonly remove: { readonly path: string };
}

/** The fields of a question, without its kind. */
export type TreeRequestOf<K extends TreeQuestion> = Questions[K];

/** A question to the worker, one line of JSON. Only this program sends it. */
export type TreeRequest = { readonly [K in TreeQuestion]: { readonly kind: K } & Questions[K] }[TreeQuestion];

/** Names in the inbox of packs, of the checkout's own objects and of the first index. */
export const INBOX = { objects: 'objects', history: 'history', index: 'index' } as const;

/** Objects lent to the agent's sandbox: complete commits and trees, readable by its user and writable only by us. */
export interface Inbox {
  readonly folder: string;
  /** Folders of objects: the lent ones, and the checkout's history. */
  readonly objects: readonly [string, string];
  /** Lends the index of a tree as it was checked out. */
  lendIndex(indexFile: string): Promise<void>;
  /** Lends a commit or a tree of the quarantine. */
  lend(id: ObjectId): Promise<void>;
}

/**
 * Creates the inbox in `folder`, with the quarantine's pack (the lane's tip with its files) and the objects of the
 * checkout.
 */
export async function createInbox(
  folder: string,
  options: {
    readonly quarantine: Quarantine;
    readonly tip: ObjectId;
    readonly checkout: Pick<Workspace, 'commonFolder'>;
  },
): Promise<Inbox> {
  const { quarantine, tip, checkout } = options;
  const objects = join(folder, INBOX.objects);
  const packs = join(objects, 'pack');
  const history = join(folder, INBOX.history);
  await rm(folder, { recursive: true, force: true });
  for (const place of [folder, objects, packs]) await makeReadable(place);
  await lendAll(join(checkout.commonFolder, 'objects'), history, DEEPEST);
  const source = join(quarantine.folder, 'objects', 'pack');
  for (const name of await readdir(source))
    if (/^pack-[0-9a-f]+\.(?:pack|idx)$/.test(name)) await share(join(source, name), join(packs, name));

  const lent = new Set([tip]);
  let newest = tip;

  async function lend(id: ObjectId): Promise<void> {
    if (lent.has(id)) return;
    const packed = await quarantine.git.answer(
      ['pack-objects', '--quiet', '--revs', '--window=0', '--non-empty', join(packs, 'pack')],
      {
        // List the tree separately: for a commit outside of the pack's history, git leaves out only commits.
        input: [id, `^${newest}`, `^${newest}^{tree}`, ''].join('\n'),
        // git writes a pack next to its own objects before renaming it, so these must be ours.
        variables: { GIT_OBJECT_DIRECTORY: objects, ...buildObjectSources([join(quarantine.folder, 'objects')]) },
      },
    );
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${quarantine.folder}: ${completeSentence(lastLinesOfError(packed.stderr))}`,
      );
    const hash = packed.stdout.toString().trim();
    if (hash !== '') for (const kind of ['idx', 'pack']) await chmod(join(packs, `pack-${hash}.${kind}`), 0o444);
    lent.add(id);
  }

  return {
    folder,
    objects: [objects, history],
    async lendIndex(indexFile) {
      const to = join(folder, INBOX.index);
      await copyIndex(indexFile, to);
      await chmod(to, 0o444).catch(() => undefined);
    },
    async lend(id) {
      await lend(id);
      // Use only a commit as the newest, because a tree is seldom needed again.
      if ((await quarantine.git.answer(['cat-file', '-e', `${id}^{commit}`])).exitCode === 0) newest = id;
    },
  };
}

/** Makes the folder readable for others, regardless of the umask of this process. */
async function makeReadable(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

/** Maximum depth to which git follows folders of objects that borrow from others. */
const DEEPEST = 5;

/**
 * Lends the objects of a checkout and those that it borrows. Copies a file that others cannot read, so the originals
 * stay as they are.
 */
async function lendAll(from: string, to: string, depth: number): Promise<void> {
  await makeReadable(to);
  const borrowed = depth === 0 ? null : await readRegular(join(from, 'info', 'alternates'));
  for (const line of borrowed?.bytes.toString().split('\n') ?? [])
    if (line !== '' && !line.startsWith('#')) await lendAll(resolve(from, line), to, depth - 1);
  for (const entry of await readdir(from, { withFileTypes: true }).catch(() => [])) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && entry.name !== 'info') await lendAll(source, target, 0);
    if (!entry.isFile() || NOT_LENT.test(entry.name) || (await lstat(target).catch(() => null)) !== null) continue;
    const { mode } = await lstat(source);
    if ((mode & 0o004) !== 0)
      await link(source, target).catch(() => copyFile(source, target, constants.COPYFILE_FICLONE));
    else {
      await copyFile(source, target, constants.COPYFILE_FICLONE);
      await chmod(target, 0o444);
    }
  }
}

/** Files that git is still writing, and markers of objects that are only on a server. */
const NOT_LENT = /^tmp_|\.(?:lock|promisor)$/;

/** Hard-links a file on the same disk, otherwise copies it. */
async function share(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_FICLONE));
  await chmod(to, 0o444);
}
