import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';

/** Errors that would also end a call without its session: limits, refused logins, missing credit. */
const SAME_WITHOUT_IT: readonly string[] = ['auth', 'billing', 'rate-limit', 'budget'];

/**
 * Returns true if a resumed call failed in a way that a call in a new session may not: for any reason but a limit, a
 * refused login, missing credit, a cancel, withdrawn work, or the end of the run's time.
 */
export function mayBeTheConversation({
  analysis: { agentError, usageLimit },
  end,
}: {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
}): boolean {
  if (usageLimit !== null || end.kind === 'cancelled' || end.kind === 'withdrawn') return false;
  if (end.kind === 'timeout' && end.of === 'run') return false;
  if (agentError !== null) return !SAME_WITHOUT_IT.includes(agentError.kind);
  return end.kind !== 'exited' || end.code !== 0;
}

/** Tells whether a user's rules allow the tool that searches on the provider's servers. */
export function allowsWebSearch(rules: readonly string[]): boolean {
  return rules.some((rule) => /^WebSearch(?:\(|$)/.test(rule));
}
