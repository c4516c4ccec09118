import type { IsolationFacts } from '../isolation/probe.ts';
import { firstNames, oneLine } from '../text/phrase.ts';

/** The differences between an agent's own rules and the user's. */
export interface RulesGap {
  /** Rules, as the user wrote them, that cannot be given to this agent one by one. */
  readonly unmapped: readonly string[];
  /** The agent's permissions beyond the rules, in words that complete "Codex may also ..."; null if there are none. */
  readonly allowsMore: string | null;
}

/** The verdict. `said`: reported before the first call, which is made; `refused`: ends the run. */
export type RulesVerdict = { readonly kind: 'fine' } | { readonly kind: 'said' | 'refused'; readonly text: string };

const MAX_RULES = 5;
const MAX_RULE_CHARS = 80;

/** Returns whether a run may begin with an agent that cannot follow all rules: if nothing else limits it, it may not do more than was asked for. */
export function rulesVerdict(
  agentTitle: string,
  { unmapped, allowsMore }: RulesGap,
  level: IsolationFacts['level'],
): RulesVerdict {
  const rules = unmapped.map((rule) => `\`${oneLine(rule, MAX_RULE_CHARS).replaceAll('`', "'")}\``);
  const named = firstNames(rules, MAX_RULES);
  if (allowsMore === null)
    return unmapped.length === 0
      ? { kind: 'fine' }
      : { kind: 'said', text: `${agentTitle} has no counterpart of ${named}, and works without.` };
  const why = unmapped.length === 0 ? '' : `, because it has no counterpart of ${named}`;
  const more = `${agentTitle} may also ${allowsMore}${why}.`;
  if (level !== 'none') return { kind: 'said', text: `${more} Here the isolation \`${level}\` is the limit.` };
  const wider = unmapped.some((rule) => rule.trim().startsWith('Bash(')) ? ', or allow `Bash` as a whole' : '';
  return {
    kind: 'refused',
    text: `${more} Without isolation nothing else would hold it to \`allowed-tools\`. Set \`isolation: user\` or \`isolation: namespace\`${wider}.`,
  };
}
