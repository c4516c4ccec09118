import { z } from 'zod';
import type { Analysis } from '../analysis/analysis.ts';
import { isKnownRed } from './check.ts';
import { answered, circuitWords } from './circuit.ts';
import { judgeDenials, type ClassifiedDenial } from './denials.ts';
import type { Evidence } from '../evidence.ts';
import { CONFLICT_TASK, isFeedback } from '../feedback/subject.ts';
import { askedAgent, changedByAgent, failingSteps } from '../pipeline/step-record.ts';
import { firstNames } from '../text/phrase.ts';
import type { HintCode } from '../prompt/hints.ts';
import { count, type Immutable, type Policy } from '../policy.ts';
import { leftOutReason } from '../review/left-out.ts';
import { isTestFile } from '../review/test-files.ts';
import type { LaneState, LastIteration } from './state.ts';
import { countTasks, progressOf } from '../tasks/queue.ts';
import { isFinished, type QueuedTask } from '../tasks/task.ts';
import { isPromptTask, type TaskId } from '../tasks/ids.ts';

export const verdictSchema = z.object({
  progress: z.boolean(),
  taskDone: z.boolean(),
  /** Ids of other tasks that their files mark as done, as far as that is accepted. */
  alsoDone: z.array(z.string()).default([]),
  testOnly: z.boolean(),
  questionOnly: z.boolean(),
  /** True if the agent claims that the task is done, nothing has changed since the task was begun, and no evidence contradicts the claim. */
  nothingToDo: z.boolean().default(false),
  /** True if `verify` fails as it fails on the untouched base: no task is to blame. */
  baseIsRed: z.boolean().default(false),
  /** True if the task is claimed to be done but needs files that must not be published: a person decides. */
  needsWithheld: z.boolean().default(false),
  /** True if the agent gave no result, or an error, and nothing changed. Absent in older journals. */
  agentFailed: z.boolean().default(false),
  /** The reason for setting the task aside; null if it was not set aside. */
  setAside: z.enum(['no_progress', 'output_decline', 'nothing_to_do', 'withheld']).nullable().default(null),
  /** Claims that the evidence contradicts, as fixed sentences with numbers: journals contain these very texts, and replay compares them. */
  discrepancies: z.array(z.string()),
  /** The reasons for overruling a claim that everything is done; empty if none was overruled. */
  vetoes: z.array(z.string()),
  /** Denied commands that consist of allowed parts, as advice to the user. */
  advice: z.array(z.string()),
  countedDenials: count,
  circuit: z.enum(circuitWords),
});

/** The judgement of an iteration by pure code; reported to people, and replayable from the rest of its line in the journal. */
export type Verdict = Immutable<z.infer<typeof verdictSchema>>;

/** The facts of an iteration that is over. */
export interface IterationFacts {
  readonly task: QueuedTask;
  /** All tasks of the lane, including the current one. */
  readonly tasks: readonly QueuedTask[];
  readonly analysis: Analysis;
  /** The denials of the analysis. */
  readonly denials: readonly ClassifiedDenial[];
  readonly evidence: Evidence;
  readonly startedAt: number;
}

/** The judgement of an iteration: the verdict without the circuit, and what the state needs to settle. */
export interface Judgement {
  readonly verdict: Omit<Verdict, 'circuit' | 'setAside'>;
  /**
   * True if the end says nothing about the agent: a usage limit, the run's own deadline, a cancel, a withdrawn task, a
   * wrong key, a forgotten session.
   */
  readonly neutral: boolean;
  /** True if the provider failed temporarily, not the agent: this is not an attempt at the task, but repeated failures are a reason to stop. */
  readonly providerFailed: boolean;
  readonly verification: LastIteration['verification'];
  readonly claimsEverything: boolean;
  readonly hints: readonly HintCode[];
}

/** Judges an iteration by its evidence; claims only count if nothing contradicts them. */
export function judge(state: LaneState, facts: IterationFacts, policy: Policy): Judgement {
  const { analysis, evidence } = facts;
  const verification = verificationAfter(state, evidence);
  const changed = changedContent(evidence);
  const stepsHold = failingSteps(evidence.steps).length === 0;
  const passed = verification === 'passed';
  const discrepancies = discrepanciesOf(state, facts);
  const nothingToDo = discrepancies.length === 0 && isNothingToDo(state, facts) && !isStillWithheld(state, facts);
  // If the commit failed in a clean clone, the work tree passes only because of something unpublished.
  const verified = passed && !isKnownRed(state, evidence.after.head);
  const holds = discrepancies.length === 0 && !isEndedByPeople(evidence) && stepsHold;
  const accepts = holds && (!policy.verifies || verified);
  // A mark from an iteration on another task: without verification, an iteration on its own task confirms it.
  const confirmed = !policy.verifies && wasMarked(facts) && claimsDone(analysis);
  const taskDone = isFeedback(facts.task.id)
    ? isAnswered(state, facts, { accepts, passed, nothingToDo: nothingToDo && holds })
    : accepts &&
      !isPromptTask(facts.task.id) &&
      ((nothingToDo && passed) ||
        (claimsTask(facts) && (changedSinceStart(state, facts) || (isMarked(facts) && passed) || confirmed)));
  const alsoDone = accepts && passed ? alsoMarked(state, facts) : [];
  // A mark in a task file is a claim like any other: alone it is not progress, but on content that passes it is.
  const progress =
    changed ||
    madeMerge(evidence) ||
    (passed && ((taskDone && isMarked(facts)) || alsoDone.length > 0)) ||
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
    hints: hintsAfter(facts, {
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

/** Returns true if an agent was called without a result, or with an error as its result. */
function hasFailed({ analysis, evidence }: IterationFacts): boolean {
  return askedAgent(evidence.steps) && !answered({ analysis, evidence });
}

/** Tells whether to run the verify commands after an iteration: content changed, or a claim to be done is about content that never passed. */
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
  // On a red base, every answer of the agent is compared with the base's failures.
  if (state.redBase !== null && analysis.agentError === null && analysis.usageLimit === null) return true;
  const claims = claimsDone(analysis) || claimsEverything(iteration) || (evidence.checklist?.finished ?? 0) > 0;
  return claims && inherited(state, evidence.after.tree) !== 'passed';
}

/** Returns the CLI's own words if the agent's access is wrong (key, credit, model), or null. */
export function configurationProblem(analysis: Analysis): string | null {
  const { agentError, usageLimit } = analysis;
  if (agentError === null || usageLimit !== null) return null;
  return ['auth', 'billing', 'model'].includes(agentError.kind) ? agentError.text : null;
}

/**
 * Returns true if a request of people or CI has its answer: a change, or the reasons against one, which need no
 * verification. A merge must be made.
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
  if (accepts && isClaimed && changedSinceStart(state, facts)) return true;
  // A merge that passes and contains both sides counts, whatever the agent claims.
  if (facts.task.id === CONFLICT_TASK)
    return accepts && (merge === 'made' ? isClaimed || (passed && status !== 'BLOCKED') : isClaimed && passed);
  return nothingToDo && summary !== null && summary.trim() !== '';
}

interface Finding {
  readonly hint: HintCode;
  readonly sentence: string;
}

/** Tells whether the iteration's task is claimed to be done: by its mark if its file has it, else by the status block. */
function claimsTask({ analysis, evidence: { checklist } }: Pick<IterationFacts, 'analysis' | 'evidence'>): boolean {
  return checklist === null || checklist.current === null ? claimsDone(analysis) : checklist.current === 'done';
}

function isMarked({ evidence: { checklist } }: Pick<IterationFacts, 'evidence'>): boolean {
  return checklist?.current === 'done';
}

function wasMarked({ evidence: { checklist } }: Pick<IterationFacts, 'evidence'>): boolean {
  return checklist?.current === 'done' && checklist.wasMarked;
}

/** Returns other tasks of the lane that their files mark as done. */
function alsoMarked(state: LaneState, { task, tasks, evidence: { checklist } }: IterationFacts): readonly TaskId[] {
  const marked = new Set(checklist?.done ?? []);
  return tasks
    .map(({ id }) => id)
    .filter((id) => id !== task.id && marked.has(id) && !isFinished(progressOf(state.tasks, id)));
}

function claimsDone({ signal }: Analysis): boolean {
  return (signal.tasksCompleted ?? 0) >= 1 || signal.status === 'COMPLETE' || signal.exitSignal === true;
}

/** Returns true for a credible "nothing to do": claimed, and without a change since the task was begun. */
function isNothingToDo(state: LaneState, facts: IterationFacts): boolean {
  const { analysis, evidence } = facts;
  return (
    claimsDone(analysis) &&
    failingSteps(evidence.steps).length === 0 &&
    // If nothing is required, the claims of several iterations decide.
    facts.tasks.some(({ optional }) => !optional) &&
    analysis.signal.status !== 'BLOCKED' &&
    !changedSinceStart(state, facts) &&
    !changedContent(evidence) &&
    evidence.end.kind === 'exited' &&
    analysis.agentError === null
  );
}

function claimsEverything({ analysis: { signal, completionIndicator }, evidence }: Claiming): boolean {
  return signal.exitSignal === true || (completionIndicator && signal.exitSignal !== false) || isMarkedDone();

  /** A status block counts more than a file, which may be from an earlier iteration. */
  function isMarkedDone(): boolean {
    return evidence.doneMarker !== null && signal.from !== 'block';
  }
}

interface Claiming {
  readonly analysis: Pick<Analysis, 'signal' | 'completionIndicator'>;
  readonly evidence: Pick<Evidence, 'doneMarker'>;
}

function changedSinceStart(state: LaneState, { task, evidence }: IterationFacts): boolean {
  const started = progressOf(state.tasks, task.id).startedTree ?? evidence.before.tree;
  // If the agent had changed nothing before, changes by commands now are not the task's work either.
  return evidence.after.tree !== started && (started !== evidence.before.tree || changedContent(evidence));
}

/** Returns true if a merge was made: it may end with the very content that the lane had. */
function madeMerge({ merge, steps }: Evidence): boolean {
  return merge === 'made' && changedByAgent(steps);
}

/** Tells whether the iteration's agent changed content that is still changed at its end. */
function changedContent({ before, after, steps }: Evidence): boolean {
  return before.tree !== after.tree && changedByAgent(steps);
}

function discrepanciesOf(state: LaneState, facts: IterationFacts): readonly Finding[] {
  const { analysis, evidence } = facts;
  const { signal } = analysis;
  const { tasksCompleted, filesModified } = signal;
  const { checklist } = evidence;
  const isListed = checklist !== null && checklist.current !== null;
  const found: Finding[] = [];
  if (signal.testsStatus === 'PASSING' && evidence.verification.kind === 'failed') {
    found.push({
      hint: 'discrepancy_tests',
      sentence: 'It reported TESTS_STATUS: PASSING, but the verification failed.',
    });
  }
  if (isListed && tasksCompleted !== null && tasksCompleted > checklist.finished) {
    found.push({
      hint: 'discrepancy_not_marked',
      sentence: `It reported TASKS_COMPLETED_THIS_LOOP: ${tasksCompleted}, but the files of tasks show ${checklist.finished}.`,
    });
  }
  if (checklist !== null && checklist.removed > 0) {
    found.push({
      hint: 'discrepancy_removed',
      sentence: `It deleted ${checklist.removed} open ${checklist.removed === 1 ? 'item' : 'items'} of the files of tasks.`,
    });
  }
  if (
    filesModified !== null &&
    filesModified > 0 &&
    evidence.before.tree === evidence.after.tree &&
    evidence.merge === 'none' &&
    evidence.beside === undefined &&
    (evidence.withheldHere ?? []).length === 0 &&
    !mayRepeat(state, facts) &&
    !wroteChecklist(checklist)
  ) {
    found.push({
      hint: 'discrepancy_no_change',
      sentence: `It reported FILES_MODIFIED: ${filesModified}, but no file content changed.`,
    });
  }
  const claims = claimsDone(analysis) || claimsEverything(facts) || (checklist?.finished ?? 0) > 0;
  const isIdle = evidence.before.tree === evidence.after.tree && evidence.merge === 'none';
  if (evidence.beside !== undefined && isIdle && (claims || (filesModified ?? 0) > 0)) {
    found.push({
      hint: 'work_beside',
      sentence: `It changed nothing in the work tree and left work beside it, where it is not published: ${firstNames(evidence.beside, 5)}.`,
    });
  }
  if (claims && evidence.merge === 'open') {
    found.push({
      hint: 'merge_open',
      sentence: 'It claimed finished work, but the merge is not finished: files still have conflict markers.',
    });
  } else if (claims && withheldBy(evidence).length > 0) {
    found.push({
      hint: 'withheld',
      // Cut to this length because journals of earlier versions contain this very text, and replay compares it.
      sentence: `It claimed finished work, but changed files that must not be published and are not in the branch: ${withheldBy(evidence).join(', ').slice(0, 300)}.`,
    });
  } else if (claims && stillRefused(state, facts).length > 0) {
    found.push({
      hint: 'push_refused',
      sentence: `It claimed finished work, but files that the git server refused are as they were and are not in the branch: ${firstNames(stillRefused(state, facts), 5)}.`,
    });
  }
  return found;
}

/** Returns the paths that the iteration changed and that were withheld. Journals of earlier versions name every withheld path. */
function withheldBy({ withheld, withheldHere }: Evidence): readonly string[] {
  return withheldHere?.map(({ path }) => path) ?? withheld;
}

/** Returns the paths of the task that the server refused and that are still kept out of the branch, whichever iteration changed them. */
function stillRefused(state: LaneState, { task, evidence: { withheld } }: IterationFacts): readonly string[] {
  const { refused } = progressOf(state.tasks, task.id);
  return refused?.files.filter((path) => withheld.includes(path)) ?? [];
}

/**
 * Returns true if the task is claimed to be done and a person must decide about withheld files: its text is about them,
 * all of its work is protected, or the agent already knew and changed them again or changed nothing. Oversized files
 * and apparent keys are left to the agent, which is informed first.
 */
function needsWithheld(state: LaneState, facts: IterationFacts): boolean {
  const { analysis, evidence, task } = facts;
  const { merge } = evidence;
  // For files that the server refused, the task waits with the server's words.
  const ofServer = stillRefused(state, facts);
  const withheldHere = (evidence.withheldHere ?? []).filter(({ path }) => !ofServer.includes(path));
  if (merge === 'open' || isFeedback(task.id) || isPromptTask(task.id)) return false;
  if (!claimsDone(analysis) && analysis.signal.status !== 'BLOCKED') return false;
  if (ofServer.length === 0 && isStillWithheld(state, facts)) return true;
  if (withheldHere.length === 0) return false;
  const isProtected = withheldHere.some(({ why }) => leftOutReason(why) === 'protected');
  return (
    withheldHere.some(({ part }) => part) || wasTold(state, facts) || (isProtected && !changedSinceStart(state, facts))
  );
}

/** Returns true if nothing of the task can be published: the agent knew that its files are withheld, and they still are. */
function isStillWithheld(state: LaneState, facts: IterationFacts): boolean {
  const { withheld, withheldHere } = facts.evidence;
  // Journals of earlier versions, which name only the list of all withheld files, replay as recorded.
  return withheldHere !== undefined && withheld.length > 0 && wasTold(state, facts) && !changedSinceStart(state, facts);
}

/** Returns true if the last iteration was on the same task and its claim failed because of withheld files. */
function wasTold({ lastIteration }: LaneState, { task }: IterationFacts): boolean {
  return lastIteration?.taskId === task.id && lastIteration.hints.includes('withheld');
}

/** Tells whether the agent wrote task files, which it may truthfully report although they are not evidence. */
function wroteChecklist(checklist: Evidence['checklist']): boolean {
  return checklist !== null && checklist.finished + checklist.removed + checklist.added > 0;
}

/**
 * Returns true if the task's work may already exist from an iteration that was killed before it was judged: writing it
 * again is not a false claim.
 */
function mayRepeat(state: LaneState, facts: IterationFacts): boolean {
  return (
    state.lastIteration !== null &&
    state.lastIteration.tree !== facts.evidence.before.tree &&
    changedSinceStart(state, facts)
  );
}

function vetoesOf(
  state: LaneState,
  { tasks, evidence: { steps } }: IterationFacts,
  judged: { readonly done: readonly TaskId[]; readonly verification: LastIteration['verification'] },
): readonly Finding[] {
  const { requiredOpen } = countTasks(
    tasks.filter(({ id }) => !judged.done.includes(id)),
    state.tasks,
  );
  const found: Finding[] = [];
  if (requiredOpen > 0)
    found.push({
      hint: 'veto_open_tasks',
      sentence: `It claimed that everything is done, but required tasks are open: ${requiredOpen}.`,
    });
  const failing = failingSteps(steps);
  if (failing.length > 0)
    found.push({
      hint: 'veto_steps',
      sentence: `It claimed to be done, but steps of the pipeline did not pass: ${firstNames(
        failing.map(({ name }) => name),
        5,
      )}.`,
    });
  if (judged.verification === 'failed')
    found.push({ hint: 'veto_verify', sentence: 'It claimed to be done, but the verification fails.' });
  return found;
}

/** Returns the verification of the content at the end: this iteration's, or the one that unchanged content already had. */
function verificationAfter(state: LaneState, evidence: Evidence): LastIteration['verification'] {
  if (evidence.verification.kind !== 'not-run') return evidence.verification.kind;
  return inherited(state, evidence.after.tree);
}

function inherited(state: LaneState, tree: string): LastIteration['verification'] {
  return state.lastIteration?.tree === tree ? state.lastIteration.verification : 'not-run';
}

/** Returns true if people ended the call before it could finish: nothing that it claims counts. */
function isEndedByPeople({ end }: Pick<Evidence, 'end'>): boolean {
  return end.kind === 'cancelled' || end.kind === 'withdrawn';
}

function isNeutral(state: LaneState, { analysis, evidence: { end } }: IterationFacts): boolean {
  return (
    analysis.usageLimit !== null ||
    isEndedByPeople({ end }) ||
    (end.kind === 'timeout' && end.of === 'run') ||
    configurationProblem(analysis) !== null ||
    (analysis.agentError?.kind === 'unknown-session' && state.session !== null)
  );
}

interface HintFacts {
  readonly progress: boolean;
  readonly questionOnly: boolean;
  readonly verification: LastIteration['verification'];
  readonly denials: ReturnType<typeof judgeDenials>;
  readonly claims: readonly Finding[];
  /** True if the agent claims that an open-ended task is done; once is not enough. */
  readonly isToConfirm: boolean;
  /** True if the iteration answers people or CI. */
  readonly isAnswered: boolean;
}

function hintsAfter({ analysis, evidence }: IterationFacts, judged: HintFacts): readonly HintCode[] {
  const spoke = evidence.end.kind === 'exited' && analysis.agentError === null && askedAgent(evidence.steps);
  const hints: HintCode[] = judged.claims.map(({ hint }) => hint);
  if (evidence.checklist?.current === 'open' && claimsDone(analysis) && !hints.includes('discrepancy_not_marked'))
    hints.push('not_marked');
  // Files with markers are withheld as well: they must be resolved, not undone.
  if (evidence.merge === 'open') hints.push('merge_open');
  else if (withheldBy(evidence).length > 0) hints.push('withheld');
  if (evidence.beside !== undefined) hints.push('work_beside');
  if (judged.verification === 'failed') hints.push('verify_failed');
  if (evidence.steps.some(({ result }) => result.kind === 'failed')) hints.push('step_failed');
  if (evidence.end.kind === 'timeout') hints.push('timeout');
  if (judged.questionOnly) hints.push('question');
  if (judged.denials.counted > 0) hints.push('denied');
  if (judged.denials.advice.length > 0) hints.push('compound');
  if (judged.isToConfirm && judged.claims.length === 0) hints.push('confirm_complete');
  else if (
    !judged.progress &&
    spoke &&
    !judged.questionOnly &&
    !judged.isAnswered &&
    evidence.merge !== 'open' &&
    evidence.beside === undefined
  )
    hints.push('no_change');
  if (spoke && analysis.signal.from !== 'block') hints.push(evidence.fencedBlock ? 'fenced_block' : 'no_block');
  if (analysis.signal.unreadable.length > 0) hints.push('unreadable');
  return [...new Set(hints)];
}
