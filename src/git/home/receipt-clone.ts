import type { CloneCommit } from '../../core/receipt/check-content.ts';
import type { BranchQuestion, CloneBranch } from '../../core/receipt/verify-receipts.ts';
import { listStoredRuns, type StoredRun } from '../../core/snapshot/stored-run.ts';
import { createGit, type Git } from '../git.ts';
import { repositoryOfRemote, decodeGitName } from '../names.ts';
import { changesOfEach, readCommits, isSigned, withObjects } from '../objects.ts';
import { STATE_REF } from '../refs/ref-snapshot.ts';
import { findCheckout, readFirstLine } from './person-checkout.ts';

/** Maximum size of a run's file, in bytes; every file that a run writes is smaller. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The runs and branches that a clone has, read without contacting a server. */
interface ReceiptClone {
  /** The remembered runs, newest first, or null if the state was never fetched. */
  readonly runs: readonly StoredRun[] | null;
  /** OWNER/REPO of the remote, or null if the remote is not on a GitHub server. */
  readonly repository: string | null;
  /** Reads the remote's branch as it was last fetched or, without it, the local branch of that name. */
  readBranch(question: BranchQuestion): Promise<CloneBranch>;
}

/** Opens the clone that contains a folder; throws a UserError outside of a clone. */
export async function openReceiptClone(
  { folder, remote }: { readonly folder: string; readonly remote: string },
  env: NodeJS.ProcessEnv,
): Promise<ReceiptClone> {
  const { top } = await findCheckout(folder, env);
  // Ignore replacement refs in the clone, which could hide a commit.
  const variables = { GIT_NO_REPLACE_OBJECTS: '1' };
  const git = createGit({ folder: top, env, variables, configuration: 'own' });
  const url = await readFirstLine(git, ['remote', 'get-url', remote]);
  const named = repositoryOfRemote(url ?? '')?.repository ?? null;
  return {
    runs: await readRuns(git),
    repository: named === null ? null : `${named.owner}/${named.repo}`,
    readBranch: (question) => readBranch(git, question, remote),
  };
}

async function readRuns(git: Git): Promise<readonly StoredRun[] | null> {
  if ((await readFirstLine(git, ['rev-parse', '--verify', '--quiet', `${STATE_REF}^{tree}`])) === null) return null;
  const listed = await git.records(['ls-tree', '-r', '-l', '-z', '--full-tree', STATE_REF, 'runs/']);
  const files = listed.flatMap((entry) => {
    const [, id = '', size = '', path = ''] = /^100644 blob ([0-9a-f]+) +(\d+)\t([^]+)$/.exec(entry) ?? [];
    return id === '' || Number(size) > MAX_FILE_BYTES ? [] : [{ id, path, size: Number(size) }];
  });
  const texts = new Map<string, string>();
  await withObjects(git, (objects) =>
    objects.each(new Map(files.map(({ id, size }) => [id, size])), (id, content) => {
      for (const { path } of files.filter((file) => file.id === id)) texts.set(path, content.toString());
    }),
  );
  return listStoredRuns(texts);
}

async function readBranch(
  git: Git,
  { branch, into, base, heads, runs }: BranchQuestion,
  remote: string,
): Promise<CloneBranch> {
  const [found, intoTip] = await Promise.all([findTip(git, branch, remote), findTip(git, into, remote)]);
  const head = heads.at(-1) ?? base;
  const isMerged = await isIn(git, head, intoTip);
  const isOther = found !== null && intoTip !== null && (await hasOtherWork(git, { found, intoTip, head, runs }));
  const tip = isOther ? null : found;
  const end = tip ?? (isMerged && intoTip !== null ? await findMerged(git, head, intoTip) : head);
  // A person may have merged a run's commits into their own. The run's are then not among the first parents, so look at
  // all.
  const isReached = await Promise.all(heads.map((one) => isIn(git, one, end)));
  const line = await readLine(git, base, [end, ...heads.filter((_, index) => isReached[index])]);
  const known = new Set(line?.map(({ id }) => id));
  const merged = (line ?? []).flatMap(({ parents }) => parents.slice(1).filter((id) => !known.has(id)));
  const strange = await readBroughtIn(git, [base, ...(intoTip === null ? [] : [intoTip])], merged);
  // In a shallow clone, the oldest commits appear without parents, so the line is cut.
  const isCut =
    line?.some(({ parents }) => parents.length === 0) === true &&
    (await readFirstLine(git, ['rev-parse', '--is-shallow-repository'])) === 'true';
  return { tip, line: isCut ? null : line, strange: strange.filter(({ id }) => !known.has(id)), isMerged };
}

/**
 * Returns true if a branch was created again after a merge, so that its commits that the base lacks belong to none of
 * these runs.
 */
async function hasOtherWork(
  git: Git,
  of: Pick<BranchQuestion, 'runs'> & { readonly found: string; readonly intoTip: string; readonly head: string },
): Promise<boolean> {
  const { found, intoTip, head, runs } = of;
  if ((await isIn(git, head, found)) && (await isIn(git, found, intoTip))) return false;
  const named = await git.answer(['rev-list', `--format=${trailer('Ralph-Run')}`, `${intoTip}..${found}`, '--']);
  return !named.stdout
    .toString()
    .split(/\s/)
    .some((run) => runs.includes(run));
}

/** Returns the merged commit that contains `head`: `head` itself, unless people added commits before the merge. */
async function findMerged(git: Git, head: string, intoTip: string): Promise<string> {
  const list = async (option: string): Promise<readonly string[]> =>
    (await git.text(['rev-list', option, `${head}..${intoTip}`, '--'])).split('\n');
  const [line, after] = await Promise.all([list('--first-parent'), list('--ancestry-path')]);
  const later = new Set(after);
  const merge = line.findLast((id) => later.has(id)) ?? '';
  const [, first = head, ...others] =
    merge === '' ? [] : (await git.text(['rev-list', '--parents', '-1', merge])).split(' ');
  return first === head ? head : (others.find((id) => id === head || later.has(id)) ?? head);
}

async function findTip(git: Git, branch: string | null, remote: string): Promise<string | null> {
  if (branch === null) return null;
  const find = (ref: string): Promise<string | null> =>
    readFirstLine(git, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return (await find(`refs/remotes/${remote}/${branch}`)) ?? (await find(`refs/heads/${branch}`));
}

async function isIn(git: Git, commit: string, tip: string | null): Promise<boolean> {
  return tip !== null && (await git.answer(['merge-base', '--is-ancestor', commit, tip])).exitCode === 0;
}

function trailer(name: string): string {
  return `%(trailers:key=${name},valueonly,separator=%x20)`;
}

/** Reads the commits after `base` up to `tips`, oldest first, without those of merges; returns null if git fails. */
async function readLine(git: Git, base: string, tips: readonly string[]): Promise<readonly CloneCommit[] | null> {
  const format = ['%H', '%T', '%P', '%an', trailer('Ralph-Run'), trailer('Ralph-Iteration')].join('%x00');
  const order = ['--first-parent', '--topo-order', '--reverse'];
  const range = [...order, `--format=${format}%x01`, `^${base}`, ...tips, '--'];
  const listed = await git.answer(['rev-list', ...range]);
  if (listed.exitCode !== 0) return null;
  const commits = listed.stdout.toString().split('\u{1}\n').flatMap(parseLine);
  const changes = await changesOfEach(
    git,
    commits.filter(({ parents }) => parents.length < 2).map(({ id }) => id),
  );
  const signed = await withObjects(git, async (objects) => {
    const read = await readCommits(
      objects,
      commits.map(({ id }) => id),
    );
    return new Set(read.flatMap(({ id, text }) => (isSigned(text) ? [id] : [])));
  });
  return commits.map((commit) => ({
    ...commit,
    isSigned: signed.has(commit.id),
    paths: commit.parents.length > 1 ? null : (changes.get(commit.id) ?? []).map(({ path }) => decodeGitName(path)),
  }));
}

/** Reads the commits that merges brought in, without those that `others` have. */
async function readBroughtIn(
  git: Git,
  others: readonly string[],
  merged: readonly string[],
): Promise<CloneBranch['strange']> {
  if (merged.length === 0) return [];
  const listed = await git.answer([
    ...['rev-list', `--format=%H ${trailer('Ralph-Run')}`, ...merged],
    ...[...others.map((id) => `^${id}`), '--'],
  ]);
  return [...listed.stdout.toString().matchAll(/^(\w{40,64}) (.*)$/gm)].map(([, id = '', run = '']) => ({
    id,
    run: run === '' ? null : run,
  }));
}

function parseLine(text: string): readonly Omit<CloneCommit, 'paths' | 'isSigned'>[] {
  // git writes a line with the id before each format, so skip it.
  const [id = '', tree = '', parents = '', author = '', run = '', iteration = ''] = text
    .replace(/^commit .*\n/, '')
    .split('\0');
  const orNull = (value: string): string | null => (value === '' ? null : value);
  return id === ''
    ? []
    : [{ id, tree, author, parents: parents.match(/\S+/g) ?? [], run: orNull(run), iteration: orNull(iteration) }];
}
