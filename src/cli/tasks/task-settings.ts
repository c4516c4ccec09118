import { issueQueryField, parseInputText, splitList } from '../../config/fields.ts';
import { taskSources } from '../../config/input-schema.ts';
import { findInputProblems } from '../../config/inputs.ts';
import { isExpression } from '../../core/doctor/workflow.ts';
import type { ReportedSettings, EffectiveSetting } from '../../core/settings/effective.ts';
import { getDefault } from '../../config/setting-table.ts';
import type { TaskSourceName } from '../../core/tasks/ids.ts';
import type { IssueQuery } from '../../core/tasks/issue-query.ts';
import {
  DEFAULT_BRANCH_PREFIX,
  DEFAULT_OPTIONAL_SECTIONS,
  DEFAULT_PROMPT_FILE,
  DEFAULT_SOURCES,
  DEFAULT_TASK_LABEL,
} from '../defaults.ts';

/** The settings with which runs look for tasks. */
export interface TaskSettings {
  readonly sources: readonly TaskSourceName[];
  readonly label: string;
  readonly query: IssueQuery | null;
  readonly optionalSections: readonly string[];
  readonly promptFile: string;
  readonly branchPrefix: string;
  /** The settings among these that are not defaults. */
  readonly set: readonly EffectiveSetting[];
  /** Problems of the settings, as sentences. */
  readonly problems: readonly string[];
}

const DEFAULTS = {
  'task-sources': DEFAULT_SOURCES,
  'task-label': DEFAULT_TASK_LABEL,
  'issue-query': getDefault('issue-query'),
  'optional-sections': DEFAULT_OPTIONAL_SECTIONS,
  'prompt-file': DEFAULT_PROMPT_FILE,
  'branch-prefix': DEFAULT_BRANCH_PREFIX,
};

/** Returns the settings for tasks. `given` contains checked options of the command line, which come first. */
export function buildTaskSettings(
  { settings, problems }: ReportedSettings,
  given: Readonly<Partial<Record<'task-sources' | 'task-label', string>>>,
): TaskSettings {
  const found = settings.filter(
    ({ input, origin }) => Object.hasOwn(DEFAULTS, input) && !Object.hasOwn(given, input) && origin !== 'default',
  );
  const unusable = found.flatMap((setting) => {
    const why = whyUnusable(setting);
    return why === null ? [] : [{ setting, why }];
  });
  const set = found.filter((one) => unusable.every(({ setting }) => setting !== one));
  const texts = { ...DEFAULTS, ...Object.fromEntries(set.map(({ input, text }) => [input, text.trim()])), ...given };
  return {
    sources: parseInputText(taskSources, texts['task-sources']).value,
    label: texts['task-label'],
    query: parseInputText(issueQueryField, texts['issue-query']).value,
    optionalSections: splitList(texts['optional-sections']),
    promptFile: texts['prompt-file'],
    branchPrefix: texts['branch-prefix'],
    set,
    problems: [
      ...problems,
      // Problems of settings from other places are already in `problems`, so add only those of the options.
      ...unusable
        .filter(({ setting }) => setting.origin === 'input')
        .map(({ setting: { input, where }, why }) => `${where}: \`${input}\` ${why}; its default is used here.`),
    ],
  };
}

/** Returns why a setting cannot be used, as the end of a sentence, or null if it is usable. */
function whyUnusable({ input, text }: EffectiveSetting): string | null {
  if (isExpression(text)) return 'is an expression, whose value only a run knows';
  return findInputProblems({ [input]: text.trim() })[0]?.why ?? null;
}
