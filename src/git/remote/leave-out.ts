import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import type { CommitRange, Remade, TaskPaths } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { chainBetween, changesOfCommits, treeWith, withObjects, type Commit, type Objects } from '../objects.ts';

/** Which tasks the commits are of, and which paths those of each change. Commits of no task are of the task ''. */
export function pathsByTask(git: Git, { commit, since }: CommitRange): Promise<readonly TaskPaths[]> {
  return withObjects(git, async (objects) => {
    const chain = await chainBetween(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
    const byTask = new Map<string, Set<string>>();
    for (const one of chain ?? []) {
      const task = taskOf(one);
      const paths = byTask.get(task) ?? new Set<string>();
      for (const path of await changedBy(git, objects, one)) paths.add(path);
      byTask.set(task, paths);
    }
    return [...byTask].map(([task, paths]) => ({ task, paths: [...paths] }));
  });
}

/**
 * Makes the commits again with these paths as `since` has them, and everything else as it was: content, messages, authors,
 * dates. A commit that changes nothing else is left out. Null: a merge brings one of the paths (without it the merge
 * would take back what the base has), or the commits are no chain. New objects are written to `objectsFolder`.
 */
export async function remakeWithout(
  git: Git,
  refused: CommitRange & { readonly paths: readonly string[] },
  { objectsFolder, scratchFolder }: { readonly objectsFolder: string; readonly scratchFolder: string },
): Promise<Remade | null> {
  const { commit, since } = refused;
  const isLeftOut = new Set(refused.paths);
  return withObjects(git, async (objects) => {
    const chain = await chainBetween(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
    const begin = await objects.treeOf(since);
    if (chain === null || begin === null) return null;
    const places: Record<ObjectId, ObjectId | null> = {};
    const tasks = new Set<string>();
    let last = { commit: since, tree: begin };
    for (const [index, one] of chain.entries()) {
      const changed = await changedBy(git, objects, one);
      const hits = changed.some((path) => isLeftOut.has(path));
      if (hits && one.parents.length > 1) return null;
      if (hits) tasks.add(taskOf(one));
      const back = (await objects.changesBetween(one.tree, begin)).filter(({ path }) => isLeftOut.has(path));
      const tree =
        back.length === 0
          ? one.tree
          : await written(git, objectsFolder, (stored) =>
              treeWith(stored, join(scratchFolder, `left-out-${String(index)}`), { base: one.tree, changes: back }),
            );
      if (tree === last.tree && one.parents.length === 1) {
        places[one.id] = null;
        continue;
      }
      const isSame = tree === one.tree && last.commit === one.parents[0];
      const made = isSame ? one.id : await writeCommit(git, one, { tree, parent: last.commit, objectsFolder });
      places[one.id] = made;
      last = { commit: made, tree };
    }
    return { head: last.commit, places, tasks: [...tasks] };
  });
}

/** What a commit changes of its first parent. */
async function changedBy(git: Git, objects: Objects, { id, tree, parents }: Commit): Promise<readonly string[]> {
  const [parent] = parents;
  const changes =
    parents.length > 1 && parent !== undefined
      ? await objects.changesBetween((await objects.treeOf(parent)) ?? tree, tree)
      : await changesOfCommits(git, [id]);
  return changes.map(({ path }) => path);
}

/** Ours are the trailers of every commit that is pushed. */
function taskOf({ message }: Commit): string {
  return [...message.matchAll(/^Ralph-Task: (\S+)$/gm)].at(-1)?.[1] ?? '';
}

/** The commit's own text with another tree and parent. */
function writeCommit(
  git: Git,
  { text, parents }: Commit,
  {
    tree,
    parent,
    objectsFolder,
  }: { readonly tree: ObjectId; readonly parent: ObjectId; readonly objectsFolder: string },
): Promise<ObjectId> {
  const rest = text.replace(/^tree [0-9a-f]+\n(?:parent [0-9a-f]+\n)*/, '');
  const header = [`tree ${tree}`, ...[parent, ...parents.slice(1)].map((id) => `parent ${id}`), ''].join('\n');
  return written(git, objectsFolder, (stored) =>
    stored.text(['hash-object', '-t', 'commit', '-w', '--stdin'], { input: `${header}${rest}` }),
  );
}

/** Runs `write` with a git that writes its objects to the folder. */
function written<T>(git: Git, objectsFolder: string, write: (git: Git) => Promise<T>): Promise<T> {
  return write({
    ...git,
    text: (args, options) =>
      git.text(args, { ...options, variables: { ...options?.variables, GIT_OBJECT_DIRECTORY: objectsFolder } }),
  });
}
