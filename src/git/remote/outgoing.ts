import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { namesOf } from '../../core/text/lists.ts';
import { withBareRepository } from '../bare-repository.ts';
import { createInspection, type PublishingRules } from '../inspection/inspection.ts';
import type { Git } from '../git.ts';
import { knownMerges, objectionsToMerge, type BaseSource } from './merges.ts';
import { chainBetween, changesOfCommits, withObjects } from '../objects.ts';
import { removePipes } from '../pipes.ts';
import { LOST_COMMITS } from '../refusal.ts';
import { readRegular } from '../regular-files.ts';

/** Commits on their way out: `commit` builds on `since`, which was published before. */
export interface Outgoing {
  readonly commit: ObjectId;
  readonly since: ObjectId;
}

/** Where commits wait to be published, and what may be. */
export interface OutgoingSource {
  /** Git directory of the quarantine; it may not be there yet. */
  readonly quarantineFolder: string;
  /** A folder of this program's own. */
  readonly workFolder: string;
  readonly rules: PublishingRules;
  readonly env: NodeJS.ProcessEnv;
  readonly hide: readonly string[];
}

/** Runs `body` in a repository of its own in which the objects of the quarantine can be read. */
export async function withPushRepository<T>(
  { quarantineFolder, workFolder, env, hide }: Omit<OutgoingSource, 'rules'>,
  body: (git: Git, gitFolder: string) => Promise<T>,
): Promise<T> {
  const objects = join(quarantineFolder, 'objects');
  const isThere = await access(objects).then(
    () => true,
    () => false,
  );
  // A past that were cut off where it should not be breaks the chain, which is checked.
  const shallow = (await readRegular(join(quarantineFolder, 'shallow')))?.bytes.toString() ?? '';
  const unblock = () => removePipes([{ kind: 'git-directory', folder: quarantineFolder }]);
  return withBareRepository({ workFolder, borrow: isThere ? { objects, shallow } : null, env, hide, unblock }, body);
}

/**
 * Copies the commits between `since` and `commit` into the repository of `git`, hashing each object anew, and inspects
 * them all: the very objects that are pushed next. Answers why they must not be, null when they may.
 */
export async function inspectOutgoing(
  git: Git,
  { commit, since }: Outgoing,
  { rules, ...base }: BaseSource & Pick<OutgoingSource, 'rules'>,
): Promise<string | null> {
  if (commit === since) return null;
  const packed = await git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
    input: `${commit}\n^${since}\n`,
  });
  if (packed.exitCode !== 0) return LOST_COMMITS;
  const copied = await git.answer(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
  if (copied.exitCode !== 0) return LOST_COMMITS;
  return withObjects(git, async (objects) => {
    const commits = await chainBetween(objects, { since, tip: commit, most: Infinity, mayMerge: () => true });
    if (commits === null) return `The new commit ${commit} does not build on ${since} commit by commit.`;
    const [single, several] = [true, false].map((is) => commits.filter(({ parents }) => (parents.length === 1) === is));
    const merges = await knownMerges(several ?? [], since, base);
    if (typeof merges === 'string') return merges;

    // How much an iteration may change was judged when it was committed; here there may be several. So were filters: no work tree is here.
    const inspection = createInspection(null, { ...rules, maxPatchFiles: Infinity, maxPatchKib: Infinity });
    const ids = (single ?? []).map(({ id }) => id);
    const objections = new Map(await inspection.inspect(objects, await changesOfCommits(git, ids), new Map()));
    for (const merge of merges)
      for (const [path, why] of await objectionsToMerge(inspection, objects, merge)) objections.set(path, why);
    const texts: string[] = [];
    for (const { id, text } of commits) {
      const why = await inspection.inspectText(text);
      if (why !== null) texts.push(`commit ${id.slice(0, 12)} (${why})`);
    }
    const named = [...[...objections].map(([path, why]) => `${path} (${why})`), ...texts];
    return named.length === 0
      ? null
      : `They hold what must not be published, and were changed after they had been inspected: ${namesOf(named)}.`;
  });
}
