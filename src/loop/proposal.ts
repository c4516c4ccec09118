import { recordProviderCall } from '../core/agents/providers.ts';
import { describeAgentFailure } from '../core/analysis/failure-words.ts';
import { decideNextStep } from '../core/lane/decide.ts';
import { switchAgent } from '../core/lane/session.ts';
import { chargeCallAt } from '../core/lane/settle/settle.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { findAccessError } from '../core/lane/verdict/verdict.ts';
import { type LoopAction, type LoopSituation, FACTS_AT_START } from '../core/loop/next-action.ts';
import type { Outcome } from '../core/outcome.ts';
import { composeProposalPrompt, MAX_PROPOSAL_CHARS, READING_TOOLS } from '../core/proposal/proposal.ts';
import { completeSentence, capitalizeFirst } from '../core/text/phrase.ts';
import type { Work } from '../handover/intake.ts';
import type { AgentRun } from '../ports/agent.ts';
import type { RunNow } from './actions.ts';
import { computeBudgetLeft, callAndBook, computeTokensLeft } from './call.ts';
import type { LoopDeps } from './deps.ts';
import type { AgentTurns } from './turns.ts';

/** The loop facts of a run that only proposes. It opens no branch, and its issue may have any label. */
export const FACTS_OF_PROPOSAL = { ...FACTS_AT_START, stage: 'ready' } as const;

/** Returns the situation without the earlier work on the issue, so that it does not prevent the call. */
export function situationOfProposal(situation: LoopSituation): LoopSituation {
  const { state, known } = situation;
  const [task] = situation.tasks;
  return {
    ...situation,
    state: { ...state, tasks: {} },
    canLook: false,
    known: { ...known, prepared: task === undefined ? null : { task: task.id, merge: null } },
  };
}

/**
 * Makes the one call of a run that proposes sub-tasks, with tools that only read. Discards all changes of the work tree
 * and makes no commit.
 */
export async function proposeTasks(
  given: LoopDeps,
  { work, soFar, policy }: RunNow,
  { turns, action }: { readonly turns: AgentTurns; readonly action: Extract<LoopAction, { kind: 'iterate' }> },
): Promise<Work> {
  const { step, startedAt } = action;
  // Ignore withdrawals: the person asked with the label for proposals, so removing the task label changes nothing.
  const deps: LoopDeps = { ...given, lookAtPeople: null };
  const { opened } = await turns.take(work.state, step.agent);
  const state = chargeCallAt(switchAgent(work.state, step.agent, 'by_order', startedAt), policy, startedAt);
  const begun: Work = { ...work, state, agent: opened.called };
  // Charge the call and record it before it is made, so that a killed run gets no call for free.
  deps.record(begun);
  const leftMs = work.startedAt + policy.maxRunMs - deps.clock.now();
  deps.log.info(`Proposing sub-tasks: one call that only reads (${READING_TOOLS.join(', ')}) …`);
  const called = await callAndBook(deps, opened.agent, {
    call: {
      prompt: composeProposalPrompt(step.task, deps.prompt.instructions),
      resume: null,
      timeoutMs: Math.max(1, Math.min(policy.agentTimeoutMs, leftMs)),
      timeoutOf: leftMs < policy.agentTimeoutMs ? 'run' : 'call',
      budgetUsd: computeBudgetLeft(begun, soFar.costUsd, policy),
      tokensLeft: computeTokensLeft(begun, policy),
      doneTexts: [],
      model: null,
      allowedTools: READING_TOOLS,
      signal: deps.signal,
    },
    work: begun,
    task: step.task,
    startedAt,
  });
  const { agentRun } = called;
  const now = deps.clock.now();
  const hasFailed = isFailedCall(agentRun);
  const providers = recordProviderCall(
    called.work.state.providers,
    step.agent,
    { ...agentRun, progress: false, agentFailed: hasFailed },
    now,
  );
  const after: LaneState = { ...called.work.state, providers };
  const failed = hasFailed ? deps.redact(completeSentence(capitalizeFirst(describeAgentFailure(agentRun)))) : null;
  return {
    ...called.work,
    state: after,
    proposal:
      work.proposal === null || failed !== null
        ? work.proposal
        : { ...work.proposal, words: deps.redact(agentRun.finalMessage).slice(-MAX_PROPOSAL_CHARS) },
    warnings: failed === null ? work.warnings : [...work.warnings, failed],
    outcome:
      outcomeOfCall(agentRun) ?? (hasFailed ? outcomeOfFailure(deps, { state: after, work, soFar, now }) : ANSWERED),
    endedAt: now,
  };
}

const ANSWERED: Outcome = { kind: 'idle', reason: 'answered' };

/** Returns true if a call failed or has no final message. */
function isFailedCall({ analysis, end, finalMessage }: AgentRun): boolean {
  const hasEnded = end.kind === 'exited' && end.code === 0;
  return !hasEnded || analysis.agentError !== null || analysis.usageLimit !== null || finalMessage.trim() === '';
}

/** Returns the outcome if the call was cancelled or the agent cannot log in, otherwise null. */
function outcomeOfCall({ analysis, end }: AgentRun): Outcome | null {
  if (end.kind === 'cancelled') return { kind: 'cancelled', reason: 'signal' };
  const problem = findAccessError(analysis);
  if (problem === null) return null;
  const message = `The agent cannot work: ${completeSentence(problem.slice(0, 500))} Check its key, its credit and the input model, then run again.`;
  return { kind: 'failed', reason: 'configuration', message };
}

/**
 * Returns the outcome of a run whose call failed. It is parked if a limit is the cause, so that people learn when the
 * limit ends.
 */
function outcomeOfFailure(
  { config: { policy } }: LoopDeps,
  { state, work, soFar, now }: { readonly state: LaneState; readonly now: number } & Pick<RunNow, 'work' | 'soFar'>,
): Outcome {
  const step = decideNextStep({ state: { ...state, tasks: {} }, tasks: work.tasks, run: soFar, policy, now });
  return step.kind === 'stop' && step.outcome.kind === 'parked' ? step.outcome : ANSWERED;
}
