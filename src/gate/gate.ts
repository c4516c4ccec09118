import type { Outcome } from '../core/outcome.ts';
import type { GateDeps } from './deps.ts';
import { ensureAnswer } from './command/answering.ts';
import { namePlanLabel } from '../core/people/labels.ts';
import { obeyCommand, obeyDispatch, topicOfThread } from './command/commands.ts';
import { requestProposal } from './command/proposals.ts';
import { followTicks, NO_TICKS, type ObeyedTicks, obeyTicks } from './command/ticks.ts';
import { endLane, resumeReopenedIssue, withdrawIssue } from './lane/end-lane.ts';
import { endIntake, type GateResult, gateResultOfLane } from '../handover/intake.ts';
import type { EventMeaning, Intent } from './event/intent.ts';
import { answerFeedback } from './feedback/answer.ts';
import { examineTrain, rememberEnds, withOlderEnds } from './lane/train.ts';
import { recheckApproval } from './people/recheck.ts';
import { isTrustedAccount } from './people/trust.ts';
import { TASKS_PURPOSE } from './tasks/sources.ts';
import { detectOtherRalphs, startIssueWork, startQueueWorkOnLanes } from './work.ts';

/**
 * Returns the intake for an event, with the findings about other Ralphs if somebody asks for work or an answer. Makes
 * no agent call.
 */
export async function runGate(deps: GateDeps, { asker, intent }: EventMeaning): Promise<GateResult> {
  const otherRalphs = asker.kind === 'nobody' ? [] : await detectOtherRalphs(deps);
  const isOfQueue = intent.kind === 'work-queue' || intent.kind === 'dashboard';
  const ticked = isOfQueue ? await obeyTicks(deps) : NO_TICKS;
  const { wantsRun } = ticked;
  const { intake, runTag, beside, over } =
    intent.kind === 'work-queue'
      ? await startQueueWorkOnLanes(deps, {
          asked: wantsRun,
          byHand: wantsRun || intent.actor !== null,
          purpose: TASKS_PURPOSE,
        })
      : await follow(deps, intent, ticked);
  const isAnswered = (ticked.seen?.answers.length ?? 0) > 0;
  const isShown = isAnswered || intake.kind === 'work' || intake.answer?.text.kind === 'status';
  const examined = intake.notes.train ?? (isShown ? (await examineTrain(deps)).train : null);
  const train = examined === null ? null : { ...examined, closed: await withOlderEnds(deps, examined) };
  // A run that works stores these ends with its state, so only other runs store them here.
  if (intake.kind === 'end') await rememberEnds(deps, train?.closed ?? []);
  return {
    intake: { ...intake, notes: { ...intake.notes, found: otherRalphs, train, dashboard: ticked.seen } },
    runTag,
    over,
    beside: beside.map((lane) => ({ ...lane, intake: { ...lane.intake, notes: { ...lane.intake.notes, train } } })),
  };
}

/** Decides which tasks are eligible, whether this run may work, and on which branch. */
async function follow(
  deps: GateDeps,
  intent: Exclude<Intent, { kind: 'work-queue' }>,
  ticked: ObeyedTicks,
): Promise<GateResult> {
  switch (intent.kind) {
    case 'dashboard':
      return followTicks(deps, ticked);
    case 'work-issue':
      return workLabeledIssue(deps, intent);
    case 'propose':
      return proposeForLabeledIssue(deps, intent);
    case 'withdraw':
      return gateResultOfLane(deps, await withdrawIssue(deps, intent));
    case 'take-back':
      return gateResultOfLane(deps, await resumeReopenedIssue(deps, intent));
    case 'recheck':
      return gateResultOfLane(deps, await recheckApproval(deps, intent.issue));
    case 'end-lane':
      return endLane(deps, intent);
    case 'answer':
      return gateResultOfLane(deps, await answerFeedback(deps, intent));
    case 'command':
      return obeyIfAllowed(deps, intent);
    case 'dispatched-command':
      return obeyDispatch(deps, intent);
  }
}

async function workLabeledIssue(
  deps: GateDeps,
  { actor, issue, approvedText }: Extract<Intent, { kind: 'work-issue' }>,
): Promise<GateResult> {
  if (!(await isTrustedAccount(deps, actor)))
    return gateResultOfLane(
      deps,
      endIntake(notAllowed(actor.login, `label an issue "${deps.config.taskLabel}" for Ralph`)),
    );
  return ensureAnswer(deps, issue, async () =>
    gateResultOfLane(deps, await startIssueWork(deps, { number: issue, redo: true, approvedText, triesLimits: false })),
  );
}

/** Removes the label that asked for the proposal, so that people can add it again. */
async function proposeForLabeledIssue(
  deps: GateDeps,
  { actor, issue, approvedText }: Extract<Intent, { kind: 'propose' }>,
): Promise<GateResult> {
  const label = namePlanLabel(deps.config.taskLabel);
  if (!(await isTrustedAccount(deps, actor)))
    return gateResultOfLane(deps, endIntake(notAllowed(actor.login, `label an issue "${label}" for Ralph`)));
  await deps.forge.react({ kind: 'issue', number: issue }, 'eyes');
  await deps.forge.changeLabels(issue, { from: [label], add: [], remove: [label] });
  return ensureAnswer(deps, issue, async () =>
    gateResultOfLane(deps, await requestProposal(deps, { number: issue, by: actor, then: approvedText })),
  );
}

/** Acknowledges every command at once by a reaction: eyes for a person who may command, thumbs down for others. */
async function obeyIfAllowed(deps: GateDeps, intent: Extract<Intent, { kind: 'command' }>): Promise<GateResult> {
  const isAllowed = await isTrustedAccount(deps, intent.actor);
  // A mention by a stranger, or on another bot's pull request, does not address Ralph, so it gets no reaction.
  if (intent.isMention && (!isAllowed || (await topicOfThread(deps, intent.thread)).kind === 'none'))
    return gateResultOfLane(deps, endIntake({ kind: 'idle', reason: 'not_for_us' }));
  if (intent.reactTo !== null) await deps.forge.react(intent.reactTo, isAllowed ? 'eyes' : '-1');
  return isAllowed
    ? ensureAnswer(deps, intent.thread.number, () => obeyCommand(deps, intent))
    : gateResultOfLane(deps, endIntake(notAllowed(intent.actor.login, 'command Ralph')));
}

function notAllowed(login: string, what: string): Outcome {
  return {
    kind: 'refused',
    reason: 'not_allowed',
    message: `${login} may not ${what}: that needs write permission in this repository or, for a bot, an entry in \`allowed-bots\`.`,
  };
}
