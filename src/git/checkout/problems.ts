import { lstat, readFile, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { placeOf, shownName } from '../names.ts';
import type { PrivateRepository } from './private-repository.ts';
import { changesBetween } from '../objects.ts';
import { plainReading, readWorkTree } from './tree/work-tree.ts';
import { branchOf, headOf, operationInProgress, type Workspace } from './workspace.ts';
import { sentence } from '../../core/text/sentence.ts';
import { namesOf } from '../../core/text/lists.ts';

/** Everything about a found work tree that stands in the way of a run; `stillShallow`: why its history could not be completed, null: it is complete. */
export async function problemsOf(
  workspace: Workspace,
  { repository, stillShallow }: { readonly repository: PrivateRepository; readonly stillShallow: string | null },
): Promise<readonly string[]> {
  const head = await headOf(workspace);
  if (head === null)
    return [
      `The repository in ${workspace.top} has no commits yet. Push a first commit (a README is enough), then run again.`,
    ];
  const operation = await operationInProgress(workspace);
  const problems: string[] = [];
  if (stillShallow !== null)
    problems.push(
      `The checkout in ${workspace.top} is shallow or partial (it lacks older commits or files), and they could not be fetched: ${sentence(stillShallow)} Set "fetch-depth: 0" on actions/checkout, without "filter:".`,
    );
  if ((await branchOf(workspace)) === null)
    problems.push(
      `HEAD is detached at ${head.slice(0, 12)} in ${workspace.top}, so there is no branch to work from. That is what actions/checkout does for a tag, a commit and the events of a pull request. Set "ref:" on actions/checkout to a branch, for example "ref: \${{ github.event.repository.default_branch }}".`,
    );
  if (operation !== null)
    problems.push(
      `A ${operation} is in progress in ${workspace.top}. Finish or abort it ("git ${operation} ${operation === 'bisect' ? 'reset' : '--abort'}") before the run.`,
    );
  else problems.push(...(await dirtyPaths(workspace, repository, head)));
  return problems;
}

async function dirtyPaths(
  workspace: Workspace,
  repository: PrivateRepository,
  head: string,
): Promise<readonly string[]> {
  const { tree } = await readWorkTree(repository, workspace, plainReading);
  const changed = (await changesBetween(repository.git, head, tree)).map((change) => change.path);
  // Where a filter (git-lfs) made the file, it may differ from what is committed without anybody having changed it.
  const unlike = changed.length === 0 ? [] : await unfiltered(repository, changed);
  const dirty = unlike.length === 0 ? [] : await changedByHand(workspace, repository, { head, paths: unlike });
  if (dirty.length === 0) return [];
  return [
    `The work tree in ${workspace.top} is not clean: ${namesOf(dirty.map(shownName))}. Commit these files, remove them before the run, or list them in .gitignore; otherwise they would count as the agent's work.`,
  ];
}

/** Those that are not what git makes of the commit in this checkout: a fresh clone may well be "modified" (line ends, `ident`, encodings). */
async function changedByHand(
  { top }: Workspace,
  repository: PrivateRepository,
  { head, paths }: { readonly head: string; readonly paths: readonly string[] },
): Promise<readonly string[]> {
  return await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    const folder = join(dirname(indexFile), 'as-git-lays-it');
    await repository.git.text(['read-tree', head], { variables });
    const laid = await repository.git.answer(['checkout-index', '-q', '-z', `--prefix=${folder}/`, '--stdin'], {
      input: paths.map((path) => `${path}\0`).join(''),
      variables,
    });
    // 128: one of them is not in the commit, and what comes behind it was not laid.
    if (![0, 1].includes(laid.exitCode)) return paths;
    const isSame = await Promise.all(paths.map((path) => areAlike(placeOf(top, path), placeOf(folder, path))));
    return paths.filter((_, at) => isSame[at] !== true);
  });
}

/** Whether two files have the same bytes, or two links the same target. */
async function areAlike(one: string | Buffer, other: string | Buffer): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => lstat(path).catch(() => null)));
  if (a === null || b === null || a === undefined || b === undefined) return false;
  if (a.isSymbolicLink() && b.isSymbolicLink()) return (await readlink(one)) === (await readlink(other));
  if (!a.isFile() || !b.isFile() || a.size !== b.size) return false;
  const [here, there] = await Promise.all([one, other].map((path) => readFile(path).catch(() => null)));
  return here != null && there != null && here.equals(there);
}

async function unfiltered(repository: PrivateRepository, paths: readonly string[]): Promise<readonly string[]> {
  const answers = await repository.git.names(['check-attr', '-z', '--stdin', 'filter'], {
    input: paths.map((path) => `${path}\0`).join(''),
  });
  return paths.filter((_, i) => ['unspecified', 'unset'].includes(answers[i * 3 + 2] ?? 'unspecified'));
}
