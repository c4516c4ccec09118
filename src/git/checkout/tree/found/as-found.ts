import type { ObjectId } from '../../../../core/evidence.ts';
import { indexLine, type Change } from '../../../objects.ts';
import type { PrivateRepository } from '../../private-repository.ts';

/** The mode and content of a path in a tree. */
interface TreeEntry {
  readonly mode: string;
  readonly id: ObjectId;
}

/**
 * A path of the work tree that differs from the commit through nobody's change: git itself wrote it so (line ends,
 * `ident`, filters), or a command left it and it cannot be put back. It counts as unchanged while it stays as found.
 * null: the path does not exist.
 */
export interface AsFound {
  readonly path: string;
  readonly found: TreeEntry | null;
  readonly counted: TreeEntry | null;
}

/** Returns the differences between two trees as paths that were found so. */
export function asFoundIn(changes: readonly Change[]): readonly AsFound[] {
  return changes.map(({ path, oldMode, oldId, newMode, newId }) => ({
    path,
    found: newId === null ? null : { mode: newMode, id: newId },
    counted: oldId === null ? null : { mode: oldMode, id: oldId },
  }));
}

/** Returns the list with `more`, which replaces earlier items of the same paths. */
export function addAsFound(list: readonly AsFound[], more: readonly AsFound[]): readonly AsFound[] {
  const paths = new Set(more.map(({ path }) => path));
  return [...list.filter(({ path }) => !paths.has(path)), ...more];
}

/** Returns the tree with every listed path replaced by what it counts as. The repository's index must hold the tree. */
export async function countedTree(
  repository: PrivateRepository,
  tree: ObjectId,
  list: readonly AsFound[],
): Promise<ObjectId> {
  if (list.length === 0) return tree;
  const entries = await entriesOfIndex(repository, new Set(list.map(({ path }) => path)));
  const lines = list.flatMap((one) => {
    const now = entries.get(one.path) ?? null;
    const counted = countedEntry(now, one);
    if (counted?.mode === now?.mode && counted?.id === now?.id) return [];
    return [indexLine(counted?.mode ?? '0', counted?.id ?? '0'.repeat(tree.length), one.path)];
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

/** Writes every path of the list into the repository's index as it counts, so that its file is read next time. */
export async function countInIndex({ git }: PrivateRepository, list: readonly AsFound[]): Promise<void> {
  if (list.length === 0) return;
  const lines = list.map(({ path, found, counted }) =>
    indexLine(counted?.mode ?? '0', counted?.id ?? '0'.repeat(found?.id.length ?? 40), path),
  );
  await git.text(['update-index', '-z', '--add', '--replace', '--index-info'], { input: lines.join('') });
}

/**
 * Returns the changes of a lane's commit that are somebody's work: `git add` may write a file otherwise than its commit
 * although only git changed it.
 */
export function withoutFound(changes: readonly Change[], list: readonly AsFound[]): readonly Change[] {
  if (list.length === 0) return changes;
  const found = new Map(list.map((one) => [one.path, one]));
  return changes.filter(({ path, newId, newMode }) => {
    const one = found.get(path);
    return one?.found == null || one.counted === null || newId !== one.found.id || newMode !== one.found.mode;
  });
}

/** Returns the entry that counts: a mode that is as found is taken from the commit even if the content changed, and vice versa. */
function countedEntry(now: TreeEntry | null, { found, counted }: AsFound): TreeEntry | null {
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
