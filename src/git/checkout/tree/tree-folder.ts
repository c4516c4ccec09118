import { basename, join } from 'node:path';
import type { Room } from '../../../ports/room.ts';

/** `work`: the agent works in it until the run ends. `clean`: one verification runs in it, where the agent has no hand. */
export type TreeKind = 'work' | 'clean';

/** The folder of a tree: in a run's work folder, or where the user of its room can reach it. */
export function treeFolder(
  kind: TreeKind,
  {
    top,
    workFolder,
    room,
  }: { readonly top: string; readonly workFolder: string; readonly room: Pick<Room, 'folders'> | null },
): string {
  return join(room?.folders.trees ?? join(workFolder, 'trees'), kind, basename(top));
}
