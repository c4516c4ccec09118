import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, lstat, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import type { ObjectId } from '../../core/evidence.ts';
import { sentence } from '../../core/text/sentence.ts';
import { UserError } from '../../errors.ts';
import type { Room } from '../../ports/room.ts';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { trustedEnvironment, trustedProgram } from '../../processes/trusted-programs.ts';
import { createGit, lastWords, type Git } from '../git.ts';
import { encodeNames, placeOf } from '../names.ts';
import type { PrivateRepository } from './private-repository.ts';
import { movePaths } from './moved-paths.ts';
import { isLoopState } from '../inspection/protected-paths.ts';
import { removePipes } from '../pipes.ts';
import { quarantineFolder } from './quarantine.ts';
import { writeRegular } from '../regular-files.ts';
import { removeTree } from '../remove-tree.ts';
import type { Workspace } from './workspace.ts';

/** Where clean clones are laid, and what they are made of. */
export interface CleanCloneOptions {
  readonly workspace: Workspace;
  readonly workFolder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whose user works in the clones; null: this one. */
  readonly room: Room | null;
  /** Ends what takes long. */
  readonly signal: AbortSignal;
}

/** A checkout that has not all files of its commit. */
interface SparseCheckout {
  readonly patterns: string;
  /** The commit that was laid in the work tree: files that differ from it are there, whatever the patterns say. */
  readonly start: ObjectId;
}

/** Ignored files as they were kept: one archive, and the hash of its bytes, which only this process holds. */
export interface KeptFiles {
  readonly archive: string;
  readonly size: number;
  readonly sha256: string;
  /** What git ignores; whole folders where all of it is ignored. */
  readonly ignored: readonly string[];
  /** Those that are not ignored: submodules and files of git-lfs, which stand in the place of what a clone has. */
  readonly ofOthers: readonly string[];
}

/** Packages of a large project are a few hundred megabytes in tens of thousands of files. */
const ARCHIVE_MS = 5 * MINUTE_MS;
/** The ref that a clone is made from. */
const CLONED_REF = 'refs/heads/clone';

/** Folder that holds one clean clone and nothing else: in a run's work folder, or where the user of its room can reach it. */
export function cleanCloneParent(workFolder: string, room: Pick<Room, 'folders'> | null = null): string {
  return join(room?.folders.clones ?? workFolder, 'clean');
}

/** Keeps what git ignores in the work tree (installed packages, build output of the job's own steps), as it is now; null: there is none. Throws UserError when it cannot. */
export async function keepIgnored(
  { workspace, workFolder, env, signal }: Omit<CleanCloneOptions, 'room'>,
  repository: PrivateRepository,
): Promise<KeptFiles | null> {
  const ignored = await listIgnored(repository);
  const ofOthers = await filesOfOthers(workspace, repository);
  const archive = join(workFolder, 'ignored.tar');
  await rm(archive, { recursive: true, force: true });
  if (ignored.length + ofOthers.length === 0) return null;
  try {
    await runTar(['-c', '-f', archive, '--null', '-T', '-'], {
      folder: workspace.top,
      input: memberList([...ignored, ...ofOthers]),
      env,
      signal,
    });
    const { size } = await stat(archive);
    return { archive, size, sha256: await hashOf({ archive, size }), ignored, ofOthers };
  } catch (error) {
    // Half an archive is worse than none, and takes room.
    await rm(archive, { recursive: true, force: true });
    throw error;
  }
}

/** Whole folders where all of it is ignored. */
async function listIgnored(repository: PrivateRepository): Promise<readonly string[]> {
  await repository.seal();
  const listed = await repository.git.names([
    'ls-files',
    '--others',
    '--ignored',
    '--exclude-standard',
    '--directory',
    '-z',
  ]);
  return listed.map((path) => path.replace(/\/$/, '')).filter((path) => !isLoopState(path));
}

/**
 * Makes what git ignores in the work tree what it was when it was kept (null: there was nothing), so that a later step of
 * the job that stores it in a cache stores nothing of the agent's. Returns the paths that were not so. Nobody else may be
 * in the work tree. Throws UserError when it cannot.
 */
export async function putBackIgnored(
  { workspace: { top }, env, signal }: Omit<CleanCloneOptions, 'room' | 'workFolder'>,
  repository: PrivateRepository,
  kept: KeptFiles | null,
): Promise<readonly string[]> {
  const before = kept?.ignored ?? [];
  const wasThere = new Set(before);
  const added = (await listIgnored(repository)).filter((path) => !wasThere.has(path));
  for (const path of added) await removeTree(placeOf(top, path));
  if (kept === null || before.length === 0) return added;
  const isSound = (await hashOf(kept).catch(() => null)) === kept.sha256;
  const setting = { folder: top, env, signal };
  const changed: string[] = [];
  for (const path of before) if (!isSound || !(await isAsKept(kept, path, setting))) changed.push(path);
  if (changed.length === 0) return added;
  for (const path of changed) await removeTree(placeOf(top, path));
  await unpack(kept, { ...setting, paths: changed });
  return [...added, ...changed];
}

/** Whether all below a path is there as it was kept, byte for byte (times prove nothing), and nothing beside it. */
async function isAsKept(
  { archive }: KeptFiles,
  path: string,
  { folder, env, signal }: { readonly folder: string } & Pick<CleanCloneOptions, 'env' | 'signal'>,
): Promise<boolean> {
  const setting = { folder, env, signal, input: memberList([path]) };
  const compared = await tryTar(['--compare', '-f', archive, ...MEMBERS], setting);
  if (compared.end.kind !== 'exited' || compared.end.code !== 0) return false;
  const listed = await tryTar(['-t', '--quoting-style=escape', '-f', archive, ...MEMBERS], setting);
  return listed.stdout.toString().split('\n').length - 1 === (await countBelow(placeOf(folder, path)));
}

/** Names on standard input, as they are. A name that begins with a dash would be an option. */
const MEMBERS = ['--null', '--no-wildcards', '-T', '-'] as const;

function memberList(paths: readonly string[]): Buffer {
  return encodeNames(paths.map((path) => `./${path}\0`).join(''));
}

/** Files and folders at a place, itself included. */
async function countBelow(place: string | Buffer): Promise<number> {
  const found = await lstat(place).catch(() => null);
  if (found === null) return 0;
  let count = 1;
  if (!found.isDirectory()) return count;
  for (const entry of await readdir(place, { withFileTypes: true, encoding: 'buffer' }))
    count += entry.isDirectory()
      ? await countBelow(Buffer.concat([Buffer.from(place), Buffer.from('/'), entry.name]))
      : 1;
  return count;
}

/** Lays a clean clone of a commit of the quarantine, with the ignored files that were kept, whose paths into the work tree lead into the clone; returns its folder. The one before is removed. */
export async function layCleanClone(
  { workspace, workFolder, env, room, signal }: CleanCloneOptions,
  {
    commit,
    kept,
    sparse,
  }: { readonly commit: ObjectId; readonly kept: KeptFiles | null; readonly sparse: SparseCheckout | null },
): Promise<string> {
  signal.throwIfAborted();
  const source = quarantineFolder(workFolder);
  const parent = cleanCloneParent(workFolder, room);
  const folder = join(parent, basename(workspace.top));
  if (room === null) await rm(parent, { recursive: true, force: true, maxRetries: 3 });
  else {
    await room.takeBack(folder);
    await removeTree(parent);
  }
  await mkdir(parent, { recursive: true, mode: 0o700 });
  // The room's user passes through, whatever the mask of this process.
  if (room !== null) await chmod(parent, 0o755);
  await writeRegular(join(source, CLONED_REF), `${commit}\n`);
  const git = createGit({
    folder: parent,
    env,
    variables: { GIT_ALLOW_PROTOCOL: 'file' },
    unblock: () =>
      room === null ? workspace.removePipes([source]) : removePipes([{ kind: 'git-directory', folder: source }]),
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
    ...(sparse === null ? [] : ['--no-checkout']),
    source,
    folder,
  ]);
  if (cloned.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The commit ${commit} cannot be cloned for its verification: ${sentence(lastWords(cloned.stderr))}`,
    );
  const inClone = createGit({ folder, env });
  if ((await inClone.text(['rev-parse', 'HEAD'])) !== commit)
    throw new UserError(
      'infrastructure',
      `The clone for the verification of ${commit} has another commit: the agent or another program on this machine changed the run's own folder in the meantime.`,
    );
  if (sparse !== null) await laySparse(inClone, folder, { ...sparse, commit });
  if (kept !== null) {
    await unpack(kept, { folder, env, signal });
    await movePaths(folder, kept.ignored, { moves: [{ from: workspace.top, to: folder }], signal });
    await putBackTracked(inClone, kept.ofOthers);
  }
  await room?.give(folder);
  return folder;
}

/** Lays what the checkout has of the commit, as the job checked it out, and what was changed since. */
async function laySparse(
  git: Git,
  folder: string,
  { patterns, start, commit }: SparseCheckout & { readonly commit: ObjectId },
): Promise<void> {
  await mkdir(join(folder, '.git', 'info'), { recursive: true });
  await writeRegular(join(folder, '.git', 'info', 'sparse-checkout'), patterns);
  await git.text(['config', 'core.sparseCheckout', 'true']);
  await git.text(['read-tree', '-m', '-u', commit]);
  const changed = await git.answer([
    'diff-tree',
    '-r',
    '-z',
    '--name-only',
    '--no-renames',
    '--diff-filter=d',
    start,
    commit,
  ]);
  if (changed.exitCode !== 0 || changed.stdout.length === 0) return;
  await git.text(['update-index', '-z', '--no-skip-worktree', '--stdin'], { input: changed.stdout });
  await git.text(['checkout-index', '--quiet', '--force', '-z', '--stdin'], { input: changed.stdout });
}

/** Unpacks the very bytes that are hashed. Throws UserError when they are not those that were kept. */
async function unpack(
  kept: KeptFiles,
  {
    folder,
    env,
    signal,
    paths = null,
  }: { readonly folder: string; readonly paths?: readonly string[] | null } & Pick<CleanCloneOptions, 'env' | 'signal'>,
): Promise<void> {
  const hash = createHash('sha256');
  const hashed = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of chunksOf(kept)) {
        hash.update(chunk);
        yield chunk;
      }
    } catch {
      // tar waits for what never comes, unless its input ends: the hash says that it was not all.
    }
  };
  // Standard input is the archive: the names, where there are any, are arguments.
  const members = paths === null ? [] : ['--no-wildcards', '--', ...paths.map((path) => `./${path}`)];
  const failure = await runTar(['-x', '-p', '-f', '-', ...members], {
    folder,
    input: Readable.from(hashed(), { objectMode: false }),
    env,
    signal,
  }).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  if (failure === null && hash.digest('hex') === kept.sha256) return;
  if (failure !== null && signal.aborted) throw failure.error;
  const isAsKept = (await hashOf(kept).catch(() => null)) === kept.sha256;
  if (failure !== null && isAsKept) throw failure.error;
  throw new UserError(
    'infrastructure',
    "The copy of ignored files (installed packages and the like) in the run's own folder was changed by the agent or another program on this machine, so a verification with them cannot be trusted.",
  );
}

async function hashOf(kept: Pick<KeptFiles, 'archive' | 'size'>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(kept)) hash.update(chunk);
  return hash.digest('hex');
}

/** The archive's bytes; throws where there is no regular file of that size. A named pipe is not waited for. */
async function* chunksOf({ archive, size }: Pick<KeptFiles, 'archive' | 'size'>): AsyncGenerator<Buffer> {
  const file = await open(archive, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size !== size) throw new Error(`${archive} is not what it was`);
    yield* file.createReadStream({
      autoClose: false,
      end: size - 1,
      highWaterMark: 1024 * 1024,
    }) as AsyncIterable<Buffer>;
  } finally {
    await file.close();
  }
}

/** What is published is what is verified: an ignored file does not stand in for one that the commit has. */
async function putBackTracked(git: Git, ofOthers: readonly string[]): Promise<void> {
  const changed = await git.names(['ls-files', '-z', '--modified']);
  const isOfOthers = (path: string): boolean =>
    ofOthers.some((other) => path === other || path.startsWith(`${other}/`));
  const paths = [...new Set(changed)].filter((path) => !isOfOthers(path));
  if (paths.length > 0)
    await git.text(['checkout-index', '--quiet', '--force', '-z', '--stdin'], {
      input: paths.map((path) => `${path}\0`).join(''),
    });
}

/** What a clone of ours does not get from its objects: submodules, and files that git-lfs brought. */
async function filesOfOthers(workspace: Workspace, { git }: PrivateRepository): Promise<readonly string[]> {
  const has = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );
  const submodules = (await has(join(workspace.top, '.gitmodules')))
    ? (await git.names(['ls-files', '--stage', '-z'])).flatMap(
        (record) => /^160000 \S+ \d\t([^]*)$/.exec(record)?.[1] ?? [],
      )
    : [];
  const large = (await has(join(workspace.commonFolder, 'lfs')))
    ? await git.names(['ls-files', '-z', '--', ':(attr:filter=lfs)'])
    : [];
  const there = await Promise.all([...submodules, ...large].map((path) => has(join(workspace.top, path))));
  return [...submodules, ...large].filter((_, i) => there[i]);
}

async function tryTar(
  args: readonly string[],
  {
    folder,
    input,
    env,
    signal,
  }: { readonly folder: string; readonly input: string | Buffer | Readable } & Pick<
    CleanCloneOptions,
    'env' | 'signal'
  >,
): ReturnType<typeof collectOutput> {
  const tar = trustedProgram('tar', env);
  if (tar === null)
    throw new UserError('infrastructure', 'The program tar was not found on PATH. Install it on the runner.');
  return await collectOutput(
    {
      file: tar,
      args,
      cwd: folder,
      environment: trustedEnvironment(env),
      input,
      timeoutMs: ARCHIVE_MS,
      signal,
      family: { kind: 'group', graceMs: 200, leftover: 'end' },
    },
    64 * 1024 * 1024,
  );
}

/** One archive takes a fraction of the time of a copy file by file. */
async function runTar(
  args: readonly string[],
  {
    folder,
    input,
    env,
    signal,
  }: { readonly folder: string; readonly input: string | Buffer | Readable } & Pick<
    CleanCloneOptions,
    'env' | 'signal'
  >,
): Promise<void> {
  const { end, stderr } = await tryTar(args, { folder, input, env, signal });
  // 1: a file changed while it was read, as a log does.
  if (end.kind !== 'exited' || end.code > (args.includes('-c') ? 1 : 0))
    throw new UserError(
      'infrastructure',
      `Ignored files of the checkout cannot be copied for the verification: tar ${describeCollected(end)}: ${sentence(lastWords(stderr.toString()))}`,
    );
}
