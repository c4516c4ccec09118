import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { setupOfWholeWorkspace } from '../checkout/private-repository.ts';
import { checkOutCommit } from '../checkout/tree/check-out-tree.ts';
import { findWorkspace, readRef } from '../checkout/workspace.ts';
import { readFollowingLinks } from '../regular-files.ts';

/**
 * Clones one branch of a person's repository into `folder`, which must not exist, as the checkout of a run, while the
 * person continues to work in their own. The clone has no other ref, setting or remote. It reads objects from the
 * person's repository and writes its own objects separately.
 */
export async function cloneForRun(clone: {
  readonly from: string;
  readonly branch: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<void> {
  const { from, branch, folder, env } = clone;
  const cannot = (why: string): UserError =>
    new UserError(
      'infrastructure',
      `The branch "${branch}" of ${from} cannot be checked out in ${folder}: ${completeSentence(why)}`,
    );
  const workspace = await findWorkspace(from, { env, log: { warning: () => undefined } });
  if ('why' in workspace) throw cannot(workspace.why);
  const commit = await readRef(workspace, `refs/heads/${branch}`);
  if (commit === null) throw cannot('there is no such branch');
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await checkOutCommit({
    ...{
      top: folder,
      setup: await setupOfWholeWorkspace(workspace, { env, treesIn: dirname(folder) }),
      commit,
      branch,
      refs: [],
      sparseSince: commit,
    },
    objects: [join(workspace.commonFolder, 'objects')],
    shallow: (await readFollowingLinks(join(workspace.commonFolder, 'shallow')))?.bytes ?? null,
  });
}
