/** An input or output of action.yml; `value` is its default, or null for an output. */
export interface Entry {
  readonly group: string;
  readonly name: string;
  readonly value: string | null;
  readonly description: string;
}

/** Returns the inputs or outputs of `actionYml`, in order. */
export function entriesIn(actionYml: string, section: 'inputs' | 'outputs'): readonly Entry[] {
  const [, text = ''] = actionYml.split(new RegExp(`^${section}:\\n`, 'm'));
  const found: Entry[] = [];
  let group = '';
  for (const line of text.split(/^\S/m)[0]?.split('\n') ?? []) {
    group = /^ {2}# (.+)$/.exec(line)?.[1] ?? group;
    const name = /^ {2}([\w-]+):$/.exec(line)?.[1];
    if (name !== undefined) found.push({ group, name, value: null, description: '' });
    const [, key, text] = /^ {4}(description|default): (.*)$/.exec(line) ?? [];
    const last = found.at(-1);
    if (last === undefined || key === undefined || text === undefined) continue;
    const value = text.replace(/^(["'])(.*)\1$/, '$2');
    found[found.length - 1] = key === 'default' ? { ...last, value } : { ...last, description: value };
  }
  return found;
}
