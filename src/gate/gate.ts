import type { Outcome } from '../core/outcome.ts';
import type { GateDeps } from './deps.ts';
import { ensureAnswer } from './command/answering.ts';
import { obeyCommand, obeyDispatch } from './command/commands.ts';
import { endLane, takeBack, withdrawIssue } from './lane/end-lane.ts';
import { endIntake, type GateResult, type Intake } from '../handover/intake.ts';
import type { EventMeaning, Intent } from './event/intent.ts';
import { answerFeedback } from './feedback/answer.ts';
import { examineTrain } from './lane/train.ts';
import { recheckApproval } from './people/recheck.ts';
import { isTrustedAccount } from './people/trust.ts';
import { FOR_TASKS } from './tasks/sources.ts';
import { detectOtherRalphs, workIssue, workQueueOnLanes } from './work.ts';

/**
 * Returns the intake for an event, with the findings about other Ralphs if somebody asks for work or an answer. Makes
 * no agent call.
 */
export async function runGate(deps: GateDeps, { asker, intent }: EventMeaning): Promise<GateResult> {
  const otherRalphs = asker.kind === 'nobody' ? [] : await detectOtherRalphs(deps);
  const { intake, runTag, beside } =
    intent.kind === 'work-queue'
      ? await workQueueOnLanes(deps, { asked: false, byHand: intent.actor !== null, purpose: FOR_TASKS })
      : { intake: await follow(deps, intent), runTag: deps.runTag, beside: [] };
  const isShown = intake.kind === 'work' || intake.answer?.text.kind === 'status';
  const train = intake.notes.train ?? (isShown ? (await examineTrain(deps)).train : null);
  return {
    intake: { ...intake, notes: { ...intake.notes, found: otherRalphs, train } },
    runTag,
    beside: beside.map((lane) => ({ ...lane, intake: { ...lane.intake, notes: { ...lane.intake.notes, train } } })),
  };
}

/** Decides which tasks are eligible, whether this run may work, and on which branch. */
async function follow(deps: GateDeps, intent: Exclude<Intent, { kind: 'work-queue' }>): Promise<Intake> {
  switch (intent.kind) {
    case 'work-issue':
      return workLabeledIssue(deps, intent);
    case 'withdraw':
      return withdrawIssue(deps, intent);
    case 'take-back':
      return takeBack(deps, intent);
    case 'recheck':
      return recheckApproval(deps, intent.issue);
    case 'end-lane':
      return endLane(deps, intent);
    case 'answer':
      return answerFeedback(deps, intent);
    case 'command':
      return obeyIfAllowed(deps, intent);
    case 'dispatched-command':
      return obeyDispatch(deps, intent);
  }
}

async function workLabeledIssue(
  deps: GateDeps,
  { actor, issue, approvedText }: Extract<Intent, { kind: 'work-issue' }>,
): Promise<Intake> {
  if (!(await isTrustedAccount(deps, actor)))
    return endIntake(notAllowed(actor.login, `label an issue "${deps.config.taskLabel}" for Ralph`));
  return ensureAnswer(issue, () => workIssue(deps, { number: issue, redo: true, approvedText }));
}

/** Acknowledges every command by a reaction at once: eyes for a person who may command, thumbs down for others. */
async function obeyIfAllowed(deps: GateDeps, intent: Extract<Intent, { kind: 'command' }>): Promise<Intake> {
  const isAllowed = await isTrustedAccount(deps, intent.actor);
  if (intent.reactTo !== null) await deps.forge.react(intent.reactTo, isAllowed ? 'eyes' : '-1');
  return isAllowed
    ? ensureAnswer(intent.thread.number, () => obeyCommand(deps, intent))
    : endIntake(notAllowed(intent.actor.login, 'command Ralph'));
}

function notAllowed(login: string, what: string): Outcome {
  return {
    kind: 'refused',
    reason: 'not_allowed',
    message: `${login} may not ${what}: that needs write permission in this repository or, for a bot, an entry in \`allowed-bots\`.`,
  };
}
