import { type Folder, fromRoot } from '../../core/folder.ts';
import { type AnsweredSettings, effectiveSettings, type FoundSetting } from '../../core/settings/effective.ts';
import { KEY_INPUTS } from '../agent-inputs.ts';
import { workingFolderOf } from '../fields.ts';
import { type ConfigTexts, inputProblems, NO_SETTINGS } from '../inputs.ts';
import {
  describeSettings,
  placeName,
  type ReadSettings,
  readSettingsOfOthers,
  type SettingsFile,
  settleInputs,
} from './settings.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** Settings files of other Ralphs; if there are several, the first one counts, as in those Ralphs that know both. */
const SETTINGS_FILES = ['.ralph/.ralphrc', '.ralphrc'];

/** Returns the paths of the settings files from the root, for a run that works in this folder. */
export function settingsPaths(within: Folder): readonly string[] {
  return SETTINGS_FILES.map((path) => fromRoot(within, path));
}

/** The settings in the environment and on the base branch, as far as they are known. */
interface RunSettings {
  readonly read: ReadSettings;
  /** Settings files that do not count, because another one comes first. */
  readonly others: readonly SettingsFile[];
  /** See `Config`. */
  readonly unknown: string | null;
}

/**
 * Reads what configures a run besides its inputs. `files` are the base branch's, by their paths from its root, or null
 * if they are unknown. `within` is the folder in which the run works.
 */
export function readRunSettings(
  environment: Texts,
  files: { readonly texts: Readonly<Record<string, string>>; readonly unread: Readonly<Record<string, string>> } | null,
  within: Folder,
): RunSettings {
  const [file = null, ...others] = settingsPaths(within).flatMap((path): readonly SettingsFile[] => {
    const text = files?.texts[path];
    const why = files?.unread[path];
    if (text !== undefined) return [{ kind: 'text', path, text }];
    return why === undefined ? [] : [{ kind: 'unreadable', path, why }];
  });
  return { read: readSettingsOfOthers(environment, file), others, unknown: files === null ? UNKNOWN : null };
}

const UNKNOWN =
  '`.ralphrc` counts as it is on the base branch, which this checkout does not have, so it was not read. Set "fetch-depth: 0" on actions/checkout, or its "ref:" to the base branch.';

/**
 * Returns the inputs' texts with these settings. `defaults` are those of action.yml; they are not needed without
 * settings.
 */
export function textsWith(
  given: Texts,
  { read, others, unknown }: RunSettings,
  defaults: Readonly<Record<string, string>>,
): ConfigTexts {
  const { counting, ...settled } = textsWithFound(given, read.found, defaults);
  const lines = [
    ...describeSettings(read, counting),
    ...others.map(({ path }) => `\`${path}\`: not used, \`${read.file?.path ?? ''}\` comes before it.`),
    ...(unknown === null ? [] : [unknown]),
  ];
  return { ...settled, counting, problems: read.problems, settings: { found: read.found, lines, unknown } };
}

/** Returns the inputs' texts with settings that were read before, by the gate's job or by main. */
export function textsWithFound(
  given: Texts,
  found: readonly FoundSetting[],
  defaults: Readonly<Record<string, string>>,
): ConfigTexts {
  const { texts, settings: counting } = settleInputs(given, found, defaults);
  return { texts, counting, settings: { ...NO_SETTINGS, found }, problems: [] };
}

/** A step with the action as its workflow has it, with the contents of the base branch and of action.yml. */
interface SettingsQuestion {
  readonly workflow: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** The settings files of the base branch, or null if they are unknown. */
  readonly files: {
    readonly texts: Readonly<Record<string, string>>;
    readonly unread: Readonly<Record<string, string>>;
  } | null;
  readonly defaults: Readonly<Record<string, string>>;
}

/** Inputs that say who and where somebody is, not how a run works. */
const NOT_SHOWN: readonly string[] = ['github-token', ...KEY_INPUTS, 'phase', 'handoff-path', 'handoff-digest'];

/** Returns the settings that a step would run with; an expression counts as given. */
export function answerSettings({ workflow, inputs, environment, files, defaults }: SettingsQuestion): AnsweredSettings {
  const given = Object.fromEntries(Object.entries(inputs).map(([name, text]) => [name.toLowerCase(), text]));
  const run = readRunSettings(environment, files, workingFolderOf(inputs));
  const { counting, problems } = textsWith({ ...defaults, ...given }, run, defaults);
  const wrong = counting.flatMap(({ input, text, places }) =>
    inputProblems({ [input]: text.trim() }).map(({ why }) => `${places.map(placeName).join(' and ')} ${why}.`),
  );
  const shown = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(texts).filter(([name]) => !NOT_SHOWN.includes(name)));
  return {
    workflow,
    settings: effectiveSettings({ given: shown(given), workflow }, counting, shown(defaults)),
    problems: [...problems, ...wrong, ...(run.unknown === null ? [] : [run.unknown])],
  };
}
