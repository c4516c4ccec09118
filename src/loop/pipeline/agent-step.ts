import { computeLimitEnd } from '../../core/agents/providers.ts';
import type { AgentName } from '../../core/agent-names.ts';
import { isSessionSuspect } from '../../core/agents/fresh-call.ts';
import type { TreeSnapshot } from '../../core/evidence.ts';
import type { CallUsage } from '../../core/lane/ledger.ts';
import { chargeCallAt } from '../../core/lane/settle/settle.ts';
import { findAccessError } from '../../core/lane/verdict/verdict.ts';
import { judgeAgentAttempt, type Attempt, type StepOutput, explainRunEnd } from '../../core/pipeline/step-output.ts';
import { type AgentStep, aimOfStep, promptOfStep, type Step } from '../../core/pipeline/pipeline.ts';
import { formatFindings, parseReview, type ReviewResult, createUnreadableReview } from '../../core/pipeline/review.ts';
import { type EarlierStep, listReviews, renderStepNotes, type StepRecord } from '../../core/pipeline/step-record.ts';
import { joinNames } from '../../core/text/phrase.ts';
import type { FileTask } from '../../core/tasks/files/form/root-plan.ts';
import type { Work } from '../../handover/intake.ts';
import type { AgentRun } from '../../ports/agent.ts';
import type { FileTexts } from '../../ports/repository.ts';
import { callAgent, type Iteration, selectSetupInstructions } from '../call.ts';
import type { CommitResult } from '../commits.ts';
import type { LoopDeps } from '../deps.ts';
import type { Turn } from '../turns.ts';

/** The state of an iteration between its steps. */
export interface StepWalk {
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
  /** The conversation of the newest call; null if no call was made, or its conversation is unknown. */
  readonly reached: string | null;
  readonly sessionDroppedAt: number | null;
  /**
   * Path of the marker with which a step reported that everything is done, which is already removed; null if
   * none.
   */
  readonly doneMarker: string | null;
  /** Content of the work tree after the last step. */
  readonly tree: string;
  /** The content that was committed last. */
  readonly base: TreeSnapshot;
  readonly committed: readonly CommitResult[];
}

/** One attempt at a step, and where it leaves the iteration. */
export interface AttemptedStep {
  readonly attempt: Attempt;
  readonly walk: StepWalk;
  readonly tail: string;
  /**
   * The calls of the attempt; two if the first failed and was made again in a new conversation, none if the step makes
   * no call.
   */
  readonly calls: readonly (CallUsage & { readonly output: StepOutput })[];
  /** The refusal, as in StepRecord; absent in steps that call no agent. */
  readonly refused?: StepRecord['refused'];
  readonly review?: ReviewResult | null;
}

/** The state in which an iteration begins. */
export interface BegunIteration {
  readonly before: TreeSnapshot;
  readonly listed: readonly FileTask[];
  /** Logs in which an agent keeps what it learns. */
  readonly notes: FileTexts;
  /** Done markers that existed before the iteration. */
  readonly standing: readonly string[];
}

export interface RunningStep<S extends Step = Step> {
  readonly iteration: Iteration & BegunIteration;
  readonly step: S;
  /** Number of steps of the pipeline. */
  readonly of: number;
}

/** Returns the step's own agent, or null if the iteration's agent works on the step. */
export function findStepAgent({ step: turn }: Pick<Iteration, 'step'>, step: Step): AgentName | null {
  return step.kind === 'agent' && step.agent !== turn.agent ? step.agent : null;
}

/** Returns the review result of a review step without a usable answer; undefined if the step does not review. */
export function createMissingReview(
  { step: turn }: Pick<Iteration, 'step'>,
  step: Step,
  why: string,
): ReviewResult | undefined {
  if (step.kind !== 'agent' || step.review === null) return undefined;
  return createUnreadableReview({ agent: step.agent ?? turn.agent, hold: step.review.hold }, why);
}

/** Returns the turn of a step's agent, which was opened before the first call. */
async function turnOf(deps: LoopDeps, { turn }: Iteration, own: AgentName | null): Promise<Turn> {
  const agent = [...deps.stepAgents, ...deps.agents].find(({ name }) => name === own);
  return agent === undefined ? turn : { opened: await agent.open(), isForgotten: false };
}

/** Describes the earlier steps of the iteration, the findings of reviews, and, for a review, the changes to look at. */
async function notesFor(
  deps: LoopDeps,
  { iteration, step }: RunningStep<AgentStep>,
  { work, records, earlier }: StepWalk,
) {
  const now = listReviews(records);
  const before = work.state.change.reviews.filter(
    ({ task, step: of }) => task === iteration.step.task.id && now.every((own) => own.step !== of),
  );
  const notes = renderStepNotes(earlier, work.journal.at(-1)?.evidence.steps ?? []);
  const findings = formatFindings([...before, ...now]);
  if (step.review === null) return { notes, findings };
  const { files } = await deps.repository.compare(iteration.before, await deps.repository.snapshot());
  const changed = files.length === 0 ? [] : [`Changed in this iteration: ${joinNames(files, MAX_CHANGED)}`];
  return { notes: [notes, ...changed].join('\n'), findings };
}

/** Maximum number of changed files that the prompt of a review names. */
const MAX_CHANGED = 20;

/** Undoes everything that a review did in the work tree, after its processes are gone. */
async function undoReview({ repository, log }: LoopDeps, { opened }: Turn, step: AgentStep): Promise<void> {
  if (step.review === null) return;
  await opened.agent.sweep();
  const { length } = await repository.putBack();
  if (length > 0) log.warning(`step ${step.name} only reviews: it changed ${String(length)} files, which are put back`);
}

/** Returns why a step's own agent can make no call at all; undefined if it may make another one. */
function refusalOf({ analysis }: AgentRun, now: number): StepRecord['refused'] {
  const why = findAccessError(analysis);
  if (why !== null) return { why: why.slice(0, 500), until: null };
  const { usageLimit } = analysis;
  if (usageLimit === null) return undefined;
  return { why: 'usage limit', until: computeLimitEnd(usageLimit, { kind: 'closed', failures: 0 }, now) };
}

/** Calls the agent for one step. The call is charged and on record before it is made. */
export async function tryAgent(
  deps: LoopDeps,
  { iteration, step, of }: RunningStep<AgentStep>,
  walk: StepWalk,
): Promise<AttemptedStep> {
  const startedAt = deps.clock.now();
  const charged: Work = { ...walk.work, state: chargeCallAt(walk.work.state, deps.config.policy, startedAt) };
  deps.record(charged);
  const spentUsd = walk.outputs.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0);
  const own = findStepAgent(iteration, step);
  const turn = await turnOf(deps, iteration, own);
  const prompt = promptOfStep(step, deps.prompt);
  const isOfLane =
    step.session === 'continue' && deps.config.policy.session !== 'fresh' && own === null && step.review === null;
  const calling = callAgent(
    deps,
    { ...iteration, turn, work: charged, startedAt },
    {
      listed: iteration.listed,
      notes: iteration.notes,
      treeBefore: walk.tree,
      setting: {
        aim: aimOfStep(step),
        promptTemplate: prompt.text,
        promptPath: prompt.path,
        // The set-up comes first, so it is part of the first call only.
        setup: walk.outputs.length === 0 ? selectSetupInstructions(deps.prompt, charged) : '',
        model: step.model,
        allowedTools: step.allowedTools,
        timeoutMs: step.timeoutMs ?? deps.config.policy.agentTimeoutMs,
        resume: isOfLane ? walk.sessionId : null,
        spentUsd: iteration.soFar.costUsd + spentUsd,
        calls: iteration.soFar.calls + walk.outputs.length,
        pipeline: {
          fact: `This is step ${step.name}, ${walk.records.length + 1} of ${of} of this iteration's pipeline.`,
          ...(await notesFor(deps, { iteration, step, of }, { ...walk, work: charged })),
        },
      },
    },
  );
  await Promise.allSettled([calling]);
  await undoReview(deps, turn, step);
  const { agentRun, work, usage, sessionDroppedAt, failed } = await calling;
  const { sessionId } = agentRun.analysis;
  const attempt = judgeAgentAttempt(agentRun);
  const passed = attempt.result.kind === 'passed';
  const isUsageOnly =
    own === null ? step.review !== null && explainRunEnd(agentRun) === null : step.review !== null || !passed;
  // Refused tool calls are judged by the rules of the iteration's agent, so drop those of other agents and of reviews.
  const ofOwn = step.review === null && own === null ? {} : { denials: [] };
  const output: StepOutput = { ...agentRun, isUsageOnly, analysis: { ...agentRun.analysis, ...ofOwn } };
  const again = failed === null ? [] : [{ ...failed.usage, output: failed.agentRun }];
  const calls = [...again, { ...usage, output }];
  const review = createMissingReview(iteration, step, 'its call failed') ?? null;
  // Do not let a retry continue a conversation in which nothing has succeeded.
  const isLost = failed !== null && isSessionSuspect(agentRun);
  const dropped = sessionDroppedAt === null ? walk.sessionId : null;
  return {
    attempt,
    tail: '',
    calls,
    refused: own === null ? undefined : refusalOf(agentRun, deps.clock.now()),
    review: review !== null && passed ? parseReview(review, agentRun.finalMessage) : review,
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
