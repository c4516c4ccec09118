import { stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type ReportedSettings, settingOrigins } from '../core/settings/effective.ts';
import { findNearest } from '../core/text/nearest.ts';
import { toTerminalLine } from '../core/text/phrase.ts';
import type { Forge } from '../ports/forge.ts';

/**
 * The repository of a checkout on GitHub, accessed with the person's own token; `repository` is a name such as
 * `acme/shop`.
 */
export interface RepositoryAccess {
  readonly repository: string;
  readonly forge: Pick<
    Forge,
    'openIssuesWithLabel' | 'searchIssues' | 'dependenciesOf' | 'statesOf' | 'issue' | 'pullRequestOf'
  >;
}

/** The result of a request to GitHub. `no-token` means that the person's environment has no token. */
type Seen<T> =
  | { readonly kind: 'seen'; readonly value: T }
  | { readonly kind: 'no-token' }
  | { readonly kind: 'failed'; readonly why: string };

/** A checkout and its remote that names the repository; a null `remote` means `origin`. */
export interface GitHubCheckout {
  readonly folder: string;
  readonly remote: string | null;
  readonly log: (line: string) => void;
}

/** Reads from GitHub with GITHUB_TOKEN or GH_TOKEN; a refusal by the server is a result, not an exception. */
export type LookAtGitHub = <T>(
  checkout: GitHubCheckout,
  look: (viewer: RepositoryAccess) => Promise<T>,
) => Promise<Seen<T>>;

/**
 * Returns the settings of runs of a checkout's workflows, or those of `ralph run` if there is no workflow. `folder` is
 * the checkout's top folder.
 */
export type ReadEffectiveSettings = (folder: string) => Promise<readonly ReportedSettings[]>;

/** The settings of the runs of a workflow, as printed by `--json`. */
export const answeredSettingsSchema = z.object({
  workflow: z.string().describe('The workflow file; `ralph run` where no workflow uses the action.'),
  settings: z
    .array(
      z.object({
        input: z.string().describe('Name of the setting.'),
        text: z.string(),
        origin: z.enum(settingOrigins),
        where: z
          .string()
          .describe('The workflow file, a line of a settings file, the name of a variable, or `default`.'),
      }),
    )
    .describe('Every setting that determines how a run works.'),
  problems: z.array(z.string()).describe('Problems of settings in files and in the environment, as sentences.'),
});

type PrintedSettings = z.infer<typeof answeredSettingsSchema>;

/** The kind of an option: `--json`, `--now VALUE`, or `--set VALUE` any number of times. */
type OptionKind = 'flag' | 'value' | 'values';

/** The parsed arguments. `values` is empty for an option that is absent or lacks its value. */
export interface ParsedArguments {
  /** Problems of the arguments, as sentences. */
  readonly problems: readonly string[];
  readonly positionals: readonly string[];
  values(option: string): readonly string[];
  has(option: string): boolean;
}

/** Parses the arguments of a command. */
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
  if (named.length > positionals.max) {
    const surplus = named.slice(positionals.max).map((arg) => JSON.stringify(arg));
    const quotes = positionals.max === 0 ? '' : ` Put quotes around ${positionals.name} if it contains spaces.`;
    problems.push(`too many arguments: ${surplus.join(', ')}.${quotes}`);
  }
  return {
    problems,
    positionals: named,
    values: (option) => given.get(option) ?? [],
    has: (option) => given.has(option),
  };
}

/** Returns the folder that `--dir` names; `problems` is not empty if it is not a folder. */
export async function parseFolder(
  given: ParsedArguments,
): Promise<{ readonly folder: string; readonly problems: readonly string[] }> {
  const [folder = '.'] = given.values('dir');
  const isFolder = (await stat(folder).catch(() => null))?.isDirectory() === true;
  return { folder, problems: isFolder ? [] : [`--dir: ${JSON.stringify(toPlainLine(folder, 80))} is not a folder.`] };
}

function unknownOption(given: string, names: readonly string[]): string {
  const near = findNearest(given.replace(/^-+/, ''), names);
  return `there is no option ${given}.${near === null ? '' : ` Did you mean --${near}?`}`;
}

/**
 * Returns the settings for printing: each text becomes one clean line, uncut, because files may contain anything.
 */
export function buildPrintedSettings({ workflow, settings, problems }: ReportedSettings): PrintedSettings {
  const line = (text: string): string => toPlainLine(text, Infinity);
  return {
    workflow,
    settings: settings.map(({ text, where, ...setting }) => ({
      ...setting,
      text: line(text.trim().replaceAll(/\s*\n\s*/g, '; ')),
      where: line(where),
    })),
    problems: problems.map(line),
  };
}

/** Returns untrusted text as one line for a terminal: without control characters, cut at `maxChars`. */
export function toPlainLine(text: string, maxChars = 200): string {
  return toTerminalLine(text, maxChars);
}
