import { type Folder, toRootPath } from '../../core/folder.ts';
import { type ReportedSettings, listEffectiveSettings, type FoundSetting } from '../../core/settings/effective.ts';
import { KEY_INPUTS } from '../../core/agent-names.ts';
import { parseWorkingFolder } from '../fields.ts';
import { type ConfigTexts, findInputProblems, NO_SETTINGS } from '../inputs.ts';
import { DEFAULTS, JOB_INPUTS, SECRET_SETTINGS } from '../setting-table.ts';
import { NO_SETTINGS_MAPPING, type SettingsMapping } from './settings-input.ts';
import {
  describeSettings,
  listSettings,
  nameSettingPlace,
  type ReadSettings,
  parseSettingsOfOthers,
  type SettingsFile,
} from './settings.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** Settings files of other Ralphs. If there are several, the first one is used, as in those Ralphs that know both. */
const SETTINGS_FILES = ['.ralph/.ralphrc', '.ralphrc'];

/** Returns the paths of the settings files from the root, for a run that works in this folder. */
export function listSettingsPaths(within: Folder): readonly string[] {
  return SETTINGS_FILES.map((path) => toRootPath(within, path));
}

/** The known settings from the environment and from the base branch. */
interface RunSettings {
  readonly read: ReadSettings;
  /** Settings files that are ignored, because another one comes first. */
  readonly others: readonly SettingsFile[];
  /** The reason why the settings file of the base branch is unknown, as a sentence, or null if the file is known. */
  readonly unknown: string | null;
}

/**
 * Parses everything other than inputs that configures a run. `files` are the base branch's, by their paths from its
 * root, or null if they are unknown. `within` is the folder in which the run works.
 */
export function parseRunSettings(
  environment: Texts,
  files: { readonly texts: Readonly<Record<string, string>>; readonly unread: Readonly<Record<string, string>> } | null,
  within: Folder,
): RunSettings {
  const [file = null, ...others] = listSettingsPaths(within).flatMap((path): readonly SettingsFile[] => {
    const text = files?.texts[path];
    const why = files?.unread[path];
    if (text !== undefined) return [{ kind: 'text', path, text }];
    return why === undefined ? [] : [{ kind: 'unreadable', path, why }];
  });
  return { read: parseSettingsOfOthers(environment, file), others, unknown: files === null ? UNKNOWN : null };
}

const UNKNOWN =
  'The `.ralphrc` of the base branch counts, but this checkout does not have that branch, so the file was not read. Set "fetch-depth: 0" on actions/checkout, or its "ref:" to the base branch.';

/** The texts of a step's inputs, and the settings that its input `settings` names. */
export interface GivenTexts {
  readonly inputs: Texts;
  readonly named: SettingsMapping;
}

/** Returns the texts that a step itself sets, without the settings of other Ralphs. */
export function selectOwnTexts({ inputs, named }: GivenTexts): Texts {
  return fillInputs(inputs, named.found).texts;
}

/**
 * Returns the texts that a run works with: its inputs, then what `settings` names, then the settings of other Ralphs.
 */
export function mergeConfigTexts(
  given: GivenTexts,
  { read, others, unknown }: RunSettings,
  organisation: SettingsMapping = NO_SETTINGS_MAPPING,
): ConfigTexts {
  const own = new Set(read.found.map(({ input }) => input));
  const shared = organisation.found.filter(({ input }) => !own.has(input));
  const { counting, ...settled } = mergeFoundTexts(given, [...read.found, ...shared]);
  const lines = [
    ...describeSettings(read, counting),
    ...describeOrganisation(counting),
    ...others.map(({ path }) => `\`${path}\`: not used, because \`${read.file?.path ?? ''}\` comes before it.`),
    ...(unknown === null ? [] : [unknown]),
  ];
  return {
    ...settled,
    counting,
    problems: [...settled.problems, ...read.problems, ...organisation.problems],
    settings: { ...settled.settings, lines, unknown },
  };
}

/** Returns the line about the settings that another repository provides; empty if none of them is used. */
function describeOrganisation(counting: readonly FoundSetting[]): readonly string[] {
  const shared = counting.flatMap(({ input, places }) =>
    places.flatMap(({ file }) =>
      file !== null && file !== 'settings' && 'repository' in file ? [{ input, repository: file.repository }] : [],
    ),
  );
  const [first] = shared;
  return first === undefined
    ? []
    : [`Settings of ${first.repository}: ${listSettings(shared.map(({ input }) => input))}.`];
}

/** Merges texts like `mergeConfigTexts`, but takes settings that the gate's job or main has already read. */
export function mergeFoundTexts({ inputs, named }: GivenTexts, before: readonly FoundSetting[]): ConfigTexts {
  const own = new Set(named.found.map(({ input }) => input));
  const found = [...named.found, ...before.filter(({ input }) => !own.has(input))];
  const { texts, counting } = fillInputs(inputs, found);
  return { texts, counting, settings: { ...NO_SETTINGS, found }, problems: named.problems, where: 'job' };
}

/** Puts settings in place of inputs that are not given. An input with its default's text is treated as not given. */
function fillInputs(
  inputs: Texts,
  found: readonly FoundSetting[],
): { readonly texts: Texts; readonly counting: readonly FoundSetting[] } {
  const isInputGiven = (input: string): boolean =>
    inputs[input] !== undefined && inputs[input].trim() !== (DEFAULTS[input] ?? '');
  const counting = found.filter(({ input }) => !isInputGiven(input));
  return { texts: { ...inputs, ...Object.fromEntries(counting.map(({ input, text }) => [input, text])) }, counting };
}

/** A step that uses the action in a workflow, and the settings files of the base branch. */
interface SettingsQuestion {
  readonly workflow: string;
  readonly given: GivenTexts;
  readonly environment: Readonly<Record<string, string>>;
  /** The settings files of the base branch, or null if they are unknown. */
  readonly files: {
    readonly texts: Readonly<Record<string, string>>;
    readonly unread: Readonly<Record<string, string>>;
  } | null;
}

/** Inputs with tokens, keys and hand-overs, which do not determine how a run works. */
const NOT_SHOWN: readonly string[] = ['github-token', ...KEY_INPUTS, ...JOB_INPUTS, ...SECRET_SETTINGS];

/** Returns the settings with which a step would run; an expression is treated as a given text. */
export function answerSettings({ workflow, given, environment, files }: SettingsQuestion): ReportedSettings {
  const run = parseRunSettings(environment, files, parseWorkingFolder(selectOwnTexts(given)));
  const { counting, problems } = mergeConfigTexts(given, run);
  const wrong = counting.flatMap(({ input, text, places }) =>
    findInputProblems({ [input]: text.trim() }).map(
      ({ why }) => `${places.map(nameSettingPlace).join(' and ')} ${why}.`,
    ),
  );
  const shown = (texts: Texts): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries(texts).flatMap(([name, text]) =>
        text === undefined || NOT_SHOWN.includes(name) ? [] : [[name, text]],
      ),
    );
  return {
    workflow,
    settings: listEffectiveSettings({ given: shown(given.inputs), workflow }, counting, shown(DEFAULTS)),
    problems: [...problems, ...wrong, ...(run.unknown === null ? [] : [run.unknown])],
  };
}
