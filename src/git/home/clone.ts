import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { MINUTE_MS } from '../../core/time.ts';
import { UserError } from '../../errors.ts';
import { createGit, lastWords } from '../git.ts';

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
