import { describeIgnoredChecks } from '../../core/feedback/checks/checks.ts';
import { completeSentence, namesOf } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { endIntake, type Intake, type Notes } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { ReadFeedback } from '../feedback/read.ts';
import { listTasks, type Request } from '../tasks/sources.ts';
import { type LaneLookup, type LaneRestoration, notesOf, unreadFeedback } from './kept-lane.ts';

export type EndIntake = Extract<Intake, { kind: 'end' }>;

/** Ends the run because every issue of the queue has its own lane. */
export function endWorkedElsewhere({ issues }: Request): EndIntake {
  const named = namesOf(issues.map(({ number }) => `#${String(number)}`));
  return withWarning(
    endIntake({ kind: 'idle', reason: 'no_tasks' }),
    `These issues have branches of their own, so the queue does not work on them: ${named}. To continue with one that is not done, comment \`/ralph run\` on it.`,
  );
}

/** Ends the run because a check failed on an earlier commit: its result on the newest one counts. */
export function endOfEarlierCommit({ log }: GateDeps, { branch }: LaneLookup): EndIntake {
  log.info(`Nothing to do: the check did not run on the newest commit of ${branch}.`);
  return endIntake({ kind: 'idle', reason: 'not_for_us' });
}

/** Ends the run on a paused lane, with the tasks that wait there. */
export async function endPaused(
  deps: GateDeps,
  request: Request,
  { look, restored, by }: LaneRestoration & { readonly by: string },
): Promise<EndIntake> {
  return {
    ...endIntake({ kind: 'paused', reason: 'by_person', by }),
    ...(await listTasks(deps, request, { branches: look.branches, state: restored.state })),
    notes: notesOf(restored, unreadFeedback),
  };
}

/**
 * Ends a run that has nothing to answer. Our own replies cause such runs if the token is not the job's, and they must
 * not start a task early.
 */
export function endNothingAsked(
  { purpose }: Request,
  branch: string,
  { said: { checks }, notes }: { readonly said: ReadFeedback; readonly notes: Notes },
): EndIntake {
  const isOfChecks = purpose.kind === 'answers' && purpose.failedOn !== null;
  const left = isOfChecks && checks !== null ? describeIgnoredChecks(checks) : '';
  const message = left === '' ? `Nothing on the pull request of ${branch} asks for an answer now.` : left;
  return { ...endIntake({ kind: 'idle', reason: 'updated', message }), notes };
}

/** Throws if a check failed but the checks could not be read: the event gets no answer. */
export function throwIfUnread({ purpose }: Request, branch: string, { checks }: ReadFeedback): void {
  if (purpose.kind !== 'answers' || purpose.of !== 'event' || purpose.failedOn === null) return;
  if (checks?.isTemporary !== true || checks.unreadable === null) return;
  throw new UserError(
    'infrastructure',
    `The checks of the pull request of ${branch} could not be read, so the one that failed is not worked on. ${completeSentence(checks.unreadable)} A later run reads them again.`,
  );
}

/** Returns the end with one more warning. */
export function withWarning(intake: EndIntake, warning: string): EndIntake {
  return { ...intake, notes: { ...intake.notes, warnings: [...intake.notes.warnings, warning] } };
}
