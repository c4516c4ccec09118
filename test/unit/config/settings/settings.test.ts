import { describe, expect, test } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import { type ConfigTexts, buildConfig } from '../../../../src/config/inputs.ts';
import { OTHER_RALPH_KEYS } from '../../../../src/config/settings/keys.ts';
import {
  type GivenTexts,
  parseRunSettings,
  mergeConfigTexts,
  mergeFoundTexts,
} from '../../../../src/config/settings/run-texts.ts';
import { parseSettingsMapping } from '../../../../src/config/settings/settings-input.ts';
import { SETTING_NAMES } from '../../../../src/config/setting-table.ts';
import { parseYamlTexts } from '../../../../src/yaml/parse.ts';
import { HOUR, MINUTE } from '../../core/core-fixtures.ts';

const step = { 'github-token': 'token-of-the-job' };

interface Setting {
  readonly inputs?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly unread?: Readonly<Record<string, string>>;
}

function given(inputs: Readonly<Record<string, string>>): GivenTexts {
  return { inputs: { ...step, ...inputs }, named: parseSettingsMapping(inputs['settings'] ?? '', parseYamlTexts) };
}

function textsOf({ inputs = {}, environment = {}, files = {}, unread = {} }: Setting): ConfigTexts {
  return mergeConfigTexts(given(inputs), parseRunSettings(environment, { texts: files, unread }, ''));
}
const configOf = (setting: Setting): Config => buildConfig(textsOf(setting));
const ofFile = (text: string): Config => configOf({ files: { '.ralphrc': text } });
const messageOf = (setting: Setting): string => {
  try {
    configOf(setting);
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  throw new Error('it is usable');
};

describe('each setting of another Ralph', () => {
  const rows: readonly (readonly [string, (config: Config) => unknown, unknown])[] = [
    ['MAX_CALLS_PER_HOUR=7', ({ policy }) => policy.maxCallsPerHour, 7],
    ['MAX_TOKENS_PER_HOUR=500000', ({ policy }) => policy.maxTokensPerHour, 500_000],
    ['CLAUDE_TIMEOUT_MINUTES=20', ({ policy }) => policy.agentTimeoutMs, 20 * MINUTE],
    ['CLAUDE_MODEL=opus', ({ agent }) => agent.order[0].model, 'opus'],
    ['CLAUDE_CODE_CMD=claude', ({ agent }) => agent.order[0].path, null],
    ['CLAUDE_CODE_CMD="npx @anthropic-ai/claude-code"', ({ agent }) => agent.order[0].path, null],
    ['CLAUDE_CODE_CMD=/opt/claude', ({ agent }) => agent.order[0].path, '/opt/claude'],
    [
      'ALLOWED_TOOLS="Write,Read,Bash(git add *),Bash(git status),Bash(git status *),Bash(npm *),Bash(pytest),Bash(*)"',
      ({ policy }) => policy.allowedTools,
      [
        'Write',
        'Read',
        'Bash(git add:*)',
        'Bash(git status)',
        'Bash(git status:*)',
        'Bash(npm:*)',
        'Bash(pytest)',
        'Bash',
      ],
    ],
    ['SESSION_CONTINUITY=false', ({ policy }) => policy.session, 'fresh'],
    ['SESSION_CONTINUITY=true', ({ policy }) => policy.session, 'resume'],
    ['SESSION_EXPIRY_HOURS=48', ({ policy }) => policy.sessionExpiryMs, 48 * HOUR],
    ['CB_NO_PROGRESS_THRESHOLD=4', ({ policy }) => policy.circuit.noProgress, 4],
    ['CB_SAME_ERROR_THRESHOLD=6', ({ policy }) => policy.circuit.sameError, 6],
    ['CB_OUTPUT_DECLINE_THRESHOLD=80', ({ policy }) => policy.circuit.outputDeclinePercent, 80],
    ['CB_PERMISSION_DENIAL_THRESHOLD=3', ({ policy }) => policy.circuit.permissionDenials, 3],
    ['CB_COOLDOWN_MINUTES=0', ({ policy }) => policy.circuit.cooldownMs, 0],
    ['CB_AUTO_RESET=true', ({ policy }) => policy.circuit.autoReset, true],
    ['TASK_SOURCES="local,github,beads"', ({ taskSources }) => taskSources, ['plan', 'prd', 'issues', 'beads']],
    ['TASK_SOURCES="local"', ({ taskSources }) => taskSources, ['plan', 'prd']],
    ['GITHUB_TASK_LABEL="ralph-task"', ({ taskLabel }) => taskLabel, 'ralph-task'],
    ['OPTIONAL_SECTIONS="Later, Some day"', ({ optionalSections }) => optionalSections, ['Later', 'Some day']],
    ['TEST_COMMAND="npm test"', ({ verify, policy }) => [verify, policy.verifies], [['npm test'], true]],
    [
      'TEST_COMMAND="npm test"\nQUALITY_GATES="npm run lint; npm run types;"',
      ({ verify }) => verify,
      ['npm test', 'npm run lint', 'npm run types'],
    ],
    ['PERMISSION_DENIAL_MODE=continue', ({ policy }) => policy.onPermissionDenied, 'continue'],
    ['PERMISSION_DENIAL_MODE=halt', ({ policy }) => policy.onPermissionDenied, 'halt'],
    ['PERMISSION_DENIAL_MODE=threshold', ({ policy }) => policy.onPermissionDenied, 'count'],
    ['MAX_CONSECUTIVE_TEST_LOOPS=5', ({ policy }) => policy.testOnlyIterations, 5],
    ['MAX_CONSECUTIVE_DONE_SIGNALS=3', ({ policy }) => policy.completionSignals, 3],
    ['TEST_PERCENTAGE_THRESHOLD=50', ({ testOnlyPercent }) => testOnlyPercent, 50],
    ['PROMPT_FILE="MY_PROMPT.md"', ({ promptFile }) => promptFile, '.ralph/MY_PROMPT.md'],
    ['PROMPT_FILE="docs/PROMPT.md"', ({ promptFile }) => promptFile, 'docs/PROMPT.md'],
  ];

  test.each(rows)('%s', (line, look, value) => {
    expect(look(ofFile(line))).toEqual(value);
  });

  test('that sets an input is looked at above', () => {
    const looked = rows.flatMap(([lines]) => [...lines.matchAll(/^(\w+)=/gm)].map(([, name]) => name));
    expect(OTHER_RALPH_KEYS.filter(({ name, input }) => input !== null && !looked.includes(name))).toEqual([]);
  });

  test('sets an input that there is', () => {
    for (const { name, input } of OTHER_RALPH_KEYS)
      if (input !== null) expect([name, SETTING_NAMES.includes(input)]).toEqual([name, true]);
  });

  test('an empty one counts as not set', () => {
    expect(ofFile('MAX_CALLS_PER_HOUR=""\nTEST_COMMAND="${TEST_COMMAND:-}"')).toMatchObject({
      policy: { maxCallsPerHour: 100, verifies: false },
      settings: { found: [] },
    });
  });
});

describe('precedence', () => {
  const file = { '.ralphrc': 'MAX_CALLS_PER_HOUR=2' };
  test.each<[string, Setting, number]>([
    ['the default', {}, 100],
    ['the file before the default', { files: file }, 2],
    ['the environment before the file', { files: file, environment: { MAX_CALLS_PER_HOUR: '3' } }, 3],
    [
      'the variant for one run before the plain variable',
      { files: file, environment: { MAX_CALLS_PER_HOUR: '3', RALPH_MAX_CALLS_PER_HOUR: '4' } },
      4,
    ],
    ['an empty variable does not count', { files: file, environment: { MAX_CALLS_PER_HOUR: ' ' } }, 2],
    [
      'the input before all',
      { files: file, environment: { MAX_CALLS_PER_HOUR: '3' }, inputs: { 'max-calls-per-hour': '5' } },
      5,
    ],
    [
      'what `settings` names before the file and the environment',
      { files: file, environment: { MAX_CALLS_PER_HOUR: '3' }, inputs: { settings: 'max-calls-per-hour: 8' } },
      8,
    ],
    ['the input before `settings`', { inputs: { 'max-calls-per-hour': '5', settings: 'max-calls-per-hour: 8' } }, 5],
    [
      '`settings` before an input that has the text of its default',
      { inputs: { 'max-calls-per-hour': '100', settings: 'max-calls-per-hour: 8' } },
      8,
    ],
    [
      'an entry of `settings` that has the text of its default counts as not given',
      { files: file, inputs: { settings: 'max-calls-per-hour: 100' } },
      2,
    ],
    [
      'an input that has the text of its default counts as not given',
      { files: file, inputs: { 'max-calls-per-hour': ' 100 ' } },
      2,
    ],
    [
      'the file of bmalph before the one at the root',
      { files: { ...file, '.ralph/.ralphrc': 'MAX_CALLS_PER_HOUR=6' } },
      6,
    ],
  ])('%s', (_, setting, calls) => {
    expect(configOf(setting).policy.maxCallsPerHour).toBe(calls);
  });

  test('each of two settings that make one input is looked for by itself', () => {
    const { verify } = configOf({
      files: { '.ralphrc': 'TEST_COMMAND="npm test"\nQUALITY_GATES="npm run lint"' },
      environment: { TEST_COMMAND: 'make test' },
    });
    expect(verify).toEqual(['make test', 'npm run lint']);
  });

  test('another job that knows what was found gets the same, but for what its own inputs say', () => {
    const { settings } = textsOf({ files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=2\nTEST_COMMAND=make' } });
    const config = buildConfig(mergeFoundTexts(given({ 'max-calls-per-hour': '9' }), settings.found));
    expect(config).toMatchObject({
      policy: { maxCallsPerHour: 9 },
      verify: ['make'],
      settings: { found: settings.found },
    });
  });
});

describe('the reported settings', () => {
  const linesOf = (setting: Setting): readonly string[] => configOf(setting).settings.lines;
  test.each<[string, Setting, readonly string[]]>([
    ['nothing where there is nothing', {}, []],
    [
      'the file, and what has no meaning here',
      {
        files: {
          '.ralphrc':
            'PROJECT_NAME="shop"\nPROJECT_TYPE="typescript"\nMAX_CALLS_PER_HOUR=2\nRALPH_VERBOSE=true\nCLAUDE_OUTPUT_FORMAT="json"\nMY_OWN=1',
        },
      },
      [
        '`.ralphrc` (shop, typescript): 3 settings used, 3 have no meaning here (CLAUDE_OUTPUT_FORMAT, RALPH_VERBOSE, MY_OWN).',
      ],
    ],
    [
      'what the workflow sets itself',
      { files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=2\nCB_COOLDOWN_MINUTES=5' }, inputs: { 'max-calls-per-hour': '5' } },
      ['`.ralphrc`: 1 setting used, 1 is set by the workflow instead (MAX_CALLS_PER_HOUR).'],
    ],
    [
      'the environment',
      { environment: { RALPH_MAX_CALLS_PER_HOUR: '4', PATH: '/bin' } },
      ['Environment: 1 setting used (RALPH_MAX_CALLS_PER_HOUR).'],
    ],
    [
      'what of the environment has no meaning here, and what has another name',
      {
        environment: {
          ...{ RALPH_MAX_CALLS_PER_HOUR: '4', CB_COOLDOWN_MINUTES: '9', PLATFORM_DRIVER: 'codex', RALPH_VERBOSE: '1' },
          ...{ REVIEW_MODE: 'enhanced', RALPH_MAX_CALL_PER_HOUR: '3', RALPH_ENABLE_BACKUP: 'true' },
        },
        inputs: { 'circuit-cooldown-minutes': '5' },
      },
      [
        'Environment: 1 setting used (RALPH_MAX_CALLS_PER_HOUR), 1 is set by the workflow instead (CB_COOLDOWN_MINUTES), 5 have no meaning here (PLATFORM_DRIVER, REVIEW_MODE, RALPH_VERBOSE, RALPH_ENABLE_BACKUP, RALPH_MAX_CALL_PER_HOUR).',
        'The variable RALPH_MAX_CALL_PER_HOUR has no meaning here. Did you mean RALPH_MAX_CALLS_PER_HOUR?',
        'PLATFORM_DRIVER is "codex": the agent here is Claude Code.',
        'REVIEW_MODE: people review the pull request; an agent step of a pipeline can review before them.',
      ],
    ],
    [
      'nothing of variables that may be those of others',
      {
        environment: {
          ...{ PROJECT_NAME: 'shop', PROJECT_TYPE: 'go', AGENT_FILE: 'a', ENABLE_BACKUP: '1', SANDBOX_PROVIDER: 'e2b' },
          ...{
            RALPH_RUN_TAG: 'a',
            RALPH_SANDBOX: 'b',
            RALPH_HOME: '/srv',
            RALPH_TOKEN: 'c',
            RALPH_PROJECT_NAME: 'shop',
          },
          ...{ MAX_CALL_PER_HOUR: '3', CLAUDE_CONFIG_DIR: '/a', VERBOSE: '1', RALPH_VERBOSE: '' },
        },
      },
      [],
    ],
    [
      'both places, each with what it has',
      {
        files: { '.ralphrc': 'REVIEW_MODE=off\n' },
        environment: { REVIEW_MODE: 'off', PLATFORM_DRIVER: 'claude-code' },
      },
      [
        '`.ralphrc`: 0 settings used, 1 has no meaning here (REVIEW_MODE).',
        'Environment: 1 setting used (PLATFORM_DRIVER), 1 has no meaning here (REVIEW_MODE).',
      ],
    ],
    [
      'a key that is there twice',
      { files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=2\nMAX_CALLS_PER_HOUR=3' } },
      ['`.ralphrc`: 1 setting used, of MAX_CALLS_PER_HOUR the last line counts.'],
    ],
    [
      'a near miss',
      { files: { '.ralphrc': 'MAX_CALL_PER_HOUR=2' } },
      [
        '`.ralphrc`: 0 settings used, 1 has no meaning here (MAX_CALL_PER_HOUR).',
        '.ralphrc:1: MAX_CALL_PER_HOUR has no meaning here. Did you mean MAX_CALLS_PER_HOUR?',
      ],
    ],
    [
      'rules that are written in another way',
      { files: { '.ralphrc': 'ALLOWED_TOOLS="Read,Bash(git *)"' } },
      [
        '`.ralphrc`: 1 setting used.',
        'ALLOWED_TOOLS: rules such as `Bash(git *)` are read as `Bash(git:*)`, which every version of the CLI understands.',
      ],
    ],
    [
      'a second file',
      { files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=2', '.ralph/.ralphrc': 'MAX_CALLS_PER_HOUR=3' } },
      ['`.ralph/.ralphrc`: 1 setting used.', '`.ralphrc`: not used, because `.ralph/.ralphrc` comes before it.'],
    ],
  ])('%s', (_, setting, lines) => {
    expect(linesOf(setting)).toEqual(lines);
  });

  test('no value of a setting without a meaning', () => {
    expect(JSON.stringify(ofFile('MY_KEY=sk-ant-very-secret').settings)).not.toContain('secret');
  });
});

describe('problems: all at once, with their places', () => {
  test('of file, environment and inputs', () => {
    expect(
      messageOf({
        files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=many\nTEST_COMMAND="$(cat x)"\nSESSION_CONTINUITY=maybe' },
        environment: { CB_COOLDOWN_MINUTES: '-1' },
        inputs: { 'max-iterations': '0' },
      }),
    ).toBe(
      [
        '5 settings are not usable:',
        '- max-iterations: "0" is not a whole number from 1 to 1000.',
        '- .ralphrc:1: MAX_CALLS_PER_HOUR "many" is not a whole number from 1 to 10000. (max-calls-per-hour)',
        '- The variable CB_COOLDOWN_MINUTES "-1" is not a number from 0 to 7200. (circuit-cooldown-minutes)',
        '- .ralphrc:2: has a command in $(…), which is never run here: write the value itself, or set it in the workflow.',
        '- .ralphrc:3: SESSION_CONTINUITY "maybe" must be one of: true, false.',
      ].join('\n'),
    );
  });

  test('one alone', () => {
    expect(messageOf({ files: { '.ralphrc': 'CLAUDE_CODE_CMD="claude --verbose"' } })).toBe(
      'A setting is not usable:\n- .ralphrc:1: CLAUDE_CODE_CMD "claude --verbose" is a command with arguments: give its program as the input `agent-path` and its arguments as `agent-args`.',
    );
  });

  test('a value that an input overrules is nobody’s problem', () => {
    expect(
      configOf({ files: { '.ralphrc': 'MAX_CALLS_PER_HOUR=many' }, inputs: { 'max-calls-per-hour': '5' } }).policy,
    ).toMatchObject({ maxCallsPerHour: 5 });
  });

  test.each([
    ['a file that cannot be read', { '.ralphrc': 'is larger than 1 MiB' }, '- .ralphrc is larger than 1 MiB.'],
    [
      'a link',
      { '.ralph/.ralphrc': 'is a symbolic link, which is not followed: put a file there' },
      '- .ralph/.ralphrc is a symbolic link, which is not followed: put a file there.',
    ],
  ])('%s', (_, unread, line) => {
    expect(messageOf({ unread })).toBe(`A setting is not usable:\n${line}`);
  });

  test('a thousand of them are cut', () => {
    expect(messageOf({ files: { '.ralphrc': 'x\n'.repeat(1000) } }).split('\n')).toHaveLength(22);
  });
});

test('an unreadable base branch is reported', () => {
  const { settings } = buildConfig(mergeConfigTexts(given({}), parseRunSettings({}, null, '')));
  expect(settings).toMatchObject({ found: [], lines: [settings.unknown] });
  expect(settings.unknown).toContain('fetch-depth: 0');
});
