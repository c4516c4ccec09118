import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { ObjectId } from '../../../../core/evidence.ts';
import { MAX_BESIDE_ITEMS, type BesideWork } from '../../../../core/work-tree/answers.ts';
import { diffTrees } from '../../../objects.ts';
import { removePipes } from '../../../pipes.ts';
import { readRegular } from '../../../regular-files.ts';
import { createOwnRepository, type OwnRepository, type PrivateRepository } from '../../private-repository.ts';
import { readRef, type Workspace } from '../../workspace.ts';
import { listModules } from '../../credentials/git-configs.ts';
import { plainReading, readWorkTree } from '../work-tree.ts';
import type { ToleratedChange } from './tolerated-changes.ts';

/**
 * The checkout whose git directory lists other work, and one of our repositories over it, in whose folder temporary
 * files are made.
 */
export interface BesideOptions {
  readonly workspace: Pick<Workspace, 'top' | 'gitFolder' | 'commonFolder' | 'objectFormat' | 'git' | 'removePipes'>;
  readonly own: Pick<OwnRepository, 'folder' | 'setup'>;
  /** Folders of objects to read from. */
  readonly objects: readonly string[];
}

/** An item of work outside of the work tree, and the content with which it is compared. */
export interface BesideQuestion {
  readonly item: BesideWork;
  /** Commits whose past is not new: the lane's newest one, and the agent's. */
  readonly known: readonly ObjectId[];
  /** The work tree; work that it also contains is not reported. */
  readonly now: ObjectId;
}

/** Maximum number of bytes of a reflog that are read. */
const MAX_REFLOG_BYTES = 256 * 1024;
const MAX_WORK_TREES = 5;
/** Maximum length of a patch, in characters; longer ones are cut. */
const MAX_CUT_PATCH_CHARS = 512 * 1024;
/** Maximum number of the server's branches whose commits are known. */
const MAX_REMOTE_REFS = 1_000;
/** Refs without work of the agent: copies of the server's branches, our own notes, and remarks about commits. */
const NOT_WORK = /^refs\/(?:remotes|ralph|bisect|worktree|prefetch|notes|replace)\//;

/**
 * Finds work outside the checked-out branch that the git directory knows: other branches, tags, stashes, abandoned
 * detached heads, other work trees, files of submodules.
 */
export async function findBeside(
  options: BesideOptions,
  tolerated: readonly ToleratedChange[],
): Promise<readonly BesideWork[]> {
  const { workspace } = options;
  const [listed, at, stashes, left, trees] = await Promise.all([
    workspace.git.answer([
      'for-each-ref',
      `--count=${String(MAX_BESIDE_ITEMS * 4)}`,
      '--sort=-creatordate',
      '--format=%(objectname) %(refname)',
    ]),
    readRegular(join(workspace.gitFolder, 'HEAD'), 4096),
    stashesOf(workspace),
    abandonedHeads(workspace.gitFolder),
    workTreesOf(options, tolerated),
  ]);
  const [, current = ''] = /^ref: (.+)\n?$/.exec(at?.bytes.toString() ?? '') ?? [];
  const refs = listed.stdout
    .toString()
    .split('\n')
    .flatMap((line): readonly BesideWork[] => {
      const [, id = '', ref = ''] = /^([0-9a-f]+) (.+)$/.exec(line) ?? [];
      if (id === '' || ref === current || ref === 'refs/stash' || NOT_WORK.test(ref)) return [];
      const [, kind = '', name = ref] = /^refs\/(heads|tags)\/(.+)$/.exec(ref) ?? [];
      return [{ is: kind === 'heads' ? 'branch' : 'ref', name: kind === 'heads' ? name : ref, id }];
    });
  return [...trees, ...stashes, ...left, ...refs].slice(0, MAX_BESIDE_ITEMS);
}

async function stashesOf({ commonFolder }: BesideOptions['workspace']): Promise<readonly BesideWork[]> {
  const lines = await lastLines(join(commonFolder, 'logs', 'refs', 'stash'));
  return lines.flatMap((line, at): readonly BesideWork[] => {
    const [, id = ''] = /^[0-9a-f]+ ([0-9a-f]+) /.exec(line) ?? [];
    return id === '' ? [] : [{ is: 'stash', name: `stash@{${String(lines.length - 1 - at)}}`, id }];
  });
}

/** Returns commits that were made on a detached HEAD and abandoned by a later checkout. */
async function abandonedHeads(gitFolder: string): Promise<readonly BesideWork[]> {
  const ids = (await lastLines(join(gitFolder, 'logs', 'HEAD'))).flatMap((line) => {
    const [, id = ''] = /^([0-9a-f]+) [0-9a-f]+ [^\t]*\tcheckout: moving from [0-9a-f]{7,64} to /.exec(line) ?? [];
    return id === '' ? [] : [id];
  });
  return [...new Set(ids)].map(besideHead);
}

function besideHead(id: ObjectId): BesideWork {
  return { is: 'head', name: id.slice(0, 12), id };
}

async function lastLines(path: string): Promise<readonly string[]> {
  const bytes = (await readRegular(path, 64 * MAX_REFLOG_BYTES))?.bytes ?? Buffer.alloc(0);
  const lines = bytes
    .subarray(-MAX_REFLOG_BYTES)
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  return lines.slice(-MAX_BESIDE_ITEMS);
}

/**
 * Returns the other work trees and the submodules, with the id of their content; of a work tree whose folder is gone,
 * its commit. `tolerated` also applies to the work trees, because git wrote their files in the same way as those of the
 * checkout.
 */
async function workTreesOf(
  options: BesideOptions,
  tolerated: readonly ToleratedChange[],
): Promise<readonly BesideWork[]> {
  const folder = join(options.workspace.commonFolder, 'worktrees');
  const names = (await readdir(folder).catch(() => [])).slice(0, MAX_WORK_TREES);
  const found: BesideWork[] = [];
  for (const name of names) {
    const place = await placeOfTree(join(folder, name));
    const id = place === null ? null : await storeWorkTree(options, place, tolerated).catch(() => null);
    const head = await readRef(options.workspace, `worktrees/${name}/HEAD`);
    if (head !== null) found.push(id === null ? besideHead(head) : { is: 'work-tree', name, id, head });
    found.push(...(await abandonedHeads(join(folder, name))));
  }
  const { top, commonFolder } = options.workspace;
  for (const module of (await listModules(commonFolder)).slice(0, MAX_WORK_TREES)) {
    const config = (await readRegular(join(module, 'config'), MAX_REFLOG_BYTES))?.bytes.toString() ?? '';
    const name = relative(top, resolve(module, /^\s*worktree\s*=\s*(.+?)\s*$/m.exec(config)?.[1] ?? ''));
    if (!(await isOwnFolder(top, name)) || (await readRegular(join(top, name, '.git'))) === null) continue;
    const id = await storeWorkTree(options, join(top, name), []).catch(() => null);
    if (id !== null) found.push({ is: 'submodule', name, id });
  }
  for (const name of await submodulesWithoutRepository(options)) {
    const id = await storeWorkTree(options, join(top, name), []).catch(() => null);
    if (id !== null) found.push({ is: 'submodule', name, id });
  }
  return found;
}

/** Returns true if the path is a folder below `top` that is reached without links, which may lead anywhere. */
async function isOwnFolder(top: string, path: string): Promise<boolean> {
  const place = join(top, path);
  if (!place.startsWith(`${top}/`)) return false;
  const [real, realTop] = await Promise.all([place, top].map((one) => realpath(one).catch(() => null)));
  return real != null && real === join(realTop ?? '', path);
}

/** Returns the submodules that contain files although the job did not check them out. Git sees none of these files. */
async function submodulesWithoutRepository({ workspace: { top, git } }: BesideOptions): Promise<readonly string[]> {
  if ((await readRegular(join(top, '.gitmodules'), MAX_REFLOG_BYTES)) === null) return [];
  const { stdout } = await git.answer(['ls-files', '--stage', '-z']);
  const names = stdout
    .toString()
    .split('\0')
    .flatMap((line) => /^160000 \S+ \d\t([^]*)$/.exec(line)?.[1] ?? []);
  const filled: string[] = [];
  for (const name of names) {
    if (filled.length === MAX_WORK_TREES) break;
    if (!(await isOwnFolder(top, name))) continue;
    const entries: readonly string[] = await readdir(join(top, name)).catch(() => []);
    if (entries.length > 0 && !entries.includes('.git')) filled.push(name);
  }
  return filled;
}

/** Returns the work tree of a git directory, or null if it is gone or belongs to another git directory. */
async function placeOfTree(gitFolder: string): Promise<string | null> {
  // Both paths may be relative to the file that contains them.
  const link = resolve(gitFolder, (await readRegular(join(gitFolder, 'gitdir'), 4096))?.bytes.toString().trim() ?? '');
  if (!link.endsWith('/.git')) return null;
  const [, back = ''] = /^gitdir: (.+)\n?$/.exec(await readFile(link, 'utf8').catch(() => '')) ?? [];
  const place = dirname(link);
  return resolve(place, back) === gitFolder && (await lstat(place)).isDirectory() ? place : null;
}

async function storeWorkTree(
  options: BesideOptions,
  top: string,
  tolerated: readonly ToleratedChange[],
): Promise<ObjectId> {
  const repository = await besideRepository(options, top);
  const { objectFormat } = options.workspace;
  const { tree } = await readWorkTree(repository, { top, objectFormat }, { ...plainReading, tolerated });
  return tree;
}

/**
 * Creates a repository that also reads the objects of all others. Each folder has its own index, so that git reads only
 * the files that changed since the last reading.
 */
async function besideRepository({ workspace, own, objects }: BesideOptions, top: string): Promise<PrivateRepository> {
  const beside = join(own.folder, 'beside');
  const folder = join(beside, createHash('sha256').update(top).digest('hex').slice(0, 16));
  const { setup } = own;
  await Promise.all([mkdir(folder, { recursive: true }), mkdir(join(beside, 'objects', 'pack'), { recursive: true })]);
  const borrowed = [
    ...objects,
    ...(await listModules(workspace.commonFolder)).map((module) => join(module, 'objects')),
  ];
  // Another work tree may be outside of the checkout.
  const removeAll = async (ours: readonly string[]): Promise<void> => {
    await Promise.all([workspace.removePipes(ours), removePipes([{ kind: 'work-tree', folder: top }])]);
  };
  return await createOwnRepository(
    { top, gitFolder: workspace.gitFolder, removePipes: removeAll },
    { ...setup, folder, objects: join(beside, 'objects'), borrowed, shallow: [] },
  );
}

/**
 * Returns the changes that the work would make to the work tree, or null if the work tree already has them or the work
 * cannot be read.
 */
export async function createBesidePatch(
  options: BesideOptions,
  { item, known, now }: BesideQuestion,
): Promise<string | null> {
  const repository = await besideRepository(options, options.workspace.top);
  const { git } = repository;
  const isTree = item.is === 'work-tree' || item.is === 'submodule';
  const past = [...known, ...(await remoteCommits(options.workspace))];
  if (!isTree) {
    const input = [item.id, ...past.map((id) => `^${id}`), ''].join('\n');
    const news = await git.answer(['rev-list', '--max-count=1', '--ignore-missing', '--stdin'], { input });
    if (news.exitCode !== 0 || news.stdout.length === 0) return null;
  }
  const base = await baseOf();
  const changed = await diffTrees(git, base, item.id).catch(() => []);
  const missing = new Set((await diffTrees(git, now, item.id).catch(() => [])).map(({ path }) => path));
  const isMissing = changed.some(({ path }) => missing.has(path));
  const untracked = item.is === 'stash' ? await untrackedOf() : '';
  if (!isMissing && untracked === '') return null;
  const patch = await git.answer(['diff-tree', '-p', '-r', '--no-ext-diff', '--no-textconv', base, item.id]);
  const text = `${patch.exitCode === 0 ? patch.stdout.toString() : ''}${untracked}`;
  return text.slice(0, MAX_CUT_PATCH_CHARS);

  /** Returns the commit from which the work began, or the empty tree if it began from nothing. */
  async function baseOf(): Promise<string> {
    if (item.is === 'stash') return `${item.id}^1`;
    if (item.is === 'submodule') return contentOfSubmodule();
    const [last = ''] = known;
    for (const others of [past, [last]]) {
      const merged = await git.answer(['merge-base', item.head ?? item.id, ...others]);
      if (merged.exitCode === 0) return merged.stdout.toString().trim();
      if (merged.exitCode === 1) return emptyTree();
    }
    return last;
  }

  /** Returns the commit of a submodule, or the empty tree if the job did not check it out. */
  async function contentOfSubmodule(): Promise<string> {
    const commit = await git.text(['rev-parse', '--verify', `${now}:${item.name}`]);
    const isHere = (await git.answer(['cat-file', '-e', commit.trim()])).exitCode === 0;
    return isHere ? commit : emptyTree();
  }

  async function emptyTree(): Promise<string> {
    return await git.text(['hash-object', '-t', 'tree', '-w', '/dev/null']);
  }

  /** Returns the files that git did not track, which a stash keeps in a separate commit. */
  async function untrackedOf(): Promise<string> {
    const shown = await git.answer([
      'diff-tree',
      '-p',
      '-r',
      '--root',
      '--no-commit-id',
      '--no-textconv',
      `${item.id}^3`,
    ]);
    return shown.exitCode === 0 ? shown.stdout.toString() : '';
  }
}

/** Returns the newest commits of the server's branches: work of others, which the agent may have checked out. */
async function remoteCommits({ git }: BesideOptions['workspace']): Promise<readonly ObjectId[]> {
  const question = ['for-each-ref', `--count=${String(MAX_REMOTE_REFS)}`, '--format=%(objectname)', 'refs/remotes/'];
  return [...new Set((await git.answer(question)).stdout.toString().split('\n'))].filter((id) => id !== '');
}
