import type { FoundSetting, SettingPlace } from '../../core/settings/effective.ts';
import { capLines, joinNames, toOneLine } from '../../core/text/phrase.ts';
import { OTHER_RALPH_KEYS, findOtherRalphKey, findNearestKey, type OtherRalphKey } from './keys.ts';
import { parseRc } from './rc-file.ts';

/** A settings file of another Ralph on the base branch; `why` says as a verb phrase why it cannot be read. */
export type SettingsFile =
  | { readonly kind: 'text'; readonly path: string; readonly text: string }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The settings in the environment and in the settings file, and the facts to report about them. `problems` are lines
 * for people.
 */
export interface ReadSettings {
  readonly found: readonly FoundSetting[];
  readonly problems: readonly string[];
  readonly file: ReadFile | null;
  readonly environment: ReadPlace;
}

/** The contents of the environment or of a file, other than the settings that are used. */
interface ReadPlace {
  /** Settings that the action follows in any case, or only shows. */
  readonly asAlways: readonly string[];
  readonly meaningless: readonly string[];
  readonly notes: readonly string[];
}

interface ReadFile extends ReadPlace {
  readonly path: string;
  /** The project's name and type in the file; empty if the file does not state them. */
  readonly project: string;
  readonly repeated: readonly string[];
}

/** Maximum number of problems of a file that are reported. */
const MAX_PROBLEMS = 20;

/** The value of a setting and its place. */
interface Given {
  readonly key: OtherRalphKey;
  readonly value: string;
  readonly place: SettingPlace;
}

/**
 * Parses the settings of other Ralphs; the environment comes before the file. Runs nothing, and shows no value that has
 * no meaning here.
 */
export function parseSettingsOfOthers(environment: Environment, file: SettingsFile | null): ReadSettings {
  const parsed = file?.kind === 'text' ? parseRc(file.text) : { entries: [], problems: [] };
  const path = file?.path ?? '';
  const last = new Map(parsed.entries.map((entry) => [entry.key, entry]));
  const entries = [...last.values()].filter(({ value }) => value.trim() !== '');
  const isKnown = (name: string): boolean => findOtherRalphKey(name) !== undefined;
  const given = OTHER_RALPH_KEYS.flatMap((key): readonly Given[] => {
    const variable = variableOf(environment, key);
    const entry = entries.find((one) => one.key === key.name);
    const ofVariable =
      variable === undefined ? [] : [{ key, value: variable.value, place: { key: variable.name, file: null } }];
    const ofEntry =
      entry === undefined
        ? []
        : [{ key, value: entry.value, place: { key: key.name, file: { path, line: entry.line } } }];
    // A setting that sets an input is used from one place only; any other setting is reported for each place.
    return key.input !== null && variable !== undefined ? ofVariable : [...ofVariable, ...ofEntry];
  });
  const meant = given.map((one) => ({ ...one, meaning: one.key.meaning(one.value.trim()) }));
  const unknown = entries.filter(({ key }) => !isKnown(key));
  const slips = unknown.flatMap(({ key, line }) => {
    const near = findNearestKey(key);
    return near === null
      ? []
      : [`${path}:${String(line)}: ${shownKey(key)} has no meaning here. Did you mean ${near}?`];
  });
  const misspelt = misspeltIn(environment);
  const problems = [
    ...(file?.kind === 'unreadable' ? [`${path} ${file.why}.`] : []),
    ...parsed.problems.map(({ line, why }) => `${path}:${String(line)}: ${why}.`),
    ...meant.flatMap(({ meaning, place, value }) =>
      meaning.kind === 'unusable'
        ? [`${nameSettingPlace(place)} ${JSON.stringify(toOneLine(value, 80))} ${meaning.why}.`]
        : [],
    ),
  ];
  const readPlace = (isThere: (place: SettingPlace) => boolean): ReadPlace => {
    const there = meant.filter(({ place }) => isThere(place));
    return {
      asAlways: there.filter(({ meaning }) => meaning.kind === 'as-always').map(({ place }) => place.key),
      meaningless: there.filter(({ meaning }) => meaning.kind === 'none').map(({ place }) => place.key),
      notes: there.flatMap(({ meaning }) => ('note' in meaning && meaning.note !== null ? [meaning.note] : [])),
    };
  };
  const ofFile = readPlace((place) => place.file !== null);
  const ofEnvironment = readPlace((place) => place.file === null);
  return {
    found: byInput(meant.flatMap((one) => (one.meaning.kind === 'input' ? [{ ...one, text: one.meaning.text }] : []))),
    problems: capLines(problems, MAX_PROBLEMS),
    file:
      file?.kind !== 'text'
        ? null
        : {
            path,
            project: ['PROJECT_NAME', 'PROJECT_TYPE'].flatMap((name) => last.get(name)?.value.trim() ?? []).join(', '),
            asAlways: ofFile.asAlways,
            meaningless: [...ofFile.meaningless, ...unknown.map(({ key }) => shownKey(key))],
            repeated: repeatedIn(parsed.entries.map(({ key }) => key)).map(shownKey),
            notes: [...slips.slice(0, MAX_PROBLEMS), ...ofFile.notes],
          },
    environment: {
      asAlways: ofEnvironment.asAlways,
      meaningless: [...ofEnvironment.meaningless, ...misspelt.map(({ name }) => shownKey(name))],
      notes: [
        ...misspelt.map(
          ({ name, near }) => `The variable ${shownKey(name)} has no meaning here. Did you mean RALPH_${near}?`,
        ),
        ...ofEnvironment.notes,
      ],
    },
  };
}

/** Returns the variable of the setting, preferably the one with the prefix `RALPH_`. Ignores an empty variable. */
function variableOf(
  environment: Environment,
  { name, aliases, variables }: OtherRalphKey,
): { name: string; value: string } | undefined {
  const names = { named: [`RALPH_${name}`, name, ...aliases], prefixed: [`RALPH_${name}`], none: [] }[variables];
  return names
    .map((variable) => ({ name: variable, value: environment[variable] ?? '' }))
    .find(({ value }) => value.trim() !== '');
}

/**
 * Returns variables with the prefix `RALPH_` whose names are close to a setting's. All other variables with that prefix
 * may belong to another program.
 */
function misspeltIn(environment: Environment): readonly { readonly name: string; readonly near: string }[] {
  const names = Object.keys(environment).filter(
    (name) =>
      name.startsWith('RALPH_') &&
      (environment[name] ?? '').trim() !== '' &&
      [name, name.slice('RALPH_'.length)].every((known) => findOtherRalphKey(known) === undefined),
  );
  return names
    .flatMap((name) => {
      const near = findNearestKey(name);
      return near === null ? [] : [{ name, near }];
    })
    .slice(0, MAX_PROBLEMS);
}

/** Joins the settings that together form one input, in the order of the table. */
function byInput(settings: readonly (Given & { readonly text: string })[]): readonly FoundSetting[] {
  const inputs = [...new Set(settings.flatMap(({ key }) => key.input ?? []))];
  return inputs.flatMap((input) => {
    const parts = settings.filter(({ key, text }) => key.input === input && text !== '');
    return parts.length === 0
      ? []
      : [{ input, text: parts.map(({ text }) => text).join('\n'), places: parts.map(({ place }) => place) }];
  });
}

function repeatedIn(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/**
 * Returns the name of a place: `.ralphrc:12: MAX_CALLS_PER_HOUR`, `settings: max-patch-kib`, or `The variable
 * MAX_CALLS_PER_HOUR`.
 */
export function nameSettingPlace({ key, file }: SettingPlace): string {
  if (file === 'settings') return `settings: ${key}`;
  if (file === null) return `The variable ${key}`;
  return 'path' in file ? `${file.path}:${String(file.line)}: ${key}` : `settings-from ${file.repository}: ${key}`;
}

function shownKey(key: string): string {
  return toOneLine(key, 60);
}

/**
 * Returns the lines about the settings for the log and the summary: one for the file, one for the environment, then
 * what is different here. Empty if there are no settings.
 */
export function describeSettings(read: ReadSettings, counting: readonly FoundSetting[]): readonly string[] {
  const places = counting.flatMap(({ places: of }) => of);
  const overruled = read.found.filter((one) => !counting.includes(one)).flatMap(({ places: of }) => of);
  const { file, environment } = read;
  return [
    ...(file === null ? [] : [fileLine(file, places, overruled)]),
    ...environmentLine(environment, places, overruled),
    ...new Set([...(file?.notes ?? []), ...environment.notes]),
  ];
}

function environmentLine(
  { asAlways, meaningless }: ReadPlace,
  places: readonly SettingPlace[],
  overruled: readonly SettingPlace[],
): readonly string[] {
  const ofEnvironment = (all: readonly SettingPlace[]): readonly string[] =>
    all.filter(({ file }) => file === null).map(({ key }) => key);
  const used = [...ofEnvironment(places), ...asAlways];
  const others = otherParts(ofEnvironment(overruled), meaningless);
  if (used.length + others.length === 0) return [];
  const names = used.length === 0 ? '' : ` (${listSettings(used)})`;
  return [`Environment: ${[`${settingsCount(used.length)} used${names}`, ...others].join(', ')}.`];
}

/** Describes the settings of a place that are not used, with the reasons. */
function otherParts(overruled: readonly string[], meaningless: readonly string[]): readonly string[] {
  return [
    ...(overruled.length === 0
      ? []
      : [`${countIs(overruled.length, 'is', 'are')} set by the workflow instead (${listSettings(overruled)})`]),
    ...(meaningless.length === 0
      ? []
      : [`${countIs(meaningless.length, 'has', 'have')} no meaning here (${listSettings(meaningless)})`]),
  ];
}

function fileLine(file: ReadFile, places: readonly SettingPlace[], overruled: readonly SettingPlace[]): string {
  const isOfFile = (place: SettingPlace): boolean => place.file !== null && place.file !== 'settings';
  const used = places.filter(isOfFile).length + file.asAlways.length;
  const set = overruled.filter(isOfFile).map(({ key }) => key);
  const { meaningless, repeated, project } = file;
  const parts = [
    `${settingsCount(used)} used`,
    ...otherParts(set, meaningless),
    ...(repeated.length === 0 ? [] : [`of ${listSettings(repeated)} the last line counts`]),
  ];
  const of = project === '' ? '' : ` (${toOneLine(project, 100)})`;
  return `\`${file.path}\`${of}: ${parts.join(', ')}.`;
}

/** Lists up to twelve names, and says how many more there are. */
export function listSettings(names: readonly string[]): string {
  return joinNames(names, 12);
}

function settingsCount(count: number): string {
  return count === 1 ? '1 setting' : `${String(count)} settings`;
}

function countIs(count: number, one: string, many: string): string {
  return `${String(count)} ${count === 1 ? one : many}`;
}
