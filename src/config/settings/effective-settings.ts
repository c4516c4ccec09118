import { effectiveSettings, type AnsweredSettings } from '../../core/settings/effective.ts';
import { inputProblems } from '../inputs.ts';
import { KEY_INPUTS } from '../key-inputs.ts';
import { workingFolderOf } from '../working-folder.ts';
import { readRunSettings, textsWith } from './run-texts.ts';
import { placeName } from './settings.ts';

/** A step with the action as its workflow has it, and what the base branch and action.yml say. */
interface SettingsQuestion {
  readonly workflow: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** null: nobody knows what the base branch has. */
  readonly files: {
    readonly texts: Readonly<Record<string, string>>;
    readonly unread: Readonly<Record<string, string>>;
  } | null;
  readonly defaults: Readonly<Record<string, string>>;
}

/** Inputs that say who and where somebody is, and not how a run works. */
const NOT_SHOWN: readonly string[] = ['github-token', ...KEY_INPUTS, 'phase', 'handoff-path', 'handoff-digest'];

/** Answers what a step would run with; an expression counts as given. */
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
