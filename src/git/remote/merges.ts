import type { ObjectId } from '../../core/evidence.ts';
import { withBareRepository } from '../bare-repository.ts';
import type { Inspection } from '../inspection/inspection.ts';
import type { Commit, Objects } from '../objects.ts';
import type { PublishedSource } from './published.ts';

/** Commits further back than this are not looked for on the base branch. */
const MOST_COMMITS = 5000;

/** The base branch of the server; null: its default branch. */
export interface BaseSource extends PublishedSource {
  readonly baseBranch: string | null;
}

/** A merge of the base branch, and where the branch had left it; `fork` null: it is not known. */
export interface KnownMerge {
  readonly commit: Commit;
  readonly fork: ObjectId | null;
}

/** Merges of the base branch, as the server itself knows it; or why one of them is none. The objects beside the commits may lie. */
export async function knownMerges(
  merges: readonly Commit[],
  since: ObjectId,
  { baseBranch, ...source }: BaseSource,
): Promise<readonly KnownMerge[] | string> {
  if (merges.length === 0) return [];
  return withBareRepository(source, async (empty) => {
    const from = baseBranch === null ? 'HEAD' : `refs/heads/${baseBranch}`;
    // Commits alone: no tree is asked for.
    const how = ['--filter=tree:0', '--no-tags', '--quiet', `--depth=${String(MOST_COMMITS)}`, source.url];
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

/** What of a merge must not be published: what is as one of its parents has it was published before, but what is protected is as the base has it, unless the branch alone had changed it. */
export async function objectionsToMerge(
  inspection: Inspection,
  objects: Objects,
  { commit, fork }: KnownMerge,
): Promise<ReadonlyMap<string, string>> {
  const [own = '', merged = ''] = commit.parents;
  const [fromOwn, fromBase] = await Promise.all([
    objects.changesBetween(own, commit.tree),
    objects.changesBetween(merged, commit.tree),
  ]);
  const changed = new Set(fromOwn.map(({ path }) => path));
  const differing = new Set(fromBase.filter(({ path }) => changed.has(path)).map(({ path }) => path));
  // A key that one side brings is old news: it is none only where both miss it.
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
