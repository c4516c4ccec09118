import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGit, hasGit, type Git } from '../git.ts';

/** The plan on a queue's branch with commits that HEAD lacks. */
interface QueuePlan {
  readonly branch: string;
  /** The plan at the commit where the branch left HEAD. */
  readonly fork: string;
  /** The plan on the branch. */
  readonly lane: string;
  /** True if git merges the branch's plan into this text without a conflict. */
  mergesInto(text: string): Promise<boolean>;
}

/** Maximum number of branches that are compared. */
const MAX_BRANCHES = 5;

/**
 * Finds the local and fetched branches of a queue, with any prefix, that HEAD lacks and that change the plan at `path`
 * of the folder; empty without git, commits or such a branch. Reads only the local disk.
 */
export async function findQueuePlans(
  folder: string,
  { path, env }: { readonly path: string; readonly env: NodeJS.ProcessEnv },
): Promise<readonly QueuePlan[]> {
  if (!hasGit(env)) return [];
  const git = createGit({ folder, env, configuration: 'own' });
  const refs = ['refs/heads', 'refs/remotes'];
  const listed = await git.answer(['for-each-ref', '--no-merged=HEAD', '--format=%(objectname) %(refname)', ...refs]);
  const commits = new Map(
    linesOf(listed.stdout)
      .filter((line) => line.endsWith('queue'))
      .map((line): [string, string] => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)])
      .toReversed(),
  );
  const found = await Promise.all(
    [...commits].slice(-MAX_BRANCHES).map(async ([commit, ref]) => {
      const base = await git.answer(['merge-base', 'HEAD', commit]);
      const [fork, lane] = await Promise.all([
        planAt(git, linesOf(base.stdout)[0] ?? '', path),
        planAt(git, commit, path),
      ]);
      if (fork === null || lane === null || fork === lane) return [];
      const branch = ref.replace(/^refs\/(?:heads|remotes)\//, '');
      return [{ branch, fork, lane, mergesInto: (text: string) => mergesCleanly(git, { fork, lane, base: text }) }];
    }),
  );
  return found.flat();
}

function linesOf(output: Buffer): readonly string[] {
  return output.toString().split('\n');
}

/** Returns the plan of a commit, or null if the commit has none. */
async function planAt(git: Git, commit: string, path: string): Promise<string | null> {
  if (commit === '') return null;
  const { exitCode, stdout } = await git.answer(['cat-file', 'blob', `${commit}:./${path}`]);
  return exitCode === 0 ? stdout.toString() : null;
}

/** Merges three texts as git merges files, outside of the repository. */
async function mergesCleanly(git: Git, sides: Readonly<Record<'fork' | 'lane' | 'base', string>>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-merge-'));
  try {
    const files = await Promise.all(
      [sides.base, sides.fork, sides.lane].map(async (text, index) => {
        const file = join(folder, String(index));
        await writeFile(file, text);
        return file;
      }),
    );
    return (await git.answer(['merge-file', '-p', '-q', ...files])).exitCode === 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
