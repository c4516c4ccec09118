import type { ObjectId } from '../../core/evidence.ts';
import type { Repository } from '../../ports/repository.ts';
import { authorization, createGit, versionProblem, type Git } from '../git.ts';
import { fetchLane } from './lane.ts';
import { notAWorkTree, type Opened, type OpenOptions } from './opened.ts';
import { problemsOf } from './problems.ts';
import { mayHave, topOf } from './on-disk.ts';
import { textsOf } from './texts.ts';

/** The checkout as it is asked about. `isUntouched`: no lane was opened in it yet. */
interface Asked {
  readonly opened: () => Promise<Opened | { readonly why: string }>;
  /** Throws where it is no checkout, or not ours. */
  readonly needOurs: () => Promise<Opened>;
  readonly isUntouched: () => boolean;
}

/** What the gate asks of the checkout before a lane is worked on. */
export function createQuestions(
  options: OpenOptions,
  { opened, needOurs, isUntouched }: Asked,
): Pick<Repository, 'missing' | 'problems' | 'readTexts'> {
  const { folder, env, remote } = options;
  return {
    async missing() {
      return (await topOf(folder)) !== null
        ? null
        : `There is no git checkout in ${folder}, so no task files can be read. Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
    },

    async problems() {
      const old = versionProblem((await createGit({ folder, env }).answer(['version'])).stdout.toString());
      if (old !== null) return [old];
      const found = await opened();
      return 'why' in found ? [notAWorkTree(folder, found.why)] : await problemsOf(found.workspace, found);
    },

    async readTexts(paths, wanted) {
      // What the job checked out is on the disk until a lane is opened.
      if (wanted === null && isUntouched() && !(await mayHave(folder, paths)))
        return { base: {}, lane: null, fork: null, unread: {} };
      const { workspace, repository, startHead } = await needOurs();
      const { url, token } = remote;
      await repository.seal();
      if (wanted !== null)
        await fetchLane({ workspace, repository, url, variables: authorization(url, token) }, wanted);
      const fork = wanted === null || startHead === null ? null : await forkOf(repository.git, startHead, wanted.head);
      const [base, ofLane, ofFork] = await Promise.all(
        [startHead, wanted?.head ?? null, fork].map(async (commit) =>
          commit === null ? null : await textsOf(repository.git, commit, paths),
        ),
      );
      return {
        base: base?.texts ?? {},
        lane: ofLane?.texts ?? null,
        fork: ofFork?.texts ?? null,
        unread: base?.unread ?? {},
      };
    },
  };
}

/** The newest commit that both have; null: none is known. */
async function forkOf(git: Git, one: ObjectId, other: ObjectId): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['merge-base', one, other]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}
