import type { MappedRules } from '../rules/mapped-rules.ts';

/** The rules are written in the CLI's own language. */
export function mapRules(rules: readonly string[]): MappedRules<readonly string[]> {
  return { own: rules, unmapped: [], allowsMore: null };
}
