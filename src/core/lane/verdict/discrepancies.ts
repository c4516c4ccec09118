import type { Evidence } from '../../evidence.ts';
import type { HintCode } from '../../prompt/hints.ts';
import { listHoldingReviews, hasCalledAgent } from '../../pipeline/step-record.ts';
import { describeReview } from '../../pipeline/review.ts';
import { getProgress } from '../../tasks/queue.ts';
import { joinNames } from '../../text/phrase.ts';
import { hasChangedSinceStart, claimsDone, claimsEverything, type IterationFacts } from './claims.ts';
import type { LaneState, LastIteration } from '../state/state.ts';
import type { judgeDenials } from '../denials.ts';

/** A claim that the evidence contradicts: a hint for the next prompt, and a sentence for people. */
export interface Discrepancy {
  readonly hint: HintCode;
  readonly sentence: string;
}

/** Returns the claims of an iteration that its evidence contradicts. */
export function findDiscrepancies(state: LaneState, facts: IterationFacts): readonly Discrepancy[] {
  const { analysis, evidence } = facts;
  const { signal } = analysis;
  const { tasksCompleted, filesModified } = signal;
  const { checklist } = evidence;
  const isListed = checklist !== null && checklist.current !== null;
  const found: Discrepancy[] = [];
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
    evidence.uncounted === undefined &&
    (evidence.withheldHere ?? []).length === 0 &&
    !mayRepeat(state, facts) &&
    !mayCountAgain(state, facts) &&
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
      sentence: `It changed nothing in the work tree and left work beside it, where it is not published: ${joinNames(evidence.beside, 5)}.`,
    });
  }
  const [held] = claims ? listHoldingReviews(evidence.steps) : [];
  if (held !== undefined) {
    found.push({
      hint: 'held_by_review',
      sentence: `It claimed finished work, but step ${held.step} does not let it pass; ${describeReview(held.review)}.`,
    });
  }
  if (claims && evidence.marked !== undefined) {
    found.push({
      hint: 'marked',
      sentence: `It claimed finished work, but added conflict markers: ${joinNames(evidence.marked, 5)}.`,
    });
  }
  if (claims && evidence.merge === 'open') {
    found.push({
      hint: 'merge_open',
      sentence: 'It claimed finished work, but the merge is not finished: files still have conflict markers.',
    });
  } else if (claims && withheldPathsOf(evidence).length > 0) {
    found.push({
      hint: 'withheld',
      // The length must not change: earlier journals contain this exact text, and replay compares it.
      sentence: `It claimed finished work, but changed files that must not be published and are not in the branch: ${withheldPathsOf(evidence).join(', ').slice(0, 300)}.`,
    });
  } else if (claims && listPathsStillRefused(state, facts).length > 0) {
    found.push({
      hint: 'push_refused',
      sentence: `It claimed finished work, but files that the git server refused are as they were and are not in the branch: ${joinNames(listPathsStillRefused(state, facts), 5)}.`,
    });
  }
  return found;
}

/**
 * Returns the withheld paths that the iteration changed. For journals of earlier versions, returns all withheld paths.
 */
function withheldPathsOf({ withheld, withheldHere }: Evidence): readonly string[] {
  return withheldHere?.map(({ path }) => path) ?? withheld;
}

/**
 * Returns the task's paths that the server refused and that are still kept out of the branch, regardless of the
 * iteration that changed them.
 */
export function listPathsStillRefused(
  state: LaneState,
  { task, evidence: { withheld } }: IterationFacts,
): readonly string[] {
  const { refused } = getProgress(state.tasks, task.id);
  return refused?.files.filter((path) => withheld.includes(path)) ?? [];
}

/** Returns true if the agent changed task files. It may truthfully claim this change, although it is not evidence. */
function wroteChecklist(checklist: Evidence['checklist']): boolean {
  return checklist !== null && checklist.finished + checklist.removed + checklist.added > 0;
}

/**
 * Returns true if the task's work may already exist from an iteration that was killed before it was judged. Writing the
 * same work again then makes the claim true without a change.
 */
function mayRepeat(state: LaneState, facts: IterationFacts): boolean {
  return (
    state.lastIteration !== null &&
    state.lastIteration.tree !== facts.evidence.before.tree &&
    hasChangedSinceStart(state, facts)
  );
}

/**
 * Returns true if the agent may count the files of its last iteration again: its claim failed for a reason that needs
 * no change of them, such as a stray file, conflict markers that belong there, or a flaky test.
 */
function mayCountAgain(state: LaneState, facts: IterationFacts): boolean {
  const { lastIteration } = state;
  return (
    lastIteration?.taskId === facts.task.id &&
    lastIteration.hints.some((code) => ['withheld', 'marked', 'verify_failed'].includes(code)) &&
    hasChangedSinceStart(state, facts)
  );
}

/** The parts of a judgement that hints are derived from. */
interface HintFacts {
  readonly progress: boolean;
  readonly questionOnly: boolean;
  readonly verification: LastIteration['verification'];
  readonly denials: ReturnType<typeof judgeDenials>;
  readonly claims: readonly Discrepancy[];
  /** True if the agent claims that an open-ended task is done; a single claim is not enough. */
  readonly isToConfirm: boolean;
  /** True if the iteration answers people or CI. */
  readonly isAnswered: boolean;
}

/** Returns the hints for the next prompt, most important first. */
export function chooseHints({ analysis, evidence }: IterationFacts, judged: HintFacts): readonly HintCode[] {
  const spoke = evidence.end.kind === 'exited' && analysis.agentError === null && hasCalledAgent(evidence.steps);
  const hints: HintCode[] = judged.claims.map(({ hint }) => hint);
  if (evidence.checklist?.current === 'open' && claimsDone(analysis) && !hints.includes('discrepancy_not_marked'))
    hints.push('not_marked');
  // Files with conflict markers are also withheld, but they must be resolved rather than undone.
  if (evidence.merge === 'open') hints.push('merge_open');
  else if (withheldPathsOf(evidence).length > 0) hints.push('withheld');
  if (evidence.marked !== undefined) hints.push('marked');
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
