import { describe, expect, test } from 'vitest';
import { buildConfig } from '../../../../src/config/inputs.ts';
import type { OrganisationFile } from '../../../../src/core/settings/effective.ts';
import { parseRepositoryName } from '../../../../src/config/fields.ts';
import { parseRunSettings, mergeConfigTexts } from '../../../../src/config/settings/run-texts.ts';
import { parseSettingsMapping, parseOrganisationSettings } from '../../../../src/config/settings/settings-input.ts';
import { parseYamlTexts } from '../../../../src/yaml/parse.ts';

const REPOSITORY = 'octo/settings';
const file = (text: string): OrganisationFile => ({ kind: 'text', text });

/** Returns the settings of a run whose workflow has these inputs and this input `settings`. */
function settled(
  central: OrganisationFile,
  { inputs = {}, settings = '', rc }: { inputs?: Record<string, string>; settings?: string; rc?: string } = {},
) {
  return mergeConfigTexts(
    { inputs: { 'github-token': 't', ...inputs }, named: parseSettingsMapping(settings, parseYamlTexts) },
    parseRunSettings({}, { texts: rc === undefined ? {} : { '.ralphrc': rc }, unread: {} }, ''),
    parseOrganisationSettings(REPOSITORY, central, parseYamlTexts),
  );
}

describe('the settings file of another repository', () => {
  test('sets what the repository itself does not: inputs, `settings` and its own settings file come first', () => {
    const central = file('max-iterations: 3\nmodel: opus\nmax-calls-per-hour: 7\nmax-patch-kib: 99\ndashboard: true');
    const { texts, settings } = settled(central, {
      inputs: { model: 'sonnet' },
      settings: 'max-patch-kib: 1',
      rc: 'MAX_CALLS_PER_HOUR=5\n',
    });
    expect(texts).toMatchObject({
      'max-iterations': '3',
      model: 'sonnet',
      'max-patch-kib': '1',
      'max-calls-per-hour': '5',
      dashboard: 'true',
    });
    expect(settings.lines).toContain('Settings of octo/settings: max-iterations, dashboard.');
  });

  test('is reported with its place if a value is wrong', () => {
    expect(() => buildConfig(settled(file('max-iterations: many')))).toThrow(
      /settings-from octo\/settings: max-iterations/,
    );
  });

  test.each([
    ['allowed-tools: Bash'],
    ['allowed-bots: evil[bot]'],
    ['isolation: none'],
    ['agent-env: SECRET'],
    ['verify: "true"'],
    ['allow-protected-paths: "**"'],
    ['settings-from: octo/more'],
    ['task-label: other'],
    ['parallel: 3'],
    ['auto-merge: true'],
  ])('may not say %s, since that is for the repository to decide', (text) => {
    const [name = ''] = text.split(':');
    expect(settled(file(text)).problems).toEqual([
      `.github/ralph-settings.yml of octo/settings: ${name} may not be set for other repositories. Remove it there, and set it in each workflow.`,
    ]);
  });

  test.each<[string, OrganisationFile, RegExp]>([
    ['that is missing', { kind: 'missing', why: 'nothing there.' }, /^settings-from: nothing there\.$/],
    ['that is not YAML', file('a: [1'), /^\.github\/ralph-settings\.yml of octo\/settings: is not YAML: /],
    ['that has a key', file('anthropic-api-key: sk-1'), /anthropic-api-key is a secret/],
    ['with a misspelt name', file('max-iteration: 3'), /max-iteration is not a setting.*max-iterations/],
  ])('%s ends the run before it spends anything', (_, central, problem) => {
    expect(settled(central).problems).toEqual([expect.stringMatching(problem)]);
  });
});

test.each([
  ['octo/settings', { owner: 'octo', repo: 'settings' }],
  [' octo/.github ', { owner: 'octo', repo: '.github' }],
  ['octo', null],
  ['octo/..', null],
  ['octo/a/b', null],
  ['https://github.com/octo/a', null],
  ['-octo/a', null],
])('%s as a repository', (text, named) => {
  expect(parseRepositoryName(text)).toEqual(named);
});
