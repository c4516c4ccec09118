import type { FoundSetting, Place } from '../../core/settings/effective.ts';
import { firstLines, firstNames, oneLine } from '../../core/text/phrase.ts';
import { KEYS, keyOf, meantBy, type Key } from './keys.ts';
import { parseRc } from './rc-file.ts';

/** A settings file of another Ralph, as the base branch has it. `why`: it cannot be read, as a predicate. */
export type SettingsFile =
  | { readonly kind: 'text'; readonly path: string; readonly text: string }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment and the settings file say, and what is to be said of it. `problems` are lines for a person. */
export interface ReadSettings {
  readonly found: readonly FoundSetting[];
  readonly problems: readonly string[];
  readonly file: ReadFile | null;
  readonly environment: ReadPlace;
}

/** What the environment or a file holds beside what counts. */
interface ReadPlace {
  /** Settings whose meaning is what the action does in any case, or that are shown. */
  readonly asAlways: readonly string[];
  readonly meaningless: readonly string[];
  readonly notes: readonly string[];
}

interface ReadFile extends ReadPlace {
  readonly path: string;
  /** As the project calls itself there, with its type; empty: it does not. */
  readonly project: string;
  readonly repeated: readonly string[];
}

/** At most so many problems of a file are reported. */
const MAX_PROBLEMS = 20;

/** What a value says, and where it stands. */
interface Given {
  readonly key: Key;
  readonly value: string;
  readonly place: Place;
}

/** Reads the settings of other Ralphs: the environment before the file. Runs nothing, and shows no value that it has no meaning for. */
export function readSettingsOfOthers(environment: Environment, file: SettingsFile | null): ReadSettings {
  const parsed = file?.kind === 'text' ? parseRc(file.text) : { entries: [], problems: [] };
  const path = file?.path ?? '';
  const last = new Map(parsed.entries.map((entry) => [entry.key, entry]));
  const entries = [...last.values()].filter(({ value }) => value.trim() !== '');
  const isKnown = (name: string): boolean => keyOf(name) !== undefined;
  const given = KEYS.flatMap((key): readonly Given[] => {
    const variable = variableOf(environment, key);
    const entry = entries.find((one) => one.key === key.name);
    const ofVariable =
      variable === undefined ? [] : [{ key, value: variable.value, place: { key: variable.name, file: null } }];
    const ofEntry =
      entry === undefined
        ? []
        : [{ key, value: entry.value, place: { key: key.name, file: { path, line: entry.line } } }];
    // Of what sets an input only one counts; of everything else each place has its say.
    return key.input !== null && variable !== undefined ? ofVariable : [...ofVariable, ...ofEntry];
  });
  const meant = given.map((one) => ({ ...one, meaning: one.key.meaning(one.value.trim()) }));
  const unknown = entries.filter(({ key }) => !isKnown(key));
  const slips = unknown.flatMap(({ key, line }) => {
    const near = meantBy(key);
    return near === null
      ? []
      : [`${path}:${String(line)}: ${shownKey(key)} has no meaning here. Did you mean ${near}?`];
  });
  const misspelt = misspeltIn(environment);
  const problems = [
    ...(file?.kind === 'unreadable' ? [`${path} ${file.why}.`] : []),
    ...parsed.problems.map(({ line, why }) => `${path}:${String(line)}: ${why}.`),
    ...meant.flatMap(({ meaning, place, value }) =>
      meaning.kind === 'unusable' ? [`${placeName(place)} ${shownValue(value)} ${meaning.why}.`] : [],
    ),
  ];
  const readPlace = (isThere: (place: Place) => boolean): ReadPlace => {
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
    problems: firstLines(problems, MAX_PROBLEMS),
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

/** The variable that has the setting: that of this run alone comes first. An empty one is none. */
function variableOf(
  environment: Environment,
  { name, aliases, variables }: Key,
): { name: string; value: string } | undefined {
  const names = { named: [`RALPH_${name}`, name, ...aliases], prefixed: [`RALPH_${name}`], none: [] }[variables];
  return names
    .map((variable) => ({ name: variable, value: environment[variable] ?? '' }))
    .find(({ value }) => value.trim() !== '');
}

/** Variables for one run (`RALPH_…`) that are no setting and close to one. Of others of that prefix nobody knows whose they are. */
function misspeltIn(environment: Environment): readonly { readonly name: string; readonly near: string }[] {
  const names = Object.keys(environment).filter(
    (name) =>
      name.startsWith('RALPH_') &&
      (environment[name] ?? '').trim() !== '' &&
      [name, name.slice('RALPH_'.length)].every((known) => keyOf(known) === undefined),
  );
  return names
    .flatMap((name) => {
      const near = meantBy(name);
      return near === null ? [] : [{ name, near }];
    })
    .slice(0, MAX_PROBLEMS);
}

/** Settings that make one input together become one, in the order of the table. */
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

/** `.ralphrc:12: MAX_CALLS_PER_HOUR`, or `MAX_CALLS_PER_HOUR of the environment`. */
export function placeName({ key, file }: Place): string {
  return file === null ? `The variable ${key}` : `${file.path}:${String(file.line)}: ${key}`;
}

function shownValue(value: string): string {
  return JSON.stringify(oneLine(value, 80));
}

function shownKey(key: string): string {
  return oneLine(key, 60);
}

/** The inputs' texts with what counts of the settings, by input. */
export interface Settled {
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** Those that count. */
  readonly settings: readonly FoundSetting[];
}

/** Puts settings in place of inputs that are not given. An input that has its default's text counts as not given; `defaults`: those of action.yml. */
export function settleInputs(
  given: Readonly<Record<string, string | undefined>>,
  found: readonly FoundSetting[],
  defaults: Readonly<Record<string, string>>,
): Settled {
  const isGiven = (input: string): boolean => (given[input] ?? '').trim() !== (defaults[input] ?? '').trim();
  const settings = found.filter(({ input }) => !isGiven(input));
  return { texts: { ...given, ...Object.fromEntries(settings.map(({ input, text }) => [input, text])) }, settings };
}

/** What is said of the settings in the log and the summary: one line for the file, one for the environment, then what is different here. Empty: there are none. */
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
  places: readonly Place[],
  overruled: readonly Place[],
): readonly string[] {
  const ofEnvironment = (all: readonly Place[]): readonly string[] =>
    all.filter(({ file }) => file === null).map(({ key }) => key);
  const used = [...ofEnvironment(places), ...asAlways];
  const others = otherParts(ofEnvironment(overruled), meaningless);
  if (used.length + others.length === 0) return [];
  const names = used.length === 0 ? '' : ` (${namesIn(used)})`;
  return [`Environment: ${[`${settingsCount(used.length)} used${names}`, ...others].join(', ')}.`];
}

/** What is not used of a place, and why. */
function otherParts(overruled: readonly string[], meaningless: readonly string[]): readonly string[] {
  return [
    ...(overruled.length === 0
      ? []
      : [`${countIs(overruled.length, 'is', 'are')} set by the workflow instead (${namesIn(overruled)})`]),
    ...(meaningless.length === 0
      ? []
      : [`${countIs(meaningless.length, 'has', 'have')} no meaning here (${namesIn(meaningless)})`]),
  ];
}

function fileLine(file: ReadFile, places: readonly Place[], overruled: readonly Place[]): string {
  const used = places.filter((place) => place.file !== null).length + file.asAlways.length;
  const set = overruled.filter((place) => place.file !== null).map(({ key }) => key);
  const { meaningless, repeated, project } = file;
  const parts = [
    `${settingsCount(used)} used`,
    ...otherParts(set, meaningless),
    ...(repeated.length === 0 ? [] : [`of ${namesIn(repeated)} the last line counts`]),
  ];
  const of = project === '' ? '' : ` (${oneLine(project, 100)})`;
  return `\`${file.path}\`${of}: ${parts.join(', ')}.`;
}

function namesIn(names: readonly string[]): string {
  return firstNames(names, 12);
}

function settingsCount(count: number): string {
  return count === 1 ? '1 setting' : `${String(count)} settings`;
}

function countIs(count: number, one: string, many: string): string {
  return `${String(count)} ${count === 1 ? one : many}`;
}
