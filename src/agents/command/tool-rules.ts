import type { MappedRules } from '../rules/mapped-rules.ts';

/** Of a program that only takes a prompt nothing is known that could hold it to rules. */
export function mapRules(): MappedRules<null> {
  return { own: null, unmapped: [], allowsMore: 'do everything that its process can, whatever `allowed-tools` says' };
}
