import type { Analysis } from '../core/analysis/analysis.ts';
import { afterIteration, type NextStep, type RunSoFar } from '../core/decide.ts';
import type { Evidence, Snapshot, Verification } from '../core/evidence.ts';
import type { JournalEntry } from '../core/journal.ts';
import type { Policy } from '../core/policy.ts';
import { composePrompt } from '../core/prompt.ts';
import { resetSession } from '../core/session.ts';
import { beginIteration, recordDoneCommit, settle } from '../core/settle.ts';
import type { LaneState } from '../core/state.ts';
import { countTasks, progressOf } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import { needsVerification } from '../core/verdict.ts';
import type { AgentRun, CommittedIteration, OpenedLane } from '../ports.ts';
import { capped } from './capped.ts';
import type { LoopRun } from './loop-run.ts';
import type { Work } from './work.ts';

type Iterate = Extract<NextStep, { kind: 'iterate' }>;

interface Iteration {
  readonly work: Work;
  readonly soFar: RunSoFar;
  readonly step: Iterate;
  readonly opened: OpenedLane;
}

/** Verification gets at least this long, even when the run's time is nearly up: an iteration without it is worth little. */
const MIN_VERIFY_MS = 60_000;

/** One agent call, its evidence and its analysis. What is finished is on disk before the next thing begins. */
export async function iterate(run: LoopRun, iteration: Iteration): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { task } = iteration.step;
  const { all, done } = countTasks(iteration.work.tasks, iteration.work.state.tasks);
  return run.log.group(`Iteration ${String(iteration.soFar.iterations + 1)}/${String(run.config.policy.maxIterations)} · ${String(done)} of ${String(all)} tasks done · ${task.id}: ${task.title}`, async () => {
    const startedAt = run.clock.now();
    const before = await run.repository.snapshot();
    const begun = begin(run, iteration, before);
    run.record(begun);
    const { agentRun, state } = await callAgent(run, { ...iteration, work: begun });
    const after = await run.repository.snapshot();
    const committed = await run.repository.commit({ before, after, message: commitMessage(task), trailers: trailers(run, iteration) });
    const worked: Work = { ...begun, state, head: committed.head, hasNewCommits: begun.hasNewCommits || committed.commit !== null, withheld: [...begun.withheld, ...committed.withheld] };
    run.record(worked);
    return conclude(run, { ...iteration, work: worked }, { startedAt, before, after, agentRun, committed });
  });
}

/** The call is charged and on disk before it is made: a kill grants none for nothing. */
function begin(run: LoopRun, { work, step, opened }: Iteration, before: Snapshot): Work {
  // A lane with commits but no memory of this task: what the branch changed since its base may be this task's work.
  const unknown = progressOf(work.state.tasks, step.task.id).startedTree === null && work.stateBefore.lastRun === null && opened.ahead > 0;
  const tree = unknown ? opened.baseTree : before.tree;
  return { ...work, state: beginIteration(work.state, { taskId: step.task.id, tree }, run.config.policy, run.clock.now()) };
}

/** Calls the agent; `state` has no session any more when the CLI did not know it. */
async function callAgent(run: LoopRun, { work, soFar, step }: Iteration): Promise<{ readonly agentRun: AgentRun; readonly state: LaneState }> {
  const { policy } = run.config;
  const leftMs = work.startedAt + policy.maxRunMs - run.clock.now();
  const call = {
    prompt: composePrompt({
      promptTemplate: run.promptTemplate,
      task: step.task,
      iteration: soFar.iterations + 1,
      maxIterations: policy.maxIterations,
      remaining: countTasks(work.tasks, work.state.tasks),
      circuit: step.circuit,
      lastIteration: work.state.lastIteration,
      hints: step.hints,
      lastVerification: work.journal.at(-1)?.evidence.verification ?? null,
      learnings: await run.readLearnings(),
      verifyCommands: run.config.verify,
    }),
    timeoutMs: Math.max(1, Math.min(policy.agentTimeoutMs, leftMs)),
    timeoutOf: leftMs < policy.agentTimeoutMs ? 'run' : 'call',
    budgetUsd: budgetLeft(work, soFar, policy),
    signal: run.signal,
  } as const;
  const agentRun = await run.agent.call({ ...call, resume: work.state.session?.id ?? null });
  if (agentRun.analysis.agentError?.kind !== 'unknown-session' || work.state.session === null) return { agentRun, state: work.state };
  run.log.info('The agent does not know the session any more; calling it once more without.');
  // Not charged again: the CLI refused before it asked the provider for anything.
  const state = resetSession(work.state, 'unknown_session', run.clock.now());
  return { agentRun: await run.agent.call({ ...call, resume: null }), state };
}

/** What one call may cost at most, in US dollars, so that a limit binds inside the call as well; null = no limit. */
function budgetLeft({ state }: Work, { costUsd }: RunSoFar, { maxCostUsd, maxCostUsdPerDay }: Policy): number | null {
  const left = [
    ...(maxCostUsd > 0 ? [maxCostUsd - costUsd] : []),
    ...(maxCostUsdPerDay > 0 ? [maxCostUsdPerDay - (state.windows.day?.costUsd ?? 0)] : []),
  ];
  return left.length > 0 ? Math.max(0, Math.min(...left)) : null;
}

interface Finished {
  readonly startedAt: number;
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly agentRun: AgentRun;
  readonly committed: CommittedIteration;
}

async function conclude(run: LoopRun, { work, soFar, step }: Iteration, { startedAt, before, after, agentRun, committed }: Finished): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { policy } = run.config;
  const analysis = capped<Analysis>(agentRun.analysis, run.redact);
  const verification = needsVerification(work.state, { analysis, before, after }, policy) ? await verify(run, work) : ({ kind: 'not-run' } as const);
  const evidence: Evidence = {
    before,
    after,
    ...(await run.repository.compare(before, after)),
    end: agentRun.end,
    outputChars: agentRun.outputChars,
    verification: capped<Verification>(verification, run.redact),
  };
  const now = run.clock.now();
  const facts = { task: step.task, tasks: work.tasks, analysis, evidence, startedAt };
  const settled = settle(work.state, facts, policy, now);
  const entry: JournalEntry = {
    version: 1,
    lane: work.lane.id,
    iteration: soFar.iterations + 1,
    taskId: step.task.id,
    taskTitle: step.task.title,
    startedAt,
    endedAt: now,
    analysis,
    evidence,
    commit: committed.commit,
    verdict: settled.verdict,
  };
  const state = settled.verdict.taskDone ? recordDoneCommit(settled.state, step.task.id, committed.head) : settled.state;
  const done: Work = { ...work, state, journal: [...work.journal, entry], endedAt: now };
  run.record(done);
  run.narrate(entry, done);
  return { work: done, soFar: afterIteration(soFar, { analysis, verdict: settled.verdict, end: agentRun.end }) };
}

async function verify(run: LoopRun, work: Work): Promise<Verification> {
  const leftMs = work.startedAt + run.config.policy.maxRunMs - run.clock.now();
  return run.verifier.verify(Math.max(MIN_VERIFY_MS, Math.min(run.config.policy.agentTimeoutMs, leftMs)), run.signal);
}

function commitMessage(task: Task): string {
  return `${task.title}\n\nPart of #${String(task.source.number)}`;
}

function trailers(run: LoopRun, { soFar, step }: Iteration): Record<string, string> {
  return { 'Ralph-Run': run.runId, 'Ralph-Iteration': String(soFar.iterations + 1), 'Ralph-Task': step.task.id };
}
