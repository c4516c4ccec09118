import { z } from 'zod';
import { oneLine } from '../text/one-line.ts';

/** More of it is not looked at. */
export const MOST_BESIDE = 50;
const MAX_NAME_CHARS = 200;

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** Work that a git directory knows of and the work tree does not hold. `id`: the commit that it ends with; of a work tree, the tree of its files. */
export const besideSchema = z.object({
  is: z.enum(['branch', 'ref', 'stash', 'head', 'work-tree']),
  name: z.string().min(1).max(4096),
  id: objectId,
  /** The commit that another work tree has checked out. */
  head: objectId.optional(),
});

/** See `besideSchema`. */
export type BesideWork = z.infer<typeof besideSchema>;

/** What people and the agent call it. The name is the agent's. */
export function nameOfBeside({ is, name }: BesideWork): string {
  const shown = oneLine(name, MAX_NAME_CHARS - 40);
  const names = {
    branch: `branch ${shown}`,
    ref: shown,
    stash: shown,
    head: `commit ${shown} of no branch`,
    'work-tree': `work tree ${shown}`,
  } as const;
  return names[is];
}

/** Why it is left out, as a part of a sentence. */
export const BESIDE = 'it is beside the work tree, and only what is in the work tree is published';

/** What of it is new, or is not as it was. */
export function newBeside(before: readonly BesideWork[], now: readonly BesideWork[]): readonly BesideWork[] {
  // The number of a stash is another one once there is a newer one.
  const keyOf = ({ is, name, id }: BesideWork): string => `${is} ${is === 'stash' ? '' : name} ${id}`;
  const known = new Set(before.map(keyOf));
  return now.filter((item) => !known.has(keyOf(item)));
}
