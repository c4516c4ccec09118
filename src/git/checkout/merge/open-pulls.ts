import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { isBranchName } from '../../../core/refusals/refusal.ts';
import type { ComparedPull } from '../../../core/train/train.ts';
import type { OpenPulls } from '../../../ports/repository.ts';
import { buildAuthVariables, FETCH_REFS_ONLY, type Git, MERGE_ALONE, withBareRepository } from '../../git.ts';
import { decodeNames } from '../../names.ts';
import { writeRegular } from '../../regular-files.ts';
import type { OpenedCheckout, OpenOptions } from '../lane.ts';

/** Maximum number of pull requests that are compared; the oldest come first. */
const MAX_PULLS = 60;

/**
 * Maximum number of pairs that are merged, which takes a few ms for each; further pairs that change the same file are
 * reported as conflicting.
 */
const MAX_PAIRS = 60;

/** Maximum time of one command, in ms: the run can do without the answer. */
const WITHIN_MS = 20_000;

/**
 * A pull request, the commit at which it left its base branch, and the files that each of the two has changed since.
 */
interface Measured {
  readonly number: number;
  readonly head: ObjectId;
  readonly isBehind: boolean;
  readonly files: ReadonlySet<string>;
  readonly baseFiles: ReadonlySet<string>;
}

/**
 * Compares open pull requests with each other and with their base branch, in a repository that exists only for this, so
 * the checkout gets no object and no ref. Returns null if git cannot compare them, for example because a branch moved
 * in the meantime.
 */
export async function compareOpenPulls(
  { workFolder, env, remote }: OpenOptions,
  { workspace, startHead }: OpenedCheckout,
  { base, pulls }: OpenPulls,
): Promise<readonly ComparedPull[] | null> {
  const compared = pulls.slice(0, MAX_PULLS);
  if (![base.branch, ...compared.map(({ branch }) => branch)].every(isBranchName)) return null;
  const borrow = { objects: join(workspace.commonFolder, 'objects'), shallow: '' };
  return withBareRepository({ workFolder, env, borrow, hide: [remote.token] }, async (git, gitFolder) => {
    // Name this commit, so that fetching sends only what it lacks.
    if (startHead !== null) await writeRegular(join(gitFolder, 'refs', 'start'), `${startHead}\n`);
    const branches = [base.branch, ...compared.map(({ branch }) => branch)];
    const fetched = await git.answer(
      [
        ...[...FETCH_REFS_ONLY, remote.url],
        ...branches.map((branch, at) => `+refs/heads/${branch}:refs/ralph/open/${String(at)}`),
      ],
      { variables: buildAuthVariables(remote.url, remote.token), timeoutMs: WITHIN_MS },
    );
    if (fetched.exitCode !== 0) return null;
    const measured = await measure(git, { base: base.tip, heads: compared });
    const conflicts = measured === null ? null : await conflictsAmong(git, measured);
    if (measured === null || conflicts === null) return null;
    return measured.map((one) => ({
      number: one.number,
      conflictsWith: conflicts
        .filter((pair) => pair.includes(one.number))
        .flatMap((pair) => pair.filter((number) => number !== one.number)),
      isBehind: one.isBehind,
      changedInBase: [...one.files].filter((path) => one.baseFiles.has(path)),
    }));
  });
}

async function measure(
  git: Git,
  { base, heads }: { readonly base: ObjectId; readonly heads: OpenPulls['pulls'] },
): Promise<readonly Measured[] | null> {
  const listed = await git.answer(['rev-list', '--parents', ...new Set(heads.map(({ head }) => head)), `^${base}`], {
    timeoutMs: WITHIN_MS,
  });
  if (listed.exitCode !== 0) return null;
  const parents = new Map(
    listed.stdout
      .toString()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([commit = '', ...of]) => [commit, of] as const),
  );
  const exits = heads.map(({ head }) => exitsOf(head, parents));
  const forks = exits.map(([nearest], at) => nearest ?? heads[at]?.head ?? base);
  const files = await listDifferingFiles(git, [
    ...heads.map(({ head }, at) => [head, forks[at] ?? base] as const),
    ...forks.map((fork) => [base, fork] as const),
  ]);
  if (files === null) return null;
  return heads.map(({ number, head }, at) => ({
    ...{ number, head },
    isBehind: exits[at]?.includes(base) !== true,
    files: files[at] ?? new Set<string>(),
    baseFiles: files[heads.length + at] ?? new Set<string>(),
  }));
}

/**
 * Returns the commits of the base branch that a branch builds on, nearest first. After a merge of the base, the nearest
 * is the one merged last.
 */
function exitsOf(head: ObjectId, parents: ReadonlyMap<ObjectId, readonly ObjectId[]>): readonly ObjectId[] {
  const seen = new Set([head]);
  // The loop also visits entries that are added to the set, so nearer commits come first.
  for (const commit of seen) for (const parent of parents.get(commit) ?? []) seen.add(parent);
  return [...seen].filter((commit) => !parents.has(commit));
}

/** Returns the files that differ between the two commits of each pair, with one process. */
async function listDifferingFiles(
  git: Git,
  pairs: readonly (readonly [ObjectId, ObjectId])[],
): Promise<readonly ReadonlySet<string>[] | null> {
  const answer = await git.answer(['diff-tree', '--stdin', '--always', '-r', '-z', '--name-only', '--no-renames'], {
    // git treats the second commit as the parent of the first, and prints the id of the first before its files.
    input: pairs.map(([commit, before]) => `${commit} ${before}\n`).join(''),
    timeoutMs: WITHIN_MS,
  });
  if (answer.exitCode !== 0) return null;
  const found: Set<string>[] = [];
  for (const record of decodeNames(answer.stdout).split('\0')) {
    // The first file of a pair follows its commit, so begin a new set.
    if (record === pairs[found.length]?.[0]) found.push(new Set());
    else if (record !== '') found.at(-1)?.add(record);
  }
  return found.length === pairs.length ? found : null;
}

/** Returns the pairs that conflict: those that change the same file are merged, all with one process. */
async function conflictsAmong(git: Git, pulls: readonly Measured[]): Promise<readonly (readonly number[])[] | null> {
  const sharing = pulls.flatMap((one, at) =>
    pulls
      .slice(at + 1)
      .filter(({ files }) => [...one.files].some((path) => files.has(path)))
      .map((other) => [one, other] as const),
  );
  const merged = sharing.slice(0, MAX_PAIRS);
  const beyond = sharing.slice(MAX_PAIRS).map((pair) => pair.map(({ number }) => number));
  if (merged.length === 0) return [];
  const answer = await git.answer([...MERGE_ALONE, '--stdin', '--name-only'], {
    input: merged.map(([one, other]) => `${one.head} ${other.head}\n`).join(''),
    timeoutMs: WITHIN_MS,
  });
  // git before 2.39 does not know `--stdin`, so the result is unknown.
  if (answer.exitCode !== 0) return null;
  const results = resultsIn(decodeNames(answer.stdout));
  if (results.length !== merged.length) return null;
  const conflicting = merged.filter((_, at) => results[at] !== 'clean').map((pair) => pair.map(({ number }) => number));
  return [...conflicting, ...beyond];
}

/** Parses the results: status, tree, files in conflict, and an empty record, for each pair. */
function resultsIn(output: string): readonly ('clean' | 'conflict')[] {
  const results: ('clean' | 'conflict')[] = [];
  let isFirst = true;
  for (const record of output.split('\0').slice(0, -1)) {
    if (isFirst) results.push(record.trim() === '1' ? 'clean' : 'conflict');
    isFirst = record === '';
  }
  return results;
}
