import { LOGIN_INPUTS, describeSeveralLogins } from '../../core/agents/login-term.ts';
import type { FoundSetting, OrganisationFile } from '../../core/settings/effective.ts';
import { capText, capLines, toOneLine, completeSentence } from '../../core/text/phrase.ts';
import { KEY_INPUTS } from '../../core/agent-names.ts';
import { describeMovedInput } from '../agent-inputs.ts';
import { LOGIN_ROWS } from '../input-rows.ts';
import { suggestSetting } from '../inputs.ts';
import { DEFAULTS, JOB_INPUTS, SECRET_SETTINGS, SETTING_NAMES } from '../setting-table.ts';

/** The settings in a mapping of names to values, such as the input `settings`, and problems as lines for people. */
export interface SettingsMapping {
  readonly found: readonly FoundSetting[];
  readonly problems: readonly string[];
}

/** Parses YAML and returns every scalar as text; `unreadable` gives the place and the reason as a sentence. */
export type ParseYamlTexts = (
  text: string,
) => { readonly kind: 'data'; readonly data: unknown } | { readonly kind: 'unreadable'; readonly why: string };

export const NO_SETTINGS_MAPPING: SettingsMapping = { found: [], problems: [] };

/** Maximum length of the input. */
const MAX_CHARS = 64 * 1024;

/** Maximum number of problems that are reported. */
const MAX_PROBLEMS = 20;

/** The reusable workflows' own inputs, which set up their jobs. */
const OF_WORKFLOW: readonly string[] = ['runs-on', 'timeout-minutes', ...LOGIN_ROWS.map(([name]) => name)];

const FORM = 'Write one `name: value` per line, for example `max-patch-kib: 4096`.';

/**
 * Parses the input `settings`. The reusable workflow passes all of its inputs as this one. Among them is its own
 * `settings`, whose entry is used if the workflow's input of the same name is not given.
 */
export function parseSettingsMapping(text: string, parse: ParseYamlTexts): SettingsMapping {
  const { found, problems, nested } = readMapping(text, parse);
  const inner = nested === null ? NO_SETTINGS_MAPPING : readMapping(nested, parse);
  const own = new Set(found.map(({ input }) => input));
  // Refuse secrets here: other people can read the settings that the workflow's gate hands over.
  const unkept = inner.found.filter(({ input }) => SECRET_SETTINGS.includes(input));
  return {
    found: [...found, ...inner.found.filter(({ input }) => !own.has(input))],
    problems: capLines(
      [...problems, ...inner.problems, ...unkept.map(({ input }) => unkeptSecret(input))],
      MAX_PROBLEMS,
    ),
  };
}

/** Returns the entries of one mapping; `nested` is the text of its own `settings`, or null if it has none. */
function readMapping(text: string, parse: ParseYamlTexts): SettingsMapping & { readonly nested: string | null } {
  const unusable = (why: string) => ({ found: [], problems: [`settings: ${why}`], nested: null });
  if (text.trim() === '') return { ...NO_SETTINGS_MAPPING, nested: null };
  if (text.length > MAX_CHARS) return unusable('is longer than 64 KiB. Keep long texts in files of the repository.');
  const parsed = parse(text);
  if (parsed.kind === 'unreadable') return unusable(`is not YAML: ${completeSentence(parsed.why)} ${FORM}`);
  const { data } = parsed;
  if (data === null) return { ...NO_SETTINGS_MAPPING, nested: null };
  // Do not quote the text, because it may contain a secret.
  if (typeof data !== 'object' || Array.isArray(data)) return unusable(`is not a mapping of names to values. ${FORM}`);
  const entries: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(data));
  const { settings: nested } = entries;
  // Leave these out: only the reusable workflow has entries of these names.
  const left = typeof nested === 'string' ? ['settings', ...OF_WORKFLOW] : [];
  const read = Object.entries(entries)
    .filter(([name]) => !left.includes(name))
    .map(([name, value]) => readEntry(name, value));
  const logins = [...LOGIN_INPUTS.values()].filter((name) => (textOfValue(entries[name]) ?? '') !== '');
  const several = left.length === 0 ? null : describeSeveralLogins(logins);
  return {
    found: read.flatMap((entry) => (typeof entry === 'string' || entry === null ? [] : [entry])),
    problems: [several, ...read].flatMap((entry) => (typeof entry === 'string' ? [entry] : [])),
    nested: typeof nested === 'string' ? nested : null,
  };
}

/** Returns the setting of an entry, null if the entry is not given, or its problem as a line. */
function readEntry(name: string, value: unknown): FoundSetting | string | null {
  const shown = `settings: ${toOneLine(name, 80)}`;
  if (name === 'github-token' || KEY_INPUTS.includes(name)) return unkeptSecret(toOneLine(name, 80));
  if (JOB_INPUTS.includes(name)) return `${shown} is an input of the action of one job. Give it as an input there.`;
  if (OF_WORKFLOW.includes(name))
    return `${shown} is an input of the reusable workflow. Give it there, under \`with\`.`;
  if (!SETTING_NAMES.includes(name)) {
    const renamed = describeMovedInput(name);
    if (renamed !== null) return `${shown} ${renamed}.`;
    return `${shown} is not a setting${suggestSetting(name) || '. Remove it, or correct its name.'}`;
  }
  const text = textOfValue(value)?.trim() ?? null;
  const given = SECRET_SETTINGS.includes(name) ? '' : ` ${JSON.stringify(capText(JSON.stringify(value), 81))}`;
  if (text === null)
    return `${shown}${given} is neither a value nor a list of values. Write a text, a number, true or false, or a list of them.`;
  // As with an input, treat the text of the default as not given.
  const isGiven = text !== DEFAULTS[name] && (text !== '' || Array.isArray(value));
  return !isGiven ? null : { input: name, text, places: [{ key: name, file: 'settings' }] };
}

function unkeptSecret(name: string): string {
  return `settings: ${name} is a secret, and settings are not kept secret. Give it as an input of its own.`;
}

/** Returns the text of a scalar, or of a list with an item per line; returns null for anything else. */
function textOfValue(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isList ? value.join('\n') : null;
}

/** The file of the repository that `settings-from` names. */
export const ORGANISATION_FILE = '.github/ralph-settings.yml';

/**
 * Settings that one repository may set for others: limits, models, and the handling of pull requests. Settings that
 * widen the reach of an agent, or depend on the repository or its workflow, are left to the repository itself:
 * `parallel`, for example, would end each run of a repository whose workflow has one job.
 */
const SETTABLE: readonly string[] = [
  ...['agent', 'model', 'agent-version', 'agent-timeout-minutes', 'agent-stall-minutes', 'prices', 'co-author'],
  ...['session', 'session-expiry-hours', 'max-iterations', 'max-minutes', 'max-iterations-per-task'],
  ...['max-calls-per-hour', 'max-tokens-per-hour', 'max-cost-usd', 'max-cost-usd-per-day', 'on-limit'],
  ...['on-permission-denied', 'circuit-no-progress', 'circuit-same-error', 'circuit-permission-denials'],
  ...['circuit-output-decline', 'circuit-cooldown-minutes', 'completion-signals', 'test-only-iterations'],
  ...[
    'test-only-percent',
    'prove-tests',
    'max-tasks-per-pr',
    'max-lines-per-pr',
    'max-open-prs',
    'draft',
    'pr-labels',
    'notify',
  ],
  ...['answer-reviews', 'answer-checks', 'max-feedback-rounds', 'max-patch-files', 'max-patch-kib', 'fail-on'],
  ...['dashboard', 'receipts'],
];

/**
 * Parses the settings of another repository's file; a problem of any of them ends the run before it spends anything.
 */
export function parseOrganisationSettings(
  repository: string,
  file: OrganisationFile,
  parse: ParseYamlTexts,
): SettingsMapping {
  const where = `${ORGANISATION_FILE} of ${toOneLine(repository, 140)}`;
  if (file.kind === 'missing') return { ...NO_SETTINGS_MAPPING, problems: [`settings-from: ${file.why}`] };
  const read = parseSettingsMapping(file.text, parse);
  const [refused, found] = [
    read.found.filter(({ input }) => !SETTABLE.includes(input)),
    read.found.filter(({ input }) => SETTABLE.includes(input)),
  ];
  return {
    found: found.map(({ input, text }) => ({ input, text, places: [{ key: input, file: { repository } }] })),
    problems: [
      ...read.problems.map((problem) => `${where}: ${problem.replace(/^settings: /, '')}`),
      ...refused.map(
        ({ input }) =>
          `${where}: ${input} may not be set for other repositories. Remove it there, and set it in each workflow.`,
      ),
    ],
  };
}
