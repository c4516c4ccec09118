import { firstNames } from '../text/phrase.ts';

/** A folder of PATH. Modes are those of lstat(2), with its special bits. */
export interface ProgramFolder {
  /** As PATH has it. */
  readonly path: string;
  /** Of the folder, or of the nearest one above it that is there. */
  readonly mode: number;
  /** Of the folders on the way to it, and on the ways that links in it lead. */
  readonly above: readonly number[];
  /** Of the programs in it. */
  readonly programs: readonly number[];
}

const WRITE_OTHERS = 0o002;
/** Who can write such a folder can add to it, but neither remove nor rename what is somebody else's. */
const STICKY = 0o1000;

/** The folders of PATH where a user without rights of its own can add programs or replace them, each once. */
export function openFolders(folders: readonly ProgramFolder[]): readonly string[] {
  return [...new Set(folders.filter(isOpen).map(({ path }) => path))];
}

function isOpen({ mode, above, programs }: ProgramFolder): boolean {
  const canWrite = (one: number): boolean => (one & WRITE_OTHERS) !== 0;
  return canWrite(mode) || above.some((one) => canWrite(one) && (one & STICKY) === 0) || programs.some(canWrite);
}

/** What is said of such folders; null: there are none. */
export function openFoldersWarning(folders: readonly ProgramFolder[]): string | null {
  const open = openFolders(folders);
  if (open.length === 0) return null;
  return `At \`isolation: user\` the agent can replace programs that \`verify\` runs, because every user of this runner can write there: ${firstNames(open, 5)}. Use a runner where \`isolation: namespace\` works, or take that right away in a step before this one, for example with \`sudo chmod -R o-w\`.`;
}
