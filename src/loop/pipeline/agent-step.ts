import { agentAttempt } from '../../core/pipeline/next-action.ts';
import { aimOf, type AgentStep } from '../../core/pipeline/pipeline.ts';
import { stepNotes } from '../../core/pipeline/step-notes.ts';
import { mayBeTheConversation } from '../../core/agents/fresh-call.ts';
import { chargeCallAt } from '../../core/lane/settle.ts';
import type { Work } from '../../handover/work.ts';
import { callAgent, setupFor } from '../call.ts';
import type { LoopDeps } from '../deps.ts';
import type { Running, Tried, Walk } from './walk.ts';

/** Calls the agent as one step says. The call is charged and on record before it is made. */
export async function tryAgent(
  deps: LoopDeps,
  { iteration, step, of }: Running<AgentStep>,
  walk: Walk,
): Promise<Tried> {
  const startedAt = deps.clock.now();
  const charged: Work = { ...walk.work, state: chargeCallAt(walk.work.state, deps.config.policy, startedAt) };
  deps.record(charged);
  const spentUsd = walk.heard.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0);
  const isOfLane = step.session === 'continue' && deps.config.policy.session !== 'fresh';
  const { agentRun, work, usage, sessionDroppedAt, failed } = await callAgent(
    deps,
    { ...iteration, work: charged, startedAt },
    {
      listed: iteration.listed,
      notes: iteration.notes,
      treeBefore: walk.tree,
      setting: {
        aim: aimOf(step),
        promptTemplate: step.prompt?.text ?? deps.prompt.text,
        promptPath: step.prompt?.path ?? deps.prompt.path,
        // The set-up comes before all else, so only in the first call.
        setup: walk.heard.length === 0 ? setupFor(deps.prompt, charged) : '',
        model: step.model,
        allowedTools: step.allowedTools,
        timeoutMs: step.timeoutMs ?? deps.config.policy.agentTimeoutMs,
        resume: isOfLane ? walk.sessionId : null,
        spentUsd: iteration.soFar.costUsd + spentUsd,
        calls: iteration.soFar.calls + walk.heard.length,
        pipeline: {
          fact: `This is step ${step.name}, ${walk.records.length + 1} of ${of} of this iteration's pipeline.`,
          notes: stepNotes(walk.earlier, charged.journal.at(-1)?.evidence.steps ?? []),
        },
      },
    },
  );
  const { sessionId } = agentRun.analysis;
  const again = failed === null ? [] : [{ ...failed.usage, heard: failed.agentRun }];
  const calls = [...again, { ...usage, heard: agentRun }];
  // A retry does not continue a conversation in which nothing has succeeded.
  const isLost = failed !== null && mayBeTheConversation(agentRun);
  const dropped = sessionDroppedAt === null ? walk.sessionId : null;
  return {
    attempt: agentAttempt(agentRun),
    tail: '',
    calls,
    walk: {
      ...walk,
      work,
      heard: [...walk.heard, ...calls.map(({ heard }) => heard)],
      failed: failed === null ? walk.failed : [...walk.failed, failed.agentRun],
      sessionId: isOfLane ? (isLost ? null : (sessionId ?? dropped)) : walk.sessionId,
      reached: isOfLane ? (sessionId ?? walk.reached) : walk.reached,
      sessionDroppedAt: walk.sessionDroppedAt ?? sessionDroppedAt,
    },
  };
}
