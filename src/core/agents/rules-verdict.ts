import type { IsolationFacts } from '../isolation/probe.ts';
import { joinNames, toOneLine } from '../text/phrase.ts';

/** The differences between the rules that an agent enforces and the user's rules. */
export interface RulesGap {
  /** The user's rules, as written, that this agent cannot enforce. */
  readonly unmapped: readonly string[];
  /** The agent's permissions beyond the rules, in words that complete "Codex may also ..."; null if none. */
  readonly allowsMore: string | null;
}

/**
 * The consequence of a gap. `warned`: the run reports the gap and continues; `refused`: the run ends before its first
 * call.
 */
export type RulesVerdict = { readonly kind: 'fine' } | { readonly kind: 'warned' | 'refused'; readonly text: string };

const MAX_RULES = 5;
const MAX_RULE_CHARS = 80;

/**
 * Decides whether a run may begin when its agent cannot enforce all rules. An agent with permissions beyond the rules
 * is refused unless an isolation level limits it.
 */
export function judgeRules(
  agentTitle: string,
  { unmapped, allowsMore }: RulesGap,
  level: IsolationFacts['level'],
): RulesVerdict {
  const rules = unmapped.map((rule) => `\`${toOneLine(rule, MAX_RULE_CHARS).replaceAll('`', "'")}\``);
  const named = joinNames(rules, MAX_RULES);
  if (allowsMore === null)
    return unmapped.length === 0
      ? { kind: 'fine' }
      : { kind: 'warned', text: `${agentTitle} has no counterpart for ${named}, and works without it.` };
  const why = unmapped.length === 0 ? '' : `, because it has no counterpart for ${named}`;
  const more = `${agentTitle} may also ${allowsMore}${why}.`;
  if (level !== 'none') return { kind: 'warned', text: `${more} The isolation level \`${level}\` limits it instead.` };
  const wider = unmapped.some((rule) => rule.trim().startsWith('Bash(')) ? ', or allow `Bash` as a whole' : '';
  return {
    kind: 'refused',
    text: `${more} Without isolation, nothing else restricts it to \`allowed-tools\`. Set \`isolation: user\` or \`isolation: namespace\`${wider}.`,
  };
}
