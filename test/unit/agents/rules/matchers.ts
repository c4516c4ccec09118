import type { Permission } from '../../../../src/agents/opencode/tool-rules.ts';
import type { QwenPermissions } from '../../../../src/agents/qwen/tool-rules.ts';

// What each CLI makes of its own rules for one simple command, after its documentation and as tried with the real one.

/** Gemini CLI: the entry of the highest priority counts; its pattern is looked for in the arguments as JSON. */
export function geminiAllows(policy: string, command: string): boolean {
  const args = JSON.stringify({ command, description: 'run npm test' }).replace(/,"description"/, '\0,\0"description"');
  const entry = policyEntries(policy)
    .toSorted((one, other) => Number(other['priority']) - Number(one['priority']))
    .find(({ toolName, commandRegex, mcpName }) => {
      if (mcpName !== undefined || ![toolName].flat().some((name) => name === '*' || name === 'run_shell_command'))
        return false;
      return typeof commandRegex !== 'string' || new RegExp(`"command":"${commandRegex}`).test(args);
    });
  return entry?.['decision'] === 'allow';
}

/** The entries of a policy file. Strict: throws for anything that is not one value a line. */
export function policyEntries(policy: string): readonly Readonly<Record<string, unknown>>[] {
  return policy.split('[[rule]]\n').flatMap((text, index) => {
    if (index === 0 && text === '') return [];
    return [
      Object.fromEntries(
        text
          .trim()
          .split('\n')
          .map((line) => {
            const [, key, value] = /^([A-Za-z]+) = ([^\u0000-\u001f\u007f]+)$/.exec(line) ?? [];
            if (key === undefined || value === undefined) throw new Error(`not an entry: ${line}`);
            return [key, JSON.parse(value) as unknown];
          }),
      ),
    ];
  });
}

/** opencode: the last pattern that matches counts; a blank and a star at the end may be missing. */
export function opencodeAllows(permission: Permission, command: string): boolean {
  const bash = permission['bash'] ?? 'deny';
  if (typeof bash === 'string') return bash === 'allow';
  return (
    Object.entries(bash).findLast(([pattern]) => wildcard(pattern).test(command.replaceAll('\\', '/')))?.[1] === 'allow'
  );
}

/** Its star is any text, and its question mark any one sign. */
export function wildcard(pattern: string): RegExp {
  const regex = pattern
    .replaceAll('\\', '/')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${regex.endsWith(' .*') ? `${regex.slice(0, -3)}( .*)?` : regex}$`, 's');
}

const TWO_WORDS = ['git', 'gh', 'npm', 'npx', 'pnpm', 'yarn', 'go', 'cargo', 'poetry', 'pip', 'dotnet', 'mvn', 'mix'];

/** Copilot CLI: a command is its name, for some programs with the subcommand. What it allows without a rule is left out. */
export function copilotAllows(flags: readonly string[], command: string): boolean {
  const [name = '', first = '-'] = command.split(/\s+/);
  const stem = TWO_WORDS.includes(name) && !first.startsWith('-') ? `${name} ${first}` : name;
  return flags.some((flag) => {
    if (flag === '--allow-tool=shell') return true;
    const [, inner = ''] = /^--allow-tool=shell\((.+):\*\)$/.exec(flag) ?? [];
    return inner !== '' && (stem === inner || stem.startsWith(`${inner} `));
  });
}

/** Qwen Code: a denial counts first; without a star a rule is a prefix. What it allows without a rule is left out. */
export function qwenAllows({ allow, deny }: QwenPermissions, command: string): boolean {
  const matches = (rule: string) => {
    if (rule === 'run_shell_command') return true;
    const pattern = /^run_shell_command\((.+)\)$/s.exec(rule.replace(/:\*/, ' *'))?.[1];
    if (pattern === undefined) return false;
    if (!pattern.includes('*')) return command === pattern || command.startsWith(`${pattern} `);
    const regex = pattern
      .split(/( \*|\*)/)
      .map((piece) => (piece === ' *' ? '( .*)?' : piece === '*' ? '.*' : piece.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
      .join('');
    return new RegExp(`^${regex}$`).test(command);
  };
  return !deny.some(matches) && allow.some(matches);
}
