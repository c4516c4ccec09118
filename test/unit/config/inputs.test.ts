import fc from 'fast-check';
import { lookAtKinds } from '../../../src/core/review/manifest.ts';
import { describe, expect, test } from 'vitest';
import { readInputDefaults } from '../../../testbed/runner.ts';
import {
  buildConfig,
  buildConfigFromInputs,
  NO_SETTINGS,
  parseReach,
  withoutUnknownInputs,
} from '../../../src/config/inputs.ts';
import { UserError } from '../../../src/errors.ts';
import { MINUTE, policy } from '../core/core-fixtures.ts';
import { actionYml, configOf } from '../../loop/stage/run-action.ts';

describe('several pull requests at once', () => {
  const texts = { 'github-token': 'abc', parallel: '3', 'handoff-path': '/tmp/parcels' };

  test('are for the job of the gate', () => {
    expect(buildConfigFromInputs({ ...texts, phase: 'gate', 'handoff-branch': 'each' }).parallel).toBe(3);
    expect(buildConfigFromInputs({ ...texts, parallel: '1' }).parallel).toBe(1);
  });

  test.each([
    [{}, /parallel: "3" needs the reusable workflow/],
    [{ phase: 'gate' }, /parallel: "3" needs the reusable workflow/],
    [{ phase: 'gate', 'state-store': 'cache' }, /parallel: "3" needs `state-store: auto` or `ref`/],
    [{ phase: 'gate', 'state-store': 'none' }, /parallel: "3" needs `state-store: auto` or `ref`/],
    [{ phase: 'gate', parallel: '21' }, /parallel: "21"/],
  ])('are refused with %j', (change, why) => {
    expect(() => buildConfigFromInputs({ ...texts, ...change })).toThrow(why);
  });

  test('need neither jobs nor a place for the state on a machine of a person', () => {
    const given = { texts: { ...texts, 'state-store': 'cache' }, counting: [], settings: NO_SETTINGS, problems: [] };
    expect(buildConfig({ ...given, where: 'home' }).parallel).toBe(3);
    expect(() => buildConfig({ ...given, where: 'job' })).toThrow(/parallel: "3" needs the reusable workflow/);
  });
});

describe('what each input accepts', () => {
  test.each<[string, string, (config: ReturnType<typeof configOf>) => unknown, unknown]>([
    ['github-token', 'abc', (config) => config.githubToken, 'abc'],
    ['task-label', 'help wanted', (config) => config.taskLabel, 'help wanted'],
    ['task-label', 'x'.repeat(50), (config) => config.taskLabel, 'x'.repeat(50)],
    ['agent-version', '10.0.1', (config) => config.agent.order[0].version, '10.0.1'],
    ['agent-path', '', (config) => config.agent.order[0].path, null],
    ['agent-path', '/usr/bin/claude', (config) => config.agent.order[0].path, '/usr/bin/claude'],
    [
      'agent-args',
      '--add-dir\n  ../lib with blanks \r\n\n',
      (config) => config.agent.order[0].args,
      ['--add-dir', '../lib with blanks'],
    ],
    ['agent-env', 'NPM_TOKEN\nDATABASE_URL', (config) => config.agent.envNames, ['NPM_TOKEN', 'DATABASE_URL']],
    ['model', '', (config) => config.agent.order[0].model, null],
    ['model', 'opus', (config) => config.agent.order[0].model, 'opus'],
    ['mcp-config', '', (config) => config.agent.mcp, { kind: 'none' }],
    ['mcp-config', '.mcp.json', (config) => config.agent.mcp, { kind: 'file', path: '.mcp.json' }],
    [
      'mcp-config',
      ' {"mcpServers": {}}\n',
      (config) => config.agent.mcp,
      { kind: 'inline', text: '{"mcpServers": {}}' },
    ],
    [
      'allowed-tools',
      'Read, Bash(git log -1, x) ,,Edit',
      (config) => config.policy.allowedTools,
      ['Read', 'Bash(git log -1, x)', 'Edit'],
    ],
    ['allowed-tools', 'Read\nBash(npm test:*)\n', (config) => config.policy.allowedTools, ['Read', 'Bash(npm test:*)']],
    [
      'allowed-tools',
      'mcp__github__*,Bash(a, (b)),Tool_of-1999',
      (config) => config.policy.allowedTools,
      ['mcp__github__*', 'Bash(a, (b))', 'Tool_of-1999'],
    ],
    ['task-sources', 'plan\nissues', (config) => config.taskSources, ['plan', 'issues']],
    ['allowed-bots', 'a[bot],b[bot]\nc[bot]', (config) => config.allowedBots, ['a[bot]', 'b[bot]', 'c[bot]']],
    ['agent-env', 'A, B\nC', (config) => config.agent.envNames, ['A', 'B', 'C']],
    ['working-directory', '.', (config) => config.workingDirectory, ''],
    ['working-directory', './packages//a/', (config) => config.workingDirectory, 'packages/a'],
    ['working-directory', 'my app', (config) => config.workingDirectory, 'my app'],
    ['prompt-file', 'docs/PROMPT.md', (config) => config.promptFile, 'docs/PROMPT.md'],
    ['session', 'fresh', (config) => config.policy.session, 'fresh'],
    ['session-expiry-hours', '1', (config) => config.policy.sessionExpiryMs, 60 * MINUTE],
    ['session-expiry-hours', '720', (config) => config.policy.sessionExpiryMs, 720 * 60 * MINUTE],
    ['max-iterations', '1', (config) => config.policy.maxIterations, 1],
    ['max-iterations', '  25  ', (config) => config.policy.maxIterations, 25],
    ['max-iterations', '1000', (config) => config.policy.maxIterations, 1000],
    ['max-minutes', '2.5', (config) => config.policy.maxRunMs, 150_000],
    ['max-iterations-per-task', '0', (config) => config.policy.maxIterationsPerTask, 0],
    ['agent-timeout-minutes', '0.1', (config) => config.policy.agentTimeoutMs, 6_000],
    ['agent-stall-minutes', '0.1', ({ agent }) => agent.stallMs, 6_000],
    ['max-calls-per-hour', '1', (config) => config.policy.maxCallsPerHour, 1],
    ['max-tokens-per-hour', '0', (config) => config.policy.maxTokensPerHour, 0],
    ['max-cost-usd', '0.5', (config) => config.policy.maxCostUsd, 0.5],
    ['max-cost-usd-per-day', '100000', (config) => config.policy.maxCostUsdPerDay, 100_000],
    ['prices', '', (config) => config.prices, {}],
    [
      'prices',
      'gpt-5.5=1.25/0.125/10\n gemini-2.5 = 1 / 8 \r\n\n',
      (config) => config.prices,
      {
        'gpt-5.5': { input: 1.25, cachedInput: 0.125, output: 10 },
        'gemini-2.5': { input: 1, cachedInput: 1, output: 8 },
      },
    ],
    ['on-permission-denied', 'halt', (config) => config.policy.onPermissionDenied, 'halt'],
    ['circuit-no-progress', '1', (config) => config.policy.circuit.noProgress, 1],
    ['circuit-same-error', '100', (config) => config.policy.circuit.sameError, 100],
    ['circuit-permission-denials', '7', (config) => config.policy.circuit.permissionDenials, 7],
    ['circuit-output-decline', '100', (config) => config.policy.circuit.outputDeclinePercent, 100],
    ['circuit-cooldown-minutes', '0', (config) => config.policy.circuit.cooldownMs, 0],
    ['circuit-auto-reset', 'true', (config) => config.policy.circuit.autoReset, true],
    ['completion-signals', '3', (config) => config.policy.completionSignals, 3],
    ['test-only-iterations', '4', (config) => config.policy.testOnlyIterations, 4],
    [
      'verify',
      'npm test\nnpm run lint',
      (config) => [config.verify, config.policy.verifies],
      [['npm test', 'npm run lint'], true],
    ],
    ['verify', '\n  \n', (config) => [config.verify, config.policy.verifies], [[], false]],
    ['branch-prefix', 'bot.ralph-2_x/', (config) => config.branchPrefix, 'bot.ralph-2_x/'],
    ['base-branch', '', (config) => config.baseBranch, null],
    ['base-branch', 'release/2.x', (config) => config.baseBranch, 'release/2.x'],
    ['draft', 'false', (config) => config.draft, false],
    ['auto-merge', 'false', (config) => config.autoMerge, null],
    ['auto-merge', 'true', (config) => config.autoMerge, lookAtKinds],
    ['auto-merge', 'dependencies, deleted-test', (config) => config.autoMerge, ['dependencies', 'deleted-test']],
    ['notify', 'none', (config) => config.notify, { kind: 'none' }],
    [
      'notify',
      'ann, bob_corp\ncarl',
      (config) => config.notify,
      { kind: 'named', logins: ['ann', 'bob_corp', 'carl'], teams: [] },
    ],
    ['pr-reviewers', '', (config) => config.prReviewers, { kind: 'named', logins: [], teams: [] }],
    [
      'pr-reviewers',
      'ann,octo/core',
      (config) => config.prReviewers,
      { kind: 'named', logins: ['ann'], teams: ['core'] },
    ],
    ['pr-labels', 'bot, needs review\nralph-pr', (config) => config.prLabels, ['bot', 'needs review', 'ralph-pr']],
    ['pr-assignees', 'auto', (config) => config.prAssignees, { kind: 'auto' }],
    ['co-author', 'false', (config) => config.coAuthor, false],
    ['sign-commits', 'auto', (config) => config.signCommits, 'auto'],
    ['sign-commits', 'true', (config) => config.signCommits, 'true'],
    ['sign-off', 'true', (config) => config.signOff, true],
    ['allow-protected-paths', '.claude/**', (config) => config.allowProtectedPaths, ['.claude/**']],
    ['allow-protected-paths', '{a,b}/**, c', (config) => config.allowProtectedPaths, ['{a,b}/**', 'c']],
    ['fail-on', 'halted\nfailed', (config) => config.failOn, ['halted', 'failed']],
    ['max-patch-files', '1', (config) => config.maxPatchFiles, 1],
    ['max-patch-kib', '1048576', (config) => config.maxPatchKib, 1_048_576],
    ['state-store', 'none', (config) => config.stateStore, 'none'],
    ['fail-on', 'halted, blocked ,', (config) => config.failOn, ['halted', 'blocked']],
    ['fail-on', '', (config) => config.failOn, []],
    ['notify-webhook', 'https://hooks.test/a?b=c', (config) => config.webhook.address, 'https://hooks.test/a?b=c'],
    ['notify-webhook', 'http://127.0.0.1:8080/a', (config) => config.webhook.address, 'http://127.0.0.1:8080/a'],
    ['notify-webhook', 'http://[::1]/a', (config) => config.webhook.address, 'http://[::1]/a'],
    ['notify-webhook', '', (config) => config.webhook, { address: null, secret: '' }],
  ])('%s: %j', (name, text, read, expected) => {
    expect(read(configOf({ [name]: text }))).toEqual(expected);
  });
});

describe('what each input refuses, with its name, its value and what is expected', () => {
  test.each<[string, string, RegExp]>([
    ['github-token', '', /is empty: give a token/],
    ['task-label', '  ', /is empty: give a label name/],
    ['task-label', 'x'.repeat(51), /longer than the 50 characters/],
    ['task-label', 'a,b', /has a comma/],
    ['task-label', 'Ralph:Done', /is a label that Ralph uses to show the status of an issue/],
    ['agent-version', 'latest', /"latest" is not an exact version/],
    ['agent-version', '^2.1.0', /is not an exact version/],
    ['agent-env', 'A-B', /must be names of environment variables/],
    ['agent-env', 'GITHUB_TOKEN', /the agent must never see those/],
    ['agent-env', 'ACTIONS_RUNTIME_TOKEN', /the agent must never see those/],
    ['agent-env', 'INPUT_GITHUB_TOKEN', /the agent must never see those/],
    ['agent-env', 'gh_token', /the agent must never see those/],
    ['agent-env', 'OTEL_EXPORTER_OTLP_HEADERS', /the agent must never see those/],
    ['agent-env', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', /the agent must never see those/],
    ...[
      'http://hooks.test/a',
      'http://127.0.0.1.evil.test/',
      'ftp://hooks.test/',
      'https://a:b@hooks.test/',
      'hooks',
    ].map((text): [string, string, RegExp] => [
      'notify-webhook',
      text,
      /^(?!.*"(?:http|ftp|hooks)).* must be an address that begins with https/s,
    ]),
    ['notify-webhook-secret', 'short', /^(?!.*"short").*has fewer than 16 characters/s],
    ['allowed-tools', ' , ', /is empty: name at least one tool/],
    ['allowed-tools', 'Read,Bash(npm:*', /the rule "Bash\(npm:\*", which is not a tool.*parentheses do not match/],
    ['allowed-tools', 'Bash()', /the rule "Bash\(\)", which is not a tool/],
    ['allowed-tools', 'npm test', /write Bash\(npm test:\*\)/],
    ['allowed-tools', 'read', /Did you mean Read\?/],
    ['allowed-tools', 'bash(npm:*)', /Did you mean Bash\(npm:\*\)\?/],
    ['allowed-tools', 'make', /Did you mean Bash\(make:\*\)\?/],
    ['working-directory', '', /is empty: give a folder of the repository, or \. for its root/],
    ['working-directory', '/packages/a', /must be a path from the root of the repository/],
    ['working-directory', 'packages/../..', /must be a path from the root of the repository/],
    ['working-directory', 'packages\\a', /must be a path from the root of the repository/],
    ['working-directory', 'C:/packages', /must be a path from the root of the repository/],
    ['working-directory', 'packages/*', /must be a path from the root of the repository/],
    ['working-directory', '.git/hooks', /must be a path from the root of the repository/],
    ['prompt-file', '', /is empty/],
    ['prompt-file', '/etc/passwd', /must be a path inside the working directory/],
    ['prompt-file', 'a/../../b', /must be a path inside the working directory/],
    ['session', 'continue', /"continue" must be one of: resume, task, fresh/],
    ['session-expiry-hours', '0', /is not a number from 1 to 720/],
    ['session-expiry-hours', '721', /is not a number from 1 to 720/],
    ['max-iterations', '0', /"0" is not a whole number from 1 to 1000/],
    ['max-iterations', '1001', /is not a whole number from 1 to 1000/],
    ['max-iterations', '2.5', /is not a whole number/],
    ['max-iterations', '-1', /is not a whole number/],
    ['max-iterations', '1e3', /is not a whole number/],
    ['max-iterations', '0x10', /is not a whole number/],
    ['max-iterations', '', /"" is not a whole number/],
    ['max-iterations', '٣', /is not a whole number/],
    ['max-minutes', '1.5', /is not a number from 2 to/],
    ['max-minutes', '7201', /is not a number from 2 to 7200/],
    ['max-minutes', '50m', /"50m" is not a number/],
    ['max-iterations-per-task', '-1', /is not a whole number from 0/],
    ['agent-timeout-minutes', '0', /is not a number from 0.1/],
    ['agent-stall-minutes', '0', /is not a number from 0.1/],
    ['mcp-config', '../mcp.json', /must be a path inside the working directory/],
    ['mcp-config', '/etc/mcp.json', /must be a path inside the working directory/],
    ['mcp-config', '{"mcpServers": {"a": {}}}', /- mcp-config: mcpServers\.a has no `command` and no `url`/],
    ['max-calls-per-hour', '0', /is not a whole number from 1/],
    ['max-tokens-per-hour', '1k', /is not a whole number/],
    ['max-cost-usd', '$5', /is not a number/],
    ['max-cost-usd', '1,5', /is not a number/],
    ['max-cost-usd-per-day', 'Infinity', /is not a number/],
    [
      'prices',
      'gpt-5.5',
      /^- prices: "gpt-5\.5" has the line "gpt-5\.5", which is not a price: write NAME=INPUT\/OUTPUT/m,
    ],
    ['prices', 'a=1/2\nA=1/3', /names a twice: keep one of the lines\.$/],
    ['on-permission-denied', 'Halt', /must be one of: count, halt, continue/],
    ['circuit-no-progress', '0', /from 1 to 100/],
    ['circuit-same-error', '101', /from 1 to 100/],
    ['circuit-permission-denials', '', /from 1 to 100/],
    ['circuit-output-decline', '0', /from 1 to 100/],
    ['circuit-cooldown-minutes', 'never', /is not a number/],
    ['circuit-auto-reset', 'yes', /"yes" must be one of: true, false/],
    ['completion-signals', '0', /from 1 to 100/],
    ['test-only-iterations', '0', /from 1 to 100/],
    ['branch-prefix', '', /must be one path segment that ends in a slash/],
    ['branch-prefix', 'ralph', /must be one path segment that ends in a slash/],
    ['branch-prefix', 'a/b/', /must be one path segment/],
    ['branch-prefix', '../', /must be one path segment/],
    ['branch-prefix', '--force/', /must be one path segment/],
    ['branch-prefix', 'a b/', /must be one path segment/],
    ['base-branch', '--upload-pack=x', /is not a branch name/],
    ['base-branch', 'a b', /is not a branch name/],
    ['draft', 'True', /must be one of: true, false/],
    ['auto-merge', 'yes', /must be `true`, `false`, or a list of: conflict-markers, /],
    ['auto-merge', 'true, dependencies', /must be `true`, `false`, or a list of/],
    ['pr-labels', Array.from({ length: 21 }, (_, i) => `l${String(i)}`).join(), /has more than 20 labels/],
    ['pr-labels', 'x'.repeat(51), /more than 50 characters/],
    ['pr-labels', 'bot, Ralph:Done', /label that Ralph uses/],
    ['max-patch-files', '0', /from 1 to 100000/],
    ['max-patch-kib', '0', /from 1 to 1048576/],
    ['state-store', 'directory', /must be one of: auto, cache, ref, none/],
    ['fail-on', 'halted,broken', /must be a list of: cancelled, complete/],
  ])('%s: %j', (name, text, expected) => {
    const thrown = errorOf(() => configOf({ [name]: text }));
    expect(thrown.kind).toBe('configuration');
    expect(thrown.message).toMatch(/^An input is not usable:\n- /);
    expect(thrown.message).toContain(`- ${name}:`);
    expect(thrown.message).toMatch(expected);
  });
});

describe('problems', () => {
  test('are reported all at once, one line each', () => {
    const { message } = errorOf(() =>
      configOf({ 'max-iterations': 'many', draft: 'yes', 'fail-on': 'x,y,z', 'branch-prefix': '/' }),
    );
    expect(message).toMatch(/^4 inputs are not usable:/);
    expect(
      message
        .split('\n')
        .slice(1)
        .map((line) => /^- ([\w-]+):/.exec(line)?.[1]),
    ).toEqual(['max-iterations', 'branch-prefix', 'draft', 'fail-on']);
  });

  test.each([
    ['cb-no-progress', 'cb-no-progress: is now called circuit-no-progress.'],
    ['api-key', 'api-key: is called anthropic-api-key here.'],
    ['claude_api_key', 'claude_api_key: is called anthropic-api-key here.'],
    ['oauth-token', 'oauth-token: is called claude-code-oauth-token here.'],
    ['max_iterations', 'max_iterations: is not an input of this action. Did you mean max-iterations?'],
    ['anthropic-api-keys', 'anthropic-api-keys: is not an input of this action. Did you mean anthropic-api-key?'],
    ['something-else', 'something-else: is not an input of this action.'],
  ])('name what is not an input, without its value: %s', (name, expected) => {
    expect(errorOf(() => configOf({ [name]: 'secretsecret' })).message).toBe(`An input is not usable:\n- ${expected}`);
  });

  test('inputs of unknown names are left to the warning of the runner; settings and renamed inputs are not', () => {
    const given = {
      verify: 'make',
      settings: 'draft: true',
      'max-patch-kib': '1',
      'api-key': 'k',
      'something-else': 'x',
    };
    expect(Object.keys(withoutUnknownInputs(given))).toEqual(['verify', 'settings', 'max-patch-kib', 'api-key']);
    expect(withoutUnknownInputs({ phase: 'gate' })).toEqual({});
  });

  test('an input that is not given has its default', () => {
    expect(buildConfigFromInputs({ 'github-token': 't', model: undefined })).toEqual(configOf({ 'github-token': 't' }));
    expect(errorOf(() => buildConfigFromInputs({})).message).toMatch(
      /^An input is not usable:\n- github-token: is empty/,
    );
  });

  test('never hand over or record the secrets among the settings', () => {
    const found = ['notify-webhook', 'notify-webhook-secret', 'parallel'].map((input) => ({
      input,
      text: 'x',
      places: [],
    }));
    const texts = { ...readInputDefaults(actionYml, 'x'), 'notify-webhook': 'https://hooks.test/' };
    const settings = { found, lines: [], unknown: null };
    const config = buildConfig({ texts, counting: found, settings, problems: [], where: 'job' });
    expect(config.settings.found.map(({ input }) => input)).toEqual(['parallel']);
  });

  test('never show the token', () => {
    const given = { ...readInputDefaults(actionYml, 'x'), 'github-token': 'ghs_secretsecretsecret', draft: 'yes' };
    expect(errorOf(() => buildConfigFromInputs(given)).message).not.toContain('secretsecret');
  });

  test('show of a long value its beginning, on one line', () => {
    const { message } = errorOf(() => configOf({ session: `a\nb${'x'.repeat(500)}` }));
    expect(message.split('\n')).toHaveLength(2);
    expect(message.length).toBeLessThan(300);
  });

  test('are UserErrors, whatever the texts are', () => {
    const names = Object.keys(readInputDefaults(actionYml, 'x'));
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(...names),
          fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('0', '1', '-1', '1e9', 'true', '', 'NaN')),
        ),
        (texts) => {
          try {
            configOf(texts);
          } catch (error) {
            expect(error).toBeInstanceOf(UserError);
          }
        },
      ),
    );
  });
});

test('the defaults of action.yml are the documented policy', () => {
  expect(configOf().policy).toEqual({
    ...policy,
    maxCostUsd: 5,
    maxCostUsdPerDay: 20,
    allowedTools: [
      'Read',
      'Edit',
      'Write',
      'Glob',
      'Grep',
      'Bash(git add:*)',
      'Bash(git commit:*)',
      'Bash(git diff:*)',
      'Bash(git log:*)',
      'Bash(git status:*)',
      'Bash(npm:*)',
      'Bash(pytest:*)',
    ],
  });
});

function errorOf(body: () => unknown): UserError {
  try {
    body();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

describe('the people that a run with unusable inputs notifies', () => {
  const texts = (change: Readonly<Record<string, string>>) => ({ ...readInputDefaults(actionYml, 'token'), ...change });

  test('are those whom usable inputs name, as in every run', () => {
    const { taskLabel, notify } = configOf({ notify: 'ann', 'task-label': 'bug' });
    expect(
      parseReach(texts({ notify: 'ann', 'task-label': 'bug', 'max-iterations': 'many', nonsense: '1' })),
    ).toMatchObject({ taskLabel, notify, branchPrefix: 'ralph/' });
  });

  test('and the webhook, which only a usable address can be', () => {
    const address = 'https://hooks.test/a';
    expect(parseReach(texts({ 'notify-webhook': address, draft: '1' }))?.webhook).toEqual({ address, secret: '' });
    expect(parseReach(texts({ 'notify-webhook': 'hooks' }))?.webhook.address).toBeNull();
  });

  test('do not come from an unusable input', () => {
    expect(
      parseReach(texts({ notify: '@ann', 'task-label': 'a,b', 'branch-prefix': '/', 'task-sources': 'mail' })),
    ).toMatchObject({ notify: { kind: 'auto' }, taskLabel: '', branchPrefix: '', taskSources: [] });
  });

  test('reviews and checks count as answered unless an input says otherwise', () => {
    expect(parseReach(texts({ 'answer-reviews': 'false', 'answer-checks': 'perhaps' }))).toMatchObject({
      answers: { reviews: false, checks: true },
    });
  });

  test('nobody without a token', () => {
    expect(parseReach(texts({ 'github-token': '' }))).toBeNull();
  });
});
