import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import { parseToolRule, selectOutsideReads, textsOfRules, type ToolRule } from '../rules/shell-rules.ts';

/** Returns the rules that Gemini CLI cannot follow: nobody would be asked for a subagent's calls. */
export function findGeminiGap(rules: readonly string[]): RulesGap {
  const parsed = rules.map(parseToolRule);
  const without = parsed.filter(
    (rule) => rule.kind === 'other' || rule.kind === 'subagent' || (rule.kind !== 'read' && isOnlyPart(rule)),
  );
  return { unmapped: textsOfRules([...without, ...selectOutsideReads(parsed)]), allowsMore: null };
}

/**
 * Returns the text of a policy file for `--policy` (Gemini CLI, 0.61), used with `--approval-mode default`. This
 * program decides by the rules where the policy says `ask_user`; the CLI itself reads only inside the work tree.
 */
export function renderGeminiPolicy(rules: readonly string[]): string {
  const parsed = rules.map(parseToolRule).filter((rule) => !isOnlyPart(rule));
  const when = (kind: ToolRule['kind'], conditions: string, decision: 'allow' | 'ask_user'): readonly string[] =>
    parsed.some((rule) => rule.kind === kind) ? [entry(conditions, decision)] : [];
  return [
    entry('toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search"]', 'allow'),
    entry('toolName = ["search_file_content", "write_todos", "update_topic", "complete_task"]', 'allow'),
    ...when('edit', 'toolName = ["write_file", "replace"]', 'ask_user'),
    ...when('command', 'toolName = "run_shell_command"', 'ask_user'),
    ...when('web-fetch', 'toolName = "web_fetch"', 'allow'),
    ...when('web-search', 'toolName = "google_web_search"', 'allow'),
    // The settings already offer only allowed tools. A rule for one server would not match its name in the protocol.
    ...when('mcp', 'mcpName = "*"\ntoolName = "*"', 'allow'),
    '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 1\n',
  ].join('\n');
}

/** Returns true for a rule that is narrower than the policy can express: one domain, or part of a tool's name. */
function isOnlyPart(rule: ToolRule): boolean {
  return rule.kind === 'web-fetch' ? rule.domain !== null : rule.kind === 'mcp' && rule.tool?.includes('*') === true;
}

function entry(conditions: string, decision: 'allow' | 'ask_user'): string {
  return `[[rule]]\n${conditions}\ndecision = "${decision}"\npriority = 500\n`;
}
