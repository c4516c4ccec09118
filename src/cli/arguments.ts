import { parseArgs } from 'node:util';
import { nearest } from '../core/nearest.ts';
import { UsageError } from './command.ts';

/** What kind of option stands behind a name: `--json`, `--now VALUE`, or `--set VALUE` given any number of times. */
export type OptionKind = 'flag' | 'value' | 'values';

/** Arguments as given; an option that is absent has no values. */
export interface ParsedArguments {
  readonly positionals: readonly string[];
  values(option: string): readonly string[];
  has(option: string): boolean;
}

/** Reads a command's arguments; throws one UsageError that lists every problem. */
export function parseArguments(args: readonly string[], options: Readonly<Record<string, OptionKind>>, positionals: { readonly name: string; readonly min: number; readonly max: number }): ParsedArguments {
  const config = Object.fromEntries(Object.entries(options).map(([name, kind]) => [name, kind === 'flag' ? { type: 'boolean' as const } : { type: 'string' as const }]));
  const { tokens } = parseArgs({ args: [...args], options: config, allowPositionals: true, strict: false, tokens: true });
  const problems: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const kind = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    const before = given.get(token.name) ?? [];
    if (kind === undefined) problems.push(unknownOption(token.rawName, Object.keys(options)));
    else if (kind === 'flag' && token.value !== undefined) problems.push(`${token.rawName} takes no value, but ${JSON.stringify(token.value)} is given.`);
    else if (kind !== 'flag' && (token.value === undefined || (!token.inlineValue && token.value.startsWith('--')))) problems.push(`${token.rawName} needs a value.`);
    else if (kind === 'value' && before.length > 0) problems.push(`${token.rawName} is given twice.`);
    given.set(token.name, [...before, token.value ?? '']);
  }
  const named = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  if (named.length < positionals.min) problems.push(`${positionals.name} is missing.`);
  if (named.length > positionals.max) problems.push(`too many arguments: ${named.slice(positionals.max).map((arg) => JSON.stringify(arg)).join(', ')}.`);
  if (problems.length > 0) throw new UsageError(problems);
  return { positionals: named, values: (option) => given.get(option) ?? [], has: (option) => given.has(option) };
}

function unknownOption(given: string, names: readonly string[]): string {
  const near = nearest(given.replace(/^-+/, ''), names);
  return `there is no option ${given}.${near === null ? '' : ` Did you mean --${near}?`}`;
}
