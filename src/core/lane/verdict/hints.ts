import { hasCalledAgent } from '../../pipeline/step-record.ts';
import type { HintCode } from '../../prompt/hints.ts';
import { claimsDone, type IterationFacts } from './claims.ts';
import type { judgeDenials } from '../denials.ts';
import { type Discrepancy, withheldPathsOf } from './discrepancies.ts';
import type { LastIteration } from '../state/state.ts';

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
