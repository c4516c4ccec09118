import type { NextStep, RunSoFar } from '../core/lane/decide.ts';
import { describeAttempts } from '../core/prompt/diagnosis.ts';
import type { Verification } from '../core/evidence.ts';
import type { Policy } from '../core/policy.ts';
import { codebasePatterns } from '../core/prompt/patterns.ts';
import { taskSeenFrom } from '../core/folder.ts';
import { notebookOf } from '../core/prompt/learnings.ts';
import { describeTakeover } from '../core/prompt/takeover.ts';
import { shareOf } from '../core/lane/change.ts';
import type { MergeToFinish } from '../core/prompt/feedback.ts';
import { failureWords } from '../core/analysis/failure-words.ts';
import { callObstacle } from '../core/pipeline/call-obstacle.ts';
import { composePrompt, type PromptParts } from '../core/prompt/prompt.ts';
import { mayBeTheConversation } from '../core/agents/fresh-call.ts';
import { resetSession } from '../core/lane/session.ts';
import { chargeCallAt, chargeStepUsage } from '../core/lane/settle.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { FileTask } from '../core/tasks/files/file-task.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { countTasks, progressOf } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import type { AgentRun } from '../ports/agent.ts';
import type { FileTexts, OpenedLane } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';
import type { Turn } from './turns.ts';
import type { Work } from '../handover/work.ts';

type Iterate = Extract<NextStep, { kind: 'iterate' }>;

/** One iteration, as it begins. */
export interface Iteration {
  readonly work: Work;
  readonly soFar: RunSoFar;
  readonly step: Iterate;
  /** The agent that it calls. */
  readonly turn: Turn;
  /** The merge of the base branch that is its task; null: it has another one. */
  readonly merge: MergeToFinish | null;
  readonly opened: OpenedLane;
  /** Instant of the decision to iterate, which is when the call is charged. */
  readonly startedAt: number;
}

export interface Called {
  readonly agentRun: AgentRun;
  readonly state: LaneState;
  /** When the conversation turned out to be none that continues, and `state` lost it; null: it did not. */
  readonly sessionDroppedAt: number | null;
  /** The call before it, charged as well, which failed while it continued the conversation; null: there was none. */
  readonly failed: FailedCall | null;
}

/** A call that was made again in a new conversation. Instants in ms; it was made again at `endedAt`. */
export interface FailedCall {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly agentRun: AgentRun;
}

/** How one call differs from another of the same iteration. */
export interface CallSetting extends Pick<PromptParts, 'aim' | 'promptTemplate' | 'promptPath' | 'setup' | 'pipeline'> {
  readonly model: string | null;
  readonly allowedTools: readonly string[] | null;
  readonly timeoutMs: number;
  /** The conversation that it continues; null: it begins one. */
  readonly resume: string | null;
  /** What the run has spent so far, and how often it has called. */
  readonly spentUsd: number;
  readonly calls: number;
}

/** The setting of an iteration that is one call. */
export function plainCall({ config, prompt }: LoopDeps, { work, soFar }: Iteration): CallSetting {
  return {
    aim: 'task',
    promptTemplate: prompt.text,
    promptPath: prompt.path,
    setup: setupFor(prompt, work),
    model: null,
    allowedTools: null,
    timeoutMs: config.policy.agentTimeoutMs,
    resume: work.state.session?.id ?? null,
    spentUsd: soFar.costUsd,
    calls: soFar.calls,
    pipeline: null,
  };
}

/** Calls the agent, once more in a new conversation when the one that it continued may be what made it fail. `treeBefore`: content before the call. `listed`: the items of the task files; `notes`: logs in which an agent keeps what it learns. */
export async function callAgent(
  deps: LoopDeps,
  { work, soFar, step, turn, merge }: Iteration,
  {
    listed,
    notes,
    setting,
    treeBefore,
  }: {
    readonly listed: readonly FileTask[];
    readonly notes: FileTexts;
    readonly setting: CallSetting;
    readonly treeBefore: string;
  },
): Promise<Called> {
  const { policy } = deps.config;
  const { agent } = turn.opened;
  const prompt = await promptFor(deps, { work, soFar, step, merge }, { listed, notes, setting });
  const call = (state: LaneState, resume: string | null, spentUsd: number): Promise<AgentRun> => {
    const leftMs = work.startedAt + policy.maxRunMs - deps.clock.now();
    return agent.call({
      prompt,
      resume,
      timeoutMs: Math.max(1, Math.min(setting.timeoutMs, leftMs)),
      timeoutOf: leftMs < setting.timeoutMs ? 'run' : 'call',
      budgetUsd: budgetLeft({ state }, spentUsd, policy),
      tokensLeft: tokensLeft({ state }, policy),
      doneTexts: deps.prompt.signals.done,
      model: setting.model,
      allowedTools: setting.allowedTools,
      signal: deps.signal,
    });
  };
  const startedAt = deps.clock.now();
  const agentRun = await call(work.state, setting.resume, setting.spentUsd);
  const once = { agentRun, state: work.state, sessionDroppedAt: null, failed: null };
  if (setting.resume === null || deps.signal.aborted || !mayBeTheConversation(agentRun)) return once;
  const endedAt = deps.clock.now();
  if (agentRun.analysis.agentError?.kind === 'unknown-session') {
    deps.log.info('The agent no longer knows the session; calling it again without one.');
    // Not charged again: the CLI refused before it asked the provider for anything.
    const state = resetSession(work.state, 'unknown_session', endedAt);
    const again = await call(state, null, setting.spentUsd);
    return { agentRun: again, state, sessionDroppedAt: endedAt, failed: null };
  }
  if ((await deps.repository.snapshot()).tree !== treeBefore) return once;
  const dropped = resetSession(work.state, 'agent_failed', endedAt);
  const { tokens, costUsd } = agentRun.analysis;
  const usage = { startedAt, endedAt, tokens, costUsd: costUsd === null ? null : Math.max(0, costUsd) };
  const spentUsd = setting.spentUsd + (usage.costUsd ?? 0);
  // What bounds calls is asked with the failed one; `settle` books what both of them used.
  const spent = chargeStepUsage(dropped, usage);
  const used = { windows: spent.windows, startedAt: work.startedAt, calls: setting.calls + 1, costUsd: spentUsd };
  const obstacle = callObstacle(used, policy, endedAt);
  const words = failureWords(agentRun);
  if (obstacle !== null) {
    deps.log.info(`${words}. Its conversation is dropped; it is not called again now, since ${obstacle}.`);
    return { ...once, state: dropped, sessionDroppedAt: endedAt };
  }
  deps.log.info(`${words}. Nothing changed, so it is called again in a new conversation.`);
  const state = chargeCallAt(dropped, policy, endedAt);
  deps.record({ ...work, state });
  const again = await call(chargeCallAt(spent, policy, endedAt), null, spentUsd);
  return { agentRun: again, state, sessionDroppedAt: endedAt, failed: { startedAt, endedAt, agentRun } };
}

/** The prompt of a call. `listed`: the items of the task files; `notes`: logs in which an agent keeps what it learns. */
export async function promptFor(
  deps: Pick<LoopDeps, 'config' | 'prompt' | 'readLearnings'>,
  { work, soFar, step, merge }: Pick<Iteration, 'work' | 'soFar' | 'step' | 'merge'>,
  {
    listed,
    notes,
    setting,
  }: {
    readonly listed: readonly FileTask[];
    readonly notes: FileTexts;
    readonly setting: Pick<CallSetting, 'aim' | 'promptTemplate' | 'promptPath' | 'setup' | 'pipeline'>;
  },
): Promise<string> {
  const { workingDirectory, policy, verify } = deps.config;
  // A file may have grown since the gate read it: the item has moved.
  const item = listed.find(({ task }) => task.id === step.task.id);
  return composePrompt({
    aim: setting.aim,
    promptTemplate: setting.promptTemplate,
    promptPath: setting.promptPath,
    taskPrompt: deps.prompt.text,
    setup: setting.setup,
    instructions: deps.prompt.instructions,
    specifications: deps.prompt.specifications,
    patterns: codebasePatterns(notes),
    task: item === undefined ? taskSeenFrom(workingDirectory, step.task) : { ...step.task, source: item.task.source },
    merge,
    standing: item === undefined ? 'unlisted' : 'listed',
    others: othersOf(work, step.task),
    iteration: soFar.iterations + 1,
    maxIterations: policy.maxIterations,
    remaining: countTasks(work.tasks, work.state.tasks),
    circuit: step.circuit,
    lastIteration: work.state.lastIteration,
    hints: step.hints,
    refused: progressOf(work.state.tasks, step.task.id).refused ?? null,
    takeover: describeTakeover(step.agent, {
      taskId: step.task.id,
      entries: work.journal,
      share: shareOf(work.state.change, step.task.id),
    }),
    lastVerification: merge?.verification ?? lastVerificationOf(work),
    attempts: describeAttempts(work.journal),
    learnings: await deps.readLearnings(work.lane.id),
    notesPath: notebookOf(work.lane.id).path,
    verifyCommands: verify,
    pipeline: setting.pipeline,
  });
}

/** What is to be done before all else, where no iteration of the queue is known; else empty. The branches of issues begin when the project is there. */
export function setupFor({ setup }: LoopDeps['prompt'], { lane, state }: Pick<Work, 'lane' | 'state'>): string {
  return lane.id === QUEUE && state.lastIteration === null ? (setup ?? '') : '';
}

/** Titles of the tasks that are open beside this one. */
function othersOf({ tasks, state }: Work, { id }: Task): readonly string[] {
  return tasks
    .filter((task) => task.id !== id && task.obstacle === null && progressOf(state.tasks, task.id).state === 'todo')
    .map(({ title }) => title);
}

/** The newest verification: content that an iteration did not change is not verified again. */
function lastVerificationOf({ journal, headVerification }: Work): Verification | null {
  if (headVerification?.after === journal.length) return headVerification.verification;
  return journal.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run') ?? null;
}

/** What one call may cost at most, in US dollars, so that a limit binds inside the call as well; null = no limit. */
export function budgetLeft(
  { state }: Pick<Work, 'state'>,
  spentUsd: number,
  { maxCostUsd, maxCostUsdPerDay }: Policy,
): number | null {
  const left = [
    ...(maxCostUsd > 0 ? [maxCostUsd - spentUsd] : []),
    ...(maxCostUsdPerDay > 0 ? [maxCostUsdPerDay - (state.windows.day?.costUsd ?? 0)] : []),
  ];
  return left.length > 0 ? Math.max(0, Math.min(...left)) : null;
}

/** Tokens that one call may spend at most; null = no limit. */
function tokensLeft({ state }: Pick<Work, 'state'>, { maxTokensPerHour }: Policy): number | null {
  return maxTokensPerHour > 0 ? Math.max(0, maxTokensPerHour - (state.windows.hour?.tokens ?? 0)) : null;
}
