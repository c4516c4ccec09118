import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RoomOptions } from '../room/options.ts';
import { realFolder, toolFolders } from '../room/namespaces.ts';

/** The system's programs and settings. Nothing else is there: what other users and services have, and their sockets. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix'];

/** What a room of this very user shows, and what of that it hides; paths are real. */
export interface SandboxView {
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
}

/** What is to be seen from a room that is made without root: this user's own rights hold there, so its own files are not shown. */
export function sandboxViewOf({
  visible,
  hidden,
  runFolder,
  worker,
  environment,
}: Omit<RoomOptions, 'places'>): SandboxView {
  const real = (paths: readonly string[]): readonly string[] => [...new Set(paths.flatMap(realFolder))];
  const shown = real([
    ...visible,
    dirname(worker.file),
    ...worker.args.filter((arg) => arg.startsWith('/')).map(dirname),
    ...toolFolders(environment),
  ]);
  return {
    // Links at the top of a merged /usr stay what they are.
    visible: [...SYSTEM.filter((path) => existsSync(path)), ...shown],
    // Of what is in both, the library shows it.
    hidden: real([...hidden, ...ownIn('/opt'), runFolder]).filter((path) => !shown.includes(path)),
  };
}

/** What is this user's own in a folder of programs, as a runner with its credentials may be. */
function ownIn(folder: string): readonly string[] {
  const uid = process.getuid?.();
  return (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === uid || existsSync(join(path, '.runner')));
}
