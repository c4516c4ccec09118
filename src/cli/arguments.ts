import { parseArgs } from 'node:util';
import { nearest } from '../core/text/nearest.ts';

/** What kind of option stands behind a name: `--json`, `--now VALUE`, or `--set VALUE` given any number of times. */
export type OptionKind = 'flag' | 'value' | 'values';

/** Arguments as given; an option that is absent, or lacks its value, has no values. */
export interface ParsedArguments {
  /** What makes no sense, as sentences. */
  readonly problems: readonly string[];
  readonly positionals: readonly string[];
  values(option: string): readonly string[];
  has(option: string): boolean;
}

/** Reads a command's arguments. */
export function parseArguments(
  args: readonly string[],
  options: Readonly<Record<string, OptionKind>>,
  positionals: { readonly name: string; readonly min: number; readonly max: number },
): ParsedArguments {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, kind]) => [
      name,
      kind === 'flag' ? { type: 'boolean' as const } : { type: 'string' as const },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options: config,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const problems: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const kind = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    const before = given.get(token.name) ?? [];
    const lacksValue =
      kind !== 'flag' && (token.value === undefined || (!token.inlineValue && token.value.startsWith('--')));
    if (kind === undefined) problems.push(unknownOption(token.rawName, Object.keys(options)));
    else if (kind === 'flag' && token.value !== undefined)
      problems.push(`${token.rawName} takes no value, but ${JSON.stringify(token.value)} is given.`);
    else if (lacksValue) problems.push(`${token.rawName} needs a value.`);
    else if (kind === 'value' && before.length > 0) problems.push(`${token.rawName} is given twice.`);
    given.set(token.name, [...before, ...(lacksValue ? [] : [token.value ?? ''])]);
  }
  const named = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  if (named.length < positionals.min) problems.push(`${positionals.name} is missing.`);
  if (named.length > positionals.max)
    problems.push(
      `too many arguments: ${named
        .slice(positionals.max)
        .map((arg) => JSON.stringify(arg))
        .join(', ')}.`,
    );
  return {
    problems,
    positionals: named,
    values: (option) => given.get(option) ?? [],
    has: (option) => given.has(option),
  };
}

function unknownOption(given: string, names: readonly string[]): string {
  const near = nearest(given.replace(/^-+/, ''), names);
  return `there is no option ${given}.${near === null ? '' : ` Did you mean --${near}?`}`;
}
