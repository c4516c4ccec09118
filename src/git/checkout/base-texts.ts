import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { readLinked } from '../regular-files.ts';
import type { Git } from '../git.ts';
import { withBareRepository } from '../bare-repository.ts';
import { isBase, mayHave, type BaseOnDisk } from './on-disk.ts';
import { textsOf, type CommitTexts } from './texts.ts';
import { branchOf, findWorkspace, headOf, refOf, type Workspace } from './workspace.ts';

/** Which files of the base branch, and of which checkout. */
interface BaseQuestion extends BaseOnDisk {
  readonly env: NodeJS.ProcessEnv;
}

/** `unknown`: the checkout has files of these names, and not the commit of the base branch. */
export type BaseTexts = { readonly kind: 'texts'; readonly read: CommitTexts } | { readonly kind: 'unknown' };

const NOTHING: BaseTexts = { kind: 'texts', read: { texts: {}, unread: {} } };

/** Reads text files of the base branch from the checkout's objects, before anything else is done with it. Fetches nothing. */
export async function readBaseTexts(question: BaseQuestion): Promise<BaseTexts> {
  const { folder, paths, env } = question;
  const isOnDisk = await mayHave(folder, paths);
  const workspace = await findWorkspace(folder, { env, log: { warning: () => undefined } });
  if ('why' in workspace) return NOTHING;
  const commit = await baseCommit(workspace, question);
  if (commit === null) return isOnDisk ? { kind: 'unknown' } : NOTHING;
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-base-'));
  try {
    const shallow = (await readLinked(join(workspace.commonFolder, 'shallow')))?.bytes.toString() ?? '';
    const borrow = { objects: join(workspace.commonFolder, 'objects'), shallow };
    // By way of a repository of our own, whatever the checkout's config says.
    const read = await withBareRepository({ workFolder, env, borrow }, async (git) => ({
      commit: await textsOf(git, commit, paths),
      links: await linksOf(git, commit, paths),
    }));
    const { texts, unread } = read.commit;
    return { kind: 'texts', read: { texts, unread: { ...unread, ...read.links } } };
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** What stands under the paths without being a file, as what is left out. */
async function linksOf(git: Git, commit: ObjectId, paths: readonly string[]): Promise<CommitTexts['unread']> {
  const records = await git.records(['ls-tree', '-z', '--full-tree', commit, '--', ...paths]);
  const links = records.flatMap((record) => /^120000 blob [0-9a-f]+\t([^]*)$/.exec(record)?.[1] ?? []);
  return Object.fromEntries(links.map((path) => [path, 'is a symbolic link, which is not followed: put a file there']));
}

/** The tip of the base branch as the checkout knows it; null: it does not. */
async function baseCommit(workspace: Workspace, question: BaseQuestion): Promise<ObjectId | null> {
  const branch = await branchOf(workspace);
  if (branch !== null && isBase(branch, question)) return headOf(workspace);
  return question.baseBranch === null ? null : refOf(workspace, `refs/remotes/origin/${question.baseBranch}`);
}
