import { isSessionSuspect } from '../../core/agents/fresh-call.ts';
import type { TreeSnapshot } from '../../core/evidence.ts';
import type { CallUsage } from '../../core/lane/ledger.ts';
import { chargeCallAt } from '../../core/lane/settle/settle.ts';
import { judgeAgentAttempt, type Attempt, type StepOutput } from '../../core/pipeline/step-output.ts';
import { type AgentStep, aimOfStep, type Step } from '../../core/pipeline/pipeline.ts';
import { type EarlierStep, stepNotes, type StepRecord } from '../../core/pipeline/step-record.ts';
import type { FileTask } from '../../core/tasks/files/form/root-plan.ts';
import type { Work } from '../../handover/intake.ts';
import type { FileTexts } from '../../ports/repository.ts';
import { callAgent, type Iteration, setupInstructionsFor } from '../call.ts';
import type { Committed } from '../commits.ts';
import type { LoopDeps } from '../deps.ts';

/** The state of an iteration between its steps. */
export interface Walk {
  /** The work, charged with every call so far. */
  readonly work: Work;
  /** Results of every call, retries included. */
  readonly outputs: readonly StepOutput[];
  /** The calls of `outputs` that failed in a step that may fail, and those that were made again. */
  readonly failed: readonly StepOutput[];
  readonly earlier: readonly EarlierStep[];
  readonly records: readonly StepRecord[];
  /** The lane's conversation, which the next call may continue. */
  readonly sessionId: string | null;
  /** The conversation of the newest call; null when no call was made, or its conversation is unknown. */
  readonly reached: string | null;
  readonly sessionDroppedAt: number | null;
  /**
   * Path of the marker by which a step said that everything is done, which is already removed; null when there was
   * none.
   */
  readonly doneMarker: string | null;
  /** Content of the work tree after the last step. */
  readonly tree: string;
  /** The content that was committed last. */
  readonly base: TreeSnapshot;
  readonly committed: readonly Committed[];
}

/** One attempt at a step, and where it leaves the iteration. */
export interface AttemptedStep {
  readonly attempt: Attempt;
  readonly walk: Walk;
  readonly tail: string;
  /**
   * The calls of the attempt; two if the first failed and was made again in a new conversation, none if the step makes
   * no call.
   */
  readonly calls: readonly (CallUsage & { readonly output: StepOutput })[];
}

/** The state in which an iteration begins. */
export interface Begun {
  readonly before: TreeSnapshot;
  readonly listed: readonly FileTask[];
  /** Logs in which an agent keeps what it learns. */
  readonly notes: FileTexts;
  /** Done markers that existed before the iteration. */
  readonly standing: readonly string[];
}

/** A step as it runs. */
export interface Running<S extends Step = Step> {
  readonly iteration: Iteration & Begun;
  readonly step: S;
  /** Number of steps of the pipeline. */
  readonly of: number;
}

/** Calls the agent for one step. The call is charged and on record before it is made. */
export async function tryAgent(
  deps: LoopDeps,
  { iteration, step, of }: Running<AgentStep>,
  walk: Walk,
): Promise<AttemptedStep> {
  const startedAt = deps.clock.now();
  const charged: Work = { ...walk.work, state: chargeCallAt(walk.work.state, deps.config.policy, startedAt) };
  deps.record(charged);
  const spentUsd = walk.outputs.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0);
  const isOfLane = step.session === 'continue' && deps.config.policy.session !== 'fresh';
  const { agentRun, work, usage, sessionDroppedAt, failed } = await callAgent(
    deps,
    { ...iteration, work: charged, startedAt },
    {
      listed: iteration.listed,
      notes: iteration.notes,
      treeBefore: walk.tree,
      setting: {
        aim: aimOfStep(step),
        promptTemplate: step.prompt?.text ?? deps.prompt.text,
        promptPath: step.prompt?.path ?? deps.prompt.path,
        // The set-up comes before all else, so it is part of the first call only.
        setup: walk.outputs.length === 0 ? setupInstructionsFor(deps.prompt, charged) : '',
        model: step.model,
        allowedTools: step.allowedTools,
        timeoutMs: step.timeoutMs ?? deps.config.policy.agentTimeoutMs,
        resume: isOfLane ? walk.sessionId : null,
        spentUsd: iteration.soFar.costUsd + spentUsd,
        calls: iteration.soFar.calls + walk.outputs.length,
        pipeline: {
          fact: `This is step ${step.name}, ${walk.records.length + 1} of ${of} of this iteration's pipeline.`,
          notes: stepNotes(walk.earlier, charged.journal.at(-1)?.evidence.steps ?? []),
        },
      },
    },
  );
  const { sessionId } = agentRun.analysis;
  const again = failed === null ? [] : [{ ...failed.usage, output: failed.agentRun }];
  const calls = [...again, { ...usage, output: agentRun }];
  // A retry does not continue a conversation in which nothing has succeeded.
  const isLost = failed !== null && isSessionSuspect(agentRun);
  const dropped = sessionDroppedAt === null ? walk.sessionId : null;
  return {
    attempt: judgeAgentAttempt(agentRun),
    tail: '',
    calls,
    walk: {
      ...walk,
      work,
      outputs: [...walk.outputs, ...calls.map(({ output }) => output)],
      failed: failed === null ? walk.failed : [...walk.failed, failed.agentRun],
      sessionId: isOfLane ? (isLost ? null : (sessionId ?? dropped)) : walk.sessionId,
      reached: isOfLane ? (sessionId ?? walk.reached) : walk.reached,
      sessionDroppedAt: walk.sessionDroppedAt ?? sessionDroppedAt,
    },
  };
}
