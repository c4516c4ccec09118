import { needsAtRest } from '../../core/people/needs.ts';
import { aboutLane } from '../../core/people/notifications.ts';
import { changeUsage } from '../../core/snapshot/changes.ts';
import { withNothingToDo } from '../../core/sharing/budget.ts';
import { hasTimeForOthers } from '../../core/sharing/elsewhere.ts';
import { issueLane, nameOfLane, type LaneId } from '../../core/tasks/ids.ts';
import type { Intake } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import { byItself, forTasks, type Request } from '../tasks/sources.ts';
import type { Ended } from './decide.ts';

/** Lanes of their own that are looked at in one run: each takes a few requests. */
const MAX_LANES = 3;

/** Where the queue has nothing to do, an issue's own lane goes on that came to a limit, or was parked; or people are notified of one that rests, where an earlier run could not. Null: neither. */
export async function continueIssueLane(
  deps: GateDeps,
  { intake, goesOn }: Pick<Ended, 'intake' | 'goesOn'>,
  admit: (deps: GateDeps, request: Request) => Promise<Intake>,
): Promise<Intake | null> {
  let unheard: Intake | null = null;
  const resting: LaneId[] = [];
  for (const issue of hasTimeForOthers(intake.outcome) ? goesOn.slice(0, MAX_LANES) : []) {
    const own = await admit(deps, byItself(issue, forTasks));
    if (own.kind === 'work') return own;
    if (unheard === null && isUnheard(deps, own)) unheard = own;
    else if (own.outcome.reason === 'all_done') resting.push(issueLane(issue.number));
  }
  // No run looks at them again before something is asked of them.
  if (resting.length > 0) {
    const message = `${resting.map(nameOfLane).join(', ')}: nothing to do, says run ${deps.context.runId}`;
    const change = changeUsage((newest) => withNothingToDo(newest, resting), { message, now: deps.clock.now() });
    await deps.store.update(change);
  }
  return unheard;
}

/** Whether the lane needs a person who does not know. */
export function isUnheard(
  { config, clock }: GateDeps,
  { lane, state, tasks, outcome, notes }: Ended['intake'],
): boolean {
  if (config.notify.kind === 'none' || lane === null || state === null) return false;
  const isWaiting = outcome.reason === 'waiting_for_review' && notes.held !== null;
  const about = aboutLane(lane.id);
  if (isWaiting) return !state.notified.some((one) => one.kind === outcome.reason && one.about === about);
  const { maxRounds } = config.answers;
  return needsAtRest({ lane: lane.id, state, tasks, outcome, maxRounds }, clock.now()).length > 0;
}
