import { describe, expect, test } from 'vitest';
import { copilotCli, buildCopilotArguments, buildCopilotEnvironment } from '../../../../src/agents/copilot/cli.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const ID = '0f0e0d0c-1111-4222-8333-444455556666';
const plain = {
  model: null,
  allowedTools: ['Edit', 'Bash(npm:*)'],
  servers: [],
  extraArgs: [],
  alsoFolder: null,
  session: { kind: 'new', id: ID },
} as const;

describe('the command line', () => {
  test('without a model', () => {
    expect(buildCopilotArguments(plain)).toEqual([
      ...['--output-format', 'json', '--stream', 'off', '--no-color', '--log-level', 'error'],
      ...['--no-auto-update', '--no-ask-user', '--no-bash-env', '--no-remote', '--no-remote-export'],
      ...['--disable-client-telemetry', '--disable-builtin-mcps', '--no-custom-instructions'],
      '--excluded-tools=skill,session_store_sql,fetch_copilot_cli_documentation',
      ...['--allow-tool=write', '--allow-tool=shell(npm:*)', '--excluded-tools=web_fetch,web_search,task'],
      '--secret-env-vars=COPILOT_GITHUB_TOKEN,COPILOT_PROVIDER_API_KEY,COPILOT_PROVIDER_BEARER_TOKEN',
      `--session-id=${ID}`,
    ]);
  });

  test.each([
    { given: { model: 'gpt-5.5' }, holds: '--model=gpt-5.5' },
    { given: { model: '--yolo' }, holds: '--model=--yolo' },
    { given: { alsoFolder: '/repo' }, holds: '--add-dir=/repo' },
    { given: { session: { kind: 'resumed', id: ID } as const }, holds: `--resume=${ID}` },
  ])('$given', ({ given, holds }) => {
    expect(buildCopilotArguments({ ...plain, ...given })).toContain(holds);
  });

  test("the user's own arguments come last", () => {
    expect(buildCopilotArguments({ ...plain, extraArgs: ['--stream', 'on'] }).slice(-2)).toEqual(['--stream', 'on']);
  });
});

test("the user's options do not move its files or allow it more", () => {
  const given = { COPILOT_HOME: '/elsewhere', COPILOT_ALLOW_ALL: 'true', COPILOT_AUTO_UPDATE: 'true', CI: '' };
  expect(buildCopilotEnvironment(given, '/run/copilot')).toEqual({
    COPILOT_CACHE_HOME: '/run/copilot/cache',
    COPILOT_HOME: '/run/copilot',
    COPILOT_ALLOW_ALL: 'false',
    COPILOT_AUTO_UPDATE: 'false',
    CI: 'true',
  });
});

test.each([
  ['GitHub Copilot CLI 1.0.102.', { name: 'GitHub Copilot CLI', version: '1.0.102' }],
  ['something else', { name: 'something else', version: '' }],
])('%s is understood as a name', (printed, name) => {
  expect(identifyProgram(copilotCli, printed)).toEqual(name);
});
