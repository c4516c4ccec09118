import { readdirSync, readFileSync } from 'node:fs';
import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { git } from '../testbed/git.ts';

// Repositories set up for other Ralphs, with the exact files that those tools create.

/** The five tools, by the folder of their sample. */
export const RALPHS = ['ralph-claude-code', 'bmalph', 'go-ralph', 'early-bash', 'snarktank'] as const;
export type Ralph = (typeof RALPHS)[number];

const samples = fileURLToPath(new URL('samples/ralphs/', import.meta.url));
/** A file named `.gitignore` would hide files of the sample from this repository. */
const GITIGNORE = '_gitignore';

/** Returns the texts of a sample by their paths in its repository. */
export function filesOf(name: Ralph): Readonly<Record<string, string>> {
  const folder = join(samples, name);
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [pathOf(file.slice(folder.length + 1)), readFileSync(file, 'utf8')]),
  );
}

/** Creates a repository in `folder` with one commit on main that has the files of a sample, including ignored ones. */
export async function layRalph(name: Ralph, folder: string): Promise<void> {
  await cp(join(samples, name), folder, { recursive: true });
  if (readdirSync(folder).includes(GITIGNORE)) await rename(join(folder, GITIGNORE), join(folder, '.gitignore'));
  await git(folder, ['init', '--quiet', '--initial-branch=main']);
  await git(folder, ['add', '--all', '--force']);
  await git(folder, ['commit', '--quiet', '--message', 'Start']);
}

function pathOf(path: string): string {
  return path === GITIGNORE ? '.gitignore' : path;
}
