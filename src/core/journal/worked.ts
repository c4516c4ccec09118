import { configurationProblem } from '../lane/verdict.ts';
import { isFailure } from '../agents/providers.ts';
import type { JournalEntry } from './journal.ts';

/** Whether an iteration's agent did anything: one whose provider gave no answer has not, unless content changed. */
export function hasWorked({
  analysis,
  evidence: { end },
  verdict,
}: Pick<JournalEntry, 'analysis' | 'evidence' | 'verdict'>): boolean {
  if (verdict.progress) return true;
  const { agentFailed } = verdict;
  const failed = isFailure({ analysis, end, agentFailed });
  return analysis.usageLimit === null && configurationProblem(analysis) === null && !failed;
}
