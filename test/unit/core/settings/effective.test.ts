import { expect, test } from 'vitest';
import { answerSettings } from '../../../../src/config/settings/run-texts.ts';
import { settingFindings } from '../../../../src/core/doctor/doctor.ts';
import { renderSettings } from '../../../../src/core/settings/effective.ts';

const defaults = {
  'github-token': '${{ github.token }}',
  'max-calls-per-hour': '100',
  'max-iterations': '10',
  'session-expiry-hours': '24',
  verify: '',
};
const ask = (rc: string, change: Partial<Parameters<typeof answerSettings>[0]> = {}) =>
  answerSettings({
    workflow: 'ralph.yml',
    inputs: {},
    environment: {},
    files: { texts: { '.ralphrc': rc }, unread: {} },
    defaults,
    ...change,
  });

test('each setting with its origin, defaults last', () => {
  const { settings, problems } = ask('MAX_CALLS_PER_HOUR=2\nSESSION_EXPIRY_HOURS=24\nTEST_COMMAND=make', {
    inputs: { 'Max-Iterations': '5', 'github-token': 'ghp_secret' },
    environment: { QUALITY_GATES: 'npm run lint' },
  });
  expect(renderSettings(settings)).toEqual([
    'max-iterations: 5 (input, ralph.yml)',
    'max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)',
    'session-expiry-hours: 24 (file, .ralphrc:2 SESSION_EXPIRY_HOURS)',
    'verify: make npm run lint (environment, .ralphrc:3 TEST_COMMAND, QUALITY_GATES)',
  ]);
  expect(settings).toHaveLength(4);
  expect(ask('').settings).toEqual([
    { input: 'max-calls-per-hour', text: '100', origin: 'default', where: 'action.yml' },
    { input: 'max-iterations', text: '10', origin: 'default', where: 'action.yml' },
    { input: 'session-expiry-hours', text: '24', origin: 'default', where: 'action.yml' },
    { input: 'verify', text: '', origin: 'default', where: 'action.yml' },
  ]);
  expect(problems).toEqual([]);
});

test('what is wrong with settings that are no inputs, of the form and of the value', () => {
  const { problems } = ask('MAX_CALLS_PER_HOUR=many\nTEST_COMMAND=$(x)');
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatch(/^\.ralphrc:2: has a command in/);
  expect(problems[1]).toBe('.ralphrc:1: MAX_CALLS_PER_HOUR is not a whole number from 1 to 10000.');
});

test('ralph doctor: a line for each setting that is no default, or the problems', () => {
  const says = (rc: string): readonly (readonly string[])[] =>
    settingFindings(ask(rc)).map(({ kind, where, says: what }) => [kind, where ?? '', what]);
  expect(says('')).toEqual([['ok', 'ralph.yml', 'All inputs have their defaults: `ralph status --json` lists them.']]);
  expect(says('MAX_CALLS_PER_HOUR=2')).toEqual([
    ['ok', 'ralph.yml', 'max-calls-per-hour: 2 (file, .ralphrc:1 MAX_CALLS_PER_HOUR)'],
    ['ok', 'ralph.yml', 'All other inputs have their defaults: `ralph status --json` lists them.'],
  ]);
  expect(says('MAX_CALLS_PER_HOUR=0')).toEqual([
    ['problem', 'ralph.yml', '.ralphrc:1: MAX_CALLS_PER_HOUR is not a whole number from 1 to 10000.'],
  ]);
});
