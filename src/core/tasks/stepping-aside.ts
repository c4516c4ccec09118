import { computeFingerprint } from '../analysis/analysis.ts';
import { describeFailure } from '../analysis/failure-words.ts';
import { hasAgentChangedContent } from '../pipeline/step-record.ts';
import { listUnverifiedTasks, isKnownRed, listTasksHeldByOthers } from '../lane/verification.ts';
import {
  hasAgentAnswered,
  type Circuit,
  type CircuitFacts,
  MAX_FINGERPRINT_CHARS,
  hasOutputDeclined,
  createProbingCircuit,
  recordInCircuit,
} from '../lane/circuit.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { Judgement, Verdict } from '../lane/verdict/verdict.ts';
import type { IterationFacts } from '../lane/verdict/claims.ts';
import type { Policy } from '../policy.ts';
import { parseLeftOutReason } from '../review/left-out.ts';
import { reopenDueTasks, isPromptTask, setAside, type TaskId } from './ids.ts';
import { isEligible, getProgress, withChangedTasks } from './queue.ts';
import { MAX_NAMED_PATH_CHARS, MAX_NAMED_PATHS, type TaskProgress } from './task.ts';

/** Number of iterations in a row with STATUS: BLOCKED after which a task counts as blocked. */
const BLOCKED_IN_A_ROW = 2;

/** The reason for setting an iteration's task aside; null if it is not set aside. */
export type SetAsideReason = Verdict['setAside'];

/** The judgement of an iteration that is over. */
interface Judged {
  readonly judgement: Judgement;
  readonly policy: Policy;
  readonly now: number;
}

/** Sets a stuck task aside if another can be worked on; the circuit opens for problems that concern all tasks. */
export function stepAside(
  state: LaneState,
  facts: IterationFacts,
  { judgement, policy, now }: Judged,
): { readonly circuit: Circuit; readonly aside: SetAsideReason } {
  const { verdict } = judgement;
  const fed = circuitFacts(state, facts, judgement, policy);
  const circuit = recordInCircuit(state.circuit, fed, policy.circuit, now);
  if (verdict.needsWithheld) return { circuit, aside: 'withheld' };
  if (verdict.nothingToDo && !verdict.taskDone) return { circuit, aside: 'nothing_to_do' };
  if (verdict.progress || fed.neutral || verdict.taskDone) return { circuit, aside: null };
  const trips = circuit.kind === 'open';
  if (judgement.providerFailed || verdict.agentFailed) return { circuit, aside: null };
  // A task that was set aside before has used its turn, and is set aside again.
  if (!trips) return { circuit, aside: fed.returned ? 'no_progress' : null };
  const { reason } = circuit;
  const saysTask = reason === 'no_progress' || reason === 'output_decline';
  if (!saysTask || !hasOther(state, facts, policy, now)) return { circuit, aside: null };
  const before = state.circuit;
  return { circuit: before.kind === 'open' || before.probes ? circuit : createProbingCircuit(before), aside: reason };
}

/**
 * Returns the progress of the task after an iteration that was charged to it; `state` includes the iteration's signals.
 */
export function computeProgressAfter(
  state: LaneState,
  facts: IterationFacts,
  { judgement, aside, policy, now }: Judged & { readonly aside: SetAsideReason },
): TaskProgress {
  const { verdict, neutral, providerFailed } = judgement;
  const before = getProgress(state.tasks, facts.task.id);
  // A wrong key, a limit of the provider, a failed call or a red base is not an attempt at the task, so the attempt is
  // given back.
  const refunded = verdict.baseIsRed || ((neutral || providerFailed || verdict.agentFailed) && !verdict.progress);
  // The iterations before that failed in the same way, while the base was still known as green, are given back as well.
  const times = verdict.baseIsRed ? (state.lastIteration?.failed?.times ?? 1) : 1;
  const attempts = refunded ? Math.max(0, before.attempts - times) : before.attempts;
  // A task without work of its own starts again from the current tree, because changes made for other tasks are not its
  // work.
  const { evidence } = facts;
  const ofCommands = before.startedTree === evidence.before.tree && !hasAgentChangedContent(evidence.steps);
  const startedTree = ofCommands || evidence.after.tree === before.startedTree ? null : before.startedTree;
  const worked = { ...before, attempts, startedTree, setAside: verdict.progress ? null : before.setAside };
  if (verdict.taskDone) return { ...worked, state: 'finished', reason: null, setAside: null };
  if (aside === 'nothing_to_do') return { ...worked, state: 'blocked', reason: aside };
  if (aside === 'withheld') {
    const needed = (evidence.withheldHere ?? []).filter(({ why }) => parseLeftOutReason(why) === 'protected');
    const needs = needed.map(({ path }) => path).filter((path) => path.length <= MAX_NAMED_PATH_CHARS);
    return { ...worked, state: 'blocked', reason: aside, needs: needs.slice(0, MAX_NAMED_PATHS) };
  }
  if (!neutral && !verdict.agentFailed && isBlocked()) return { ...worked, state: 'blocked', reason: 'status_blocked' };
  const givenUp = explainGivenUp(facts.task.id, worked, policy);
  if (givenUp !== null) return { ...worked, state: 'failed', reason: givenUp };
  if (aside !== null) return setAside(worked, aside, now);
  return { ...worked, state: 'in-progress', reason: null };

  /**
   * Returns true if the task is blocked: a question to a person blocks at once if there is other work in the meantime.
   */
  function isBlocked(): boolean {
    const { blockedInARow } = state.signals;
    if (blockedInARow >= BLOCKED_IN_A_ROW) return true;
    return blockedInARow > 0 && facts.analysis.signal.asks !== null && hasOther(state, facts, policy, now);
  }
}

/** Returns the amount in US dollars that may still be spent on a task; null if it has no ceiling. */
export function computeCeilingLeftUsd({ ceiling }: Pick<TaskProgress, 'ceiling'>): number | null {
  return ceiling === undefined ? null : Math.max(0, ceiling.usd - ceiling.spentUsd);
}

/** Returns the tasks with the cost of a call on one of them; only a task with a ceiling remembers it. */
export function addToCeiling(tasks: LaneState['tasks'], id: TaskId | null, costUsd: number): LaneState['tasks'] {
  if (id === null) return tasks;
  const { ceiling } = getProgress(tasks, id);
  if (ceiling === undefined) return tasks;
  const spentUsd = ceiling.spentUsd + Math.max(0, costUsd);
  return withChangedTasks(tasks, [id], (progress) => ({ ...progress, ceiling: { ...ceiling, spentUsd } }));
}

/**
 * Returns the state in which tasks have the ceilings that people approved. Amounts already spent stay; `ceilings` has
 * those that another lane spent on a task that is new here.
 */
export function withCeilings(
  state: LaneState,
  ceilings: ReadonlyMap<TaskId, NonNullable<TaskProgress['ceiling']>>,
): LaneState {
  const capped = [...ceilings].map(([id, ceiling]) => {
    const known = getProgress(state.tasks, id);
    return [id, { ...known, ceiling: { ...ceiling, spentUsd: known.ceiling?.spentUsd ?? ceiling.spentUsd } }] as const;
  });
  return capped.length === 0 ? state : { ...state, tasks: { ...state.tasks, ...Object.fromEntries(capped) } };
}

/**
 * Returns why a task gets no further iteration: it has reached its cost ceiling or used all its attempts; null if
 * neither. A prompt has unlimited attempts: the limits of the run, the hour and the day bound it, and the circuit.
 */
export function explainGivenUp(
  id: TaskId,
  { attempts, ceiling }: Pick<TaskProgress, 'attempts' | 'ceiling'>,
  { maxIterationsPerTask }: Pick<Policy, 'maxIterationsPerTask'>,
): 'ceiling' | 'max_iterations_per_task' | null {
  if (computeCeilingLeftUsd({ ceiling }) === 0) return 'ceiling';
  const isOut = maxIterationsPerTask > 0 && attempts >= maxIterationsPerTask && !isPromptTask(id);
  return isOut ? 'max_iterations_per_task' : null;
}

/**
 * Returns true if another task could be worked on. A task that only waits for a verification of the head is ignored.
 */
function hasOther(state: LaneState, { task, tasks, evidence }: IterationFacts, policy: Policy, now: number): boolean {
  const progress = reopenDueTasks(state.tasks, policy.circuit.cooldownMs, now);
  const waiting = isKnownRed(state, evidence.after.head)
    ? listTasksHeldByOthers(state, tasks)
    : listUnverifiedTasks(state);
  return tasks.some((other) => other.id !== task.id && !waiting.includes(other.id) && isEligible(other, progress));
}

function circuitFacts(
  state: LaneState,
  { analysis, evidence, task }: IterationFacts,
  judgement: Judgement,
  policy: Policy,
): CircuitFacts {
  const { verdict } = judgement;
  const { countedDenials, nothingToDo, agentFailed, progress, questionOnly, taskDone, vetoes, discrepancies } = verdict;
  const saysAllDone =
    isPromptTask(task.id) && judgement.claimsEverything && vetoes.length === 0 && discrepancies.length === 0;
  return {
    progress,
    // "Nothing to do" is an answer even if no work is left, so it does not feed the circuit.
    neutral:
      judgement.neutral ||
      nothingToDo ||
      judgement.verdict.needsWithheld ||
      ((taskDone || saysAllDone) && countedDenials === 0),
    failure: agentFailed ? describeFailure({ analysis, end: evidence.end }) : null,
    questionOnly,
    fingerprints: fingerprintsOf(analysis, agentFailed),
    countedDenials,
    output: outputFact(),
    taskId: task.id,
    // A failure of the provider says nothing about the task, so it must not count as another turn.
    returned: getProgress(state.tasks, task.id).setAside !== null && !judgement.providerFailed && !agentFailed,
  };

  function outputFact(): CircuitFacts['output'] {
    // A call that failed gave no answer, which differs from a short one, so its length is not compared.
    if (!hasAgentAnswered({ analysis, evidence })) return 'unmeasured';
    return hasOutputDeclined(state.signals, evidence.outputChars, policy.circuit.outputDeclinePercent)
      ? 'declined'
      : 'normal';
  }
}

/** Returns the errors of the final message; for a failed call also the CLI's own error, which the message lacks. */
function fingerprintsOf({ errors, agentError }: IterationFacts['analysis'], agentFailed: boolean): readonly string[] {
  const ofCall = agentFailed && agentError !== null ? [computeFingerprint(agentError.text)] : [];
  return [...errors.map(({ fingerprint }) => fingerprint), ...ofCall].map((one) => one.slice(0, MAX_FINGERPRINT_CHARS));
}
