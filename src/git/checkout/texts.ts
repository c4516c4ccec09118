import { posix } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import type { FileTexts } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { withObjects } from '../objects.ts';
import { matcher } from '../inspection/protected-paths.ts';

/** A longer file is no list that anybody wrote by hand. */
const LARGEST_TEXT_BYTES = 1024 * 1024;
/** A pattern may match so many files. */
const MOST_FILES = 100;

/** Plain text files of a commit, and why others of them were left out, by path. */
export interface CommitTexts {
  readonly texts: FileTexts;
  readonly unread: FileTexts;
}

/** Reads files of a commit from its objects: no filter runs, and a link is not followed. `*` in a path stays within its folder, `**` at its end is all below it. */
export async function textsOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<CommitTexts> {
  const listed = await filesOf(git, commit, paths);
  const texts = new Map<ObjectId, string>();
  const sizes = await withObjects(git, async (objects) => {
    const found = await objects.sizesOf([...new Set(listed.values())]);
    await objects.each(new Map([...found].filter(([, size]) => size <= LARGEST_TEXT_BYTES)), (id, content) => {
      if (!content.includes(0)) texts.set(id, content.toString());
    });
    return found;
  });
  const read = [...listed].map(([path, id]) => ({
    path,
    text: texts.get(id),
    why:
      (sizes.get(id) ?? 0) > LARGEST_TEXT_BYTES
        ? 'is larger than 1 MiB'
        : 'contains NUL bytes, so it is not UTF-8 text',
  }));
  return {
    texts: Object.fromEntries(read.flatMap(({ path, text }) => (text === undefined ? [] : [[path, text]]))),
    unread: Object.fromEntries(read.flatMap(({ path, text, why }) => (text === undefined ? [[path, why]] : []))),
  };
}

/** Object ids of the regular files that the paths name. */
async function filesOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<ReadonlyMap<string, ObjectId>> {
  if (paths.length === 0) return new Map();
  const isWanted = matcher(paths);
  // `ls-tree` knows no patterns: of one, the whole folder is listed.
  const asked = paths.map((path) => (path.includes('*') ? `${posix.dirname(path)}/` : path));
  const below = paths.some((path) => path.endsWith('/**')) ? ['-r'] : [];
  const records = await git.records(['ls-tree', ...below, '-z', '--full-tree', commit, '--', ...new Set(asked)]);
  const entries = records.flatMap((record) => {
    const [, id = '', path = ''] = /^100(?:644|755) blob ([0-9a-f]+)\t([^]*)$/.exec(record) ?? [];
    return isWanted(path) ? [[path, id] as const] : [];
  });
  return new Map(entries.slice(0, MOST_FILES));
}
