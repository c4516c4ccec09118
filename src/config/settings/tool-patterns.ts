import { listField } from '../fields.ts';

/** A rule that is written in another way here. */
interface ChangedRule {
  readonly from: string;
  readonly to: string;
}

/** The agent's allow rules of another Ralph, in the form that works here; each once. `Bash(git add *)` → `Bash(git add:*)`, and `Bash(*)` → `Bash`. */
export function toolRulesHere(text: string): {
  readonly rules: readonly string[];
  readonly changed: readonly ChangedRule[];
} {
  const pairs = listField()
    .parse(text)
    .map((from) => ({ from, to: ruleHere(from) }));
  return { rules: [...new Set(pairs.map(({ to }) => to))], changed: pairs.filter(({ from, to }) => from !== to) };
}

function ruleHere(rule: string): string {
  if (rule === 'Bash(*)') return 'Bash';
  const [, command] = /^Bash\(([^()*]*[^()*\s:]) +\*\)$/.exec(rule) ?? [];
  return command === undefined ? rule : `Bash(${command}:*)`;
}
