import type { ObjectId } from '../../core/evidence.ts';
import {
  type FileHistory,
  buildDefinitionPattern,
  type Definitions,
  parseDefinitions,
} from '../../core/parallel/predict-files.ts';
import { isBranchName } from '../../core/refusals/refusal.ts';
import type { JudgedPull, RevertCommit } from '../../core/snapshot/stored-pull.ts';
import type { FilesByBranch, RemoteBranch, Repository } from '../../ports/repository.ts';
import { buildAuthVariables, FETCH_REFS_ONLY, type Git } from '../git.ts';
import { decodeNames } from '../names.ts';
import type { OpenedCheckout, OpenOptions } from './lane.ts';
import { findEditedMerges } from './merge/auto-merge.ts';

/** Maximum number of the newest commits that are read. */
const MAX_COMMITS = 500;

/** Maximum time of one command, in ms. It is short, because the run can work without the answer. */
const WITHIN_MS = 20_000;

/** Marks the beginning of a commit's files; no path begins with it. */
const MARK = '\u{1}';

/**
 * Reads the files and commits of the checkout, or returns null if git fails. Objects of fetched branches stay in the
 * checkout.
 */
export async function readHistory(
  { remote }: Pick<OpenOptions, 'remote'>,
  { repository, startHead }: OpenedCheckout,
  { branches, symbols }: Parameters<Repository['history']>[0],
): ReturnType<Repository['history']> {
  if (startHead === null) return null;
  await repository.seal();
  const { git } = repository;
  const [files, commits, definitions, changed] = await Promise.all([
    listNames(git, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', startHead]),
    listCommits(git, startHead),
    findDefinitions(git, startHead, symbols),
    listChanged(git, { remote, startHead, branches }),
  ]);
  return files === null || commits === null || changed === null ? null : { files, commits, definitions, changed };
}

/**
 * Maximum number of reverts that are read, and maximum number of characters of a message; git's own messages are short.
 */
const MAX_REVERTS = 200;
const MAX_MESSAGE_CHARS = 1_000;

/** Reads the commits up to `tip` after an instant that revert others, newest first; empty if git fails. */
export async function readReverts(
  { repository }: OpenedCheckout,
  { tip, since }: { readonly tip: string; readonly since: number },
): Promise<readonly RevertCommit[]> {
  await repository.seal();
  const entries = await listNames(repository.git, [
    ...[
      'log',
      '-z',
      '--format=%ct %B',
      `--max-count=${String(MAX_REVERTS)}`,
      `--since=${new Date(since).toISOString()}`,
    ],
    ...['--grep=^Revert "', '--grep=^This reverts commit ', tip, '--'],
  ]);
  return (entries ?? []).flatMap((entry) => {
    const [, seconds, message] = /^(\d{1,12}) ([^]*)$/.exec(entry) ?? [];
    return seconds === undefined || message === undefined
      ? []
      : [{ at: Number(seconds) * 1000, message: message.slice(0, MAX_MESSAGE_CHARS) }];
  });
}

/** Reads the heads of ended pull requests with one fetch, and returns which of their commits are edited merges. */
export async function readEditedMerges(
  { remote }: Pick<OpenOptions, 'remote'>,
  { repository }: OpenedCheckout,
  asked: readonly JudgedPull[],
): Promise<readonly ObjectId[]> {
  await repository.seal();
  const heads = asked.map(({ number }) => `+refs/pull/${String(number)}/head`);
  return (await fetchBeside(repository.git, { remote, heads }))
    ? findEditedMerges(
        repository.git,
        asked.flatMap(({ commits }) => commits),
      )
    : [];
}

/** Maximum number of branches that are fetched to find a commit. */
const MAX_SEARCHED = 1_000;

/** Fetches these branches at once, and returns those whose history has the commit. */
export async function readBranchesWith(
  { remote }: Pick<OpenOptions, 'remote'>,
  { repository }: OpenedCheckout,
  { commit, branches }: { readonly commit: ObjectId; readonly branches: readonly string[] },
): Promise<readonly string[]> {
  const searched = branches.filter(isBranchName).slice(0, MAX_SEARCHED);
  await repository.seal();
  const { git } = repository;
  const heads = searched.map((branch) => `+refs/heads/${branch}`);
  if (searched.length === 0 || !(await fetchBeside(git, { remote, heads }))) return [];
  const places = searched.map((_, at) => refAt(at));
  // Without the commit among what was fetched, git fails: no branch has it.
  const answer = await git.answer(['for-each-ref', `--contains=${commit}`, '--format=%(refname)', ...places], {
    timeoutMs: WITHIN_MS,
  });
  const found = new Set(answer.exitCode === 0 ? answer.stdout.toString().split('\n') : []);
  return searched.filter((_, at) => found.has(refAt(at)));
}

async function listCommits(git: Git, head: string): Promise<FileHistory['commits'] | null> {
  const names = await listNames(git, [
    ...['log', '-z', '--name-only', '--no-renames', '--no-merges', `--max-count=${String(MAX_COMMITS)}`],
    ...[`--format=%x01`, head],
  ]);
  if (names === null) return null;
  const commits: string[][] = [];
  for (const name of names) {
    // git ends a commit's format with a line feed before its first file, so remove that.
    const path = name.replace(/^\n/, '');
    if (path === MARK) commits.push([]);
    else if (path !== '') commits.at(-1)?.push(path);
  }
  return commits;
}

/**
 * Searches a commit for definitions. Returns an empty list if git fails; predictions work without definitions, but
 * predict less.
 */
async function findDefinitions(git: Git, head: string, symbols: readonly string[]): Promise<Definitions> {
  if (symbols.length === 0) return new Map();
  const pattern = buildDefinitionPattern(symbols);
  const found = await git.answer(['grep', '-I', '-z', '-o', '-w', '-E', '--full-name', '-e', pattern, head], {
    timeoutMs: WITHIN_MS,
  });
  return found.exitCode === 0 ? parseDefinitions(decodeNames(found.stdout)) : new Map();
}

/** Fetches branches at once, and lists the files that each has changed since it left the base branch. */
async function listChanged(
  git: Git,
  asked: Pick<OpenOptions, 'remote'> & { readonly startHead: string; readonly branches: readonly RemoteBranch[] },
): Promise<FilesByBranch | null> {
  const { remote, startHead, branches } = asked;
  if (branches.length === 0) return {};
  if (!branches.every(({ branch }) => isBranchName(branch))) return null;
  const isFetched = await fetchBeside(git, { remote, heads: branches.map(({ branch }) => `+refs/heads/${branch}`) });
  const tips = isFetched ? await listNames(git, ['rev-parse', ...branches.map((_, at) => refAt(at))]) : null;
  // A branch that has moved is no longer the one that was asked about, because its run has just ended, so give up.
  if (tips?.join('').trim() !== branches.map(({ head }) => head).join('\n')) return null;
  const lists = await Promise.all(
    branches.map(({ head }) =>
      listNames(git, ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', `${startHead}...${head}`, '--']),
    ),
  );
  const pairs = branches.map(({ branch }, at) => [branch, lists[at] ?? null] as const);
  return pairs.every((pair): pair is [string, readonly string[]] => pair[1] !== null)
    ? Object.fromEntries(pairs)
    : null;
}

/** Fetches these refs to the names that `refAt` returns; returns true if that worked. */
async function fetchBeside(
  git: Git,
  { remote: { url, token }, heads }: Pick<OpenOptions, 'remote'> & { readonly heads: readonly string[] },
): Promise<boolean> {
  const { exitCode } = await git.answer([...FETCH_REFS_ONLY, url, ...heads.map((head, at) => `${head}:${refAt(at)}`)], {
    variables: buildAuthVariables(url, token),
    timeoutMs: WITHIN_MS,
  });
  return exitCode === 0;
}

function refAt(place: number): string {
  return `refs/ralph/beside/${String(place)}`;
}

async function listNames(git: Git, args: readonly string[]): Promise<readonly string[] | null> {
  const { exitCode, stdout } = await git.answer(args, { timeoutMs: WITHIN_MS });
  return exitCode === 0
    ? decodeNames(stdout)
        .split('\0')
        .filter((name) => name !== '')
    : null;
}
