import type { Analysis } from '../core/analysis/analysis.ts';
import { afterIteration, type NextStep, type RunSoFar } from '../core/decide.ts';
import type { Evidence, Snapshot, Verification } from '../core/evidence.ts';
import { describeAttempts } from '../core/diagnosis.ts';
import { serializeEntry, type JournalEntry } from '../core/journal.ts';
import { plainTitle } from '../core/plain-text.ts';
import type { Policy } from '../core/policy.ts';
import { composePrompt } from '../core/prompt.ts';
import { resetSession } from '../core/session.ts';
import { beginIteration, recordDoneCommit, settle } from '../core/settle.ts';
import type { LaneState } from '../core/state.ts';
import { countTasks, progressOf } from '../core/tasks/queue.ts';
import { nameOfTask, type Task } from '../core/tasks/task.ts';
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
  /** Instant of the decision to iterate, which is when the call is charged. */
  readonly startedAt: number;
}

/** Verification gets at least this long, even when the run's time is nearly up: an iteration without it is worth little. */
const MIN_VERIFY_MS = 60_000;

/** Longer subjects are cut; titles are at most 200 characters. */
const MAX_SUBJECT_CHARS = 120;

/** More names of withheld files are not kept in the evidence. */
const MAX_WITHHELD_NAMED = 20;

/** One agent call, its evidence and its analysis. What is finished is on disk before the next thing begins. */
export async function iterate(run: LoopRun, iteration: Iteration): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { task } = iteration.step;
  const { all, done } = countTasks(iteration.work.tasks, iteration.work.state.tasks);
  return run.log.group(`Iteration ${String(iteration.soFar.iterations + 1)}/${String(run.config.policy.maxIterations)} · ${String(done)} of ${String(all)} tasks done · ${task.id}: ${task.title}`, async () => {
    const before = await run.repository.snapshot();
    const taskTree = taskTreeOf(iteration, before);
    const begun: Work = { ...iteration.work, state: beginIteration(iteration.work.state, { taskId: task.id, tree: taskTree }, run.config.policy, iteration.startedAt) };
    // The call is charged and on disk before it is made: a kill grants none for nothing.
    run.record(begun);
    const { agentRun, state, sessionDroppedAt } = await callAgent(run, { ...iteration, work: begun });
    const left = await run.repository.snapshot();
    const committed = await run.repository.commit({ before, after: left, message: commitMessage(task), trailers: trailers(run, iteration) });
    const worked: Work = { ...begun, state, head: committed.head, hasNewCommits: begun.hasNewCommits || committed.commit !== null, withheld: [...begun.withheld, ...committed.withheld] };
    run.record(worked);
    return conclude(run, { ...iteration, work: worked }, { before, after: committed.published, taskTree, agentRun, sessionDroppedAt, committed });
  });
}

/** The content that the task's own work is measured against. */
function taskTreeOf({ work, step, opened }: Iteration, before: Snapshot): string {
  // The branch holds commits that this state does not know of (it was lost, or another run was faster): they may be this task's work.
  const unknown = progressOf(work.state.tasks, step.task.id).startedTree === null && work.stateBefore.lastRun?.published?.head !== opened.head && opened.ahead > 0;
  return unknown ? opened.baseTree : before.tree;
}

interface Called {
  readonly agentRun: AgentRun;
  readonly state: LaneState;
  /** When the CLI turned out not to know the session, and `state` lost it; null: it did not. */
  readonly sessionDroppedAt: number | null;
}

/** Calls the agent, once more without a session when the CLI does not know it. */
async function callAgent(run: LoopRun, { work, soFar, step }: Iteration): Promise<Called> {
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
      lastVerification: lastVerificationOf(work.journal),
      attempts: describeAttempts(work.journal),
      learnings: await run.readLearnings(),
      verifyCommands: run.config.verify,
    }),
    timeoutMs: Math.max(1, Math.min(policy.agentTimeoutMs, leftMs)),
    timeoutOf: leftMs < policy.agentTimeoutMs ? 'run' : 'call',
    budgetUsd: budgetLeft(work, soFar, policy),
    signal: run.signal,
  } as const;
  const agentRun = await run.agent.call({ ...call, resume: work.state.session?.id ?? null });
  if (agentRun.analysis.agentError?.kind !== 'unknown-session' || work.state.session === null) return { agentRun, state: work.state, sessionDroppedAt: null };
  run.log.info('The agent does not know the session any more; calling it once more without.');
  // Not charged again: the CLI refused before it asked the provider for anything.
  const sessionDroppedAt = run.clock.now();
  const state = resetSession(work.state, 'unknown_session', sessionDroppedAt);
  return { agentRun: await run.agent.call({ ...call, resume: null }), state, sessionDroppedAt };
}

/** The newest verification: content that an iteration did not change is not verified again. */
function lastVerificationOf(journal: readonly JournalEntry[]): Verification | null {
  return journal.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run') ?? null;
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
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly taskTree: string;
  readonly agentRun: AgentRun;
  readonly sessionDroppedAt: number | null;
  readonly committed: CommittedIteration;
}

async function conclude(run: LoopRun, { work, soFar, step, startedAt }: Iteration, { before, after, taskTree, agentRun, sessionDroppedAt, committed }: Finished): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { policy } = run.config;
  const analysis = capped<Analysis>(agentRun.analysis, run.redact);
  const verification = needsVerification(work.state, { analysis, before, after }, policy) ? await verify(run, work) : ({ kind: 'not-run' } as const);
  const change = await run.repository.compare(before, after);
  const evidence: Evidence = {
    before,
    after,
    ...change,
    files: change.files.map(run.redact),
    withheld: committed.withheldNow.slice(0, MAX_WITHHELD_NAMED).map(run.redact),
    end: agentRun.end,
    outputChars: agentRun.outputChars,
    fencedBlock: agentRun.fencedBlock,
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
    taskTitle: run.redact(step.task.title),
    startedAt,
    taskTree,
    sessionDroppedAt,
    endedAt: now,
    analysis,
    evidence,
    commit: committed.commit,
    verdict: settled.verdict,
  };
  const state = settled.verdict.taskDone ? recordDoneCommit(settled.state, step.task.id, committed.head) : settled.state;
  const done: Work = { ...work, state, journal: [...work.journal, entry], endedAt: now };
  run.appendJournal(serializeEntry(entry));
  run.record(done);
  run.narrate(entry, done);
  return { work: done, soFar: afterIteration(soFar, { analysis, verdict: settled.verdict, end: agentRun.end }) };
}

async function verify(run: LoopRun, work: Work): Promise<Verification> {
  const leftMs = work.startedAt + run.config.policy.maxRunMs - run.clock.now();
  return run.verifier.verify(Math.max(MIN_VERIFY_MS, Math.min(run.config.policy.agentTimeoutMs, leftMs)), run.signal);
}

function commitMessage(task: Task): string {
  // A subject that says "fixes #99" would close that issue when the branch is merged.
  return `${plainTitle(task.title, MAX_SUBJECT_CHARS)}\n\nPart of ${nameOfTask(task)}`;
}

function trailers(run: LoopRun, { soFar, step }: Iteration): Record<string, string> {
  return { 'Ralph-Run': run.runId, 'Ralph-Iteration': String(soFar.iterations + 1), 'Ralph-Task': step.task.id };
}
