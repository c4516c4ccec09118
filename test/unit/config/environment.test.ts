import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withKeyInputs } from '../../../src/config/agent-inputs.ts';
import { acpAgent } from '../../../src/agents/acp/agent.ts';
import { claudeAgent } from '../../../src/agents/claude/agent.ts';
import {
  buildAgentEnvironment,
  findLoginProblems,
  findProviderKey,
  listSecretValues,
  buildVerifyEnvironment,
} from '../../../src/config/agent-environment.ts';

const job = {
  PATH: '/bin',
  HOME: '/root',
  LANG: 'C',
  HTTPS_PROXY: 'http://proxy',
  RUNNER_TRACKING_ID: 'github_1',
  ANTHROPIC_API_KEY: 'sk-ant-api-key',
  CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token-1',
  ANTHROPIC_BASE_URL: 'http://model',
  GITHUB_TOKEN: 'ghs_job_token',
  GH_TOKEN: 'ghs_gh_token',
  'INPUT_GITHUB-TOKEN': 'ghs_input_token',
  INPUT_MODEL: 'x',
  ACTIONS_RUNTIME_TOKEN: 'runtime-token',
  ACTIONS_CACHE_URL: 'http://cache',
  'STATE_run-folder': '/temp/run',
  GITHUB_ENV: '/temp/env',
  GITHUB_PATH: '/temp/path',
  GITHUB_OUTPUT: '/temp/out',
  GITHUB_STEP_SUMMARY: '/temp/summary',
  NPM_TOKEN: 'npm-secret-1',
  DATABASE_URL: 'postgres://user:pass@host/db',
  OTHER: 'x',
  EMPTY: undefined,
};

describe("the agent's environment", () => {
  test('is an allow-list: what programs need, the keys of its provider, and what agent-env names', () => {
    expect(buildAgentEnvironment(job, ['NPM_TOKEN', 'EMPTY', 'ABSENT'], claudeAgent.provider)).toEqual({
      PATH: '/bin',
      HOME: '/root',
      LANG: 'C',
      HTTPS_PROXY: 'http://proxy',
      RUNNER_TRACKING_ID: 'github_1',
      ANTHROPIC_API_KEY: 'sk-ant-api-key',
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token-1',
      ANTHROPIC_BASE_URL: 'http://model',
      NPM_TOKEN: 'npm-secret-1',
    });
  });

  test("has no provider's key for an agent of the user, except what agent-env names", () => {
    const { PATH, HOME, LANG, HTTPS_PROXY, RUNNER_TRACKING_ID, NPM_TOKEN } = job;
    const own = { PATH, HOME, LANG, HTTPS_PROXY, RUNNER_TRACKING_ID };
    expect(buildAgentEnvironment(job, [], acpAgent.provider)).toEqual(own);
    expect(buildAgentEnvironment(job, ['NPM_TOKEN'], acpAgent.provider)).toEqual({ ...own, NPM_TOKEN });
  });

  describe("with a cloud's login", () => {
    const cloud = {
      PATH: '/bin',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'aws-secret-1',
      CLOUDSDK_AUTH_ACCESS_TOKEN: 'google-token-1',
      AWS_PROFILE: 'work',
    };
    const bedrock = { ...cloud, CLAUDE_CODE_USE_BEDROCK: '1' };

    test('has its variables without naming them, and no key of a cloud otherwise', () => {
      const { AWS_PROFILE: profile, ...known } = bedrock;
      expect(buildAgentEnvironment(bedrock, [], claudeAgent.provider)).toEqual(known);
      expect(buildAgentEnvironment(bedrock, ['AWS_PROFILE'], claudeAgent.provider)).toEqual({
        ...known,
        AWS_PROFILE: profile,
      });
      expect(buildAgentEnvironment(cloud, [], claudeAgent.provider)).toEqual({ PATH: '/bin' });
      expect(
        buildAgentEnvironment({ ...cloud, CLAUDE_CODE_USE_VERTEX: '0' }, [], claudeAgent.provider),
      ).not.toHaveProperty('AWS_REGION');
    });

    test('gives verify none of its keys, even where agent-env names them', () => {
      const named = ['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'CLOUDSDK_AUTH_ACCESS_TOKEN'];
      expect(buildVerifyEnvironment(bedrock, named, claudeAgent.provider)).toEqual({
        PATH: '/bin',
        AWS_REGION: 'eu-west-1',
      });
      expect(buildVerifyEnvironment(bedrock, [], claudeAgent.provider)).toEqual({ PATH: '/bin' });
      // The variables belong to the project if the agent logs in without a cloud.
      expect(buildVerifyEnvironment(cloud, named, claudeAgent.provider)).toHaveProperty('AWS_ACCESS_KEY_ID');
    });

    test('keeps what is stored from others by a key that is the same in the next run', () => {
      expect(findProviderKey(bedrock, claudeAgent.provider)).toBeNull();
      const lasting = { ...bedrock, AWS_BEARER_TOKEN_BEDROCK: ' bedrock-1 ' };
      expect(findProviderKey(lasting, claudeAgent.provider)).toBe('bedrock-1');
      expect(findProviderKey({ ...lasting, CLAUDE_CODE_USE_BEDROCK: '0' }, claudeAgent.provider)).toBeNull();
      expect(findProviderKey({ ...bedrock, ANTHROPIC_API_KEY: 'sk-ant-api-key' }, claudeAgent.provider)).toBe(
        'sk-ant-api-key',
      );
    });

    test('is kept out of what is shown', () => {
      expect(
        listSecretValues({ ...cloud, AWS_BEARER_TOKEN_BEDROCK: 'bedrock-1' }, [], claudeAgent.provider).sort(),
      ).toEqual(['ASIAEXAMPLE', 'aws-secret-1', 'bedrock-1', 'google-token-1']);
    });
  });

  test("verify commands run what the agent wrote, without the provider's keys", () => {
    expect(buildVerifyEnvironment(job, ['NPM_TOKEN'], claudeAgent.provider)).toEqual({
      PATH: '/bin',
      HOME: '/root',
      LANG: 'C',
      HTTPS_PROXY: 'http://proxy',
      RUNNER_TRACKING_ID: 'github_1',
      NPM_TOKEN: 'npm-secret-1',
    });
  });

  test("never holds the job's own tokens or the runner's files, whatever agent-env says", () => {
    const name = fc.oneof(
      fc.constantFrom(...Object.keys(job)),
      fc
        .tuple(
          fc.constantFrom('ACTIONS_', 'INPUT_', 'STATE_', 'actions_', 'Input_', 'GITHUB_', ''),
          fc.stringMatching(/^[A-Z_]{1,12}$/),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ minLength: 1 })), fc.array(name), (extra, names) => {
        const environment = { ...job, ...extra };
        for (const built of [
          buildAgentEnvironment(environment, [...names, ...Object.keys(environment)], claudeAgent.provider),
          buildVerifyEnvironment(environment, [...names, ...Object.keys(environment)], claudeAgent.provider),
        ]) {
          const leaked = Object.keys(built).filter((key) =>
            /^(ACTIONS|INPUT|STATE)_|^(GITHUB_TOKEN|GH_TOKEN|GITHUB_ENV|GITHUB_PATH|GITHUB_OUTPUT|GITHUB_STATE|GITHUB_STEP_SUMMARY)$/i.test(
              key,
            ),
          );
          expect(leaked).toEqual([]);
        }
      }),
    );
  });
});

describe('a key for the agent', () => {
  test.each([
    ['an API key', { ANTHROPIC_API_KEY: 'k' }, []],
    ['an OAuth token', { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-abc' }, []],
    ['a token of a gateway', { ANTHROPIC_AUTH_TOKEN: 'k' }, []],
    ["a cloud's login", { CLAUDE_CODE_USE_BEDROCK: '1' }, []],
    ["a cloud's login that is switched off", { CLAUDE_CODE_USE_VERTEX: '0' }, ['both empty']],
    ['a secret that does not exist is an empty variable', { ANTHROPIC_API_KEY: '' }, ['both empty']],
    ['blanks alone', { ANTHROPIC_API_KEY: ' \n' }, ['both empty']],
    ['a token of something else', { GITHUB_TOKEN: 'k' }, ['both empty']],
    ['nothing', {}, ['`anthropic-api-key` and `claude-code-oauth-token` are both empty']],
    [
      'an OAuth token as an API key',
      { ANTHROPIC_API_KEY: 'sk-ant-oat01-abc' },
      ['`ANTHROPIC_API_KEY` holds an OAuth token', 'Pass it as `claude-code-oauth-token`'],
    ],
    [
      'an API key as an OAuth token',
      { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-api03-abc' },
      ['`CLAUDE_CODE_OAUTH_TOKEN` holds an API key', 'Pass it as `anthropic-api-key`'],
    ],
    ['a key cut in two', { ANTHROPIC_API_KEY: 'sk-ant-api03-abc\n def' }, ['line breaks or quotation marks']],
    ['a key in quotation marks', { ANTHROPIC_API_KEY: '"sk-ant-api03-abc"' }, ['line breaks or quotation marks']],
    [
      'a key under a name of its own',
      { CLAUDE_API_KEY: 'k' },
      ['`CLAUDE_API_KEY` seems to be one', 'as the input `anthropic-api-key`'],
    ],
    [
      'a token that its form gives away',
      { MY_TOKEN: 'sk-ant-oat01-abc' },
      ['`MY_TOKEN` seems to be one', 'as the input `claude-code-oauth-token`'],
    ],
  ])('%s', (_, environment: Record<string, string>, words) => {
    const text = findLoginProblems(environment, claudeAgent.provider).join('\n');
    for (const word of words) expect(text).toContain(word);
    expect(text === '').toBe(words.length === 0);
    expect(text).not.toMatch(/abc|def/);
  });

  test.each([
    [{ 'INPUT_ANTHROPIC-API-KEY': ' k1 ' }, { ANTHROPIC_API_KEY: 'k1' }],
    [{ 'INPUT_ANTHROPIC-API-KEY': '', ANTHROPIC_API_KEY: 'k2' }, { ANTHROPIC_API_KEY: 'k2' }],
    [{ 'INPUT_CLAUDE-CODE-OAUTH-TOKEN': 'k1', CLAUDE_CODE_OAUTH_TOKEN: 'k2' }, { CLAUDE_CODE_OAUTH_TOKEN: 'k1' }],
  ])('as an input: %j', (given, expected) => {
    const environment = withKeyInputs(given);
    expect(environment).toMatchObject(expected);
    expect(buildAgentEnvironment(environment, [], claudeAgent.provider)).toEqual(expected);
    expect(listSecretValues({ 'INPUT_ANTHROPIC-API-KEY': 'k'.repeat(9) }, [], claudeAgent.provider)).toHaveLength(1);
  });
});

describe('secrets', () => {
  test.each([
    'ANTHROPIC_API_KEY',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_CUSTOM_HEADERS',
    'INPUT_GITHUB-TOKEN',
    'GITHUB_TOKEN',
    'GH_TOKEN',
    'ACTIONS_RUNTIME_TOKEN',
    'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
    'NPM_TOKEN',
    'DEPLOY_SECRET',
    'DB_PASSWORD',
    'AWS_SECRET_ACCESS_KEY',
    'OPENAI_APIKEY',
    'SIGNING_PRIVATE_KEY',
    'my_credential',
  ])('the value of %s is one', (name) => {
    expect(listSecretValues({ [name]: ' value-of-it\n' }, [], claudeAgent.provider)).toEqual(['value-of-it']);
  });

  test('the headers of a collector are, each value as it is written and as it is sent', () => {
    const headers = 'authorization=Bearer%20the-key-of-it, x-team=team-of-it';
    expect(listSecretValues({ OTEL_EXPORTER_OTLP_HEADERS: headers }, [], claudeAgent.provider)).toEqual([
      'Bearer%20the-key-of-it',
      'the-key-of-it',
      'team-of-it',
    ]);
  });

  test('the address of a webhook is', () => {
    const address = 'https://hooks.test/T0/B0/x';
    expect(listSecretValues({ 'INPUT_NOTIFY-WEBHOOK': address }, [], claudeAgent.provider)).toEqual([address]);
  });

  test('what agent-env names is one if it is long enough to be', () => {
    expect(
      listSecretValues(
        { DATABASE_URL: 'postgres://user:pass@host/db', NODE_ENV: 'production' },
        ['DATABASE_URL', 'NODE_ENV'],
        claudeAgent.provider,
      ),
    ).toEqual(['postgres://user:pass@host/db']);
  });

  test('ordinary variables, short values and absent ones do not count; equal ones count once', () => {
    expect(
      listSecretValues(
        {
          PATH: '/usr/local/bin:/usr/bin',
          API_TOKEN: 'short',
          A_TOKEN: 'the-same-one',
          B_TOKEN: 'the-same-one',
          C_TOKEN: undefined,
          D_TOKEN: '',
        },
        [],
        claudeAgent.provider,
      ),
    ).toEqual(['the-same-one']);
  });
});
