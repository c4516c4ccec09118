import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';

/**
 * Errors that do not depend on the session: limits, refused logins, missing credit. A new session would meet them too.
 */
const SESSION_INDEPENDENT_ERRORS: readonly string[] = ['auth', 'billing', 'rate-limit', 'budget'];

/**
 * Returns true if a resumed call may have failed because of its session, so that a new session may help. The session
 * does not cause limits, refused logins, missing credit, cancellations, withdrawn tasks or the end of the run's time.
 */
export function isSessionSuspect({
  analysis: { agentError, usageLimit },
  end,
}: {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
}): boolean {
  if (usageLimit !== null || end.kind === 'cancelled' || end.kind === 'withdrawn') return false;
  if (end.kind === 'timeout' && end.of === 'run') return false;
  if (agentError !== null) return !SESSION_INDEPENDENT_ERRORS.includes(agentError.kind);
  return end.kind !== 'exited' || end.code !== 0;
}

/** Returns true if the user's rules allow web search, which runs on the provider's servers. */
export function allowsWebSearch(rules: readonly string[]): boolean {
  return rules.some((rule) => /^WebSearch(?:\(|$)/.test(rule));
}
