import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { Folder } from '../../core/folder.ts';
import { UserError } from '../../errors.ts';
import { createGit, lastLinesOfError, findGitVersionProblem, type Git } from '../git.ts';
import { extractServerWords } from '../remote/ask-remote.ts';
import { explainRefusal, parseRefusal } from '../../core/refusals/refusal.ts';
import { MINUTE_MS } from '../../core/countdown.ts';

/**
 * A person's checkout as it is now. Nothing here changes their files, their index or a branch that they have checked
 * out.
 */
export interface PersonCheckout {
  readonly top: string;
  /** The branch that is checked out, or null if HEAD is detached. */
  readonly branch: string | null;
  /** Branches that are checked out in it or in its other work trees. */
  readonly checkedOut: readonly string[];
  /** Uncommitted paths, at most the first thousand. */
  readonly uncommitted: readonly string[];
  readonly git: Git;
}

const MAX_PATHS = 1_000;

/** The checkout that contains a folder, with the person's own git. `within` is the folder, relative to the top. */
interface FoundCheckout {
  readonly top: string;
  readonly within: Folder;
  readonly git: Git;
}

/** Finds the checkout that contains a folder; throws a UserError outside of a checkout. */
export async function findCheckout(folder: string, env: NodeJS.ProcessEnv): Promise<FoundCheckout> {
  if (!existsSync(folder)) throw new UserError('configuration', `${JSON.stringify(folder)} does not exist.`);
  const near = createGit({ folder, env, configuration: 'own' });
  const found = await near.answer(['rev-parse', '--show-toplevel', '--show-prefix']);
  const [top = '', prefix = ''] = found.stdout.toString().split('\n');
  if (found.exitCode !== 0 || top === '')
    throw new UserError(
      'configuration',
      `${JSON.stringify(folder)} is not in a git checkout. Change to one, or name it with --dir. (git says: ${lastLinesOfError(found.stderr)})`,
    );
  return { top, within: prefix.replace(/\/$/, ''), git: createGit({ folder: top, env, configuration: 'own' }) };
}

/** Returns the first line of git's answer, or null if there is no answer. */
export async function readFirstLine(git: Git, args: readonly string[]): Promise<string | null> {
  const { exitCode, stdout } = await git.answer(args);
  const [line = ''] = stdout.toString().split('\n');
  return exitCode === 0 && line !== '' ? line : null;
}

/** Reads the checkout that contains a folder; throws a UserError outside of one, or if no run can start from it. */
export async function readPersonCheckout(folder: string, env: NodeJS.ProcessEnv): Promise<PersonCheckout> {
  const { top, git } = await findCheckout(folder, env);
  const old = findGitVersionProblem((await git.answer(['version'])).stdout.toString());
  if (old !== null) throw new UserError('configuration', old);
  if ((await git.answer(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])).exitCode !== 0)
    throw new UserError(
      'configuration',
      `The repository in ${top} has no commits yet. Create a first one, then run again.`,
    );
  const [branch, worktrees, status] = await Promise.all([
    git.answer(['symbolic-ref', '--quiet', '--short', 'HEAD']),
    git.answer(['worktree', 'list', '--porcelain']),
    git.answer(['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal']),
  ]);
  return {
    top,
    branch: branch.exitCode === 0 ? branch.stdout.toString().trim() : null,
    checkedOut: [...worktrees.stdout.toString().matchAll(/^branch refs\/heads\/(.+)$/gm)].map(([, name = '']) => name),
    uncommitted: status.stdout
      .toString()
      .split('\0')
      .filter((record) => record.length > 3)
      .slice(0, MAX_PATHS)
      .map((record) => record.slice(3)),
    git,
  };
}

/**
 * Returns those files that exist and that git ignores, by their paths from the top, at most the first thousand; `*` in
 * a path matches any part of a name.
 */
export async function findIgnoredAmong({ git }: PersonCheckout, paths: readonly string[]): Promise<readonly string[]> {
  const patterns = paths.map((path) => `:(top,${path.includes('*') ? 'glob' : 'literal'})${path}`);
  const listed = await git.answer(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--', ...patterns]);
  return listed.exitCode === 0
    ? listed.stdout
        .toString()
        .split('\0')
        .filter((path) => path !== '')
        .slice(0, MAX_PATHS)
    : [];
}

/** Returns true if a branch contains the commit; returns false if one of them is unknown. */
export async function isOnBranch(git: Git, commit: string, branch: string): Promise<boolean> {
  return (await git.answer(['merge-base', '--is-ancestor', commit, `refs/heads/${branch}`])).exitCode === 0;
}

/**
 * Adds untracked paths to the checkout's own exclude list, which is never committed. They then do not appear in the
 * person's `git status`, even after `ralph init --remove` has removed its lines from `.gitignore`.
 */
export async function ignoreLocally({ top, git }: PersonCheckout, paths: readonly string[]): Promise<void> {
  const tracked = (await git.text(['ls-files', '--', ...paths])).split('\n');
  const named = (await git.text(['rev-parse', '--git-path', 'info/exclude'])).trim();
  const file = isAbsolute(named) ? named : join(top, named);
  const there = lstatSync(file, { throwIfNoEntry: false });
  // Leave anything that is not a file, because it is the person's own setup.
  if (there !== undefined && !there.isFile()) return;
  const before = there === undefined ? '' : readFileSync(file, 'utf8');
  const lines = before.split('\n');
  const missing = paths.filter((path) => !tracked.includes(path) && !lines.includes(`/${path}`));
  if (missing.length === 0) return;
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${before}${gap}${missing.map((path) => `/${path}\n`).join('')}`);
}

/** Returns true if the checkout has a remote of this name. */
export async function hasRemote({ git }: PersonCheckout, remote: string): Promise<boolean> {
  return (await git.answer(['remote', 'get-url', '--push', remote])).exitCode === 0;
}

/**
 * Pushes a branch of the checkout to one of its remotes, with the person's own credentials and never forced. Returns
 * the reason for a failure, or null on success.
 */
export async function pushToRemote({ git }: PersonCheckout, remote: string, branch: string): Promise<string | null> {
  const ref = `refs/heads/${branch}`;
  const pushed = await git.answer(['push', '--porcelain', '--no-verify', remote, `${ref}:${ref}`], {
    timeoutMs: 2 * MINUTE_MS,
  });
  if (pushed.exitCode === 0) return null;
  return explainRefusal(parseRefusal(extractServerWords(pushed)));
}
