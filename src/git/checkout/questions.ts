import type { ObjectId } from '../../core/evidence.ts';
import { allSeenFrom, fromRoot } from '../../core/folder.ts';
import type { FileTexts, Repository } from '../../ports/repository.ts';
import { authorization, createGit, versionProblem, type Git } from '../git.ts';
import { fetchLane } from './lane.ts';
import { notAWorkTree, type Opened, type OpenOptions } from './opened.ts';
import { problemsOf } from './problems.ts';
import { mayHave, topOf } from './on-disk.ts';
import { namesIn, textsOf } from './texts.ts';
import { checkWorkingDirectory, workingDirectoryProblem } from './working-directory.ts';

/** The checkout that is asked about. */
interface Asked {
  readonly opened: () => Promise<Opened | { readonly why: string }>;
  /** Throws where it is not a checkout. */
  readonly needOpened: () => Promise<Opened>;
}

/** What the gate asks of the checkout before a lane is worked on. */
export function createQuestions(
  options: OpenOptions,
  { opened, needOpened }: Asked,
): Pick<Repository, 'missing' | 'problems' | 'readTexts' | 'namesOf' | 'namesAtRoot'> {
  const { folder, env, remote, workingDirectory } = options;
  const namesAtRoot = async (names: readonly string[]): Promise<readonly string[]> => {
    const { repository, startHead } = await needOpened();
    if (startHead === null) return [];
    await repository.seal();
    return namesIn(repository.git, startHead, names);
  };
  return {
    namesAtRoot,

    async missing() {
      return (await topOf(folder)) !== null
        ? null
        : `There is no git checkout in ${folder}, so no task files can be read. Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
    },

    async problems() {
      const old = versionProblem((await createGit({ folder, env }).answer(['version'])).stdout.toString());
      if (old !== null) return [old];
      const found = await opened();
      if ('why' in found) return [notAWorkTree(folder, found.why)];
      const misplaced = await workingDirectoryProblem(found.workspace.top, workingDirectory);
      return [...(await problemsOf(found.workspace, found)), ...(misplaced === null ? [] : [misplaced])];
    },

    async readTexts(asked, wanted) {
      const paths = asked.map((path) => fromRoot(workingDirectory, path));
      const top = wanted === null ? await topOf(folder) : null;
      // Where it is missing there are no tasks, which must not look as if there was nothing to do.
      if (top !== null) await checkWorkingDirectory(top, workingDirectory);
      if (wanted === null && !(await mayHave(folder, paths)))
        return { base: {}, lane: null, fork: null, unread: {}, links: {} };
      const { workspace, repository, startHead } = await needOpened();
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
      const seen = (texts: FileTexts | undefined): FileTexts => allSeenFrom(workingDirectory, texts ?? {});
      return {
        base: seen(base?.texts),
        lane: ofLane == null ? null : seen(ofLane.texts),
        fork: ofFork == null ? null : seen(ofFork.texts),
        unread: seen(base?.unread),
        links: seen(base?.links),
      };
    },

    async namesOf(asked) {
      const found = await namesAtRoot(asked.map((path) => fromRoot(workingDirectory, path)));
      return Object.keys(allSeenFrom(workingDirectory, Object.fromEntries(found.map((path) => [path, null]))));
    },
  };
}

/** The newest commit that both have; null: none is known. */
async function forkOf(git: Git, one: ObjectId, other: ObjectId): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['merge-base', one, other]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}
