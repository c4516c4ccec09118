import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { readLinked } from '../regular-files.ts';
import { withBareRepository } from '../bare-repository.ts';
import { isBase, mayHave, type BaseOnDisk } from './on-disk.ts';
import { textsOf, type CommitTexts } from './texts.ts';
import { branchOf, findWorkspace, headOf, refOf, type Workspace } from './workspace.ts';

/** Which files of the base branch, and of which checkout. */
interface BaseQuestion extends BaseOnDisk {
  readonly env: NodeJS.ProcessEnv;
}

/** `unknown`: the checkout has files of these names, and not the commit of the base branch. */
export type BaseTexts =
  | { readonly kind: 'texts'; readonly read: Pick<CommitTexts, 'texts' | 'unread'> }
  | { readonly kind: 'unknown' };

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
    const { texts, unread, links } = await withBareRepository({ workFolder, env, borrow }, (git) =>
      textsOf(git, commit, paths),
    );
    const asked = Object.entries(links).filter(([path]) => paths.includes(path));
    return { kind: 'texts', read: { texts, unread: { ...unread, ...Object.fromEntries(asked) } } };
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** The tip of the base branch as the checkout knows it; null: it does not. */
async function baseCommit(workspace: Workspace, question: BaseQuestion): Promise<ObjectId | null> {
  const branch = await branchOf(workspace);
  if (branch !== null && isBase(branch, question)) return headOf(workspace);
  return question.baseBranch === null ? null : refOf(workspace, `refs/remotes/origin/${question.baseBranch}`);
}
