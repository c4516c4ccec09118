import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import type { CommandRule, ToolRule } from './tool-rule.ts';

/** A user's rules in an agent's own form. */
export interface MappedRules<Own> extends RulesGap {
  readonly own: Own;
}

/** The command rules among others, in order. */
export function commandRules(rules: readonly ToolRule[]): readonly CommandRule[] {
  return rules.filter((rule) => rule.kind === 'command');
}

/** Whether some rule allows every command. */
export function allowsEveryCommand(rules: readonly ToolRule[]): boolean {
  return commandRules(rules).some(({ commands }) => commands.kind === 'any');
}

/** The rules as the user wrote them, each once. */
export function textsOfRules(rules: readonly ToolRule[]): readonly string[] {
  return [...new Set(rules.map(({ text }) => text))];
}

/** `Edit(src/**)`, for agents whose own rules know no paths: they may change any file of the repository. */
export function editsOfPaths(rules: readonly ToolRule[]): readonly ToolRule[] {
  if (rules.some((rule) => rule.kind === 'edit' && rule.path === null)) return [];
  return rules.filter(({ kind }) => kind === 'edit');
}

/** Reading inside the repository needs no rule in Claude Code, and so none here; what leads out of it cannot be given to other agents. */
export function readsOutside(rules: readonly ToolRule[]): readonly ToolRule[] {
  return rules.filter((rule) => rule.kind === 'read' && /^(?:\/\/|~)|(?:^|\/)\.\.(?:\/|$)/.test(rule.path ?? ''));
}

/** What the agent may do beyond its rules, as one text; null: nothing. */
export function moreOf(parts: readonly (string | null)[]): string | null {
  const said = parts.filter((part) => part !== null);
  return said.length === 0 ? null : said.join(', and ');
}

/** For `moreOf`. */
export function moreEdits(rules: readonly ToolRule[]): string | null {
  return editsOfPaths(rules).length === 0 ? null : 'change every file of the repository';
}
