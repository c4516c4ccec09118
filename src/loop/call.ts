import { findObstacle, type LaneDecision, type RunSoFar } from '../core/lane/decide.ts';
import { describeAttempts, describeTakeover } from '../core/prompt/diagnosis.ts';
import type { Verification } from '../core/evidence.ts';
import type { Policy } from '../core/policy.ts';
import { selectCodebasePatterns } from '../core/prompt/places.ts';
import { toFolderTask } from '../core/folder.ts';
import { type MergeToFinish, locateNotebook } from '../core/prompt/learnings.ts';
import { findTaskShare } from '../core/lane/change.ts';
import { describeAgentFailure } from '../core/analysis/failure-words.ts';
import { composePrompt, type PromptParts } from '../core/prompt/prompt.ts';
import { isSessionSuspect } from '../core/agents/fresh-call.ts';
import { resetSession } from '../core/lane/session.ts';
import { bookCallUsage, chargeCallAt } from '../core/lane/settle/settle.ts';
import type { CallUsage } from '../core/lane/ledger.ts';
import type { Spent } from '../core/spending/meter.ts';
import type { FileTask } from '../core/tasks/files/form/root-plan.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { countTasks, getProgress } from '../core/tasks/queue.ts';
import { computeCeilingLeftUsd } from '../core/tasks/stepping-aside.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Agent, AgentCall, AgentRun } from '../ports/agent.ts';
import type { FileTexts, OpenedLane } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';
import { watchPeople } from './people/order-poll.ts';
import { createLiveHandOver, handOverNow } from './pushing.ts';
import type { Turn } from './turns.ts';
import type { Work } from '../handover/intake.ts';

type Iterate = Extract<LaneDecision, { kind: 'iterate' }>;

export interface Iteration {
  readonly work: Work;
  readonly soFar: RunSoFar;
  readonly step: Iterate;
  /** The agent that the iteration calls. */
  readonly turn: Turn;
  /** The merge of the base branch if that is the task, otherwise null. */
  readonly merge: MergeToFinish | null;
  readonly opened: OpenedLane;
  /** Instant of the decision to iterate, which is when the call is charged. */
  readonly startedAt: number;
}

export interface CalledAgent {
  readonly agentRun: AgentRun;
  /** The work after the call; its state has every call booked, and is on disk. */
  readonly work: Work;
  readonly usage: CallUsage;
  /**
   * Instant at which the state lost its conversation because the agent could not continue it; null if that did not
   * happen.
   */
  readonly sessionDroppedAt: number | null;
  /** The earlier call, also charged, that failed to continue the conversation, or null if none. */
  readonly failed: FailedCall | null;
}

/** A failed call that was made again in a new conversation. */
interface FailedCall {
  readonly usage: CallUsage;
  readonly agentRun: AgentRun;
}

/** The parts of a call that may differ between calls of one iteration. */
export interface CallSetting
  extends
    Pick<PromptParts, 'aim' | 'promptTemplate' | 'promptPath' | 'setup' | 'pipeline'>,
    Pick<AgentCall, 'model' | 'allowedTools' | 'timeoutMs' | 'resume'> {
  /** Amount that the run has spent so far, in US dollars. */
  readonly spentUsd: number;
  /** Number of calls that the run has made so far. */
  readonly calls: number;
}

/** Returns the setting of an iteration that consists of one call. */
export function settingOfPlainCall({ config, prompt }: LoopDeps, { work, soFar }: Iteration): CallSetting {
  return {
    aim: 'task',
    promptTemplate: prompt.text,
    promptPath: prompt.path,
    setup: selectSetupInstructions(prompt, work),
    model: null,
    allowedTools: null,
    timeoutMs: config.policy.agentTimeoutMs,
    resume: work.state.session?.id ?? null,
    spentUsd: soFar.costUsd,
    calls: soFar.calls,
    pipeline: null,
  };
}

/**
 * Calls the agent. If the call fails and the conversation that it continued may be the cause, calls the agent once more
 * in a new one. Books each call when it ends. `treeBefore` is the content before the call, `listed` are the items of
 * the task files, and `notes` are the logs in which an agent keeps what it learns.
 */
export async function callAgent(
  deps: LoopDeps,
  { work, soFar, step, turn, merge, startedAt }: Iteration,
  context: {
    readonly listed: readonly FileTask[];
    readonly notes: FileTexts;
    readonly setting: CallSetting;
    readonly treeBefore: string;
  },
): Promise<CalledAgent> {
  const { listed, notes, setting, treeBefore } = context;
  const { policy } = deps.config;
  const { agent } = turn.opened;
  const prompt = await composeCallPrompt(deps, { work, soFar, step, merge }, { listed, notes, setting });
  const call = (on: Work, from: number, { resume, spentUsd }: Pick<CallSetting, 'resume' | 'spentUsd'>) => {
    const leftMs = work.startedAt + policy.maxRunMs - deps.clock.now();
    const asked: AgentCall = {
      prompt,
      resume,
      timeoutMs: Math.max(1, Math.min(setting.timeoutMs, leftMs)),
      timeoutOf: leftMs < setting.timeoutMs ? 'run' : 'call',
      budgetUsd: leastOf(
        computeBudgetLeft(on, spentUsd, policy),
        computeCeilingLeftUsd(getProgress(on.state.tasks, step.task.id)),
      ),
      tokensLeft: computeTokensLeft(on, policy),
      doneTexts: deps.prompt.signals.done,
      model: setting.model,
      allowedTools: setting.allowedTools,
      signal: deps.signal,
    };
    return callAndBook(deps, agent, { call: asked, work: on, task: step.task, startedAt: from });
  };
  const first = await call(work, startedAt, setting);
  const once: CalledAgent = { ...first, sessionDroppedAt: null, failed: null };
  const { agentRun, usage } = first;
  if (setting.resume === null || deps.signal.aborted || !isSessionSuspect(agentRun)) return once;
  const { endedAt } = usage;
  // An error that follows paid requests is not a refusal, whatever the agent says.
  const isUnknown = agentRun.analysis.agentError?.kind === 'unknown-session' && !hasSpentAnything(usage);
  if (isUnknown) {
    deps.log.info('The agent no longer knows the session, so it is called again in a new one.');
    // Do not charge the first call again: the CLI refused before it asked the provider for anything.
    const fresh = { ...first.work, state: resetSession(first.work.state, 'unknown_session', endedAt) };
    const again = await call(fresh, endedAt, { ...setting, resume: null });
    const both = { ...again.usage, startedAt: usage.startedAt };
    return { ...again, usage: both, sessionDroppedAt: endedAt, failed: null };
  }
  if ((await deps.repository.snapshot()).tree !== treeBefore) return once;
  const dropped: Work = { ...first.work, state: resetSession(first.work.state, 'agent_failed', endedAt) };
  const spentUsd = setting.spentUsd + (usage.costUsd ?? 0);
  const { windows, tasks } = dropped.state;
  const task = getProgress(tasks, step.task.id);
  const used = { windows, startedAt: work.startedAt, calls: setting.calls + 1, costUsd: spentUsd, task };
  const taken = await deps.lookAtPeople?.(dropped, step.task);
  const isTaken = taken !== undefined && (taken.task !== null || taken.lane !== null);
  const obstacle = isTaken ? 'a person took the work back' : findObstacle(used, policy, endedAt);
  const words = describeAgentFailure(agentRun);
  if (obstacle !== null) {
    deps.log.info(`${words}. Its conversation is dropped, and it is not called again now: ${obstacle}.`);
    return { ...once, work: dropped, sessionDroppedAt: endedAt };
  }
  deps.log.info(`${words}. Nothing changed, so it is called again in a new conversation.`);
  const charged: Work = { ...dropped, state: chargeCallAt(dropped.state, policy, endedAt) };
  deps.record(charged);
  const again = await call(charged, endedAt, { resume: null, spentUsd });
  return { ...again, sessionDroppedAt: endedAt, failed: { usage, agentRun } };
}

type BookedCall = Pick<CalledAgent, 'agentRun' | 'work' | 'usage'>;

/**
 * Calls the agent once, and records its usage as soon as it ends (in memory, on disk and for the job that publishes),
 * so that no later failure loses it. Only then throws an error that the call caused.
 */
export async function callAndBook(
  deps: LoopDeps,
  agent: Pick<Agent, 'call'>,
  made: { readonly call: AgentCall; readonly work: Work; readonly task: Task; readonly startedAt: number },
): Promise<BookedCall> {
  const { call, work, task, startedAt } = made;
  const live = createLiveHandOver(deps);
  // The charge of the call is handed over before the call, so that a killed job gets no call for free.
  await handOverNow(deps, work);
  const spending = (spent: Spent): void => {
    const usage = { startedAt, endedAt: deps.clock.now(), ...spent };
    const used: Work = { ...work, state: bookCallUsage(work.state, usage) };
    // Ignore a disk that cannot be written, which is reported at the end of the call.
    tryTo(() => {
      deps.record(used);
    });
    live.give(used);
  };
  const people = watchPeople(deps, work, task);
  const signal = AbortSignal.any([call.signal, people.signal]);
  const ran = await agent.call({ ...call, signal, spending }).finally(people.end);
  const isWithdrawn = ran.end.kind === 'cancelled' && people.signal.aborted && !call.signal.aborted;
  const agentRun: AgentRun = isWithdrawn ? { ...ran, end: { kind: 'withdrawn' } } : ran;
  const { tokens, outputTokens = null, costUsd } = agentRun.analysis;
  const known = (amount: number | null): number | null => (amount === null ? null : Math.max(0, amount));
  const used = { tokens: known(tokens), outputTokens: known(outputTokens), costUsd: known(costUsd) };
  const usage = { startedAt, endedAt: deps.clock.now(), ...used };
  const booked: Work = { ...work, state: bookCallUsage(work.state, usage) };
  deps.record(booked);
  await live.given();
  await handOverNow(deps, booked);
  if (agentRun.broken !== undefined) throw agentRun.broken;
  return { agentRun, work: booked, usage };
}

function hasSpentAnything({ tokens, costUsd }: CallUsage): boolean {
  return (tokens ?? 0) > 0 || (costUsd ?? 0) > 0;
}

function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // Ignore the error, because the caller does not depend on `act`.
  }
}

/** Adds up the usage of two calls, one after the other. */
export function addUsage(first: CallUsage, second: CallUsage): CallUsage {
  return {
    startedAt: first.startedAt,
    endedAt: second.endedAt,
    tokens: sumOf(first.tokens, second.tokens),
    outputTokens: sumOf(first.outputTokens ?? null, second.outputTokens ?? null),
    costUsd: sumOf(first.costUsd, second.costUsd),
  };
}

function sumOf(first: number | null, second: number | null): number | null {
  return second === null || first === null ? (second ?? first) : first + second;
}

/**
 * Composes the prompt of a call. `listed` are the items of the task files, and `notes` are the logs of what agents
 * learned.
 */
export async function composeCallPrompt(
  deps: Pick<LoopDeps, 'config' | 'prompt' | 'readLearnings'>,
  { work, soFar, step, merge }: Pick<Iteration, 'work' | 'soFar' | 'step' | 'merge'>,
  asked: {
    readonly listed: readonly FileTask[];
    readonly notes: FileTexts;
    readonly setting: Pick<CallSetting, 'aim' | 'promptTemplate' | 'promptPath' | 'setup' | 'pipeline'>;
  },
): Promise<string> {
  const { listed, notes, setting } = asked;
  const { workingDirectory, policy, verify } = deps.config;
  // Look up the item again, because it may have moved in its file since the gate read it.
  const item = listed.find(({ task }) => task.id === step.task.id);
  return composePrompt({
    aim: setting.aim,
    promptTemplate: setting.promptTemplate,
    promptPath: setting.promptPath,
    taskPrompt: deps.prompt.text,
    setup: setting.setup,
    instructions: deps.prompt.instructions,
    specifications: deps.prompt.specifications,
    patterns: selectCodebasePatterns(notes),
    task: item === undefined ? toFolderTask(workingDirectory, step.task) : { ...step.task, source: item.task.source },
    merge,
    standing: item === undefined ? 'unlisted' : 'listed',
    others: titlesOfOtherTasks(work, step.task),
    iteration: soFar.iterations + 1,
    maxIterations: policy.maxIterations,
    remaining: countTasks(work.tasks, work.state.tasks),
    circuit: step.circuit,
    lastIteration: work.state.lastIteration,
    hints: step.hints,
    refused: getProgress(work.state.tasks, step.task.id).refused ?? null,
    takeover: describeTakeover(step.agent, {
      taskId: step.task.id,
      entries: work.journal,
      share: findTaskShare(work.state.change, step.task.id),
    }),
    lastVerification: merge?.verification ?? lastVerificationOf(work),
    attempts: describeAttempts(work.journal),
    learnings: await deps.readLearnings(work.lane.id),
    notesPath: locateNotebook(work.lane.id).path,
    verifyCommands: verify,
    pipeline: setting.pipeline,
  });
}

/**
 * Returns the set-up instructions for the queue's first iteration, and an empty text for any other. Issues' own
 * branches begin from a project that is set up.
 */
export function selectSetupInstructions(
  { setup }: LoopDeps['prompt'],
  { lane, state }: Pick<Work, 'lane' | 'state'>,
): string {
  return lane.id === QUEUE && state.lastIteration === null ? (setup ?? '') : '';
}

function titlesOfOtherTasks({ tasks, state }: Work, { id }: Task): readonly string[] {
  return tasks
    .filter((task) => task.id !== id && task.obstacle === null && getProgress(state.tasks, task.id).state === 'todo')
    .map(({ title }) => title);
}

/**
 * Returns the newest verification, which is also valid for later iterations that changed nothing; null if
 * none.
 */
function lastVerificationOf({ journal, cleanVerification }: Work): Verification | null {
  if (cleanVerification?.after === journal.length) return cleanVerification.verification;
  return journal.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run') ?? null;
}

/**
 * Returns the maximum cost of one call in US dollars, which enforces the limits during the call; null means no limit.
 */
export function computeBudgetLeft(
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

function leastOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Returns the maximum number of tokens of one call; null means no limit. */
export function computeTokensLeft({ state }: Pick<Work, 'state'>, { maxTokensPerHour }: Policy): number | null {
  return maxTokensPerHour > 0 ? Math.max(0, maxTokensPerHour - (state.windows.hour?.tokens ?? 0)) : null;
}
