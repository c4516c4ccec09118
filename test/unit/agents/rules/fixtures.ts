import { readFileSync } from 'node:fs';
import * as copilot from '../../../../src/agents/copilot/tool-rules.ts';
import { parse } from 'yaml';
import { isPermitted } from '../../../../src/agents/rules/permission.ts';
import { splitCommandLine } from '../../../../src/agents/rules/shell-rules.ts';
import type { RulesGap } from '../../../../src/core/agents/rules-verdict.ts';
import { copilotAllows } from './matchers.ts';

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
    name: 'each that asks',
    map: () => ({ unmapped: [], allowsMore: null }),
    allows: (rules, command) =>
      isPermitted({ kind: 'command', tool: null, command, paths: [], url: null, setsVariables: false }, rules, {
        folder: '/srv/app',
        tree: '/srv/app',
      }),
  },
  {
    name: 'copilot',
    map: copilot.mapCopilotRules,
    allows: (rules, line) => partsOf(line).every((part) => copilotAllows(copilot.mapCopilotRules(rules).own, part)),
  },
];

const ACTION = parse(readFileSync(new URL('../../../../action.yml', import.meta.url), 'utf8')) as {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
};

/** The default of `allowed-tools`. */
export const DEFAULT_RULES: readonly string[] = ACTION.inputs['allowed-tools']?.default.split(',') ?? [];

/** Splits a line; each agent matches the parts one by one. */
function partsOf(line: string): readonly string[] {
  const command = splitCommandLine(line);
  return command.kind === 'parts' ? command.parts : [line];
}
