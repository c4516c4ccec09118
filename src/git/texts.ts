import { posix } from 'node:path';
import type { ObjectId } from '../core/evidence.ts';
import type { FileTexts } from '../ports.ts';
import type { Git } from './git.ts';
import { eachObject, sizesOf } from './objects.ts';
import { matcher } from './protected-paths.ts';

/** A longer file is no list that anybody wrote by hand. */
const largestTextBytes = 1024 * 1024;
/** A pattern may match so many files. */
const mostFiles = 100;

/** Plain text files of a commit, from its objects: no filter runs, and a link is not followed. `*` in a path stays within its folder. */
export async function textsOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<FileTexts> {
  const listed = await filesOf(git, commit, paths);
  const sizes = await sizesOf(git, [...new Set(listed.values())]);
  const texts = new Map<ObjectId, string>();
  await eachObject(git, new Map([...sizes].filter(([, size]) => size <= largestTextBytes)), (id, content) => {
    if (!content.includes(0)) texts.set(id, content.toString());
    return Promise.resolve();
  });
  return Object.fromEntries([...listed].flatMap(([path, id]) => {
    const text = texts.get(id);
    return text === undefined ? [] : [[path, text]];
  }));
}

/** Object ids of the regular files that the paths name. */
async function filesOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<ReadonlyMap<string, ObjectId>> {
  if (paths.length === 0) return new Map();
  const isWanted = matcher(paths);
  // `ls-tree` knows no patterns: of one, the whole folder is listed.
  const asked = paths.map((path) => (path.includes('*') ? `${posix.dirname(path)}/` : path));
  const records = await git.records(['ls-tree', '-z', '--full-tree', commit, '--', ...new Set(asked)]);
  const entries = records.flatMap((record) => {
    const [, id = '', path = ''] = /^100(?:644|755) blob ([0-9a-f]+)\t([^]*)$/.exec(record) ?? [];
    return isWanted(path) ? [[path, id] as const] : [];
  });
  return new Map(entries.slice(0, mostFiles));
}
