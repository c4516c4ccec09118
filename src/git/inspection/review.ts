import type { ObjectId } from '../../core/evidence.ts';
import type { TaskSize } from '../../core/lane/change.ts';
import { isGenerated } from '../../core/review/generated.ts';
import { lookAtFirst, wantsTexts, type LookAt, type ReviewedChange } from '../../core/review/look-at.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Review } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { changesOfEach, withObjects, type Change, type Objects } from '../objects.ts';

/** Longer texts are not read, nor are more than so many. */
const LONGEST_TEXT = 256 * 1024;
const MOST_TEXTS = 400;

/** More commits of a branch are not measured. */
const MOST_COMMITS = 1000;

/** All that a branch has changed: `fork` is where it left its base, both are commits. */
export async function reviewBranch(git: Git, fork: ObjectId, tip: ObjectId): Promise<Review> {
  return withObjects(git, async (objects) => {
    const [changes, sizes] = await Promise.all([objects.changesBetween(fork, tip), sizesByTask(git, fork, tip)]);
    return {
      lookAt: await lookAtOf(objects, changes),
      lines: changes
        .filter(({ path }) => !isGenerated(path))
        .reduce((sum, { insertions, deletions }) => sum + (insertions ?? 0) + (deletions ?? 0), 0),
      sizes,
    };
  });
}

/** What the commits of each task changed; a line that a later one changes again counts again. */
async function sizesByTask(git: Git, fork: ObjectId, tip: ObjectId): Promise<Review['sizes']> {
  const commits = await commitsOfTasks(git, fork, tip);
  const changes = await changesOfEach(
    git,
    commits.map(({ commit }) => commit),
  );
  const sizes = [...new Set(commits.map(({ task }) => task))].map((task) => {
    const own = commits.filter((commit) => commit.task === task);
    const changed = own.flatMap(({ commit }) => changes.get(commit) ?? []);
    const size: TaskSize = {
      files: new Set(changed.map(({ path }) => path)).size,
      insertions: changed.reduce((sum, { insertions }) => sum + (insertions ?? 0), 0),
      deletions: changed.reduce((sum, { deletions }) => sum + (deletions ?? 0), 0),
      // The newest comes first.
      since: own.at(-1)?.parent ?? null,
    };
    return [task, size] as const;
  });
  return Object.fromEntries(sizes);
}

interface TaskCommit {
  readonly commit: ObjectId;
  readonly parent: ObjectId | null;
  readonly task: TaskId;
}

/** The commits of the branch that name a task in our trailer; commits of people name none. */
async function commitsOfTasks(git: Git, fork: ObjectId, tip: ObjectId): Promise<readonly TaskCommit[]> {
  const lines = await git.text([
    'log',
    '--no-merges',
    '--first-parent',
    `--max-count=${String(MOST_COMMITS)}`,
    '--format=%H %P %(trailers:key=Ralph-Task,valueonly,separator=%x20)',
    `${fork}..${tip}`,
  ]);
  return lines.split('\n').flatMap((line) => {
    const [, commit = '', parent, task = ''] =
      /^([0-9a-f]+) ([0-9a-f]{40,})? (?:\S+ )*([\w.-]{1,80})$/.exec(line) ?? [];
    return commit === '' ? [] : [{ commit, parent: parent ?? null, task }];
  });
}

/** What a reviewer of what is published looks at first. */
export async function lookAtOf(objects: Objects, changes: readonly Change[]): Promise<readonly LookAt[]> {
  const wanted = changes
    .filter(({ path }) => wantsTexts(path))
    .flatMap(({ oldId, newId }) => [oldId, newId])
    .filter((id) => id !== null)
    .slice(0, MOST_TEXTS);
  const there = changes.map(({ newId }) => newId).filter((id) => id !== null);
  const sizes = await objects.sizesOf([...new Set([...wanted, ...there])]);
  const isWanted = new Set(wanted);
  const texts = new Map<ObjectId | null, string>();
  const short = [...sizes].filter(([id, size]) => isWanted.has(id) && size <= LONGEST_TEXT);
  await objects.each(new Map(short), (id, content) => {
    texts.set(id, content.toString());
  });
  return lookAtFirst(changes.map((change) => reviewed(change, texts, sizes)));
}

function reviewed(
  change: Change,
  texts: ReadonlyMap<ObjectId | null, string>,
  sizes: ReadonlyMap<ObjectId, number>,
): ReviewedChange {
  const { path, oldId, newId, insertions } = change;
  return {
    path,
    kind: oldId === null ? 'added' : newId === null ? 'deleted' : 'changed',
    binary: insertions === null,
    insertions: insertions ?? 0,
    bytes: newId === null ? null : (sizes.get(newId) ?? null),
    before: texts.get(oldId) ?? null,
    after: texts.get(newId) ?? null,
  };
}
