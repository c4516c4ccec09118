import { constants } from 'node:fs';
import { cp, lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MINUTE_MS } from '../../core/time.ts';
import { UserError } from '../../errors.ts';
import { createGit, lastWords, type Git } from '../git.ts';

/** A whole history has to be copied. */
const CLONE_MS = 10 * MINUTE_MS;

/**
 * Clones a person's repository into `folder`, which must not be there: a branch of it, with objects of its own, so that
 * nothing that happens to the clone happens to theirs, and without a way back.
 */
export async function cloneForRun({
  from,
  branch,
  folder,
  env,
}: {
  readonly from: string;
  readonly branch: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const git = createGit({ folder: dirname(folder), env });
  const options = ['--quiet', '--no-hardlinks', '--no-tags', '--single-branch', '--template=', '--origin=home'];
  const cloned = await git.answer(['clone', ...options, `--branch=${branch}`, '--', from, basename(folder)], {
    variables: { GIT_ALLOW_PROTOCOL: 'file' },
    timeoutMs: CLONE_MS,
  });
  if (cloned.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The branch "${branch}" of ${from} cannot be copied to ${folder}, where the run works: ${lastWords(cloned.stderr)}`,
    );
  await createGit({ folder, env }).text(['remote', 'remove', 'home']);
}

/** What is the run's own in the person's checkout, and what another one left, in whatever folder: none of it belongs into the copy. */
const OURS = /(?:^|\/)\.ralph\/(?:state|logs|status\.json|progress\.json)(?:\/|$)/;

/** Copies what git ignores in the person's checkout (installed packages, settings) into the clone, as the files themselves and not as links to them; returns why some could not be, as words. */
export async function copyIgnored({
  git,
  top,
  folder,
}: {
  readonly git: Git;
  readonly top: string;
  readonly folder: string;
}): Promise<readonly string[]> {
  const listed = await git.records(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']);
  const failed: string[] = [];
  for (const path of listed.map((one) => one.replace(/\/$/, '')).filter((one) => !OURS.test(one))) {
    try {
      await cp(join(top, path), join(folder, path), {
        recursive: true,
        force: false,
        verbatimSymlinks: true,
        // Where the disk can share blocks, a copy costs nothing.
        mode: constants.COPYFILE_FICLONE,
        filter: (source) => isCopied(source, top),
      });
    } catch (error) {
      failed.push(`${path} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  return failed;
}

/** No pipes, sockets and devices, and nothing of ours in a folder that is ignored as a whole. */
async function isCopied(source: string, top: string): Promise<boolean> {
  if (OURS.test(source.slice(top.length + 1))) return false;
  const found = await lstat(source);
  return found.isFile() || found.isDirectory() || found.isSymbolicLink();
}
