import { z } from 'zod';
import type { Immutable } from '../policy.ts';
import { flattenText } from '../text/phrase.ts';

/**
 * The place of a setting: a line of a file, the input `settings`, the file of another repository, or a variable of the
 * environment (`file` is null).
 */
const placeSchema = z.object({
  key: z.string(),
  file: z
    .union([
      z.object({ path: z.string(), line: z.number().int() }),
      z.literal('settings'),
      z.object({ repository: z.string() }),
    ])
    .nullable(),
});

export type SettingPlace = Immutable<z.infer<typeof placeSchema>>;

export const foundSettingSchema = z.lazy(() =>
  z.object({ input: z.string(), text: z.string(), places: z.array(placeSchema) }),
);

/**
 * A setting from the input `settings`, the environment or a settings file of another Ralph, with its place. The input
 * of the same name overrides it.
 */
export type FoundSetting = Immutable<z.infer<typeof foundSettingSchema>>;

/**
 * GitHub's answer to the request for the settings file of another repository: its text, or a sentence that says why it
 * cannot be used.
 */
export type OrganisationFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing'; readonly why: string };

export const settingOrigins = ['input', 'settings', 'environment', 'file', 'default'] as const;

/** A setting of a run. */
export interface EffectiveSetting {
  readonly input: string;
  readonly text: string;
  readonly origin: (typeof settingOrigins)[number];
  /** A file with its line, a variable, the workflow, or `default`. */
  readonly where: string;
}

/** The settings in force for a workflow (a path; empty for `ralph run`), defaults last. */
export interface ReportedSettings {
  readonly workflow: string;
  readonly settings: readonly EffectiveSetting[];
  /** Lines about settings from other places than inputs. */
  readonly problems: readonly string[];
}

/**
 * Returns the settings of one run in this order: inputs of the workflow (`given`), settings from other places
 * (`counting`), defaults. An input that repeats its default counts as not given. Only inputs in `defaults` are
 * returned.
 */
export function listEffectiveSettings(
  { given, workflow }: { readonly given: Readonly<Record<string, string>>; readonly workflow: string },
  counting: readonly FoundSetting[],
  defaults: Readonly<Record<string, string>>,
): readonly EffectiveSetting[] {
  const ofInputs = Object.entries(given)
    .filter(([input, text]) => Object.hasOwn(defaults, input) && text.trim() !== (defaults[input] ?? '').trim())
    .map(([input, text]): EffectiveSetting => ({ input, text, origin: 'input', where: workflow }));
  const ofOthers = counting.map(({ input, text, places }): EffectiveSetting =>
    places.some(({ file }) => file === 'settings')
      ? { input, text, origin: 'settings', where: workflow }
      : {
          input,
          text,
          origin: places.some(({ file }) => file === null) ? 'environment' : 'file',
          where: places.map(nameOfPlace).join(', '),
        },
  );
  const set = new Set([...ofInputs, ...ofOthers].map(({ input }) => input));
  const others = Object.entries(defaults)
    .filter(([input]) => !set.has(input))
    .map(([input, text]): EffectiveSetting => ({ input, text, origin: 'default', where: 'default' }));
  return [...ofInputs, ...ofOthers, ...others];
}

/** Formats a place: `.ralphrc:1 MAX_CALLS_PER_HOUR`, or the key alone if it is not in a file. */
function nameOfPlace({ key, file }: SettingPlace): string {
  if (file === null || file === 'settings') return key;
  return 'path' in file ? `${file.path}:${file.line} ${key}` : `${file.repository} ${key}`;
}

/**
 * Builds the lines that show settings to a person, one per setting:
 * `max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)`; those with their defaults share the last line.
 */
export function buildSettingLines(settings: readonly EffectiveSetting[]): readonly string[] {
  const own = settings.filter(({ origin }) => origin !== 'default');
  const lines = own.map(
    ({ input, text, origin, where }) =>
      `${input}: ${flattenText(text.trim().replaceAll(/\s*\n\s*/g, '; '))} (${origin}, ${where})`,
  );
  if (own.length === settings.length) return lines;
  return [
    ...lines,
    `All ${own.length === 0 ? '' : 'other '}settings have their defaults: \`ralph status --json\` lists them.`,
  ];
}
