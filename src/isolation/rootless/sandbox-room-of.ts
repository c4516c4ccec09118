import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../../errors.ts';
import type { Room } from '../../ports/room.ts';
import { createLaunches, quoted } from '../room/launch.ts';
import { SYSTEM_PATH } from '../room/root.ts';
import { endRoom, ROOM_TAG } from './end.ts';
import { removeAll } from './remove-all.ts';
import type { SandboxFolders } from './sandbox-worker.ts';
import type { SandboxWorker } from './start-worker.ts';

/** Folders in which trees are laid, anew each time. */
const TREES: readonly string[] = ['work', 'clean'];

/** The port over a worker that is ready; `id` marks what keeps its programs in the room. */
export function sandboxRoomOf({
  id,
  folders,
  worker,
}: {
  readonly id: string;
  readonly folders: SandboxFolders;
  readonly worker: SandboxWorker;
}): Room {
  const { home, session, trees, inbox, temporary } = folders;
  const launches = createLaunches(inbox);
  return {
    folders: { home, session, trees, inbox },
    enter: (program) => {
      if (worker.isLost()) return Promise.reject(lost());
      // Neither arguments nor values stand on a command line of the library's, or in a variable, whose length has a limit.
      const words = [program.file, ...program.args].map(quoted).join(' ');
      const environment = { ...program.environment, TMPDIR: onDisk(program.environment['TMPDIR'], temporary) };
      const launch = launches.write({ ...program, environment }, `set -- ${words}\n`);
      const [file, ...args] = worker.argv;
      return Promise.resolve({
        ...{ file, args, cwd: '/' },
        environment: { LC_ALL: 'C', PATH: SYSTEM_PATH, [ROOM_TAG]: id, RALPH_LAUNCH: launch },
      });
    },
    seenAt: (tree) => tree,
    end: async (graceMs) => {
      const left = await endRoom(id, { graceMs, tag: ROOM_TAG });
      launches.clear();
      return left;
    },
    refresh: async () => {
      const newHome = join(trees, 'ralph-home');
      // Settings above a clean clone would be found from there.
      const strange = (await readdir(trees)).filter((name) => !TREES.includes(name)).map((name) => join(trees, name));
      for (const path of strange) await removeAll(path);
      for (const folder of [temporary, newHome]) {
        // What its owner may not even enter can be moved within its folder.
        const old = `${folder}.${randomUUID()}`;
        await rename(folder, old).catch(() => undefined);
        await mkdir(folder, { mode: 0o700 });
        await removeAll(old);
      }
      return newHome;
    },
    // It is this very user's.
    give: () => Promise.resolve(),
    takeBack: () => Promise.resolve(false),
  };
}

/** What programs write into a /tmp of their own is in memory, and gone with them. */
function onDisk(asked: string | undefined, temporary: string): string {
  return asked === undefined || asked === '/tmp' ? temporary : asked;
}

function lost(): UserError {
  return new UserError(
    'infrastructure',
    'The room of the agent was ended while the run used it, by another program on this machine. What was finished before is published. Re-run the workflow.',
  );
}
