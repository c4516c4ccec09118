import type { ObjectId } from '../../../../core/evidence.ts';
import { formatIndexLine, type PathChange } from '../../../objects.ts';
import type { PrivateRepository } from '../../private-repository.ts';

/** The mode and content of a path in a tree. */
interface TreeEntry {
  readonly mode: string;
  readonly id: ObjectId;
}

/**
 * A difference between the work tree and its commit that is treated as unchanged: git itself wrote the file differently
 * (line ends, `ident`, filters), or a command changed it and it cannot be put back. `found` is the entry in the work
 * tree, and `counted` is the one of the commit, which is used while the work tree still has `found`. An entry is null
 * if the path does not exist there.
 */
export interface ToleratedChange {
  readonly path: string;
  readonly found: TreeEntry | null;
  readonly counted: TreeEntry | null;
}

/** Tolerates all differences between two trees. */
export function tolerateChanges(changes: readonly PathChange[]): readonly ToleratedChange[] {
  return changes.map(({ path, oldMode, oldId, newMode, newId }) => ({
    path,
    found: newId === null ? null : { mode: newMode, id: newId },
    counted: oldId === null ? null : { mode: oldMode, id: oldId },
  }));
}

/** Returns the list with `more`, which replaces earlier items of the same paths. */
export function addTolerated(
  list: readonly ToleratedChange[],
  more: readonly ToleratedChange[],
): readonly ToleratedChange[] {
  const paths = new Set(more.map(({ path }) => path));
  return [...list.filter(({ path }) => !paths.has(path)), ...more];
}

/**
 * Returns the tree without the tolerated changes: each path has the commit's entry. The repository's index must contain
 * the tree.
 */
export async function revertToleratedChanges(
  repository: PrivateRepository,
  tree: ObjectId,
  list: readonly ToleratedChange[],
): Promise<ObjectId> {
  if (list.length === 0) return tree;
  const entries = await entriesOfIndex(repository, new Set(list.map(({ path }) => path)));
  const lines = list.flatMap((one) => {
    const now = entries.get(one.path) ?? null;
    const counted = entryThatCounts(now, one);
    if (counted?.mode === now?.mode && counted?.id === now?.id) return [];
    return [formatIndexLine(counted?.mode ?? '0', counted?.id ?? '0'.repeat(tree.length), one.path)];
  });
  if (lines.length === 0) return tree;
  return await repository.withIndex('copy', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await repository.git.text(['update-index', '-z', '--add', '--replace', '--index-info'], {
      input: lines.join(''),
      variables,
    });
    return await repository.git.text(['write-tree'], { variables });
  });
}

/**
 * Writes the commit's entries of the tolerated paths into the repository's index, so that git reads these files again.
 */
export async function writeToleratedToIndex(
  { git }: PrivateRepository,
  list: readonly ToleratedChange[],
): Promise<void> {
  if (list.length === 0) return;
  const lines = list.map(({ path, found, counted }) =>
    formatIndexLine(counted?.mode ?? '0', counted?.id ?? '0'.repeat(found?.id.length ?? 40), path),
  );
  await git.text(['update-index', '-z', '--add', '--replace', '--index-info'], { input: lines.join('') });
}

/**
 * Returns the changes without tolerated ones, which an agent's `git add` may have put into its commits.
 */
export function excludeTolerated(
  changes: readonly PathChange[],
  list: readonly ToleratedChange[],
): readonly PathChange[] {
  if (list.length === 0) return changes;
  const found = new Map(list.map((one) => [one.path, one]));
  return changes.filter(({ path, newId, newMode }) => {
    const one = found.get(path);
    return one?.found == null || one.counted === null || newId !== one.found.id || newMode !== one.found.mode;
  });
}

/**
 * Returns the entry to use. Judges mode and content separately: each of them comes from the commit if it is still
 * tolerated.
 */
function entryThatCounts(now: TreeEntry | null, { found, counted }: ToleratedChange): TreeEntry | null {
  if (now === null || found === null || counted === null)
    return now?.id === found?.id && now?.mode === found?.mode ? counted : now;
  if (kindOf(now.mode) !== kindOf(found.mode) || kindOf(now.mode) !== kindOf(counted.mode))
    return now.id === found.id && now.mode === found.mode ? counted : now;
  return { mode: now.mode === found.mode ? counted.mode : now.mode, id: now.id === found.id ? counted.id : now.id };
}

/** Returns the part of a mode that distinguishes files, links and repositories. */
function kindOf(mode: string): string {
  return mode.slice(0, 3);
}

async function entriesOfIndex(
  { git }: PrivateRepository,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, TreeEntry>> {
  const listed = await git.names(['ls-files', '--stage', '-z']);
  return new Map(
    listed.flatMap((record) => {
      const [, mode = '', id = '', path = ''] = /^(\d+) ([0-9a-f]+) \d\t([^]*)$/.exec(record) ?? [];
      return wanted.has(path) ? [[path, { mode, id }] as const] : [];
    }),
  );
}
