import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { type BareRepositoryOptions, type Git, type GitAnswer, withBareRepository } from '../git.ts';
import { createInspection, type Inspection, type PublishingRules } from '../inspection/inspection.ts';
import { readCommitChain, changesOfCommits, type Commit, type ObjectReader, withObjects } from '../objects.ts';
import { removePipes } from '../pipes.ts';
import { LOST_COMMITS } from '../refusal.ts';
import { readRegular } from '../regular-files.ts';

/** Maximum number of published commits that are searched. Commits that build on older ones are inspected again. */
const MAX_PUBLISHED_COMMITS = 2000;

/**
 * The source of the server's branches. `ask` runs a git command that talks to the server, from the repository that it
 * is given.
 */
interface PublishedSource extends Pick<BareRepositoryOptions, 'workFolder' | 'env' | 'hide'> {
  readonly url: string;
  readonly ask: (git: Git, args: readonly string[]) => Promise<GitAnswer>;
}

/** Maximum number of commits of the base branch that are searched. */
const MAX_BASE_COMMITS = 5000;

/** The base branch of the server; null means its default branch. */
interface BaseSource extends PublishedSource {
  readonly baseBranch: string | null;
}

/** A merge of the base branch, and the commit at which the branch had left it; `fork` is null if that is unknown. */
interface KnownMerge {
  readonly commit: Commit;
  readonly fork: ObjectId | null;
}

/**
 * Commits to publish. `commit` builds on `since`, which was published before, and may merge `theirs`, which the branch
 * has on the server.
 */
interface Outgoing {
  readonly commit: ObjectId;
  readonly since: ObjectId;
  readonly theirs?: ObjectId;
}

/** The place of commits that wait to be published, and the rules of publishing. */
interface OutgoingSource {
  /** Git directory of the quarantine; it may not exist yet. */
  readonly quarantineFolder: string;
  /** A private folder of this program. */
  readonly workFolder: string;
  readonly rules: PublishingRules;
  readonly env: NodeJS.ProcessEnv;
  readonly hide: readonly string[];
}

/** Runs `body` in a separate repository that can read the objects of the quarantine. */
export async function withPushRepository<T>(
  { quarantineFolder, workFolder, env, hide }: Omit<OutgoingSource, 'rules'>,
  body: (git: Git, gitFolder: string) => Promise<T>,
): Promise<T> {
  const objects = join(quarantineFolder, 'objects');
  const isThere = await access(objects).then(
    () => true,
    () => false,
  );
  // Copy the list as it is: if it were wrong, it would break the chain of commits, which is checked.
  const shallow = (await readRegular(join(quarantineFolder, 'shallow')))?.bytes.toString() ?? '';
  const unblock = () => removePipes([{ kind: 'git-directory', folder: quarantineFolder }]);
  return withBareRepository({ workFolder, borrow: isThere ? { objects, shallow } : null, env, hide, unblock }, body);
}

/**
 * Copies the commits between `since` and `commit` into the repository of `git`, hashing each object again, and inspects
 * them all. Exactly these objects are pushed next. Returns the reason why they must not be pushed, or null if they may
 * be.
 */
export async function inspectOutgoing(
  git: Git,
  { commit, since, theirs }: Outgoing,
  { rules, ...base }: BaseSource & Pick<OutgoingSource, 'rules'>,
): Promise<string | null> {
  if (commit === since) return null;
  const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
    input: `${commit}\n^${since}\n`,
  });
  if (packed.exitCode !== 0) return LOST_COMMITS;
  const copied = await git.answer(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
  if (copied.exitCode !== 0) return LOST_COMMITS;
  return withObjects(git, async (objects) => {
    const commits = await readCommitChain(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
    if (commits === null) return `The new commit ${commit} does not build on ${since} commit by commit.`;
    const [single, several] = [true, false].map((is) => commits.filter(({ parents }) => (parents.length === 1) === is));
    const [ofOthers, ofBase] = [true, false].map((is) =>
      several?.filter(({ parents }) => (parents[1] === theirs) === is),
    );
    const merges = await knownMerges(ofBase ?? [], since, base);
    if (typeof merges === 'string') return merges;

    // Skip patch limits and content filters, which were checked when each iteration was committed: here there may be
    // several iterations, and there is no work tree.
    const inspection = createInspection(null, { ...rules, maxPatchFiles: Infinity, maxPatchKib: Infinity });
    const ids = (single ?? []).map(({ id }) => id);
    const objections = new Map(await inspection.inspect(objects, await changesOfCommits(git, ids), new Map()));
    for (const merge of [...merges, ...(ofOthers ?? []).map((one) => ({ commit: one, fork: since }))])
      for (const [path, why] of await objectionsToMerge(inspection, objects, merge)) objections.set(path, why);
    const texts: string[] = [];
    for (const { id, text } of commits) {
      const why = await inspection.inspectText(text);
      if (why !== null) texts.push(`commit ${id.slice(0, 12)} (${why})`);
    }
    const named = [...[...objections].map(([path, why]) => `${path} (${why})`), ...texts];
    return named.length === 0
      ? null
      : `The commits contain content that must not be published and was changed after its inspection: ${listFirstNames(named)}.`;
  });
}

/**
 * Returns the merges of the base branch as the server itself knows it, or the reason why one of them is not such a
 * merge. Does not trust the objects that come with the commits.
 */
async function knownMerges(
  merges: readonly Commit[],
  since: ObjectId,
  { baseBranch, ...source }: BaseSource,
): Promise<readonly KnownMerge[] | string> {
  if (merges.length === 0) return [];
  return withBareRepository(source, async (empty) => {
    const from = baseBranch === null ? 'HEAD' : `refs/heads/${baseBranch}`;
    // Fetch only commits and no trees, which are not needed.
    const how = ['--filter=tree:0', '--no-tags', '--quiet', `--depth=${String(MAX_BASE_COMMITS)}`, source.url];
    const fetched = await source.ask(empty, ['fetch', ...how, `+${from}:refs/heads/base`, `${since}:refs/heads/since`]);
    if (fetched.exitCode !== 0) return 'The base branch could not be fetched, so its merge cannot be checked.';
    const onBase = new Set((await empty.text(['rev-list', 'refs/heads/base'])).split('\n'));
    const known: KnownMerge[] = [];
    for (const commit of merges) {
      const [, merged = ''] = commit.parents;
      if (!onBase.has(merged)) return `The new commit ${commit.id} merges ${merged}, which is not on the base branch.`;
      const before = known.at(-1)?.commit.parents[1];
      const { exitCode, stdout } = await empty.answer(['merge-base', since, merged]);
      known.push({ commit, fork: before ?? (exitCode === 0 ? stdout.toString().trim() : null) });
    }
    return known;
  });
}

/**
 * Returns the files of a merge that must not be published. Content that equals one of the parents was published before.
 * Protected files must equal the base, unless only the branch had changed them.
 */
async function objectionsToMerge(
  inspection: Inspection,
  objects: ObjectReader,
  { commit, fork }: KnownMerge,
): Promise<ReadonlyMap<string, string>> {
  const [own = '', merged = ''] = commit.parents;
  const [fromOwn, fromBase] = await Promise.all([
    objects.changesBetween(own, commit.tree),
    objects.changesBetween(merged, commit.tree),
  ]);
  const changed = new Set(fromOwn.map(({ path }) => path));
  const differing = new Set(fromBase.filter(({ path }) => changed.has(path)).map(({ path }) => path));
  // A key that one side already has is not new, so object only if both sides lack it.
  const [againstOwn, againstBase] = [
    await inspection.inspect(
      objects,
      fromOwn.filter(({ path }) => differing.has(path)),
      new Map(),
    ),
    await inspection.inspect(
      objects,
      fromBase.filter(({ path }) => differing.has(path)),
      new Map(),
    ),
  ];
  const both = [...againstOwn].filter(([path]) => againstBase.has(path));
  const kept = inspection.inspectPaths(fromBase.filter(({ path }) => !changed.has(path)));
  const ofBranch =
    kept.size === 0 || fork === null || (await objects.treeOf(fork)) === null
      ? new Set<string>()
      : new Set((await objects.changesBetween(fork, own)).map(({ path }) => path));
  return new Map([...both, ...[...kept].filter(([path]) => !ofBranch.has(path))]);
}

/**
 * Returns the newest commit in the history of `commit` that a branch of the server has, or null if none of the newest
 * is there. Asks the server itself, because the record of a run may name any commit as published, and the objects next
 * to it are not trusted.
 */
export async function findNewestPublished(
  git: Git,
  commit: ObjectId,
  source: PublishedSource,
): Promise<ObjectId | null> {
  const own = await git.text(['rev-list', '--first-parent', `--max-count=${String(MAX_PUBLISHED_COMMITS)}`, commit]);
  return withBareRepository(source, async (empty) => {
    // Fetch only commits and no trees, which are not needed.
    const branches = ['--filter=tree:0', '--no-tags', '--quiet', source.url, '+refs/heads/*:refs/heads/*'];
    const fetched = await source.ask(empty, ['fetch', `--depth=${String(MAX_PUBLISHED_COMMITS)}`, ...branches]);
    if (fetched.exitCode !== 0) return null;
    const known = new Set((await empty.text(['rev-list', '--all'])).split('\n'));
    return own.split('\n').find((id) => known.has(id)) ?? null;
  });
}
