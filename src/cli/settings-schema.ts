import { z } from 'zod';
import { settingOrigins, type AnsweredSettings } from '../core/settings/effective.ts';
import { plainLine } from './plain-line.ts';

/** The settings of the runs of a workflow, as `--json` prints them. */
export const answeredSettingsSchema = z.object({
  workflow: z.string().describe('The workflow file; `ralph run` where no workflow uses the action.'),
  settings: z
    .array(
      z.object({
        input: z.string().describe('The input that it stands for.'),
        text: z.string(),
        origin: z.enum(settingOrigins),
        where: z
          .string()
          .describe(
            'The workflow file, a line of a settings file, the name of a variable, or action.yml for a default.',
          ),
      }),
    )
    .describe('Every input that says how a run works.'),
  problems: z.array(z.string()).describe('What is wrong with settings of a file or of the environment.'),
});
type PrintedSettings = z.infer<typeof answeredSettingsSchema>;

/** Texts of files, which may be anything, as data for one line each; nothing is cut. */
export function printedSettings({ workflow, settings, problems }: AnsweredSettings): PrintedSettings {
  const line = (text: string): string => plainLine(text, Infinity);
  return {
    workflow,
    settings: settings.map(({ text, where, ...setting }) => ({ ...setting, text: line(text), where: line(where) })),
    problems: problems.map(line),
  };
}
