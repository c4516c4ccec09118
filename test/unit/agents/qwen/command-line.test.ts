import { describe, expect, test } from 'vitest';
import { qwenCli, buildQwenArguments, buildQwenEnvironment } from '../../../../src/agents/qwen/cli.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const plain = { model: null, extraArgs: [], alsoFolder: null };

describe('the command line', () => {
  test('without a model', () => {
    expect(buildQwenArguments(plain)).toEqual(['--acp', '--auth-type', 'openai', '--approval-mode', 'default']);
  });

  test.each([
    { given: { model: 'm' }, adds: ['--model', 'm'] },
    { given: { extraArgs: ['--x'] }, adds: ['--x'] },
  ])('$given adds $adds', ({ given, adds }) => {
    expect(buildQwenArguments({ ...plain, ...given })).toEqual([...buildQwenArguments(plain), ...adds]);
  });
});

test("the user's options do not change where it keeps its files or what it obeys", () => {
  const given = { QWEN_HOME: '/x', QWEN_CODE_SYSTEM_SETTINGS_PATH: '/x', QWEN_OWN: '1', KEPT: 'yes' };
  const environment = buildQwenEnvironment(given, { configFolder: '/config', inbox: '/in' });
  expect(environment).toMatchObject({
    QWEN_HOME: '/config',
    QWEN_CODE_SYSTEM_SETTINGS_PATH: '/in/qwen/settings.json',
    OPENAI_BASE_URL: 'https://api.openai.com/v1',
    KEPT: 'yes',
  });
  expect(environment).not.toHaveProperty('QWEN_OWN');
});

test.each([
  { given: { OPENAI_API_KEY: 'sk-nothing' }, access: { kind: 'brokered', provider: 'https://api.openai.com/v1' } },
  {
    given: { OPENAI_API_KEY: 'sk-nothing', OPENAI_BASE_URL: 'https://dashscope.aliyuncs.com/compatible-mode/v1' },
    access: { kind: 'brokered', provider: 'https://dashscope.aliyuncs.com/compatible-mode/v1', environment: {} },
  },
  { given: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: 'nowhere' }, access: { kind: 'unusable' } },
  { given: {}, access: { kind: 'direct', environment: { OPENAI_BASE_URL: 'https://api.openai.com/v1' } } },
])('$given', ({ given, access }) => {
  expect(qwenCli.accessOf(given, { allowedTools: [], model: null, prices: {} })).toMatchObject(access);
});

test('its version is all that it prints', () => {
  expect(identifyProgram(qwenCli, '0.24.4')).toEqual({ name: 'Qwen Code', version: '0.24.4' });
  expect(identifyProgram(qwenCli, 'something else')).toEqual({ name: 'something else', version: '' });
});
