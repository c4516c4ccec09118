import { expect, test } from 'vitest';
import { answerSettings } from '../../../../src/config/settings/run-texts.ts';
import { parseSettingsMapping } from '../../../../src/config/settings/settings-input.ts';
import { checkSettings } from '../../../../src/core/doctor/doctor.ts';
import { buildSettingLines } from '../../../../src/core/settings/effective.ts';
import { parseYamlTexts } from '../../../../src/yaml/parse.ts';

const givenBy = (inputs: Readonly<Record<string, string>>) => ({
  inputs,
  named: parseSettingsMapping(inputs['settings'] ?? '', parseYamlTexts),
});
const ask = (rc: string, change: Partial<Parameters<typeof answerSettings>[0]> = {}) =>
  answerSettings({
    workflow: 'ralph.yml',
    given: givenBy({}),
    environment: {},
    files: { texts: { '.ralphrc': rc }, unread: {} },
    ...change,
  });

test('each setting with its origin, defaults last', () => {
  const { settings, problems } = ask('MAX_CALLS_PER_HOUR=2\nSESSION_EXPIRY_HOURS=24\nTEST_COMMAND=make', {
    given: givenBy({ 'max-iterations': '5', 'github-token': 'ghp_secret', settings: 'max-patch-kib: 9' }),
    environment: { QUALITY_GATES: 'npm run lint' },
  });
  expect(buildSettingLines(settings)).toEqual([
    'max-iterations: 5 (input, ralph.yml)',
    'max-patch-kib: 9 (settings, ralph.yml)',
    'max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)',
    'session-expiry-hours: 24 (file, .ralphrc:2 SESSION_EXPIRY_HOURS)',
    'verify: make; npm run lint (environment, .ralphrc:3 TEST_COMMAND, QUALITY_GATES)',
    'All other settings have their defaults: `ralph status --json` lists them.',
  ]);
  expect(settings.map(({ input }) => input)).not.toContain('github-token');
  expect(ask('').settings.every(({ origin, where }) => origin === 'default' && where === 'default')).toBe(true);
  expect(ask('').settings).toContainEqual({
    ...{ input: 'max-calls-per-hour', text: '100' },
    ...{ origin: 'default', where: 'default' },
  });
  expect(problems).toEqual([]);
});

test('what is wrong with settings that are not inputs, of the form and of the value', () => {
  const { problems } = ask('MAX_CALLS_PER_HOUR=many\nTEST_COMMAND=$(x)');
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatch(/^\.ralphrc:2: has a command in/);
  expect(problems[1]).toBe('.ralphrc:1: MAX_CALLS_PER_HOUR is not a whole number from 1 to 10000.');
});

test('ralph doctor: a line for each setting that differs from its default, or the problems', () => {
  const says = (rc: string): readonly (readonly string[])[] =>
    checkSettings(ask(rc)).map(({ kind, where, says: what }) => [kind, where ?? '', what]);
  expect(says('')).toEqual([
    ['ok', 'ralph.yml', 'All settings have their defaults: `ralph status --json` lists them.'],
  ]);
  expect(says('MAX_CALLS_PER_HOUR=2')).toEqual([
    ['ok', 'ralph.yml', 'max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)'],
    ['ok', 'ralph.yml', 'All other settings have their defaults: `ralph status --json` lists them.'],
  ]);
  expect(says('MAX_CALLS_PER_HOUR=0')).toEqual([
    ['problem', 'ralph.yml', '.ralphrc:1: MAX_CALLS_PER_HOUR is not a whole number from 1 to 10000.'],
  ]);
});
