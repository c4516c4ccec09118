import { createHash } from 'node:crypto';
import type { ObjectId } from '../core/evidence.ts';
import { UserError } from '../errors.ts';
import type { Git } from './git.ts';
import { LOST_COMMITS } from './refusal.ts';

/** One path that differs between two trees. Modes are octal texts; `000000` and null: the path is not there. Line counts are null for binary files. */
export interface Change {
  readonly path: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: ObjectId | null;
  readonly newId: ObjectId | null;
  readonly insertions: number | null;
  readonly deletions: number | null;
}

/** The tree of a commit; null when the commit is not there. */
export async function treeOf(git: Git, commit: ObjectId): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

const diffOptions = [
  '-r',
  '-z',
  '--raw',
  '--numstat',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules=none',
];

/** What differs between two trees, in the order of paths. */
export async function changesBetween(git: Git, before: ObjectId, after: ObjectId): Promise<readonly Change[]> {
  if (before === after) return [];
  return parseChanges(await git.records(['diff-tree', ...diffOptions, before, after]));
}

/** What each of `commits` changed against its parent, all in one list. */
export async function changesOfCommits(git: Git, commits: readonly ObjectId[]): Promise<readonly Change[]> {
  if (commits.length === 0) return [];
  return parseChanges(
    await git.records(['diff-tree', '--stdin', '--root', '--no-commit-id', ...diffOptions], {
      input: commits.join('\n') + '\n',
    }),
  );
}

/** What each of `commits` changed against its parent. */
export async function changesOfEach(
  git: Git,
  commits: readonly ObjectId[],
): Promise<ReadonlyMap<ObjectId, readonly Change[]>> {
  if (commits.length === 0) return new Map();
  const records = await git.records(['diff-tree', '--stdin', '--root', ...diffOptions], {
    input: commits.join('\n') + '\n',
  });
  const isCommit = new Set(commits);
  const found = new Map<ObjectId, string[]>();
  let current: string[] = [];
  for (const [i, record] of records.entries()) {
    // A path may look like anything, but stands behind its raw line.
    const isPath = /^:\d+ \d+ [0-9a-f]+ [0-9a-f]+ [A-Z]/.test(records[i - 1] ?? '');
    if (!isPath && isCommit.has(record)) found.set(record, (current = []));
    else current.push(record);
  }
  return new Map([...found].map(([commit, own]) => [commit, parseChanges(own)]));
}

/** The raw lines of a commit come before its line counts; a path that several commits change has one of each per commit. */
function parseChanges(records: readonly string[]): readonly Change[] {
  const changes: Change[] = [];
  let counted = 0;
  for (let i = 0; i < records.length; i++) {
    const record = records[i] ?? '';
    const raw = /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]/.exec(record);
    if (raw) {
      const [, oldMode = '', newMode = '', oldId = '', newId = ''] = raw;
      changes.push({
        path: records[++i] ?? '',
        oldMode,
        newMode,
        oldId: idOrNull(oldId),
        newId: idOrNull(newId),
        insertions: null,
        deletions: null,
      });
      continue;
    }
    const [, insertions = '', deletions = '', path = ''] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(record) ?? [];
    while (counted < changes.length && changes[counted]?.path !== path) counted++;
    const change = changes[counted];
    if (change)
      changes[counted++] = { ...change, insertions: numberOrNull(insertions), deletions: numberOrNull(deletions) };
  }
  return changes;
}

function idOrNull(id: string): ObjectId | null {
  return /^0+$/.test(id) ? null : id;
}

function numberOrNull(count: string): number | null {
  return count === '-' ? null : Number(count);
}

/** Sizes in bytes of objects; one that is missing has none. */
export async function sizesOf(git: Git, ids: readonly ObjectId[]): Promise<ReadonlyMap<ObjectId, number>> {
  if (ids.length === 0) return new Map();
  const lines = (
    await git.text(['cat-file', '--batch-check=%(objectname) %(objectsize)', '--buffer'], {
      input: ids.join('\n') + '\n',
    })
  ).split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [id = '', size = ''] = line.split(' ');
      return /^\d+$/.test(size) ? [[id, Number(size)] as const] : [];
    }),
  );
}

/** Calls `visit` with the content of each object, reading at most about 32 MiB at a time. What is not what its id says is an error: git itself does not look. */
export async function eachObject(
  git: Git,
  sizes: ReadonlyMap<ObjectId, number>,
  visit: (id: ObjectId, content: Buffer) => Promise<void>,
): Promise<void> {
  for (const ids of inPortions(sizes, 32 * 1024 * 1024)) {
    const { exitCode, stdout } = await git.answer(['cat-file', '--batch', '--buffer'], {
      input: ids.join('\n') + '\n',
    });
    if (exitCode !== 0)
      throw new UserError('infrastructure', 'git could not read objects of the repository; it may be damaged.');
    let at = 0;
    for (const id of ids) {
      const start = stdout.indexOf(10, at) + 1;
      const end = start + (sizes.get(id) ?? 0);
      const content = stdout.subarray(start, end);
      const [, type = ''] = stdout.subarray(at, start).toString().split(' ');
      if (idOf(type, content, id.length) !== id) throw new UserError('infrastructure', LOST_COMMITS);
      await visit(id, content);
      at = end + 1;
    }
  }
}

/** The id that git gives an object; 40 hex digits are SHA-1, 64 SHA-256. */
function idOf(type: string, content: Buffer, digits: number): ObjectId {
  return createHash(digits === 64 ? 'sha256' : 'sha1')
    .update(`${type} ${String(content.length)}\0`)
    .update(content)
    .digest('hex');
}

function inPortions(sizes: ReadonlyMap<ObjectId, number>, limit: number): readonly (readonly ObjectId[])[] {
  const portions: ObjectId[][] = [];
  let filled = Infinity;
  for (const [id, size] of sizes) {
    if (filled + size > limit) {
      portions.push([]);
      filled = 0;
    }
    portions.at(-1)?.push(id);
    filled += size;
  }
  return portions;
}

/** Writes the tree that has `base`'s entries except for `changes`. Only what is listed gets in, whatever else the work tree holds. */
export async function treeWith(
  git: Git,
  indexFile: string,
  tree: { readonly base: ObjectId; readonly changes: readonly Change[] },
): Promise<ObjectId> {
  const variables = { GIT_INDEX_FILE: indexFile };
  await git.text(['read-tree', tree.base], { variables });
  const gone = tree.changes
    .filter((change) => change.newId === null)
    .map((change) => indexLine('0', '0'.repeat(change.oldId?.length ?? 40), change.path));
  const there = tree.changes.flatMap((change) =>
    change.newId === null ? [] : [indexLine(change.newMode, change.newId, change.path)],
  );
  // Removals first: a file may make room for a folder of the same name.
  await git.text(['update-index', '-z', '--add', '--index-info'], { input: [...gone, ...there].join(''), variables });
  return await git.text(['write-tree'], { variables });
}

/** One record for `update-index -z --index-info`; mode `0` removes the path. */
export function indexLine(mode: string, id: ObjectId, path: string): string {
  return `${mode} ${id}\t${path}\0`;
}
