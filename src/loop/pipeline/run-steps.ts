import {
  type Attempt,
  explainRunEnd,
  type StepOutput,
  joinOutputs,
  decideStepAction,
  computeRetryDelay,
} from '../../core/pipeline/step-output.ts';
import { chooseAgent } from '../../core/agents/providers.ts';
import {
  agentsOfSteps,
  type CommandStep,
  type Pipeline,
  type ReadmeStep,
  type Step,
} from '../../core/pipeline/pipeline.ts';
import { findObstacle } from '../../core/lane/decide.ts';
import { findReadmeProblem } from '../../core/pipeline/readme-check.ts';
import {
  recordStepRun,
  findStepCircuit,
  describeStepResult,
  type StepRecord,
  type StepResult,
} from '../../core/pipeline/step-record.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import type { CommandRun } from '../../ports/agent.ts';
import type { Iteration } from '../call.ts';
import { commitWork } from '../commits.ts';
import type { LoopDeps } from '../deps.ts';
import { takeDoneMarker } from '../marks.ts';
import { handOverNow } from '../pushing.ts';
import { describeReview } from '../../core/pipeline/review.ts';
import {
  type BegunIteration,
  type RunningStep,
  type AttemptedStep,
  findStepAgent,
  createMissingReview,
  tryAgent,
  type StepWalk,
} from './agent-step.ts';

/** Runs the steps of an iteration, one after another: each is on record before the next begins. */
export async function runSteps(
  deps: LoopDeps,
  pipeline: Pipeline,
  iteration: Iteration & BegunIteration,
): Promise<StepWalk & { readonly together: StepOutput }> {
  const { work, before } = iteration;
  let walk: StepWalk = {
    work,
    outputs: [],
    failed: [],
    earlier: [],
    records: [],
    sessionId: work.state.session?.id ?? null,
    reached: null,
    sessionDroppedAt: null,
    doneMarker: null,
    tree: before.tree,
    base: before,
    committed: [],
  };
  const ofSteps = agentsOfSteps(pipeline).map(({ name }) => name);
  for (;;) {
    const now = deps.clock.now();
    const action = decideStepAction({
      steps: pipeline.steps,
      records: walk.records,
      memory: walk.work.state.steps,
      callObstacle: obstacleToCall(deps, iteration, walk),
      limited: ofSteps.filter((name) => chooseAgent([name], work.state.providers, now).kind === 'parked'),
      runEnds: runEndsBy(walk.outputs),
      cancelled: deps.signal.aborted,
      now,
    });
    if (action.kind === 'over') break;
    walk =
      action.kind === 'leave'
        ? withStepRecord(deps, walk, { ...recordBeforeRun(iteration, walk, action.step), result: action.result })
        : await runStep(deps, { iteration, step: action.step, of: pipeline.steps.length }, walk);
  }
  const together = joinOutputs(walk.outputs, {
    failed: walk.failed,
    sessionId: walk.reached,
    cancelled: deps.signal.aborted,
  });
  return { ...walk, together };
}

async function runStep(deps: LoopDeps, running: RunningStep, begun: StepWalk): Promise<StepWalk> {
  const { step, iteration } = running;
  const startedAt = deps.clock.now();
  const tried: AttemptedStep[] = [];
  const isCancelled = (): boolean => deps.signal.aborted;
  let walk = begun;
  for (;;) {
    const one = await tryStep(deps, running, walk);
    tried.push(one);
    walk = one.walk;
    const leftMs = iteration.work.startedAt + deps.config.policy.maxRunMs - deps.clock.now();
    const delayMs = computeRetryDelay(step, one.attempt, { attempts: tried.length, leftMs });
    if (delayMs === null || isCancelled()) break;
    deps.log.info(
      `step ${step.name} ${describeStepResult(one.attempt.result)}; it is tried again in ${String(delayMs / 1000)} s`,
    );
    await deps.sleep(delayMs, deps.signal);
    // Check signals and limits between attempts, too, so that a retry does not ignore them.
    if (isCancelled() || (step.kind === 'agent' && obstacleToCall(deps, iteration, walk) !== null)) break;
  }
  const last = tried.at(-1);
  const result: StepResult = last?.attempt.result ?? { kind: 'passed' };
  const calls = tried.flatMap((one) => one.calls);
  const works = step.kind === 'agent' || step.kind === 'command';
  // The marker is a message to the loop, so remove it before the step's change is measured or committed.
  const marked = works ? await takeDoneMarker(deps, iteration) : null;
  const { tree } = works ? await deps.repository.snapshot() : walk;
  const passed = result.kind === 'passed';
  const now = deps.clock.now();
  const { circuit, review, ...unrun } = recordBeforeRun(iteration, walk, step);
  const found = last?.review ?? review;
  return withStepRecord(
    deps,
    {
      ...walk,
      tree,
      doneMarker: walk.doneMarker ?? (review === undefined ? marked : null),
      failed: passed || !step.continueOnError ? walk.failed : [...walk.failed, ...calls.map(({ output }) => output)],
    },
    {
      ...unrun,
      ...(found === undefined ? {} : { review: found }),
      ...(last?.refused === undefined ? {} : { refused: last.refused }),
      result,
      attempts: tried.length,
      durationMs: now - startedAt,
      tail: last?.tail ?? '',
      changed: tree !== begun.tree,
      calls: calls.map(({ startedAt: from, endedAt, tokens, outputTokens, costUsd }) => ({
        startedAt: from,
        ...{ endedAt, tokens, outputTokens, costUsd },
      })),
      denials: calls.flatMap(({ output }) => output.analysis.denials),
      marker: step.kind === 'agent' && passed && step.marker !== null ? step.marker.file : null,
      // Do not blame the step for a cancelled attempt, or for an error that affects every call.
      circuit:
        step.breaker === null ||
        circuit === null ||
        isCancelled() ||
        runEndsBy(calls.map(({ output }) => output)) !== null
          ? circuit
          : recordStepRun(circuit, passed, step.breaker, now),
    },
  );
}

async function tryStep(deps: LoopDeps, running: RunningStep, walk: StepWalk): Promise<AttemptedStep> {
  const { step } = running;
  switch (step.kind) {
    case 'agent':
      return tryAgent(deps, { ...running, step }, walk);
    case 'command':
      return tryCommand(deps, { ...running, step }, walk);
    case 'readme-check':
      return tryReadme(deps, { ...running, step }, walk);
    case 'git-commit':
      return commitBetweenSteps(deps, running, walk);
    case 'noop':
      return { attempt: { result: { kind: 'passed' }, isWorthAnother: false }, walk, tail: '', calls: [] };
  }
}

/** Commits between two steps and records the commit at once, so that a later kill does not lose it. */
async function commitBetweenSteps(deps: LoopDeps, { iteration }: RunningStep, walk: StepWalk): Promise<AttemptedStep> {
  const after = await deps.repository.snapshot();
  const summary = walk.outputs.findLast(({ isUsageOnly }) => isUsageOnly !== true)?.analysis.signal.summary ?? null;
  const { work, committed } = await commitWork(
    deps,
    { ...iteration, work: walk.work },
    { before: walk.base, after, summary },
  );
  deps.record(work);
  if (committed.commit !== null) await handOverNow(deps, work);
  const made = { ...walk, work, base: committed.published, committed: [...walk.committed, committed] };
  return { attempt: { result: { kind: 'passed' }, isWorthAnother: false }, walk: made, tail: '', calls: [] };
}

function runEndsBy(outputs: readonly StepOutput[]): string | null {
  return outputs.map(explainRunEnd).find((why) => why !== null) ?? null;
}

function obstacleToCall(
  deps: LoopDeps,
  { soFar, step, work: { startedAt } }: Iteration,
  { work, outputs }: StepWalk,
): string | null {
  const spentUsd = outputs.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0);
  const used = {
    windows: work.state.windows,
    startedAt,
    calls: soFar.calls + outputs.length,
    costUsd: soFar.costUsd + spentUsd,
    task: getProgress(work.state.tasks, step.task.id),
  };
  return findObstacle(used, deps.config.policy, deps.clock.now());
}

/** Returns the record of a step that has not run. */
function recordBeforeRun(iteration: Iteration, { work }: StepWalk, step: Step): Omit<StepRecord, 'result'> {
  const agent = findStepAgent(iteration, step);
  const review = createMissingReview(iteration, step, 'it did not run');
  return {
    ...(agent === null ? {} : { agent }),
    ...(review === undefined ? {} : { review }),
    name: step.name,
    kind: step.kind,
    optional: step.continueOnError,
    attempts: 0,
    durationMs: 0,
    tail: '',
    changed: false,
    calls: [],
    denials: [],
    allowedTools: step.kind === 'agent' ? step.allowedTools : null,
    marker: null,
    circuit: step.breaker === null ? null : findStepCircuit(work.state.steps, step.name),
  };
}

function withStepRecord({ log }: LoopDeps, walk: StepWalk, record: StepRecord): StepWalk {
  const found = record.review === undefined ? '' : `; ${describeReview(record.review)}`;
  log.info(`step ${record.name} (${record.kind}) ${describeStepResult(record.result)}${found}`);
  const message = record.calls.length === 0 ? null : lastAgentWords(walk);
  return { ...walk, records: [...walk.records, record], earlier: [...walk.earlier, { record, message }] };
}

function lastAgentWords({ outputs }: StepWalk): string | null {
  const signal = outputs.at(-1)?.analysis.signal;
  const words = [signal?.summary ?? signal?.lastWords, signal?.recommendation].flatMap((part) => part ?? []);
  return words.length === 0 ? null : words.join(' ');
}

/** Checks whether the iteration has updated the README for its changes so far. */
async function tryReadme(
  { repository, files }: LoopDeps,
  { iteration: { before }, step: { path, patterns } }: RunningStep<ReadmeStep>,
  walk: StepWalk,
): Promise<AttemptedStep> {
  const [{ files: changed }, texts] = await Promise.all([
    repository.compare(before, await repository.snapshot()),
    files.read([path]),
  ]);
  const why = findReadmeProblem({ path, exists: Object.hasOwn(texts, path), patterns, changed });
  return {
    attempt: { result: why === null ? { kind: 'passed' } : { kind: 'failed', why, code: null }, isWorthAnother: false },
    tail: '',
    walk,
    calls: [],
  };
}

/**
 * Runs a command in the work tree, for as long as the run has time. Its changes belong to the iteration, but are not
 * progress of the agent.
 */
async function tryCommand(
  deps: LoopDeps,
  { iteration, step }: RunningStep<CommandStep>,
  walk: StepWalk,
): Promise<AttemptedStep> {
  const { policy } = deps.config;
  const leftMs = iteration.work.startedAt + policy.maxRunMs - deps.clock.now();
  const timeoutMs = Math.max(1, Math.min(step.timeoutMs ?? policy.agentTimeoutMs, leftMs));
  const { end, tail } = await deps.commands.run({
    command: step.command,
    folder: null,
    timeoutMs,
    signal: deps.signal,
  });
  return { attempt: attemptOf(end), tail, walk, calls: [] };
}

function attemptOf(end: CommandRun['end']): Attempt {
  const failed = (why: string, code: number | null): Attempt => ({
    result: { kind: 'failed', why, code },
    isWorthAnother: end.kind !== 'cancelled',
  });
  switch (end.kind) {
    case 'exited':
      return end.code === 0
        ? { result: { kind: 'passed' }, isWorthAnother: false }
        : failed(`exit code ${String(end.code)}`, end.code);
    case 'signalled':
      return failed(`it was ended by ${end.signal}`, null);
    case 'timeout':
      return failed('it ran out of time', null);
    case 'cancelled':
      return failed('it was cancelled', null);
  }
}
