import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  castScripted,
  castWithKey,
  castWithModel,
  buildAgentWorkflow,
  type CastAgent,
} from '../../../testbed/story/agents.ts';
import { TESTBED_KEY } from '../../../testbed/testbed.ts';
import { parseWorkflow, usesAction } from '../../../testbed/workflow/workflow.ts';
import { findLoginProblems } from '../../../src/config/agent-environment.ts';
import { AGENTS, PACKAGED_AGENTS, type PackagedAgent } from '../../../src/core/agent-names.ts';

const URL = 'http://127.0.0.1:1';

const template = (name: string): string =>
  readFileSync(new globalThis.URL(`../../../templates/workflows/${name}.yml`, import.meta.url), 'utf8');

/** Returns the inputs of the step with the action, or of the job that calls the reusable workflow. */
function givenIn(name: string, { workflow }: CastAgent): Readonly<Record<string, string>> {
  const text = buildAgentWorkflow(template(name), workflow, { verify: 'npm test' });
  const [job] = Object.values(parseWorkflow(text).jobs);
  return { ...job?.steps.find(usesAction)?.with, ...job?.with, ...job?.secrets };
}

describe.each(['ralph', 'three-jobs'])('the workflow of templates/workflows/%s.yml', (name) => {
  test.each<[string, CastAgent, Readonly<Record<string, string>>]>([
    ['the stand-in', castScripted(), { verify: 'npm test', 'anthropic-api-key': '${{ secrets.ANTHROPIC_API_KEY }}' }],
    [
      'claude',
      castWithModel('claude', URL),
      { verify: 'npm test', 'anthropic-api-key': '${{ secrets.ANTHROPIC_API_KEY }}' },
    ],
    [
      'codex, which knows no rules for single commands',
      castWithModel('codex', URL),
      {
        agent: 'codex',
        'allowed-tools': 'Read,Edit,Write,Glob,Grep,Bash',
        settings: 'prices: gpt=1.25/0.125/10',
        verify: 'npm test',
        'openai-api-key': '${{ secrets.OPENAI_API_KEY }}',
      },
    ],
    [
      'gemini',
      castWithModel('gemini', URL),
      { agent: 'gemini', verify: 'npm test', 'gemini-api-key': '${{ secrets.GEMINI_API_KEY }}' },
    ],
  ])('%s', (_, cast, expected) => {
    const { 'fetch-depth': depth, 'persist-credentials': keep, ...given } = givenIn(name, cast);
    expect({ depth, keep, given }).toEqual({ depth: undefined, keep: undefined, given: expected });
  });
});

test.each(PACKAGED_AGENTS)('%s is led to the scripted model with a key that opens nothing, and can log in', (name) => {
  const { secrets, env, inputs } = castWithModel(name, URL);
  expect(inputs).toEqual({});
  expect(Object.values(env).filter((value) => value.startsWith(URL))).toHaveLength(1);
  expect(Object.values(secrets)).toEqual([TESTBED_KEY]);
  expect(findLoginProblems({ ...env, ...secrets }, AGENTS[name].provider)).toEqual([]);
});

describe("a person's own key", () => {
  test.each<
    [PackagedAgent, Readonly<Record<string, string>>, Pick<CastAgent, 'secrets'> & { key: string; env: object }]
  >([
    [
      'claude',
      { CLAUDE_CODE_OAUTH_TOKEN: 'token' },
      { secrets: { CLAUDE_CODE_OAUTH_TOKEN: 'token' }, key: 'CLAUDE_CODE_OAUTH_TOKEN', env: {} },
    ],
    [
      'qwen',
      { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: 'https://api.example', GITHUB_TOKEN: 'other' },
      { secrets: { OPENAI_API_KEY: 'key' }, key: 'OPENAI_API_KEY', env: { OPENAI_BASE_URL: 'https://api.example' } },
    ],
    [
      'copilot',
      { COPILOT_PROVIDER_API_KEY: 'key', COPILOT_PROVIDER_BASE_URL: 'https://api.example' },
      {
        secrets: {},
        key: 'COPILOT_GITHUB_TOKEN',
        env: { COPILOT_PROVIDER_API_KEY: 'key', COPILOT_PROVIDER_BASE_URL: 'https://api.example' },
      },
    ],
  ])('%s with %j', (name, environment, { secrets, key, env }) => {
    const cast = castWithKey(name, { PATH: '/bin', ...environment });
    expect(cast?.notice).toContain('YOUR key');
    expect(cast?.secrets).toEqual(secrets);
    expect(cast?.workflow.key).toBe(key);
    const passed = Object.entries(cast?.env ?? {}).filter(([variable]) => !/_CACHE(?:_HOME)?$/.test(variable));
    expect(Object.fromEntries(passed)).toEqual(env);
  });

  test.each(PACKAGED_AGENTS)('no real agent plays for %s without its key', (name) => {
    expect(castWithKey(name, { PATH: '/bin', OPENAI_BASE_URL: 'https://api.example', OPENAI_API_KEY: '' })).toBeNull();
  });
});
