import type { ObjectId } from '../../core/evidence.ts';
import { countConflicts } from '../../core/feedback/conflict/conflict-markers.ts';
import { type Folder, isInFolder } from '../../core/folder.ts';
import type { TaskSize } from '../../core/lane/change.ts';
import type { FileContent, TaskChanges, TaskFile } from '../../core/proof/judge.ts';
import {
  listChangesOutside,
  type FilesToLookAt,
  listLookAtFirst,
  combineLookAt,
  type ReviewedChange,
} from '../../core/review/look-at.ts';
import { isGenerated, mayHoldTests, readsTexts, selectToRead } from '../../core/review/test-files.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Review } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { decodeGitName } from '../names.ts';
import { type PathChange, changesOfEach, type ObjectReader, withObjects } from '../objects.ts';
import type { Inspection } from './inspection.ts';

/**
 * A file that the server refused. `content` limits the refusal to this content; if it is null, the server refuses any
 * content.
 */
export interface RefusedFile {
  readonly why: string;
  readonly content: ObjectId | null;
}

/** Maximum number of commits of a branch that are measured. */
const MAX_MEASURED_COMMITS = 1000;

/**
 * Commits of a branch. `fork` is the commit at which it left its base, and `roots` are other commits of the base that
 * it builds on.
 */
interface BranchCommits {
  readonly fork: ObjectId;
  readonly roots: readonly ObjectId[];
  readonly tip: ObjectId;
}

/** Reviews all changes of a branch; `folder` is the working directory. */
export async function reviewBranch(
  git: Git,
  { folder, ...branch }: BranchCommits & { readonly folder: Folder },
): Promise<Review> {
  return withObjects(git, async (objects) => {
    const [changes, sizes] = await Promise.all([
      objects.changesBetween(branch.fork, branch.tip),
      sizesByTask(git, branch),
    ]);
    return {
      lookAt: await listFilesToLookAt(objects, changes, folder),
      lines: changes
        .filter(({ path }) => !isGenerated(path))
        .reduce((sum, { insertions, deletions }) => sum + (insertions ?? 0) + (deletions ?? 0), 0),
      sizes,
    };
  });
}

/** Returns the size of each task's commits. A line that is changed in two commits is counted twice. */
async function sizesByTask(git: Git, branch: BranchCommits): Promise<Review['sizes']> {
  const commits = await commitsOfTasks(git, branch);
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

/** Returns the changes that the commits of each task made on a branch, with the texts of its tests. */
export async function changesOfTasks(git: Git, branch: BranchCommits): Promise<readonly TaskChanges[]> {
  const commits = await commitsOfTasks(git, branch);
  const changes = await changesOfEach(
    git,
    commits.map(({ commit }) => commit),
  );
  const tasks = [...new Set(commits.map(({ task }) => task))].map((task) => {
    // The newest comes first.
    const own = commits.filter((one) => one.task === task).reverse();
    const files = Map.groupBy(
      own.flatMap(({ commit }) => changes.get(commit) ?? []),
      ({ path }) => path,
    );
    return { task, files: [...files].flatMap(([path, all]) => changeOverAll(path, all)) };
  });
  return await withObjects(git, async (objects) => {
    const texts = await textsOf(
      objects,
      tasks.flatMap(({ files }) => files),
    );
    const storedTextOf = (content: FileContent | null): string | null => texts.get(content?.id ?? null) ?? null;
    return tasks.map(({ task, files }) => ({
      task,
      files: files.map((file) => ({
        ...file,
        textBefore: storedTextOf(file.before),
        textAfter: storedTextOf(file.after),
      })),
    }));
  });
}

type FileChange = Pick<TaskFile, 'path' | 'before' | 'after'>;

function changeOverAll(path: string, changes: readonly PathChange[]): readonly FileChange[] {
  const [first, last] = [changes.at(0), changes.at(-1)];
  if (first === undefined || last === undefined) return [];
  const before = first.oldId === null ? null : { mode: first.oldMode, id: first.oldId };
  const after = last.newId === null ? null : { mode: last.newMode, id: last.newId };
  return before?.id === after?.id && before?.mode === after?.mode ? [] : [{ path, before, after }];
}

/** Returns the texts of the tests among the files, by their ids. */
async function textsOf(
  objects: ObjectReader,
  files: readonly FileChange[],
): Promise<ReadonlyMap<ObjectId | null, string>> {
  const tests = files.filter(({ path }) => readsTexts({ path, kind: 'changed' }) && mayHoldTests(path));
  const ids = tests.flatMap(({ before, after }) => [before?.id, after?.id]).filter((id) => id !== undefined);
  const sizes = await objects.sizesOf([...new Set(ids)]);
  const small = [...sizes].filter(([, size]) => size <= MAX_TEST_BYTES).slice(0, MAX_PROOF_TESTS);
  const texts = new Map<ObjectId | null, string>();
  await objects.each(new Map(small), (id, content) => {
    texts.set(id, content.toString());
  });
  return texts;
}

/** Limits of the tests whose texts are read for a proof. */
const MAX_TEST_BYTES = 512 * 1024;
const MAX_PROOF_TESTS = 1_000;

interface TaskCommit {
  readonly commit: ObjectId;
  readonly parent: ObjectId | null;
  readonly task: TaskId;
}

/** Returns the commits of the branch that name a task in our trailer, which people's commits do not have. */
async function commitsOfTasks(git: Git, { fork, roots, tip }: BranchCommits): Promise<readonly TaskCommit[]> {
  const lines = await git.text([
    'log',
    '--no-merges',
    '--first-parent',
    `--max-count=${String(MAX_MEASURED_COMMITS)}`,
    '--format=%H %P %(trailers:key=Ralph-Task,valueonly,separator=%x20)',
    tip,
    ...[fork, ...roots].map((known) => `^${known}`),
  ]);
  return lines.split('\n').flatMap((line) => {
    const [, commit = '', parent, task = ''] =
      /^([0-9a-f]+) ([0-9a-f]{40,})? (?:\S+ )*([\w.-]{1,80})$/.exec(line) ?? [];
    return commit === '' ? [] : [{ commit, parent: parent ?? null, task }];
  });
}

/** Maximum size in bytes of a file that is searched for conflict markers. */
const MAX_MARKED_BYTES = 1024 * 1024;

/** Returns the published files that a reviewer should look at first. */
export async function listFilesToLookAt(
  objects: ObjectReader,
  changes: readonly PathChange[],
  folder: Folder,
): Promise<readonly FilesToLookAt[]> {
  const asked = changes.flatMap(({ oldId, newId }) => [oldId, newId]);
  const sizes = await objects.sizesOf([...new Set(asked.filter((id) => id !== null))]);
  const sized = changes.map((change) => ({
    ...bare(change),
    change,
    bytesBefore: sizeIn(sizes, change.oldId),
    bytesAfter: sizeIn(sizes, change.newId),
  }));
  const read = new Set(selectToRead(sized).map(({ change }) => change));
  const ids = new Set([...read].flatMap(({ oldId, newId }) => [oldId, newId]));
  const texts = new Map<ObjectId | null, string>();
  const conflicts = new Map<ObjectId | null, number>();
  await objects.each(
    new Map([...sizes].filter(([id, size]) => ids.has(id) || size <= MAX_MARKED_BYTES)),
    (id, content) => {
      if (ids.has(id)) texts.set(id, content.toString());
      if (content.includes('<<<<<<< ')) conflicts.set(id, countConflicts(content.toString()));
    },
  );
  const found = listLookAtFirst(
    sized.map(({ change, path, kind, bytesAfter }): ReviewedChange => ({
      path,
      kind,
      binary: change.insertions === null,
      insertions: change.insertions ?? 0,
      marked: (conflicts.get(change.newId) ?? 0) > (conflicts.get(change.oldId) ?? 0),
      bytes: bytesAfter,
      unread: !read.has(change),
      before: texts.get(change.oldId) ?? null,
      after: texts.get(change.newId) ?? null,
    })),
  );
  const outside = changes.map(({ path }) => decodeGitName(path)).filter((path) => !isInFolder(folder, path));
  return combineLookAt(found, listChangesOutside(folder, outside));
}

function bare({ path, oldId, newId }: PathChange): Pick<ReviewedChange, 'path' | 'kind'> {
  return { path: decodeGitName(path), kind: oldId === null ? 'added' : newId === null ? 'deleted' : 'changed' };
}

function sizeIn(sizes: ReadonlyMap<ObjectId, number>, id: ObjectId | null): number | null {
  return id === null ? null : (sizes.get(id) ?? null);
}

/** Returns an inspection that also withholds the files that the server refused during this run, by path. */
export function withRefusedFiles(inspection: Inspection, refused: ReadonlyMap<string, RefusedFile>): Inspection {
  return {
    ...inspection,
    async inspect(objects, changes, substitutes) {
      const withheld = new Map(await inspection.inspect(objects, changes, substitutes));
      for (const { path, newId } of changes) {
        const known = refused.get(path);
        const holds = known !== undefined && newId !== null && (known.content === null || known.content === newId);
        if (holds && !withheld.has(path)) withheld.set(path, known.why);
      }
      return withheld;
    },
  };
}
