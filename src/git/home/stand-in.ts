import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { wholeSetup } from '../checkout/private-repository.ts';
import { layCommit } from '../checkout/tree/lay-tree.ts';
import { findWorkspace, refOf } from '../checkout/workspace.ts';
import { readLinked } from '../regular-files.ts';

/**
 * Lays a branch of a person's repository where a job has its checkout: the person goes on working in theirs, and a run
 * starts from what is committed. It knows that branch and no other ref, setting or remote; it finds its objects in the
 * person's repository and writes its own separately. `folder` must not exist.
 */
export async function layStandIn({
  from,
  branch,
  folder,
  env,
}: {
  readonly from: string;
  readonly branch: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<void> {
  const cannot = (why: string): UserError =>
    new UserError('infrastructure', `The branch "${branch}" of ${from} cannot be laid in ${folder}: ${sentence(why)}`);
  const workspace = await findWorkspace(from, { env, log: { warning: () => undefined } });
  if ('why' in workspace) throw cannot(workspace.why);
  const commit = await refOf(workspace, `refs/heads/${branch}`);
  if (commit === null) throw cannot('there is no such branch');
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await layCommit({
    ...{ top: folder, setup: await wholeSetup(workspace, env), commit, branch, refs: [], sparseSince: commit },
    objects: [join(workspace.commonFolder, 'objects')],
    shallow: (await readLinked(join(workspace.commonFolder, 'shallow')))?.bytes ?? null,
  });
}
