import type { OrganisationFile } from '../../core/settings/effective.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { NO_NAMED_SETTINGS, type NamedSettings, type ParseTexts, parseNamedSettings } from './settings-input.ts';

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
  parse: ParseTexts,
): NamedSettings {
  const where = `${ORGANISATION_FILE} of ${toOneLine(repository, 140)}`;
  if (file.kind === 'missing') return { ...NO_NAMED_SETTINGS, problems: [`settings-from: ${file.why}`] };
  const read = parseNamedSettings(file.text, parse);
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
