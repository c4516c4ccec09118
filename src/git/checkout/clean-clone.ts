import { access, mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { sentence } from '../../core/text/sentence.ts';
import { UserError } from '../../errors.ts';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { trustedPath, trustedProgram } from '../../processes/trusted-programs.ts';
import { createGit, lastWords } from '../git.ts';
import type { PrivateRepository } from './private-repository.ts';
import { isLoopState } from '../inspection/protected-paths.ts';
import { quarantineFolder } from './quarantine.ts';
import { writeRegular } from '../regular-files.ts';
import type { Workspace } from './workspace.ts';

/** Where clean clones are laid, and what they are made of. */
export interface CleanCloneOptions {
  readonly workspace: Workspace;
  readonly workFolder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Packages of a large project are a few hundred megabytes in tens of thousands of files. */
const COPY_MS = 5 * MINUTE_MS;
/** The ref that a clone is made from. */
const CLONED_REF = 'refs/heads/clone';

/** Copies what git ignores in the work tree (installed packages, build output of the job's own steps), as it is now; throws UserError when it cannot. */
export async function keepIgnored(
  { workspace, workFolder, env }: CleanCloneOptions,
  repository: PrivateRepository,
): Promise<readonly string[]> {
  await repository.seal();
  const listed = await repository.git.records([
    'ls-files',
    '--others',
    '--ignored',
    '--exclude-standard',
    '--directory',
    '-z',
  ]);
  const ignored = listed.map((path) => path.replace(/\/$/, '')).filter((path) => !isLoopState(path));
  const paths = [...ignored, ...(await filesOfOthers(workspace, repository))];
  const folder = keptFolder(workFolder);
  await rm(folder, { recursive: true, force: true });
  try {
    await copyPaths(paths, { from: workspace.top, to: folder, env });
  } catch (error) {
    // Half a copy is worse than none, and takes room.
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return paths;
}

/** Lays a clean clone of a commit of the quarantine, with the ignored files that were kept; returns its folder. The one before is removed. */
export async function layCleanClone(
  { workspace, workFolder, env }: CleanCloneOptions,
  commit: ObjectId,
  kept: readonly string[],
): Promise<string> {
  const source = quarantineFolder(workFolder);
  const parent = join(workFolder, 'clean');
  const folder = join(parent, basename(workspace.top));
  await rm(parent, { recursive: true, force: true, maxRetries: 3 });
  await mkdir(parent, { recursive: true });
  await writeRegular(join(source, CLONED_REF), `${commit}\n`);
  const git = createGit({
    folder: parent,
    env,
    variables: { GIT_ALLOW_PROTOCOL: 'file' },
    unblock: () => workspace.removePipes([source]),
  });
  const cloned = await git.answer([
    'clone',
    '--quiet',
    '--no-tags',
    '--no-local',
    '--single-branch',
    '--branch',
    'clone',
    '--template=',
    source,
    folder,
  ]);
  if (cloned.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The commit ${commit} cannot be cloned for its verification: ${sentence(lastWords(cloned.stderr))}`,
    );
  await copyPaths(kept, { from: keptFolder(workFolder), to: folder, env });
  return folder;
}

/** What a clone of ours does not get from its objects: submodules, and files that git-lfs brought. */
async function filesOfOthers(workspace: Workspace, { git }: PrivateRepository): Promise<readonly string[]> {
  const has = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );
  const submodules = (await has(join(workspace.top, '.gitmodules')))
    ? (await git.records(['ls-files', '--stage', '-z'])).flatMap(
        (record) => /^160000 \S+ \d\t([^]*)$/.exec(record)?.[1] ?? [],
      )
    : [];
  const large = (await has(join(workspace.commonFolder, 'lfs')))
    ? await git.records(['ls-files', '-z', '--', ':(attr:filter=lfs)'])
    : [];
  const there = await Promise.all([...submodules, ...large].map((path) => has(join(workspace.top, path))));
  return [...submodules, ...large].filter((_, i) => there[i]);
}

function keptFolder(workFolder: string): string {
  return join(workFolder, 'ignored');
}

/** With `cp`, which takes a tenth of the time of a copy file by file. */
async function copyPaths(
  paths: readonly string[],
  { from, to, env }: { readonly from: string; readonly to: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  if (paths.length === 0) return;
  const cp = trustedProgram('cp', env);
  if (cp === null)
    throw new UserError('infrastructure', 'The program cp was not found on PATH. Install it on the runner.');
  const byFolder = Map.groupBy(paths, (path) => dirname(path));
  for (const [folder, names] of byFolder) {
    const target = join(to, folder);
    await mkdir(target, { recursive: true });
    const { end, stderr } = await collectOutput(
      {
        file: cp,
        args: ['-a', ...names.map((name) => join(from, name)), target],
        cwd: from,
        environment: { PATH: trustedPath(env), LC_ALL: 'C' },
        input: '',
        timeoutMs: COPY_MS,
        family: { kind: 'group', graceMs: 200, leftover: 'end' },
      },
      1024 * 1024,
    );
    if (end.kind !== 'exited' || end.code !== 0)
      throw new UserError(
        'infrastructure',
        `Ignored files of the checkout cannot be copied for the verification: cp ${describeCollected(end)}: ${sentence(lastWords(stderr.toString()))}`,
      );
  }
}
