import { suggestRulesToAllow } from '../people/rules-to-allow.ts';
import { listFirstNames } from '../text/phrase.ts';
import type { ActionRules } from './facts.ts';
import { createRemedy, findCommandsInNotes, type Finding, okFinding, warningFinding } from './finding.ts';

/** Matches the shell's built-in commands that need no rule. */
const SHELL_BUILTIN = /^(?:test|\[|false|set|export|exit)(?:\s|$)/;

/** Checks that the agent may run the commands in its notes and in `verify`. */
export function checkAllowedTools(
  { refusedCommands, toolRulesOf, defaults }: Pick<ActionRules, 'refusedCommands' | 'toolRulesOf' | 'defaults'>,
  facts: { readonly allowed: readonly string[]; readonly agentNotes: string; readonly verify: readonly string[] },
): Finding {
  const { allowed, agentNotes, verify: commands } = facts;
  const lines = [...findCommandsInNotes(agentNotes), ...commands];
  const refusedBy = (rules: readonly string[]): readonly string[] =>
    [...new Set(lines.flatMap((line) => refusedCommands(line, rules) ?? []))].filter(
      (command) => !SHELL_BUILTIN.test(command),
    );
  const rulesFor = (command: string): readonly string[] => suggestRulesToAllow({ tool: 'Bash', command }, allowed);
  const notAllowed = refusedBy(allowed);
  if (notAllowed.length === 0)
    return okFinding(
      'allowed-tools',
      lines.length === 0
        ? 'No command is named in `.ralph/AGENT.md` or `verify`.'
        : 'The agent may run the commands that `.ralph/AGENT.md` and `verify` name.',
    );
  const added = [...new Set(notAllowed.flatMap(rulesFor))];
  const left = refusedBy([...allowed, ...added]);
  const [why, isAllowed] =
    left.length === 0
      ? ['Allow it.', true]
      : left.some((command) => SETS_VARIABLES.test(command) && rulesFor(command).length > 0)
        ? [
            'No rule covers a command with these variables before it: set them in an earlier step, and name them in `agent-env`.',
            false,
          ]
        : ['A rule for a shell would allow everything: put the command in a script and name the script.', false];
  return warningFinding(
    'allowed-tools',
    `The agent may not run ${listFirstNames(notAllowed.map((command) => `\`${command}\``))}, named in \`.ralph/AGENT.md\` or \`verify\`.`,
    createRemedy(
      why,
      isAllowed
        ? { paste: `allowed-tools: ${ruleList([...allowed, ...added], toolRulesOf(defaults['allowed-tools'] ?? ''))}` }
        : {},
    ),
  );
}

const SETS_VARIABLES = /^[A-Za-z_]\w*=/;

/**
 * Returns the value of `allowed-tools` for these rules: additions to the default, each with a `+`, or all rules if some
 * of the default are missing.
 */
function ruleList(rules: readonly string[], byDefault: readonly string[]): string {
  const beyond = rules.filter((rule) => !byDefault.includes(rule));
  return byDefault.every((rule) => rules.includes(rule)) ? beyond.map((rule) => `+${rule}`).join(',') : rules.join(',');
}
