import { describe, expect, test } from 'vitest';
import {
  geminiCli,
  buildGeminiArguments,
  buildGeminiEnvironment,
  buildGeminiFiles,
} from '../../../../src/agents/gemini/cli.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const plain = { model: null, extraArgs: [], alsoFolder: null, inbox: '/in' };

describe('the command line', () => {
  test('without a model', () => {
    expect(buildGeminiArguments(plain)).toEqual([
      ...['--acp', '--policy=/in/gemini/rules.toml', '--approval-mode', 'default'],
      '--skip-trust',
    ]);
  });

  test.each([
    { given: { model: 'pro' }, adds: ['--model', 'pro'] },
    { given: { model: 'pro', extraArgs: ['--model', 'flash'] }, adds: ['--model', 'pro', '--model', 'flash'] },
  ])('$given adds $adds', ({ given, adds }) => {
    expect(buildGeminiArguments({ ...plain, ...given })).toEqual([...buildGeminiArguments(plain), ...adds]);
  });

  test('another folder is one argument', () => {
    expect(buildGeminiArguments({ ...plain, alsoFolder: '/a b' })).toContain('--include-directories=/a b');
  });
});

test("the user's options do not change where it keeps its files or what it obeys", () => {
  const given = { GEMINI_CLI_HOME: '/x', GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_OWN: '1', KEPT: 'yes' };
  const environment = buildGeminiEnvironment(given, '/config');
  expect(environment).toMatchObject({
    GEMINI_CLI_HOME: '/config',
    GEMINI_CLI_TRUST_WORKSPACE: '',
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com',
    KEPT: 'yes',
  });
  expect(environment).not.toHaveProperty('GEMINI_CLI_OWN');
});

test('its rules deny what the user did not allow', () => {
  const rules = buildGeminiFiles({ allowedTools: ['Bash(git add:*)'] })['gemini/rules.toml'];
  expect(rules).toMatch(/toolName = "run_shell_command"\ndecision = "ask_user"/);
  expect(rules).toMatch(/toolName = "\*"\ndecision = "deny"/);
});

test.each([
  { printed: '0.61.0', name: { name: 'Gemini CLI', version: '0.61.0' } },
  { printed: '0.61.0-preview.1', name: { name: 'Gemini CLI', version: '0.61.0-preview.1' } },
  { printed: 'my agent 1.0', name: { name: 'my agent 1.0', version: '' } },
])('$printed', ({ printed, name }) => {
  expect(identifyProgram(geminiCli, printed)).toEqual(name);
});

describe('the way to the model', () => {
  const setting = { allowedTools: [], model: null, prices: {} };

  test('the key stays, and the address is always set', () => {
    const access = geminiCli.accessOf({ GEMINI_API_KEY: ' AIza-key-of-nobody ', PATH: '/bin' }, setting);
    expect(access).toMatchObject({
      kind: 'brokered',
      provider: 'https://generativelanguage.googleapis.com',
      keys: { GEMINI_API_KEY: 'AIza-key-of-nobody' },
      secrets: ['AIza-key-of-nobody'],
      environment: { PATH: '/bin' },
    });
    if (access.kind !== 'brokered') return;
    const at = { address: 'http://127.0.0.1:1', placeholders: { GEMINI_API_KEY: 'p' } };
    expect(access.environmentFor(at)).toMatchObject({
      GEMINI_API_KEY: 'p',
      GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:1',
      NO_PROXY: '127.0.0.1,localhost',
    });
  });

  test('without a key', () => {
    expect(geminiCli.accessOf({ PATH: '/bin' }, setting)).toEqual({
      kind: 'direct',
      environment: { PATH: '/bin', GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com' },
    });
  });

  test.each(['file:///etc/passwd', 'https://me:secret@host', 'host'])('%s is not an address', (address) => {
    const access = geminiCli.accessOf({ GEMINI_API_KEY: 'AIza-x', GOOGLE_GEMINI_BASE_URL: address }, setting);
    expect(access.kind).toBe('unusable');
  });
});
