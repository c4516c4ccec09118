import { toFolderKeys, toRootPath, type Folder } from '../../../src/core/folder.ts';
import type { FileTexts, Repository, WorkFiles } from '../../../src/ports/repository.ts';

/** Returns the checkout of a run that works in one of its folders, with the texts placed as in the real one. */
export function placedCheckout<Port extends Repository>(checkout: Port, folder: Folder): Port {
  if (folder === '') return checkout;
  const seen = (texts: FileTexts): FileTexts => toFolderKeys(folder, texts);
  const placed = (paths: readonly string[]): readonly string[] => paths.map((path) => toRootPath(folder, path));
  return {
    ...checkout,
    readTexts: async (paths, lane) => {
      const read = await checkout.readTexts(placed(paths), lane);
      return {
        base: seen(read.base),
        lane: read.lane === null ? null : seen(read.lane),
        fork: read.fork === null ? null : seen(read.fork),
        unread: seen(read.unread),
        links: seen(read.links),
      };
    },
    namesOf: async (names) => {
      const found = await checkout.namesOf(placed(names));
      return Object.keys(toFolderKeys(folder, Object.fromEntries(found.map((name) => [name, null]))));
    },
    publishedTexts: async (paths) => seen(await checkout.publishedTexts(placed(paths))),
    commitTexts: ({ texts, ...commit }) =>
      checkout.commitTexts({
        ...commit,
        texts: Object.fromEntries(Object.entries(texts).map(([path, text]) => [toRootPath(folder, path), text])),
      }),
  };
}

/** Returns the files of the work tree placed in that folder. */
export function placedFiles(files: WorkFiles, folder: Folder): WorkFiles {
  return {
    read: async (paths) => toFolderKeys(folder, await files.read(paths.map((path) => toRootPath(folder, path)))),
    replace: (change) => files.replace({ ...change, path: toRootPath(folder, change.path) }),
    remove: (path) => files.remove(toRootPath(folder, path)),
  };
}
