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

/** Plain text files of a commit, and why others of them were left out, by path: `unread` files, and `links` at a path or on the way to it. */
export interface CommitTexts {
  readonly texts: FileTexts;
  readonly unread: FileTexts;
  readonly links: FileTexts;
}

const LINK = 'is a symbolic link, which is not followed: put a file there';

/** Reads files of a commit from its objects: no filter runs, and a link is not followed. `*` in a path stays within its folder, `**` at its end is all below it. */
export async function textsOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<CommitTexts> {
  const { files: listed, links } = await entriesOf(git, commit, paths);
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
    links: Object.fromEntries(links.map((path) => [path, LINK])),
  };
}

/** What the paths name: object ids of regular files by path, and links. */
async function entriesOf(
  git: Git,
  commit: ObjectId,
  paths: readonly string[],
): Promise<{ readonly files: ReadonlyMap<string, ObjectId>; readonly links: readonly string[] }> {
  if (paths.length === 0) return { files: new Map(), links: [] };
  const isWanted = matcher(paths);
  // `ls-tree` knows no patterns: of one, the whole folder is listed.
  const asked = paths.map((path) => (path.includes('*') ? `${posix.dirname(path)}/` : path));
  const below = paths.some((path) => path.endsWith('/**')) ? ['-r'] : [];
  // Asked for with all below them, folders on the way could be the whole repository.
  const onTheWay = below.length > 0 ? new Set<string>() : new Set(paths.flatMap(foldersAbove));
  const records = await git.records([
    ...['ls-tree', ...below, '-z', '--full-tree', commit, '--'],
    ...new Set([...onTheWay, ...asked]),
  ]);
  const entries = records.flatMap((record) => {
    const [, mode = '', id = '', path = ''] = /^(100644|100755|120000) blob ([0-9a-f]+)\t([^]*)$/.exec(record) ?? [];
    return [{ isLink: mode === '120000', id, path }];
  });
  const files = entries.filter(({ isLink, path }) => !isLink && isWanted(path));
  const links = entries.filter(({ isLink, path }) => isLink && (isWanted(path) || onTheWay.has(path)));
  return {
    files: new Map(files.slice(0, MOST_FILES).map(({ path, id }) => [path, id])),
    links: links.slice(0, MOST_FILES).map(({ path }) => path),
  };
}

/** `a` and `a/b` of `a/b/c`. */
function foldersAbove(path: string): readonly string[] {
  const above = posix.dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}
