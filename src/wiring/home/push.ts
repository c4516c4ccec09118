import { UserError } from '../../errors.ts';
import { hasRemote, pushToRemote, type PersonCheckout } from '../../git/home/person-checkout.ts';
import type { RunReport } from '../../handover/report.ts';
import type { Log } from '../../ports/machine.ts';
import { selectLaneReport } from '../../report/facts.ts';

/** The remote to which `--push` pushes. */
const REMOTE = 'origin';

/** Throws a UserError if the remote does not exist. */
export async function checkRemote(checkout: PersonCheckout): Promise<void> {
  if (await hasRemote(checkout, REMOTE)) return;
  throw new UserError(
    'configuration',
    `--push pushes to ${REMOTE}, but ${checkout.top} has no remote "${REMOTE}". Add it with "git remote add ${REMOTE} URL", or leave out --push.`,
  );
}

/** Pushes the branch. Returns true if that worked, false if it failed, or null if there is nothing to push. */
export async function pushBranch(
  checkout: PersonCheckout,
  report: RunReport,
  log: Pick<Log, 'info' | 'error'>,
): Promise<boolean | null> {
  const lane = selectLaneReport(report);
  if (lane === null || lane.headSha === null) {
    log.info('There is nothing to push.');
    return null;
  }
  const why = await pushToRemote(checkout, REMOTE, lane.branch);
  if (why === null) log.info(`pushed ${lane.branch} to ${REMOTE}; open a pull request for it there`);
  else log.error(`${lane.branch} could not be pushed to ${REMOTE}: ${why}`);
  return why === null;
}
