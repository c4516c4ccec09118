import type { Room } from '../../ports/room.ts';

/** Runs something while the folder of conversations is ours: with the agent's user gone, and the folder that user's again behind it. */
export type Hands = <T>(work: (lend: Lend) => Promise<T>) => Promise<T>;

/** Runs something of the agent's in between, for which the folder is its user's. */
export type Lend = <T>(work: () => Promise<T>) => Promise<T>;

/** Of a room, whose user is somebody else; null: all is ours at any time. */
export function handsOf(room: Pick<Room, 'folders' | 'give' | 'takeBack'> | null): Hands {
  if (room === null) return (work) => work((lent) => lent());
  const { session } = room.folders;
  return async (work) => {
    if (!(await room.takeBack(session))) return work((lent) => lent());
    try {
      return await work(async (lent) => {
        await room.give(session);
        try {
          return await lent();
        } finally {
          await room.takeBack(session);
        }
      });
    } finally {
      await room.give(session);
    }
  };
}
