import { joinNames } from '../text/phrase.ts';

/** A folder of PATH. Modes are those of lstat(2), with special bits. */
export interface ProgramFolder {
  /** The path as it is in PATH. */
  readonly path: string;
  /** Mode of the folder, or of its nearest existing parent. */
  readonly mode: number;
  /** Modes of all parent folders, including the parents of link targets on the way. */
  readonly above: readonly number[];
  /** Modes of the programs in it. */
  readonly programs: readonly number[];
}

const WRITE_OTHERS = 0o002;
/** The sticky bit: users can add files to such a folder but cannot remove or rename other users' files. */
const STICKY = 0o1000;

/** Returns the folders of PATH in which an unprivileged user can add or replace programs, without duplicates. */
export function findWritableFolders(folders: readonly ProgramFolder[]): readonly string[] {
  return [...new Set(folders.filter(isWritableByOthers).map(({ path }) => path))];
}

function isWritableByOthers({ mode, above, programs }: ProgramFolder): boolean {
  const canWrite = (one: number): boolean => (one & WRITE_OTHERS) !== 0;
  return canWrite(mode) || above.some((one) => canWrite(one) && (one & STICKY) === 0) || programs.some(canWrite);
}

/** Returns a warning about these folders; null if there are none. */
export function describeWritableFolders(folders: readonly ProgramFolder[]): string | null {
  const writable = findWritableFolders(folders);
  if (writable.length === 0) return null;
  return `At \`isolation: user\` the agent can replace programs that \`verify\` runs, because every user of this runner can write there: ${joinNames(writable, 5)}. Use a runner where \`isolation: namespace\` works, or remove that right in an earlier step, for example with \`sudo chmod -R o-w\`.`;
}

/** Events that only people with write permission can cause. */
const WRITERS_EVENTS = new Set(['schedule', 'workflow_dispatch', 'repository_dispatch', 'push']);

/** Returns true if people without write permission can cause events of this name and so pass texts to the agent. */
export function isByOutsiders(eventName: string): boolean {
  return !WRITERS_EVENTS.has(eventName);
}
