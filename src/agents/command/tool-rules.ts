import type { KindOfDenial } from '../../core/lane/denials.ts';
import type { MappedRules } from '../rules/shell-rules.ts';

/** Of a program that only takes a prompt nothing is known that could hold it to rules; `Bash` as a whole allows all that a program can do. */
export function mapRules(rules: readonly string[]): MappedRules<null> {
  return rules.some((rule) => rule.trim() === 'Bash')
    ? { own: null, unmapped: [], allowsMore: null }
    : { own: null, unmapped: rules, allowsMore: 'do everything that its process can' };
}

/** It reports no refused call. */
export const kindOfDenial: KindOfDenial = () => 'forbidden';
