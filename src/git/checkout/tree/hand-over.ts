import { chmod, lchown, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { Folder } from '../../../core/folder.ts';
import { namesOf } from '../../../core/text/lists.ts';
import { sentence } from '../../../core/text/sentence.ts';
import { tryJson } from '../../../core/text/try-json.ts';
import { handedOverSchema, type HandedOver } from '../../../core/work-tree/handed-over.ts';
import { textOf, UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import type { Room } from '../../../ports/room.ts';
import { createGit } from '../../git.ts';
import { readRegular, writeRegular } from '../../regular-files.ts';
import { PUBLISHED_REF, quarantineFolder, type Quarantine } from '../quarantine.ts';
import { copyIndex, readConfig, type Workspace } from '../workspace.ts';
import { putBackGitDirectory, saveGitDirectory } from './git-directory.ts';
import { createInbox } from './inbox.ts';
import { configToRestore } from './restore.ts';
import type { TreeSetup } from './requests.ts';
import { createRoomSide, type RoomSide } from './room-side.ts';
import { listObjects } from './stored-objects.ts';
import { createWorkers, type TreeWorkerCommand } from './worker-process.ts';

/** The room that the lane's code runs in, and how our worker is started there. */
export interface RepositoryRoom {
  readonly room: Room;
  readonly worker: TreeWorkerCommand;
}

/** A work tree that changes hands, while `branch` is checked out there. */
export interface HandOverOptions extends RepositoryRoom {
  readonly workFolder: string;
  readonly workspace: Workspace;
  readonly branch: string;
  readonly folder: Folder;
  /** Settings and excludes of git directories of ours over the work tree. */
  readonly own: TreeSetup['own'];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Pick<Log, 'warning'>;
}

/** What works on, and in, a work tree of the room's user. */
export interface HandedOverTree {
  readonly side: RoomSide;
  /** Away from the work tree. */
  readonly quarantine: Quarantine;
  /** Takes it back with the lane's newest commit; throws UserError where somebody is left who could change it. */
  takeBack(): Promise<void>;
}

/** Gives the work tree to the room's user; throws UserError where that cannot be done. */
export async function handOverWorkTree(
  options: HandOverOptions,
  attached: Quarantine,
  tip: ObjectId,
): Promise<HandedOverTree> {
  const { room, worker, workspace, own, log } = options;
  const { top, gitFolder, commonFolder, objectFormat } = workspace;
  await checkGitFolder(workspace);
  // Credentials are hidden by now.
  const config = await configToRestore(workspace);
  const quarantine = await attached.detach();
  const inbox = await createInbox(join(room.folders.inbox, FOLDER), quarantine, tip);
  const withWorker = createWorkers({
    room,
    command: worker,
    setup: {
      place: { top, gitFolder, commonFolder, objectFormat },
      own: { config: own.config, excludes: own.excludes, sparse: own.sparse },
      config: config.toString('base64'),
      outbox: join(room.folders.home, `.${FOLDER}`),
      inbox: inbox.folder,
      roots: quarantine.roots,
    },
    log,
  });
  const side = createRoomSide({ quarantine, folder: options.folder, inbox, withWorker });
  await give({ ...options, config, indexFile: quarantine.indexFile });
  return { side, quarantine, takeBack: () => takeBack(options) };
}

/** In the inbox, and in the home of the room's user. */
const FOLDER = 'ralph-work-tree';

async function checkGitFolder({ top, gitFolder, commonFolder }: Workspace): Promise<void> {
  const isInside = gitFolder === join(top, '.git') && commonFolder === gitFolder;
  if (isInside && (await lstat(gitFolder)).isDirectory()) return;
  // What lies elsewhere may belong to other checkouts as well, whose settings and objects would be the agent's then.
  throw new UserError(
    'configuration',
    `The git directory of the checkout in ${top} lies elsewhere (${gitFolder}): it is a linked work tree, a submodule, or has a git directory of its own, which the isolated agent cannot be given. Check out with actions/checkout, or set "isolation: none".`,
  );
}

/** Notes what it takes to have it back before it is gone. */
async function give(options: HandOverOptions & { readonly config: Buffer; readonly indexFile: string }): Promise<void> {
  const { room, workspace, workFolder, branch, config } = options;
  const { top, gitFolder } = workspace;
  const { folder, copy, note, index } = placesIn(workFolder);
  await rm(folder, { recursive: true, force: true });
  // git makes packs there.
  await mkdir(join(folder, 'pack'), { recursive: true, mode: 0o700 });
  await saveGitDirectory(gitFolder, copy).catch((error: unknown) => {
    throw new UserError(
      'infrastructure',
      `The git directory of the checkout in ${top} cannot be copied, so the isolated agent is not given the checkout: ${sentence(textOf(error))} Check out again with actions/checkout, or set "isolation: none".`,
      { cause: error },
    );
  });
  await copyIndex(options.indexFile, index);
  const { mode } = await lstat(top);
  const objects = await listObjects(join(gitFolder, 'objects'));
  const handedOver: HandedOver = { version: 1, top, branch, mode: mode & 0o7777, objects };
  await writeRegular(note, JSON.stringify(handedOver), { mode: 0o600 });
  // Only where there is none: a machine that goes down now leaves nothing that the next job would stumble over.
  if ((await readConfig(workspace)) === null) await writeRegular(join(gitFolder, 'config'), config);
  try {
    await room.give(top);
  } catch (error) {
    await room
      .takeBack(top)
      .then(() => finish(options))
      .catch(() => undefined);
    throw error;
  }
}

/** From SIGTERM to SIGKILL for what an agent left running. */
const GRACE_MS = 500;

async function takeBack(options: HandOverOptions): Promise<void> {
  const { room, workspace, workFolder } = options;
  const left = await room.end(GRACE_MS);
  if (left.length > 0)
    throw new UserError(
      'infrastructure',
      `Processes of the isolated agent cannot be ended (${namesOf(left)}), so the checkout is not taken back from it. Check out again before a later step of this job uses git, and use a fresh runner.`,
    );
  await room.takeBack(workspace.top);
  const isKnown = await finish(options).catch((error: unknown) => {
    throw asLeft(textOf(error), error);
  });
  if (!isKnown) throw asLeft(`the run's own folder ${workFolder} was changed by another program on this machine.`);
}

function asLeft(why: string, cause?: unknown): UserError {
  return new UserError(
    'infrastructure',
    `The git directory of the checkout may still be as the agent left it: ${sentence(why)} Check out again before a later step of this job uses git.`,
    { cause },
  );
}

/**
 * After a kill: makes the checkout usable again that a run had handed over, once nobody is in its room any more and the
 * files are ours. Does nothing where none was. Safe to repeat. Throws UserError when the newest commit is not there.
 */
export async function takeBackAfterKill(options: Pick<HandOverOptions, 'workFolder' | 'env'>): Promise<void> {
  await finish(options);
}

/** False: nothing is known of a work tree that was handed over. */
async function finish({ workFolder, env }: Pick<HandOverOptions, 'workFolder' | 'env'>): Promise<boolean> {
  const { folder, copy, note: notePlace, index: firstIndex } = placesIn(workFolder);
  const note = handedOverSchema.safeParse(tryJson((await readRegular(notePlace))?.bytes.toString() ?? ''));
  if (!note.success) return false;
  const { top, branch, mode, objects } = note.data;
  const quarantine = quarantineFolder(workFolder);
  const [tip = ''] = await idsIn(join(quarantine, PUBLISHED_REF));
  const roots = await idsIn(join(quarantine, 'shallow'));
  const indexFile = join(folder, 'index');
  await copyIndex(firstIndex, indexFile);
  const git = createGit({ folder, env, variables: { GIT_DIR: quarantine, GIT_INDEX_FILE: indexFile } });

  async function packed(isWhole: boolean): Promise<string | null> {
    const known = isWhole ? roots.flatMap((root) => [`^${root}`, `^${root}^{tree}`]) : [];
    const base = join(folder, 'pack');
    const hash = await git.text(['pack-objects', '--quiet', '--revs', '--window=0', '--non-empty', base], {
      input: [tip, ...known, ''].join('\n'),
      // git writes a pack where its own objects are before it gives it its name.
      variables: { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: join(quarantine, 'objects') },
    });
    return hash === '' ? null : `${base}-${hash}`;
  }

  // It keeps what else it knows of each file, such as that it is not checked out.
  if ((await git.answer(['read-tree', '-m', '-i', tip])).exitCode !== 0) await git.text(['read-tree', '--reset', tip]);
  const index = (await readRegular(indexFile))?.bytes ?? Buffer.alloc(0);
  await chmod(top, mode);
  await putBackGitDirectory(join(top, '.git'), copy, { branch, tip, index, objects, packed, roots });
  await giveToOwner(join(top, '.git'));
  await rm(folder, { recursive: true, force: true });
  return true;
}

/** Gives what was written here to the owner of the checkout, who is another user if the container's job is root. */
async function giveToOwner(gitFolder: string): Promise<void> {
  const own = process.getuid?.();
  const { uid, gid } = await lstat(gitFolder);
  if (own !== 0 || uid === own) return;
  for (const entry of await readdir(gitFolder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if ((await lstat(path)).uid === own) await lchown(path, uid, gid);
  }
}

/** Where is what it takes to have a work tree back. */
function placesIn(workFolder: string): Readonly<Record<'folder' | 'copy' | 'note' | 'index', string>> {
  const folder = join(workFolder, 'handed-over');
  return {
    folder,
    copy: join(folder, 'git-directory'),
    note: join(folder, 'note.json'),
    index: join(folder, 'first-index'),
  };
}

async function idsIn(path: string): Promise<readonly ObjectId[]> {
  return (await readRegular(path))?.bytes.toString().match(/^[0-9a-f]{40,64}$/gm) ?? [];
}
