import { z } from 'zod';

const id = z.number().int().nonnegative();
const path = z.string().startsWith('/').max(4096);
/** Ids that systemd leaves to nobody (its table of users and groups). */
export const ROOM_UIDS = { first: 60_706, last: 61_183 } as const;

/** What of a room is to be removed, and what given back, by whoever ends the run. */
export const roomRecord = z.strictObject({
  version: z.literal(1),
  /** The room's user; a program of ours looked that nobody else has it. */
  uid: z.number().int().min(ROOM_UIDS.first).max(ROOM_UIDS.last),
  /** Folder of the room; everything in it is removed. */
  folder: path.regex(/\/ralph-room-[A-Za-z0-9]{8}$/),
  /** The entry that the id has in the machine's list of users; empty: none. */
  userName: z.string().regex(/^(ralph-\d+)?$/),
  /** What belongs, or may belong, to the room's user; and whose the folder itself was, which on some runners is not ours. */
  given: z.array(z.strictObject({ path, uid: id, gid: id })).max(20),
  /** Folders that were closed to the room's user. */
  opened: z.array(path).max(100),
  /** Folders of ours that were open to others, and their permissions. */
  closed: z.array(z.strictObject({ path, mode: z.number().int().min(0).max(0o7777) })).max(10),
});

/** See `roomRecord`. */
export type RoomRecord = z.infer<typeof roomRecord>;
