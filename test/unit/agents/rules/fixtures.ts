import { readFileSync } from 'node:fs';
import * as copilot from '../../../../src/agents/copilot/tool-rules.ts';
import * as gemini from '../../../../src/agents/gemini/tool-rules.ts';
import { parse } from 'yaml';
import { shellParts } from '../../../../src/agents/rules/shell-rules.ts';
import type { RulesGap } from '../../../../src/core/agents/rules-verdict.ts';
import { copilotAllows, geminiAllows } from './matchers.ts';

/**
 * The agents with rules for single commands: their translation of the user's rules, and whether they then run a
 * command.
 */
export const AGENTS: readonly {
  readonly name: string;
  readonly map: (rules: readonly string[]) => RulesGap;
  readonly allows: (rules: readonly string[], command: string) => boolean;
}[] = [
  {
    name: 'gemini',
    map: gemini.geminiRules,
    allows: (rules, line) => {
      const policy = gemini.geminiRules(rules).own;
      // The whole line must match, and then each part of it.
      return geminiAllows(policy, line) && partsOf(line).every((part) => geminiAllows(policy, part));
    },
  },
  {
    name: 'copilot',
    map: copilot.copilotRules,
    allows: (rules, line) => partsOf(line).every((part) => copilotAllows(copilot.copilotRules(rules).own, part)),
  },
];

const ACTION = parse(readFileSync(new URL('../../../../action.yml', import.meta.url), 'utf8')) as {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
};

/** The default of `allowed-tools`. */
export const DEFAULT_RULES: readonly string[] = ACTION.inputs['allowed-tools']?.default.split(',') ?? [];

/** Splits a line; each agent matches the parts one by one. */
function partsOf(line: string): readonly string[] {
  const command = shellParts(line);
  return command.kind === 'parts' ? command.parts : [line];
}
