import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openRoom, type OpenedRoom } from '../../../src/isolation/room/open-room.ts';
import type { RoomOptions } from '../../../src/isolation/room/room-of.ts';
import { runProgram, type ProgramEnd } from '../../../src/processes/run-program.ts';

/** A runner's folders, with the agent's sandbox of a run in one of its checkouts. */
export interface RoomScene extends AsyncDisposable {
  readonly opened: OpenedRoom;
  readonly options: RoomOptions;
  /** The runner's `_work`, with two checkouts and the job's temporary folder. */
  readonly work: string;
  readonly checkout: string;
  /** The tree that was given to the sandbox. */
  readonly tree: string;
  /** Runs an sh script in the tree, as the agent is run. */
  run(
    script: string,
    given?: { readonly timeoutMs?: number; readonly input?: string },
  ): Promise<{ readonly end: ProgramEnd; readonly output: string }>;
}

/** Creates the folders of a runner in a separate folder. */
export async function createRunnerFolders(): Promise<RoomOptions & { readonly base: string }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'ralph-room-test-')));
  const work = join(base, 'runner', '_work');
  const at = (...names: readonly string[]): string => {
    const path = join(work, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };
  for (const name of ['rooms', 'reservations']) mkdirSync(join(base, name));
  writeFileSync(join(at('other', 'other'), 'secret.txt'), 'of another job');
  writeFileSync(join(at('_temp'), 'event.json'), '{}');
  writeFileSync(join(at('shop', 'shop'), 'a.txt'), 'hello');
  return {
    base,
    environment: { PATH: process.env['PATH'], HOME: join(base, 'runner') },
    runFolder: at('_temp', 'ralph-run'),
    checkout: join(work, 'shop', 'shop'),
    hidden: [join(base, 'runner'), work],
    visible: [],
    localPorts: [],
    worker: { file: process.execPath, args: [join(inject('programs'), 'room-worker.mjs')] },
    places: { rooms: join(base, 'rooms'), reservations: join(base, 'reservations') },
  };
}

export async function createRoomScene(
  level: 'namespace' | 'user',
  localPorts: readonly number[] = [],
): Promise<RoomScene> {
  const { base, ...folders } = await createRunnerFolders();
  const options = { ...folders, localPorts };
  const opened = await openRoom(level, options);
  const { checkout } = options;
  const { room } = opened;
  const tree = join(room.folders.trees, 'work', 'shop');
  mkdirSync(tree, { recursive: true });
  for (const folder of [tree, join(tree, '..')]) chmodSync(folder, 0o755);
  writeFileSync(join(tree, 'a.txt'), 'hello');
  await room.give(tree);
  return {
    opened,
    options,
    work: join(base, 'runner', '_work'),
    checkout,
    tree,
    run: async (script, { timeoutMs = 20_000, input = '' } = {}) => {
      const chunks: Buffer[] = [];
      const take = (chunk: Buffer): void => void chunks.push(chunk);
      const end = await runProgram({
        file: 'sh',
        args: ['-c', script],
        cwd: room.seenAt(tree),
        environment: { PATH: '/usr/bin:/bin', HOME: room.folders.home },
        input,
        timeoutMs,
        signal: null,
        family: { kind: 'room', room, tree },
        outputs: [take, take],
      });
      return { end, output: Buffer.concat(chunks).toString() };
    },
    [Symbol.asyncDispose]: async () => {
      await opened.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
