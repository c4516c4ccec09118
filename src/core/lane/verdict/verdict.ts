import { z } from 'zod';
import type { Analysis } from '../../analysis/analysis.ts';
import type { Evidence } from '../../evidence.ts';
import { CONFLICT_TASK, isFeedback } from '../../feedback/subject.ts';
import { hasCalledAgent, listFailingSteps, listHoldingReviews } from '../../pipeline/step-record.ts';
import { countSchema, type Immutable, type Policy } from '../../policy.ts';
import type { HintCode } from '../../prompt/hints.ts';
import { parseLeftOutReason } from '../../review/left-out.ts';
import { isTestFile } from '../../review/test-files.ts';
import { isPromptTask, type TaskId } from '../../tasks/ids.ts';
import { countTasks, getProgress } from '../../tasks/queue.ts';
import { isFinished } from '../../tasks/task.ts';
import { joinNames } from '../../text/phrase.ts';
import { isKnownRed } from '../verification.ts';
import { hasAgentAnswered, circuitWords } from '../circuit.ts';
import {
  hasChangedContent,
  hasChangedSinceStart,
  claimsDone,
  claimsEverything,
  claimsTask,
  isTaskMarkedDone,
  type IterationFacts,
  hasMergedBase,
  wasMarkedBefore,
} from './claims.ts';
import { judgeDenials } from '../denials.ts';
import { findDiscrepancies, type Discrepancy, listPathsStillRefused, chooseHints } from './discrepancies.ts';
import type { LaneState, LastIteration } from '../state/state.ts';

export const verdictSchema = z.object({
  progress: z.boolean(),
  taskDone: z.boolean(),
  /** Ids of other tasks whose files mark them as done, if these marks are accepted. */
  alsoDone: z.array(z.string()).default([]),
  testOnly: z.boolean(),
  questionOnly: z.boolean(),
  /**
   * True if the agent claims that the task is done, nothing has changed since the task was begun, and no evidence
   * contradicts the claim.
   */
  nothingToDo: z.boolean().default(false),
  /** True if `verify` fails as it does on the untouched base, so that no task is to blame. */
  baseIsRed: z.boolean().default(false),
  /**
   * True if the task is claimed to be done but needs files that must not be published, so that a person must decide.
   */
  needsWithheld: z.boolean().default(false),
  /** True if the agent returned no result or an error, and nothing changed. Absent in older journals. */
  agentFailed: z.boolean().default(false),
  /** The reason for setting the task aside; null if the task was not set aside. */
  setAside: z.enum(['no_progress', 'output_decline', 'nothing_to_do', 'withheld']).nullable().default(null),
  /**
   * Claims that the evidence contradicts, as fixed sentences with numbers. The texts are stable, because journals
   * contain them and replay compares them.
   */
  discrepancies: z.array(z.string()),
  /** The reasons for overruling a claim that everything is done; empty if it was not overruled. */
  vetoes: z.array(z.string()),
  /** Advice to the user about denied commands that consist of allowed parts. */
  advice: z.array(z.string()),
  countedDenials: countSchema,
  circuit: z.enum(circuitWords),
});

/**
 * The judgement of an iteration by pure code. People see it, and it can be replayed from the rest of its journal line.
 */
export type Verdict = Immutable<z.infer<typeof verdictSchema>>;

/** The judgement of an iteration: the verdict without the circuit, and the facts that settling the state needs. */
export interface Judgement {
  readonly verdict: Omit<Verdict, 'circuit' | 'setAside'>;
  /**
   * True if the iteration's end does not count for or against the agent: a usage limit, the run's deadline, a cancel, a
   * withdrawn task, a wrong key, a forgotten session.
   */
  readonly neutral: boolean;
  /**
   * True if the provider failed temporarily. The iteration is then not an attempt at the task, but repeated failures
   * are a reason to stop.
   */
  readonly providerFailed: boolean;
  readonly verification: LastIteration['verification'];
  readonly claimsEverything: boolean;
  readonly hints: readonly HintCode[];
}

/** Judges an iteration by its evidence; a claim is accepted only if nothing contradicts it. */
export function judgeIteration(state: LaneState, facts: IterationFacts, policy: Policy): Judgement {
  const { analysis, evidence } = facts;
  const verification = verificationAfter(state, evidence);
  const changed = hasChangedContent(evidence);
  const stepsHold = listFailingSteps(evidence.steps).length === 0 && listHoldingReviews(evidence.steps).length === 0;
  const passed = verification === 'passed';
  const discrepancies = findDiscrepancies(state, facts);
  const nothingToDo = discrepancies.length === 0 && isNothingToDo(state, facts) && !isStillWithheld(state, facts);
  // If this commit failed in a clean clone, the work tree passes only because of unpublished files.
  const verified = passed && !isKnownRed(state, evidence.after.head);
  const holds = discrepancies.length === 0 && !isEndedByPeople(evidence) && stepsHold;
  const accepts = holds && (!policy.verifies || verified);
  // The task was marked during an iteration on another task. Without verification, a claim in an iteration on the task
  // itself confirms that mark.
  const confirmed = !policy.verifies && wasMarkedBefore(facts) && claimsDone(analysis);
  const taskDone = isFeedback(facts.task.id)
    ? isAnswered(state, facts, { accepts, passed, nothingToDo: nothingToDo && holds })
    : accepts &&
      !isPromptTask(facts.task.id) &&
      ((nothingToDo && passed) ||
        (claimsTask(facts) &&
          (hasChangedSinceStart(state, facts) || (isTaskMarkedDone(facts) && passed) || confirmed)));
  const alsoDone = accepts && passed ? alsoMarked(state, facts) : [];
  // A mark in a task file is a claim: it counts as progress only on content that passes.
  const progress =
    changed ||
    hasMergedBase(evidence) ||
    (passed && ((taskDone && isTaskMarkedDone(facts)) || alsoDone.length > 0)) ||
    (taskDone && confirmed);
  const neutral = isNeutral(state, facts);
  const agentFailed = policy.agentFailures === 'apart' && !progress && !taskDone && !neutral && hasFailed(facts);
  const denials = judgeDenials(facts.denials, progress, policy);
  const claimsAll = claimsEverything(facts);
  const vetoes = claimsAll
    ? vetoesOf(state, facts, { done: [...(taskDone ? [facts.task.id] : []), ...alsoDone], verification })
    : [];
  const baseIsRed =
    !neutral && !agentFailed && evidence.verification.kind === 'failed' && evidence.verification.asOnBase === true;
  const questionOnly =
    (analysis.question || denials.askedOnly) &&
    !progress &&
    !agentFailed &&
    denials.counted === 0 &&
    analysis.errors.length === 0 &&
    analysis.agentError === null;

  return {
    verdict: {
      progress,
      taskDone,
      alsoDone,
      testOnly: analysis.testOnly && evidence.files.every(isTestFile),
      questionOnly,
      nothingToDo: nothingToDo && !confirmed && denials.counted === 0 && !baseIsRed,
      baseIsRed,
      needsWithheld: !neutral && !baseIsRed && !taskDone && needsWithheld(state, facts),
      agentFailed,
      discrepancies: discrepancies.map(({ sentence }) => sentence),
      vetoes: vetoes.map(({ sentence }) => sentence),
      advice: denials.advice,
      countedDenials: denials.counted,
    },
    neutral: neutral || baseIsRed,
    providerFailed: analysis.agentError?.kind === 'server' || analysis.agentError?.kind === 'rate-limit',
    verification,
    claimsEverything: claimsAll,
    hints: chooseHints(facts, {
      progress,
      questionOnly,
      verification,
      denials,
      claims: [...vetoes, ...discrepancies],
      isToConfirm: claimsAll && isPromptTask(facts.task.id),
      isAnswered: taskDone && isFeedback(facts.task.id),
    }),
  };
}

/** Returns true if an agent was called and returned no result or an error. */
function hasFailed({ analysis, evidence }: IterationFacts): boolean {
  return hasCalledAgent(evidence.steps) && !hasAgentAnswered({ analysis, evidence });
}

/**
 * Returns true if the verify commands must run after an iteration: content changed, or a completion claim is about
 * content that has never passed.
 */
export function needsVerification(
  state: LaneState,
  iteration: {
    readonly analysis: Analysis;
    readonly evidence: Pick<Evidence, 'before' | 'after' | 'checklist' | 'doneMarker'>;
  },
  policy: Policy,
): boolean {
  const { analysis, evidence } = iteration;
  if (!policy.verifies) return false;
  if (evidence.before.tree !== evidence.after.tree) return true;
  // On a red base, every answer of the agent is compared with the base's failures, so it is always verified.
  if (state.redBase !== null && analysis.agentError === null && analysis.usageLimit === null) return true;
  const claims = claimsDone(analysis) || claimsEverything(iteration) || (evidence.checklist?.finished ?? 0) > 0;
  return claims && inherited(state, evidence.after.tree) !== 'passed';
}

/** Returns the CLI's own words if its access is wrong (key, credit, model); null otherwise. */
export function findAccessError(analysis: Analysis): string | null {
  const { agentError, usageLimit } = analysis;
  if (agentError === null || usageLimit !== null) return null;
  return ['auth', 'billing', 'model'].includes(agentError.kind) ? agentError.text : null;
}

/**
 * Returns true if a request of people or CI is answered: by a change, or by reasons against one, which need no
 * verification. A conflict is answered only by a merge.
 */
function isAnswered(
  state: LaneState,
  facts: IterationFacts,
  judged: { readonly accepts: boolean; readonly passed: boolean; readonly nothingToDo: boolean },
): boolean {
  const { accepts, passed, nothingToDo } = judged;
  const { merge } = facts.evidence;
  const { status, summary } = facts.analysis.signal;
  if (merge === 'open') return false;
  const isClaimed = claimsTask(facts);
  if (accepts && isClaimed && hasChangedSinceStart(state, facts)) return true;
  // A merge that passes verification and contains both sides is accepted, whatever the agent claims.
  if (facts.task.id === CONFLICT_TASK)
    return accepts && (merge === 'made' ? isClaimed || (passed && status !== 'BLOCKED') : isClaimed && passed);
  return nothingToDo && summary !== null && summary.trim() !== '';
}

/** Returns the lane's other unfinished tasks that their files mark as done. */
function alsoMarked(state: LaneState, { task, tasks, evidence: { checklist } }: IterationFacts): readonly TaskId[] {
  const marked = new Set(checklist?.done ?? []);
  return tasks
    .map(({ id }) => id)
    .filter((id) => id !== task.id && marked.has(id) && !isFinished(getProgress(state.tasks, id)));
}

/**
 * Returns true if "nothing to do" is credible: the agent claims it, and nothing has changed since the task was begun.
 */
function isNothingToDo(state: LaneState, facts: IterationFacts): boolean {
  const { analysis, evidence } = facts;
  return (
    claimsDone(analysis) &&
    listFailingSteps(evidence.steps).length === 0 &&
    // If all tasks are optional, the claims of several iterations decide instead of a single one.
    facts.tasks.some(({ optional }) => !optional) &&
    analysis.signal.status !== 'BLOCKED' &&
    !hasChangedSinceStart(state, facts) &&
    !hasChangedContent(evidence) &&
    evidence.end.kind === 'exited' &&
    analysis.agentError === null
  );
}

/**
 * Returns true if the task is claimed to be done and a person must decide about withheld files: the task's text is
 * about them, all of its work is protected, or the agent already knew about them and either changed them again or
 * changed nothing. Oversized files and apparent keys are left to the agent, which is first informed about them.
 */
function needsWithheld(state: LaneState, facts: IterationFacts): boolean {
  const { analysis, evidence, task } = facts;
  const { merge } = evidence;
  // A task with files that the server refused waits with the server's own words, so those files are ignored here.
  const ofServer = listPathsStillRefused(state, facts);
  const withheldHere = (evidence.withheldHere ?? []).filter(({ path }) => !ofServer.includes(path));
  if (merge === 'open') return false;
  // A prompt has many pieces, so only the claim that all of it is done needs a decision.
  const claims = isPromptTask(task.id) ? claimsEverything(facts) : claimsDone(analysis);
  if (!claims && analysis.signal.status !== 'BLOCKED') return false;
  if (ofServer.length === 0 && isStillWithheld(state, facts)) return true;
  if (withheldHere.length === 0) return false;
  const isProtected = withheldHere.some(({ why }) => parseLeftOutReason(why) === 'protected');
  return (
    withheldHere.some(({ part }) => part) ||
    knowsWithheld(state, facts) ||
    (isProtected && !hasChangedSinceStart(state, facts))
  );
}

/**
 * Returns true if the task's work cannot be published: the agent knew that its files are withheld, and they still are.
 */
function isStillWithheld(state: LaneState, facts: IterationFacts): boolean {
  const { withheld, withheldHere } = facts.evidence;
  // Journals of earlier versions lack `withheldHere`, so this rule does not apply when they are replayed.
  return (
    withheldHere !== undefined &&
    withheld.length > 0 &&
    knowsWithheld(state, facts) &&
    !hasChangedSinceStart(state, facts)
  );
}

/** Returns true if the last iteration was on the same task and its claim failed because of withheld files. */
function knowsWithheld({ lastIteration }: LaneState, { task }: IterationFacts): boolean {
  return lastIteration?.taskId === task.id && lastIteration.hints.includes('withheld');
}

function vetoesOf(
  state: LaneState,
  { tasks, evidence: { steps } }: IterationFacts,
  judged: { readonly done: readonly TaskId[]; readonly verification: LastIteration['verification'] },
): readonly Discrepancy[] {
  const { requiredOpen } = countTasks(
    tasks.filter(({ id }) => !judged.done.includes(id)),
    state.tasks,
  );
  const found: Discrepancy[] = [];
  if (requiredOpen > 0)
    found.push({
      hint: 'veto_open_tasks',
      sentence: `It claimed that everything is done, but required tasks are open: ${requiredOpen}.`,
    });
  const failing = listFailingSteps(steps);
  if (failing.length > 0)
    found.push({
      hint: 'veto_steps',
      sentence: `It claimed to be done, but steps of the pipeline did not pass: ${joinNames(
        failing.map(({ name }) => name),
        5,
      )}.`,
    });
  if (judged.verification === 'failed')
    found.push({ hint: 'veto_verify', sentence: 'It claimed to be done, but the verification fails.' });
  return found;
}

/**
 * Returns the verification result of the content at the iteration's end: its own, or the known result of unchanged
 * content.
 */
function verificationAfter(state: LaneState, evidence: Evidence): LastIteration['verification'] {
  if (evidence.verification.kind !== 'not-run') return evidence.verification.kind;
  return inherited(state, evidence.after.tree);
}

function inherited(state: LaneState, tree: string): LastIteration['verification'] {
  return state.lastIteration?.tree === tree ? state.lastIteration.verification : 'not-run';
}

/** Returns true if people ended the call early, so that its claims are ignored. */
function isEndedByPeople({ end }: Pick<Evidence, 'end'>): boolean {
  return end.kind === 'cancelled' || end.kind === 'withdrawn';
}

function isNeutral(state: LaneState, { analysis, evidence: { end } }: IterationFacts): boolean {
  return (
    analysis.usageLimit !== null ||
    isEndedByPeople({ end }) ||
    (end.kind === 'timeout' && end.of === 'run') ||
    findAccessError(analysis) !== null ||
    (analysis.agentError?.kind === 'unknown-session' && state.session !== null)
  );
}
