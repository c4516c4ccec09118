import type { BranchQuestion, CloneBranch, CloneCommit } from '../../core/receipt/verify-receipts.ts';
import { runsIn, type StoredRun } from '../../core/snapshot/stored-run.ts';
import { createGit, type Git } from '../git.ts';
import { shownName } from '../names.ts';
import { changesOfEach, commitsOf, withObjects } from '../objects.ts';
import { STATE_REF } from '../refs/ref-snapshot.ts';
import { findCheckout, readFirstLine } from './person-checkout.ts';

/** Maximum size of a run's file, in bytes; every file that a run writes is smaller. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The runs and branches that a clone has. Nothing here asks a server. */
interface ReceiptClone {
  /** The remembered runs, newest first; null if the state was never fetched. */
  readonly runs: readonly StoredRun[] | null;
  /** Reads a branch as the remote had it when it was fetched, or else the local one of that name. */
  readBranch(question: BranchQuestion): Promise<CloneBranch>;
}

/** Opens the clone that a folder is in; throws a UserError if there is none. */
export async function openReceiptClone(
  { folder, remote }: { readonly folder: string; readonly remote: string },
  env: NodeJS.ProcessEnv,
): Promise<ReceiptClone> {
  const { top } = await findCheckout(folder, env);
  // Whoever can make a replacement ref in the clone must not hide a commit.
  const variables = { GIT_NO_REPLACE_OBJECTS: '1' };
  const git = createGit({ folder: top, env, variables, configuration: 'own' });
  return { runs: await readRuns(git), readBranch: (question) => readBranch(git, question, remote) };
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
  return runsIn(texts);
}

async function readBranch(
  git: Git,
  { branch, into, base, head }: BranchQuestion,
  remote: string,
): Promise<CloneBranch> {
  const [tip, intoTip] = await Promise.all([findTip(git, branch, remote), findTip(git, into, remote)]);
  const line = await readLine(git, base, tip ?? head);
  const merged = (line ?? []).flatMap(({ parents }) => parents.slice(1));
  const isKnown = await Promise.all(merged.map((id) => isIn(git, id, intoTip)));
  return {
    tip,
    line,
    strange: merged.filter((_, index) => isKnown[index] !== true),
    isMerged: await isIn(git, head, intoTip),
  };
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

/** Reads the commits after `base` up to `tip`, oldest first, without those that merges bring in; null if git cannot. */
async function readLine(git: Git, base: string, tip: string): Promise<readonly CloneCommit[] | null> {
  const trailer = (name: string): string => `%(trailers:key=${name},valueonly,separator=%x20)`;
  const format = ['%H', '%T', '%P', '%an', trailer('Ralph-Run'), trailer('Ralph-Iteration')].join('%x00');
  const range = ['--first-parent', '--reverse', `--format=${format}%x01`, `${base}..${tip}`, '--'];
  const listed = await git.answer(['rev-list', ...range]);
  if (listed.exitCode !== 0) return null;
  const commits = listed.stdout.toString().split('\u{1}\n').flatMap(parseLine);
  const changes = await changesOfEach(
    git,
    commits.filter(({ parents }) => parents.length < 2).map(({ id }) => id),
  );
  const signed = await withObjects(git, async (objects) => {
    const read = await commitsOf(
      objects,
      commits.map(({ id }) => id),
    );
    return new Set(
      read.flatMap(({ id, text }) => (/^gpgsig(-sha256)? /m.test(text.split('\n\n')[0] ?? '') ? [id] : [])),
    );
  });
  return commits.map((commit) => ({
    ...commit,
    isSigned: signed.has(commit.id),
    paths: commit.parents.length > 1 ? null : (changes.get(commit.id) ?? []).map(({ path }) => shownName(path)),
  }));
}

function parseLine(text: string): readonly Omit<CloneCommit, 'paths' | 'isSigned'>[] {
  // git writes a line with the id in front of each format.
  const [id = '', tree = '', parents = '', author = '', run = '', iteration = ''] = text
    .replace(/^commit .*\n/, '')
    .split('\0');
  const orNull = (value: string): string | null => (value === '' ? null : value);
  return id === ''
    ? []
    : [{ id, tree, author, parents: parents.match(/\S+/g) ?? [], run: orNull(run), iteration: orNull(iteration) }];
}
