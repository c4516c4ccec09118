import { explainRefusal } from '../../core/refusals/refusal.ts';
import { sentence } from '../../core/text/sentence.ts';
import type { Lane } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';

/** Deletes the lane's branch where it was merged, so that it begins again from the base. A server that does not let it be deleted keeps it, and the lane begins on it. */
export async function leaveMergedBranch({ remote, log }: Pick<GateDeps, 'remote' | 'log'>, lane: Lane): Promise<Lane> {
  const { branch, start } = lane;
  if (start.kind !== 'restart') return lane;
  const deleted = await remote.deleteBranch({ branch, head: start.mergedHead });
  switch (deleted.kind) {
    case 'deleted':
    case 'gone':
      log.info(`Removed the merged branch ${branch} (at ${start.mergedHead}) to start it again.`);
      return { ...lane, start: { kind: 'fresh' } };
    case 'refused':
      log.info(
        `The merged branch ${branch} may not be deleted, so the next work begins on it, from the base. ${sentence(explainRefusal(deleted.refusal))}`,
      );
      return { ...lane, start: { kind: 'reuse', mergedHead: start.mergedHead } };
    default:
      // The push that makes the branch says what is wrong.
      return lane;
  }
}
