import { describe, expect, test } from 'vitest';
import { claudeCli, buildClaudeArguments, buildClaudeEnvironment } from '../../../../src/agents/claude/cli.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const plain = {
  model: null,
  allowedTools: ['Read', 'Bash(npm:*)'],
  extraArgs: [],
  resume: null,
  alsoFolder: null,
  budgetUsd: null,
};
const SESSION_ID = '0f0e0d0c-1111-4222-8333-444455556666';

describe('the command line', () => {
  test('without a model, a budget or a session', () => {
    expect(buildClaudeArguments(plain)).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--permission-mode',
      'acceptEdits',
      '--allowedTools',
      'Read,Bash(npm:*)',
      '--disallowedTools',
      'ScheduleWakeup,CronCreate,WebFetch,WebSearch',
      '--setting-sources',
      'user',
      '--strict-mcp-config',
      '--settings',
      '{"attribution":{"commit":"","pr":""}}',
    ]);
  });

  test.each([
    { given: { model: 'sonnet' }, adds: ['--model', 'sonnet'] },
    { given: { budgetUsd: 1.23456 }, adds: ['--max-budget-usd', '1.2346'] },
    { given: { budgetUsd: 0.00001 }, adds: ['--max-budget-usd', '0.0001'] },
    { given: { budgetUsd: 0 }, adds: [] },
    { given: { resume: SESSION_ID }, adds: ['--resume', SESSION_ID] },
    { given: { resume: '--dangerously-skip-permissions' }, adds: [] },
    { given: { model: 'sonnet', extraArgs: ['--model', 'opus'] }, adds: ['--model', 'sonnet', '--model', 'opus'] },
  ])('$given adds $adds', ({ given, adds }) => {
    expect(buildClaudeArguments({ ...plain, ...given })).toEqual([...buildClaudeArguments(plain), ...adds]);
  });

  test.each([
    { allowed: ['WebFetch(domain:example.com)'], disallowed: 'ScheduleWakeup,CronCreate,WebSearch' },
    { allowed: ['WebSearch', 'WebFetch'], disallowed: 'ScheduleWakeup,CronCreate' },
  ])('$allowed is not taken back', ({ allowed, disallowed }) => {
    const line = buildClaudeArguments({ ...plain, allowedTools: allowed });
    expect(line[line.indexOf('--disallowedTools') + 1]).toBe(disallowed);
  });

  test('no allowed tools means no empty rule', () => {
    expect(buildClaudeArguments({ ...plain, allowedTools: [] })).not.toContain('--allowedTools');
  });
});

describe('the environment', () => {
  test('may make the CLI more patient', () => {
    expect(buildClaudeEnvironment({ CLAUDE_CODE_MAX_RETRIES: '9' }, '/config')).toMatchObject({
      CLAUDE_CODE_MAX_RETRIES: '9',
      API_TIMEOUT_MS: '120000',
    });
  });

  test('may not move its files or run anything in the background', () => {
    const given = {
      CLAUDE_CONFIG_DIR: '/elsewhere',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '0',
      CLAUDE_CODE_DISABLE_CRON: '0',
    };
    expect(buildClaudeEnvironment(given, '/config')).toMatchObject({
      CLAUDE_CONFIG_DIR: '/config',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      CLAUDE_CODE_DISABLE_CRON: '1',
    });
  });
});

test.each([
  ['2.1.330 (Claude Code)', { name: 'Claude Code', version: '2.1.330' }],
  ['scripted agent 1.0 (not a model)', { name: 'scripted agent 1.0 (not a model)', version: '' }],
  ['2.1.330 (Claude Code) beta', { name: '2.1.330 (Claude Code) beta', version: '' }],
  ['2.1.330', { name: '2.1.330', version: '' }],
  ['', { name: '', version: '' }],
])('a program that calls itself %j is %j', (printed, name) => {
  expect(identifyProgram(claudeCli, printed)).toEqual(name);
});
