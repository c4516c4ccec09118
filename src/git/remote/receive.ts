import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { type OwnWords, problemOfOwnMessage, parseTaskInMessage } from '../../core/text/commit-message.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import type { CommitRange, ReceiveResult, ReceivedBranch, RemadeCommits, TaskPaths } from '../../ports/remote.ts';
import { PUBLISHED_REF } from '../checkout/quarantine.ts';
import { FETCH_REFS_ONLY, type Git, type GitAnswer, lastLinesOfError, withBareRepository } from '../git.ts';
import { reviewBranch } from '../inspection/review.ts';
import {
  readCommitChain,
  changesOfCommits,
  type Commit,
  type ObjectReader,
  writeTreeWith,
  withObjects,
  withholdMovedFiles,
} from '../objects.ts';
import { readRegular, writeRegular } from '../regular-files.ts';
import type { RemoteOptions } from './ask-remote.ts';

interface ReceiveOptions extends Pick<
  RemoteOptions,
  'url' | 'quarantineFolder' | 'workFolder' | 'folder' | 'env' | 'identity' | 'coAuthors'
> {
  readonly hide: readonly string[];
  /** Runs a git command that talks to the server. */
  readonly ask: (git: Git, args: readonly string[]) => Promise<GitAnswer>;
}

/** Maximum number of commits: a run has at most a thousand iterations, and an agent commits a few times in each. */
const MAX_RECEIVED_COMMITS = 10_000;

/** Options that create no ref from the bundle except the one for the expected commit. */
const PLAIN = [...FETCH_REFS_ONLY, '--no-recurse-submodules'];

/**
 * Creates a quarantine from the server's commits between `fork` and `since`, and from the commits of a bundle. Runs and
 * checks out nothing of the bundle, whose content is inspected before it is pushed.
 */
export async function receiveBranch(
  { fork, base, since, bundle, names }: ReceivedBranch,
  { url, quarantineFolder, workFolder, folder, env, hide, identity, coAuthors, ask }: ReceiveOptions,
): Promise<ReceiveResult> {
  const objects = join(quarantineFolder, 'objects');
  await rm(quarantineFolder, { recursive: true, force: true });
  await mkdir(objects, { recursive: true });
  return withBareRepository({ workFolder, keepObjectsIn: objects, env, hide }, async (git, gitFolder) => {
    for (const [commit, ...how] of [[fork, '--depth=1'], ...(since === fork ? [] : [[since]])]) {
      const known = await ask(git, [...PLAIN, ...how, url, `${commit ?? ''}:refs/heads/${commit ?? ''}`]);
      if (known.exitCode !== 0)
        return refused(
          `The commit ${commit ?? ''} that the work builds on could not be fetched: ${completeSentence(lastLinesOfError(known.stderr))}`,
        );
    }
    let left = fork;
    let made: ReadonlyMap<TaskId, ObjectId> = new Map();
    if (bundle !== null) {
      const take = (): Promise<GitAnswer> =>
        git.answer([...PLAIN, bundle.path, `${PUBLISHED_REF}:${PUBLISHED_REF}`], {
          variables: { GIT_ALLOW_PROTOCOL: 'file' },
        });
      let taken = await take();
      if (taken.exitCode !== 0 && base !== fork) {
        // The bundle may contain a merge of the base branch but lacks the base's own commits, so fetch them.
        await ask(git, [...PLAIN, '--depth=1', url, `${base}:refs/heads/${base}`]);
        taken = await take();
      }
      if (taken.exitCode !== 0)
        return refused(`Its commits cannot be read: ${completeSentence(lastLinesOfError(taken.stderr))}`);
      const tip = await git.text(['rev-parse', `${PUBLISHED_REF}^{commit}`]);
      if (tip !== bundle.commit) return refused(`Its commits end at ${tip}, and not at ${bundle.commit}.`);
      const malformed = await findMalformation(git, { commit: tip, since });
      if (malformed !== null) return refused(`Its commits are not well formed: ${completeSentence(malformed)}`);
      const words = await readOwnMessages(git, { tip, since, base }, { identity, coAuthors, names });
      if (words.why !== null) return refused(words.why);
      if (words.hasMerged) left = base;
      ({ made } = words);
    }
    const shallow = await readRegular(join(gitFolder, 'shallow'));
    if (shallow !== null) await writeRegular(join(quarantineFolder, 'shallow'), shallow.bytes);
    const branch = { fork: left, roots: [fork], tip: bundle?.commit ?? since };
    return { kind: 'received', review: await reviewBranch(git, { ...branch, folder }), made: Object.fromEntries(made) };
  });
}

/**
 * Returns the reason why the objects are malformed. git checks what it fetches, but not a bundle's content, so every
 * object is packed again, which hashes and checks it.
 */
async function findMalformation(
  git: Git,
  { commit, since }: { readonly commit: string; readonly since: string },
): Promise<string | null> {
  const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
    input: `${commit}\n^${since}\n`,
  });
  if (packed.exitCode !== 0) return lastLinesOfError(packed.stderr);
  const checked = await git.answer(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
  return checked.exitCode === 0 ? null : lastLinesOfError(checked.stderr);
}

/**
 * Reads the commits and checks that the loop's job added no words of its own: each commit must have one parent or merge
 * `base`, and have our author and a message in the form that this program writes. `why` is null if all do. `made` is
 * the newest commit of each task; without a merge, it has no commit for conflicts.
 */
async function readOwnMessages(
  git: Git,
  { tip, since, base }: { readonly tip: string; readonly since: string; readonly base: string },
  own: OwnWords,
): Promise<ReadMessages> {
  return withObjects(git, async (objects) => {
    const commits = await readCommitChain(objects, {
      since,
      tip,
      most: MAX_RECEIVED_COMMITS,
      mayMerge: (id) => id === base,
    });
    if (commits === null) return notOurs(`Its commits do not build on ${since} one by one.`);
    const by = `${own.identity.name} <${own.identity.email}> `;
    for (const { id, text, message } of commits) {
      const header = text.slice(0, text.indexOf('\n\n')).split('\n');
      const isOurs = ['author', 'committer'].every((role) => header.some((line) => line.startsWith(`${role} ${by}`)));
      // Commits are signed later, so a signature here could only be forged.
      const isSigned = header.some((line) => line.startsWith('gpgsig'));
      const inName = isSigned ? 'it carries a signature' : problemOfOwnMessage(message, own);
      const why = isOurs ? inName : 'its author is not this action';
      if (why !== null) return notOurs(`Its commit ${id.slice(0, 12)} was not made by this action: ${why}.`);
    }
    const hasMerged = commits.some(({ parents }) => parents.length > 1);
    const tasks = commits
      .map(({ id, message }) => [parseTaskInMessage(message), id] as const)
      .filter(([task]) => hasMerged || task !== CONFLICT_TASK);
    return { why: null, hasMerged, made: new Map(tasks.flatMap(([task, id]) => (task === null ? [] : [[task, id]]))) };
  });
}

interface ReadMessages {
  readonly why: string | null;
  readonly hasMerged: boolean;
  readonly made: ReadonlyMap<TaskId, ObjectId>;
}

function notOurs(why: string): ReadMessages {
  return { why, hasMerged: false, made: new Map() };
}

function refused(why: string): ReceiveResult {
  return { kind: 'refused', why };
}

/**
 * Returns the tasks of the commits, with the paths that each task changes. Commits without a task belong to the task
 * ''.
 */
export function groupPathsByTask(git: Git, { commit, since }: CommitRange): Promise<readonly TaskPaths[]> {
  return withObjects(git, async (objects) => {
    const chain = await readCommitChain(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
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
 * Makes the commits again with these paths, and the paths from which files moved there, as in `since`, and everything
 * else as it was: content, messages, authors, dates. Leaves out a commit that changes nothing else. Returns null if a
 * merge brings one of the paths (without it, the merge would undo the base's change) or if the commits are not a chain.
 * Writes new objects to `objectsFolder`.
 */
export async function remakeCommitsWithout(
  git: Git,
  refused: CommitRange & { readonly paths: readonly string[] },
  { objectsFolder, scratchFolder }: { readonly objectsFolder: string; readonly scratchFolder: string },
): Promise<RemadeCommits | null> {
  const { commit, since } = refused;
  const isLeftOut = new Map(refused.paths.map((path) => [path, '']));
  return withObjects(git, async (objects) => {
    const chain = await readCommitChain(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
    const begin = await objects.treeOf(since);
    if (chain === null || begin === null) return null;
    for (const [index, { tree }] of [...chain.entries()].reverse())
      await withholdMovedFiles(git, [chain[index - 1]?.tree ?? begin, tree], isLeftOut);
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
          : await withObjectsStoredIn(git, objectsFolder, (stored) =>
              writeTreeWith(stored, join(scratchFolder, `left-out-${String(index)}`), {
                base: one.tree,
                changes: back,
              }),
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

/** Returns the paths that a commit changes compared with its first parent. */
async function changedBy(git: Git, objects: ObjectReader, { id, tree, parents }: Commit): Promise<readonly string[]> {
  const [parent] = parents;
  const changes =
    parents.length > 1 && parent !== undefined
      ? await objects.changesBetween((await objects.treeOf(parent)) ?? tree, tree)
      : await changesOfCommits(git, [id]);
  return changes.map(({ path }) => path);
}

/** Returns the task that our trailer names, or an empty string. */
function taskOf({ message }: Commit): string {
  return [...message.matchAll(/^Ralph-Task: (\S+)$/gm)].at(-1)?.[1] ?? '';
}

/** Writes the commit with its own text but another tree and parent, and without its signature. */
function writeCommit(
  git: Git,
  { text, parents }: Commit,
  made: { readonly tree: ObjectId; readonly parent: ObjectId; readonly objectsFolder: string },
): Promise<ObjectId> {
  const { tree, parent, objectsFolder } = made;
  const end = text.indexOf('\n\n');
  // Drop the signature, which is for the old content.
  const head = text
    .slice(0, end)
    .replace(/^tree [0-9a-f]+\n(?:parent [0-9a-f]+\n)*/, '')
    .replace(/^gpgsig .*(?:\n .*)*\n?/m, '');
  const rest = head.trimEnd() + text.slice(end);
  const header = [`tree ${tree}`, ...[parent, ...parents.slice(1)].map((id) => `parent ${id}`), ''].join('\n');
  return withObjectsStoredIn(git, objectsFolder, (stored) =>
    stored.text(['hash-object', '-t', 'commit', '-w', '--stdin'], { input: `${header}${rest}` }),
  );
}

/** Runs `write` with a git that stores new objects in `objectsFolder`. */
export function withObjectsStoredIn<T>(git: Git, objectsFolder: string, write: (git: Git) => Promise<T>): Promise<T> {
  return write({
    ...git,
    text: (args, options) =>
      git.text(args, { ...options, variables: { ...options?.variables, GIT_OBJECT_DIRECTORY: objectsFolder } }),
  });
}
