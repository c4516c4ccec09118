import { z } from 'zod';

/** What of a room that was made without root is to be ended and removed, by whoever ends the run. */
export const sandboxRecord = z.strictObject({
  version: z.literal(1),
  /** Marks the processes that keep the room, see isolation/rootless/end.ts. */
  id: z.uuid(),
  /** Folder of the room: one that this program named. */
  folder: z
    .string()
    .regex(/^(?:\/(?!\.\.?\/)[^/\0]+)+\/ralph-room-[\da-f]{8}$/)
    .max(4096),
});

/** See `sandboxRecord`. */
export type SandboxRecord = z.infer<typeof sandboxRecord>;
