import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import type { Folder } from '../../../core/folder.ts';
import type { Log } from '../../../ports/machine.ts';
import type { Room } from '../../../ports/room.ts';
import type { Quarantine } from '../quarantine.ts';
import { readConfig, type Workspace } from '../workspace.ts';
import { createInbox, type Inbox } from './inbox.ts';
import type { TreeSetup } from './requests.ts';
import { createRoomSide, type RoomSide } from './room-side.ts';
import { createWorkers, type TreeWorkerCommand } from './worker-process.ts';

/** The room that the lane's code runs in, and how our worker is started there. */
export interface RepositoryRoom {
  readonly room: Room;
  readonly worker: TreeWorkerCommand;
}

interface RoomTreeOptions extends RepositoryRoom {
  /** The tree as it was laid. */
  readonly tree: Workspace;
  readonly quarantine: Quarantine;
  readonly inbox: Inbox;
  /** The working directory, where notes are. */
  readonly folder: Folder;
  /** Settings and excludes of git directories of ours over the tree. */
  readonly own: TreeSetup['own'];
  readonly log: Pick<Log, 'warning'>;
}

/** Gives a tree to the room's user, and returns what works in it from now on. */
export async function giveToRoom(options: RoomTreeOptions): Promise<RoomSide> {
  const { room, worker, tree, quarantine, inbox, folder, own, log } = options;
  const { top, gitFolder, commonFolder, objectFormat } = tree;
  const config = (await readConfig(tree)) ?? Buffer.alloc(0);
  await room.give(top);
  const withWorker = createWorkers({
    room,
    command: worker,
    setup: {
      place: { top, gitFolder, commonFolder, objectFormat },
      own: { config: own.config, excludes: own.excludes, sparse: own.sparse },
      config: config.toString('base64'),
      outbox: join(room.folders.home, `.${INBOX_FOLDER}`),
      inbox: inbox.folder,
      roots: quarantine.roots,
    },
    log,
  });
  return createRoomSide({ quarantine, folder, inbox, withWorker });
}

/** In the inbox, and in the home of the room's user. */
const INBOX_FOLDER = 'ralph-work-tree';

/** Lays what is lent to the room: the objects of the quarantine with the lane's tip, and those of the checkout. */
export async function lendToRoom(
  { room }: Pick<RepositoryRoom, 'room'>,
  quarantine: Quarantine,
  { tip, checkout }: { readonly tip: ObjectId; readonly checkout: Pick<Workspace, 'commonFolder'> },
): Promise<Inbox> {
  return await createInbox(join(room.folders.inbox, INBOX_FOLDER), { quarantine, tip, checkout });
}
