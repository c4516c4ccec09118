import { describe, expect, test } from 'vitest';
import { describeMisplaced, buildConfig } from '../../../../src/config/inputs.ts';
import { mergeFoundTexts } from '../../../../src/config/settings/run-texts.ts';
import { parseSettingsMapping } from '../../../../src/config/settings/settings-input.ts';
import { foundSettingSchema } from '../../../../src/core/settings/effective.ts';
import { parseYamlTexts } from '../../../../src/yaml/parse.ts';

const read = (text: string) => parseSettingsMapping(text, parseYamlTexts);
const textsOf = (text: string) => Object.fromEntries(read(text).found.map(({ input, text: value }) => [input, value]));
const configOf = (settings: string, inputs: Readonly<Record<string, string>> = {}) =>
  buildConfig(mergeFoundTexts({ inputs: { 'github-token': 't', ...inputs, settings }, named: read(settings) }, []));
const messageOf = (settings: string): string => {
  try {
    configOf(settings);
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  throw new Error('it is usable');
};

describe('what `settings` takes', () => {
  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['nothing', ' \n', {}],
    ['comments alone', '# max-patch-kib: 1\n', {}],
    [
      'a text, a number and a switch',
      'session: fresh\nmax-patch-kib: 4096\nco-author: false',
      { session: 'fresh', 'max-patch-kib': '4096', 'co-author': 'false' },
    ],
    ['numbers as they are written', 'base-branch: 1.10', { 'base-branch': '1.10' }],
    [
      'a list, one item per line',
      'pr-labels: [a, "b c"]\nverify:\n  - npm ci\n  - npm test',
      { 'pr-labels': 'a\nb c', verify: 'npm ci\nnpm test' },
    ],
    ['an empty list', 'optional-sections: []', { 'optional-sections': '' }],
    ['a block of text', 'prices: |\n  a=1/2\n  b=3/4', { prices: 'a=1/2\nb=3/4' }],
    ['JSON', '{"max-patch-kib": 1, "pr-labels": ["a", "😀"]}', { 'max-patch-kib': '1', 'pr-labels': 'a\n😀' }],
    ['names of inputs as well', 'max-iterations: 3', { 'max-iterations': '3' }],
    ['an empty value, which is not given', 'model:\nprices: ""', {}],
    ['the text of a default, which counts as not given', 'max-patch-kib: 2048', {}],
  ])('%s', (_, text, expected) => {
    expect(read(text).problems).toEqual([]);
    expect(textsOf(text)).toEqual(expected);
  });

  test('values of every kind become the settings of the run', () => {
    expect(
      configOf(
        'max-patch-kib: 4096\nanswer-checks: false\npr-labels: [a, b]\nfail-on: []\nallowed-tools: +Bash(make:*)',
      ),
    ).toMatchObject({
      maxPatchKib: 4096,
      answers: { checks: false },
      prLabels: ['a', 'b'],
      failOn: [],
      policy: { allowedTools: expect.arrayContaining(['Read', 'Bash(pytest:*)', 'Bash(make:*)']) as unknown },
    });
  });

  test('an input comes first', () => {
    expect(configOf('model: a\nmax-iterations: 3', { model: 'b' })).toMatchObject({
      agent: { order: [{ model: 'b' }] },
      policy: { maxIterations: 3 },
    });
  });

  test('of the reusable workflow its own `settings` under its other inputs, without what sets up its jobs', () => {
    const inputs = {
      'runs-on': 'ubuntu-latest',
      'timeout-minutes': '60',
      'aws-role': 'arn:aws:iam::1:role/ralph',
      'google-region': 'global',
      'anthropic-workspace': '',
      'max-iterations': '7',
      'max-cost-usd': '5',
      model: '',
      settings: 'max-iterations: 8\nmax-cost-usd: 9\nmodel: opus\nmax-patch-kib: 1',
    };
    expect(read(JSON.stringify(inputs, null, 2))).toMatchObject({ problems: [] });
    expect(textsOf(JSON.stringify(inputs, null, 2))).toEqual({
      'max-iterations': '7',
      'max-cost-usd': '9',
      model: 'opus',
      'max-patch-kib': '1',
    });
  });

  test('of the reusable workflow one login', () => {
    const both = {
      'aws-role': 'arn:aws:iam::1:role/ralph',
      'google-workload-identity-provider': 'projects/1',
      settings: '',
    };
    expect(read(JSON.stringify(both)).problems).toEqual([
      'The agent has several logins but uses only one of them: `aws-role`, `google-workload-identity-provider`. Remove the others.',
    ]);
    const one = { ...both, 'aws-role': '', 'aws-region': 'eu-west-1', 'google-region': 'global' };
    expect(read(JSON.stringify(one)).problems).toEqual([]);
  });

  test('of the reusable workflow no secret, since its gate hands over what it is given', () => {
    const settings = 'notify-webhook: https://hooks.test/secret\nmax-iterations: 8';
    expect(read(JSON.stringify({ 'runs-on': 'ubuntu-latest', settings })).problems).toEqual([
      'settings: notify-webhook is a secret, and settings are not kept secret. Give it as an input of its own.',
    ]);
    expect(read(settings).problems).toEqual([]);
  });

  test('what it finds can be handed over and recorded, and so can what earlier versions found', () => {
    const [found] = read('max-patch-kib: 1').found;
    expect(foundSettingSchema.parse(JSON.parse(JSON.stringify(found)))).toEqual(found);
    const earlier = {
      input: 'verify',
      text: 'make',
      places: [
        { key: 'TEST_COMMAND', file: null },
        { key: 'QUALITY_GATES', file: { path: '.ralphrc', line: 2 } },
      ],
    };
    expect(foundSettingSchema.parse(earlier)).toEqual(earlier);
  });
});

describe('what `settings` refuses', () => {
  test.each<[string, string, RegExp]>([
    ['an unknown name', 'max-patch-kb: 1', /^settings: max-patch-kb is not a setting\. Did you mean max-patch-kib\?$/],
    ['a name of nothing', 'colour: red', /^settings: colour is not a setting\. Remove it, or correct its name\.$/],
    ['an old name', 'agents: claude, codex', /^settings: agents is now part of `agent`/],
    [
      'a mapping as a value',
      'prices: {a: 1}',
      /^settings: prices .*a.* is neither a value nor a list of values\. Write/,
    ],
    ['a list in a list', 'pr-labels: [[a]]', /^settings: pr-labels .* is neither a value nor a list/],
    ['a text', 'just text', /^settings: is not a mapping of names to values\. Write one `name: value`/],
    ['a secret that is a mapping', 'notify-webhook: { url: https://secret }', /^settings: notify-webhook is neither/],
    ['a list of settings', '- a', /^settings: is not a mapping/],
    ['unreadable YAML', 'a: [1', /^settings: is not YAML: line \d+: .*\. Write one `name: value`/],
    ['a name twice', 'model: a\nmodel: b', /^settings: is not YAML: line 2: .*unique/],
    ['an alias', 'model: &a x\nprices: *a', /^settings: is not YAML: put a value that begins with `\*` in quotes/i],
    ['a key', 'anthropic-api-key: sk-1', /^settings: anthropic-api-key is a secret, and settings are not kept secret/],
    ['the token', 'github-token: x', /^settings: github-token is a secret/],
    ['an input of one job', 'phase: gate', /^settings: phase is an input of the action of one job/],
    ['what is too long', `model: ${'x'.repeat(70_000)}`, /^settings: is longer than 64 KiB/],
    [
      'inputs of a workflow in a workflow of its own',
      'runs-on: x',
      /^settings: runs-on is an input of the reusable workflow\./,
    ],
  ])('%s', (_, text, expected) => {
    expect(read(text).found).toEqual([]);
    expect(read(text).problems).toHaveLength(1);
    expect(read(text).problems[0]).toMatch(expected);
  });

  test('no secret is shown', () => {
    expect(read('anthropic-api-key: sk-1\nkey: sk-2').problems.join()).not.toContain('sk-');
  });

  test('everything at once, with the values', () => {
    expect(messageOf('max-patch-kib: many\ncolour: red\nanswer-checks: maybe')).toBe(
      [
        '3 settings are not usable:',
        '- settings: answer-checks "maybe" must be one of: true, false.',
        '- settings: max-patch-kib "many" is not a whole number from 1 to 1048576.',
        '- settings: colour is not a setting. Remove it, or correct its name.',
      ].join('\n'),
    );
  });

  test('many problems are cut', () => {
    const text = Array.from({ length: 100 }, (_, at) => `wrong-${String(at)}: 1`).join('\n');
    expect(read(text).problems).toHaveLength(21);
  });
});

describe('a setting in the wrong place under `with`', () => {
  const job = {
    phase: 'gate',
    'handoff-path': '/x',
    'handoff-digest': '',
    'handoff-branch': '',
    'loop-result': '',
    'login-ends': '',
  };
  test.each<[string, Readonly<Record<string, string>>, readonly RegExp[]]>([
    ['nothing', { verify: 'make', settings: '', 'something-else': '1' }, []],
    [
      'a setting',
      { 'max-patch-kib': '4096', session: 'fresh' },
      [
        /^max-patch-kib: is a setting, not an input\. Put it under `settings`, as `max-patch-kib: 4096`\.$/,
        /^session: /,
      ],
    ],
    [
      'an input of one job',
      { phase: 'gate' },
      [/^phase: is an input of the action of one job\. .*\.github\/actions\/job/],
    ],
    ['the same in the action of one job', job, []],
  ])('%s', (_, inputs, expected) => {
    const lines = describeMisplaced(inputs);
    expect(lines).toHaveLength(expected.length);
    expected.forEach((pattern, at) => expect(lines[at]).toMatch(pattern));
  });
});
