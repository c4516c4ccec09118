import { findNearest } from '../core/text/nearest.ts';

/**
 * Returns the problem of the form of a rule such as `Bash(npm:*)` or `mcp__github__*`, as a verb phrase, or null if the
 * form is valid. A tool with an unknown name may exist.
 */
export function findRuleProblem(rule: string): string | null {
  const [, tool = '', specifier] = /^([A-Za-z][\w*-]*)(\(.+\))?$/s.exec(rule) ?? [];
  if (tool === '' || unclosed(rule))
    return `has the rule ${shown(rule)}, which is not a tool such as Read or Bash(npm test:*)${hint(rule)}`;
  if (/^[A-Z]/.test(tool) || /^mcp__/.test(tool)) return null;
  const near = TOOLS.find((name) => name.toLowerCase() === findNearest(tool, LOWER_CASE)) ?? null;
  const suggestion = near === null ? `Bash(${tool}:*)` : `${near}${specifier ?? ''}`;
  return `has the rule ${shown(rule)}: names of tools begin with a capital letter or mcp__. Did you mean ${suggestion}?`;
}

/** Tools of the CLI, which serve only to suggest corrections. */
const TOOLS = [
  'Agent',
  'Bash',
  'Edit',
  'Glob',
  'Grep',
  'NotebookEdit',
  'Read',
  'Skill',
  'Task',
  'TodoWrite',
  'WebFetch',
  'WebSearch',
  'Write',
] as const;
const LOWER_CASE = TOOLS.map((name) => name.toLowerCase());

function unclosed(rule: string): boolean {
  return [...rule].reduce((depth, character) => depth + (character === '(' ? 1 : character === ')' ? -1 : 0), 0) !== 0;
}

/** Returns a hint about a common mistake: parentheses that do not match, or a command where a rule is expected. */
function hint(rule: string): string {
  if (unclosed(rule)) return ': its parentheses do not match';
  return /^[a-z][\w.-]*( |$)/.test(rule) ? `. To allow that command, write Bash(${rule}:*)` : '';
}

function shown(rule: string): string {
  return JSON.stringify(rule.slice(0, 80));
}
