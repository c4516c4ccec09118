import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Received, ReceivedBranch } from '../../ports/repository.ts';
import type { ObjectId } from '../../core/evidence.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Folder } from '../../core/folder.ts';
import { sentence } from '../../core/text/sentence.ts';
import { problemOfOwnMessage, taskInMessage } from '../../core/text/commit-message.ts';
import { withBareRepository } from '../bare-repository.ts';
import { PUBLISHED_REF } from '../checkout/quarantine.ts';
import { lastWords, type Git, type GitAnswer } from '../git.ts';
import { reviewBranch } from '../inspection/review.ts';
import { chainBetween, withObjects } from '../objects.ts';
import { readRegular, writeRegular } from '../regular-files.ts';

interface ReceiveOptions {
  readonly url: string;
  /** Where commits wait to be published. */
  readonly quarantineFolder: string;
  readonly workFolder: string;
  /** The working directory: what is changed outside of it is shown to reviewers. */
  readonly folder: Folder;
  readonly env: NodeJS.ProcessEnv;
  readonly hide: readonly string[];
  /** Of all commits of ours. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly coAuthors: readonly string[];
  /** Gives a git command to the server. */
  readonly ask: (git: Git, args: readonly string[]) => Promise<GitAnswer>;
}

/** A run has at most a thousand iterations, and an agent commits a few times in each. */
const MOST_COMMITS = 10_000;
/** Nothing of the bundle has a name here but the commit that is expected. */
const PLAIN = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules', '--quiet'];

/**
 * Lays a quarantine of what the server has between `fork` and `since`, and of the commits of a bundle. Nothing of the
 * bundle is run or checked out; what it holds is inspected before it is pushed.
 */
export async function receiveBranch(
  { fork, base, since, bundle, names }: ReceivedBranch,
  { url, quarantineFolder, workFolder, folder, env, hide, identity, coAuthors, ask }: ReceiveOptions,
): Promise<Received> {
  const objects = join(quarantineFolder, 'objects');
  await rm(quarantineFolder, { recursive: true, force: true });
  await mkdir(objects, { recursive: true });
  return withBareRepository({ workFolder, keepObjectsIn: objects, env, hide }, async (git, gitFolder) => {
    for (const [commit, ...how] of [[fork, '--depth=1'], ...(since === fork ? [] : [[since]])]) {
      const known = await ask(git, ['fetch', ...PLAIN, ...how, url, `${commit ?? ''}:refs/heads/${commit ?? ''}`]);
      if (known.exitCode !== 0)
        return refused(
          `The commit ${commit ?? ''} that the work builds on could not be fetched: ${sentence(lastWords(known.stderr))}`,
        );
    }
    let left = fork;
    let made: ReadonlyMap<TaskId, ObjectId> = new Map();
    if (bundle !== null) {
      const take = (): Promise<GitAnswer> =>
        git.answer(['fetch', ...PLAIN, bundle.path, `${PUBLISHED_REF}:${PUBLISHED_REF}`], {
          variables: { GIT_ALLOW_PROTOCOL: 'file' },
        });
      let taken = await take();
      if (taken.exitCode !== 0 && base !== fork) {
        // It may hold a merge of the base branch, whose own commits are not in it.
        await ask(git, ['fetch', ...PLAIN, '--depth=1', url, `${base}:refs/heads/${base}`]);
        taken = await take();
      }
      if (taken.exitCode !== 0) return refused(`Its commits cannot be read: ${sentence(lastWords(taken.stderr))}`);
      const tip = await git.text(['rev-parse', `${PUBLISHED_REF}^{commit}`]);
      if (tip !== bundle.commit) return refused(`Its commits end at ${tip}, and not at ${bundle.commit}.`);
      const malformed = await problemOfForm(git, { commit: tip, since });
      if (malformed !== null) return refused(`Its commits are not well formed: ${sentence(malformed)}`);
      const words = await readWords(git, { tip, since, base }, { identity, coAuthors, names });
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

/** git checks the form of what it fetches, but not of what it takes from a bundle: packed once more, every object is hashed and checked. */
async function problemOfForm(
  git: Git,
  { commit, since }: { readonly commit: string; readonly since: string },
): Promise<string | null> {
  const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
    input: `${commit}\n^${since}\n`,
  });
  if (packed.exitCode !== 0) return lastWords(packed.stderr);
  const checked = await git.answer(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
  return checked.exitCode === 0 ? null : lastWords(checked.stderr);
}

/** Each commit has one parent or merges `base`, and has our name and a message that was made here: what the job of the loop may have written says nothing in our name. `why`: null, they do; `made`: the newest of each task, which without a merge is none of a conflict. */
async function readWords(
  git: Git,
  { tip, since, base }: { readonly tip: string; readonly since: string; readonly base: string },
  { identity, ...own }: Pick<ReceiveOptions, 'identity' | 'coAuthors'> & { readonly names: readonly string[] },
): Promise<ReadWords> {
  return withObjects(git, async (objects) => {
    const commits = await chainBetween(objects, { since, tip, most: MOST_COMMITS, mayMerge: (id) => id === base });
    if (commits === null) return unread(`Its commits do not build on ${since} one by one.`);
    const by = `${identity.name} <${identity.email}> `;
    for (const { id, text, message } of commits) {
      const header = text.slice(0, text.indexOf('\n\n')).split('\n');
      const isOurs = ['author', 'committer'].every((role) => header.some((line) => line.startsWith(`${role} ${by}`)));
      const why = isOurs ? problemOfOwnMessage(message, own) : 'its author is not this action';
      if (why !== null) return unread(`Its commit ${id.slice(0, 12)} was not made by this action: ${why}.`);
    }
    const hasMerged = commits.some(({ parents }) => parents.length > 1);
    const tasks = commits
      .map(({ id, message }) => [taskInMessage(message), id] as const)
      .filter(([task]) => hasMerged || task !== CONFLICT_TASK);
    return { why: null, hasMerged, made: new Map(tasks.flatMap(([task, id]) => (task === null ? [] : [[task, id]]))) };
  });
}

interface ReadWords {
  readonly why: string | null;
  readonly hasMerged: boolean;
  readonly made: ReadonlyMap<TaskId, ObjectId>;
}

function unread(why: string): ReadWords {
  return { why, hasMerged: false, made: new Map() };
}

function refused(why: string): Received {
  return { kind: 'refused', why };
}
