import { z } from 'zod';

const name = z.string().regex(/^[\w.-]+$/);
const checksum = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** Objects in a git directory: packs with their indexes by name, each with what stands at its end, the hash of all before it; single ones by id. */
const storedObjectsSchema = z.strictObject({
  packs: z.record(name, z.strictObject({ bytes: z.int().positive(), checksum })),
  single: z.array(checksum),
});

/** See `storedObjectsSchema`. */
export type StoredObjects = z.infer<typeof storedObjectsSchema>;

/** What is on disk while a work tree belongs to the room's user: where it is, the branch that is worked on, the permissions of its folder, and the objects that were there. */
export const handedOverSchema = z.strictObject({
  version: z.literal(1),
  top: z.string().startsWith('/'),
  branch: z.string().min(1),
  mode: z.int().min(0).max(0o7777),
  objects: storedObjectsSchema,
});

/** See `handedOverSchema`. */
export type HandedOver = z.infer<typeof handedOverSchema>;
