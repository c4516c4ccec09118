import { createGit, hasGit } from '../git.ts';

/** The reason why the last commit lacks a file that exists. */
export type Uncommitted = 'untracked' | 'ignored';

/**
 * Returns those files of a folder that the last commit lacks, by their paths in it; empty if there is no commit or git
 * is missing.
 */
export async function findUncommittedIn(
  folder: string,
  { paths, env }: { readonly paths: readonly string[]; readonly env: NodeJS.ProcessEnv },
): Promise<ReadonlyMap<string, Uncommitted>> {
  if (paths.length === 0 || !hasGit(env)) return new Map();
  const git = createGit({ folder, env, configuration: 'own' });
  const [committed, ignored] = await Promise.all([
    git.answer(['--literal-pathspecs', 'ls-tree', '-z', '--name-only', 'HEAD', '--', ...paths]),
    git.answer(['check-ignore', '-z', '--stdin'], { input: paths.join('\0') }),
  ]);
  if (committed.exitCode !== 0) return new Map();
  const namesIn = (text: Buffer): readonly string[] => text.toString().split('\0');
  const missing = paths.filter((path) => !namesIn(committed.stdout).includes(path));
  return new Map(
    missing.map((path) => [
      path,
      namesIn(ignored.stdout).includes(path) ? ('ignored' as const) : ('untracked' as const),
    ]),
  );
}

/** Returns true if a file of a checkout differs from the last commit, or if git cannot tell. */
export async function hasChanges(
  folder: string,
  { path, env }: { readonly path: string; readonly env: NodeJS.ProcessEnv },
): Promise<boolean> {
  const git = createGit({ folder, env, configuration: 'own' });
  const status = await git.answer(['--literal-pathspecs', 'status', '--porcelain', '-z', '--ignored', '--', path]);
  return status.exitCode !== 0 || status.stdout.length > 0;
}
