import type { SettingGroup } from '../src/config/setting-rows.ts';

/** An output as action.yml describes it. */
interface OutputEntry {
  readonly name: string;
  readonly description: string;
}

/** Returns action.yml with these inputs; what is above and below them stays. */
export function withInputs(actionYml: string, groups: readonly SettingGroup[]): string {
  const lines = groups.flatMap(({ group, rows }) => [
    `  # ${group}`,
    ...rows.flatMap(([name, defaultText, description]) => [
      `  ${name}:`,
      `    description: ${/^`|: | #/.test(description) ? JSON.stringify(description) : description}`,
      `    default: ${/^(?:|\d.*|true|false)$/.test(defaultText) ? quoted(defaultText) : defaultText}`,
    ]),
  ]);
  return actionYml.replace(/^inputs:\n[^]*?\n(?=\noutputs:\n)/m, () => ['inputs:', ...lines, ''].join('\n'));
}

/** Returns a text as a single-quoted scalar of YAML. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns the outputs of action.yml, in their order. */
export function outputsIn(actionYml: string): readonly OutputEntry[] {
  const [, text = ''] = actionYml.split(/^outputs:\n/m);
  const entries = text.split(/^\S/m)[0]?.matchAll(/^ {2}([\w-]+):\n {4}description: (.*)$/gm) ?? [];
  return [...entries].map(([, name = '', description = '']) => ({
    name,
    description: description.replace(/^(["'])(.*)\1$/, '$2'),
  }));
}
