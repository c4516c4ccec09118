import { oneLine } from '../text/one-line.ts';
import type { FoundSetting } from './found-setting.ts';

export const settingOrigins = ['input', 'environment', 'file'] as const;

/** A setting whose text is not its default's. `where`: a file with its line, a variable, or the workflow. */
export interface EffectiveSetting {
  readonly input: string;
  readonly text: string;
  readonly origin: (typeof settingOrigins)[number];
  readonly where: string;
}

/** What the runs of a workflow work with, as far as it differs from the defaults; and what is wrong with settings that are no inputs, as lines. */
export interface AnsweredSettings {
  readonly workflow: string;
  readonly settings: readonly EffectiveSetting[];
  readonly problems: readonly string[];
}

/** Settings by which the settings of one run differ from the defaults. `given`: the inputs as the workflow has them, which comes first. */
export function effectiveSettings(
  { given, workflow }: { readonly given: Readonly<Record<string, string>>; readonly workflow: string },
  counting: readonly FoundSetting[],
  defaults: Readonly<Record<string, string>>,
): readonly EffectiveSetting[] {
  const ofInputs = Object.entries(given)
    .filter(([input, text]) => Object.hasOwn(defaults, input) && text.trim() !== (defaults[input] ?? '').trim())
    .map(([input, text]): EffectiveSetting => ({ input, text, origin: 'input', where: workflow }));
  const ofOthers = counting
    .filter(({ input, text }) => text !== defaults[input])
    .map(({ input, text, places }): EffectiveSetting => ({
      input,
      text,
      origin: places.some(({ file }) => file === null) ? 'environment' : 'file',
      where: places.map(({ key, file }) => (file === null ? key : `${file.path}:${file.line} ${key}`)).join(', '),
    }));
  return [...ofInputs, ...ofOthers];
}

/** One setting for a person: `max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)`. */
export function renderSetting({ input, text, origin, where }: EffectiveSetting): string {
  return `${input}: ${oneLine(text, 80)} (${origin}, ${where})`;
}
