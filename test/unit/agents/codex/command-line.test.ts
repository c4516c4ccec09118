import { describe, expect, test } from 'vitest';
import { codexCli, buildCodexArguments, buildCodexEnvironment } from '../../../../src/agents/codex/cli.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const SESSION_ID = '0f0e0d0c-1111-4222-8333-444455556666';
const plain = {
  model: null,
  allowedTools: ['Read', 'Edit'],
  servers: [],
  extraArgs: [],
  resume: null,
  environment: {},
  configFolder: '/run/codex',
  alsoFolder: null,
  sandbox: { mode: 'workspace-write', networkAccess: false, writableRoots: ['/repo/.git'] },
} as const;

/** Returns the settings made by `-c`, by name. */
function settingsIn(args: readonly string[]): Readonly<Record<string, unknown>> {
  const pairs = args.flatMap((arg, index): [string, unknown][] => {
    if (args[index - 1] !== '-c') return [];
    const at = arg.indexOf('=');
    return [[arg.slice(0, at), JSON.parse(arg.slice(at + 1))]];
  });
  return Object.fromEntries(pairs);
}

describe('the command line', () => {
  test('without a model or a session', () => {
    const args = buildCodexArguments(plain);
    expect(args.filter((arg, index) => arg !== '-c' && args[index - 1] !== '-c')).toEqual([
      ...['exec', '--json', '--skip-git-repo-check', '--ignore-user-config', '--ignore-rules', '-'],
    ]);
    expect(settingsIn(args)).toMatchObject({
      model_provider: 'ralph',
      'model_providers.ralph.base_url': 'https://api.openai.com/v1',
      'model_providers.ralph.env_key': 'OPENAI_API_KEY',
      approval_policy: 'never',
      sandbox_mode: 'workspace-write',
      'sandbox_workspace_write.writable_roots': ['/repo/.git'],
      'sandbox_workspace_write.network_access': false,
      web_search: 'disabled',
      project_doc_max_bytes: 0,
      'skills.include_instructions': false,
      'analytics.enabled': false,
      'features.hooks': false,
      'features.plugins': false,
      'features.unbounded_connection_retries': false,
    });
  });

  test.each([
    { given: { model: 'gpt-6' }, arg: '--model=gpt-6' },
    { given: { model: '--yolo' }, arg: '--model=--yolo' },
  ])('$given is one value', ({ given, arg }) => {
    expect(buildCodexArguments({ ...plain, ...given })[5]).toBe(arg);
  });

  test("the user's own arguments follow Ralph's, before the first argument that is not an option", () => {
    const extraArgs = ['-c', 'model_reasoning_effort="high"'];
    expect(buildCodexArguments({ ...plain, extraArgs }).slice(-3)).toEqual([...extraArgs, '-']);
    expect(buildCodexArguments({ ...plain, extraArgs, resume: SESSION_ID }).slice(-4)).toEqual([
      ...extraArgs,
      ...[SESSION_ID, '-'],
    ]);
  });

  test.each([
    { resume: SESSION_ID, begins: ['exec', 'resume', '--json'] },
    { resume: '--last', begins: ['exec', '--json'] },
    { resume: '../../etc/passwd', begins: ['exec', '--json'] },
    { resume: `${SESSION_ID} `, begins: ['exec', '--json'] },
  ])('the session $resume', ({ resume, begins }) => {
    const args = buildCodexArguments({ ...plain, resume });
    expect(args.slice(0, begins.length)).toEqual(begins);
    expect(args.includes(resume)).toBe(begins.includes('resume'));
  });

  test.each<{ what: string; given: object; settings: object; lacks?: string }>([
    {
      what: 'a broker',
      given: { environment: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } },
      settings: { 'model_providers.ralph.base_url': 'http://127.0.0.1:1/v1' },
    },
    {
      what: 'an agent that only reads',
      given: { sandbox: { mode: 'read-only', networkAccess: false, writableRoots: [] } },
      settings: { sandbox_mode: 'read-only' },
      lacks: 'sandbox_workspace_write.writable_roots',
    },
    {
      what: 'a sandbox that is the limit',
      given: { sandbox: null },
      settings: { sandbox_mode: 'danger-full-access' },
      lacks: 'sandbox_workspace_write.writable_roots',
    },
    {
      what: 'a part of a repository',
      given: { alsoFolder: '/repo' },
      settings: { 'sandbox_workspace_write.writable_roots': ['/repo', '/repo/.git'] },
    },
    { what: 'a search', given: { allowedTools: ['WebSearch'] }, settings: { web_search: 'live' } },
    {
      what: 'a time zone of its commands',
      given: { environment: { TZ: 'Asia/Tokyo' } },
      settings: { 'shell_environment_policy.set.TZ': 'Asia/Tokyo' },
    },
    {
      what: 'a folder of the CLI among temporary files',
      given: { configFolder: '/tmp/run/codex' },
      settings: {
        'shell_environment_policy.set.TMPDIR': '/tmp',
        'sandbox_workspace_write.writable_roots': ['/repo/.git', '/tmp'],
      },
    },
    {
      what: 'a folder of the CLI elsewhere',
      given: { configFolder: '/tmp/run/codex', environment: { TMPDIR: '/var/tmp' } },
      settings: {},
      lacks: 'shell_environment_policy.set.TMPDIR',
    },
  ])('$what', ({ given, settings, lacks = 'nothing' }) => {
    const set = settingsIn(buildCodexArguments({ ...plain, ...given }));
    expect(set).toMatchObject(settings);
    expect(Object.keys(set)).not.toContain(lacks);
  });
});

describe('the environment', () => {
  test('may not move its files or its clock', () => {
    expect(buildCodexEnvironment({ CODEX_HOME: '/elsewhere', TZ: 'Asia/Tokyo', PATH: '/bin' }, '/run/codex')).toEqual({
      NO_COLOR: '1',
      PATH: '/bin',
      CODEX_HOME: '/run/codex',
      TZ: 'UTC',
    });
  });

  test.each([
    { temporary: '/tmp', configFolder: '/tmp/run/codex', moved: true },
    { temporary: '', configFolder: '/tmp/codex', moved: true },
    { temporary: '/home/runner/_temp/', configFolder: '/home/runner/_temp/ralph/codex', moved: true },
    { temporary: '/tmp', configFolder: '/tmpfiles/codex', moved: false },
    { temporary: '/tmp/a', configFolder: '/tmp/b/codex', moved: false },
    { temporary: '/tmp/a', configFolder: '/tmp/..b/codex', moved: false },
  ])('with $temporary for temporary files and $configFolder for its own', ({ temporary, configFolder, moved }) => {
    const { TMPDIR } = buildCodexEnvironment({ TMPDIR: temporary }, configFolder);
    expect(TMPDIR).toBe(moved ? `${configFolder}/tmp` : temporary);
  });
});

test.each([
  ['codex-cli 0.169.0', { name: 'Codex', version: '0.169.0' }],
  ['something else 1.0', { name: 'something else 1.0', version: '' }],
])('%s is understood as a name', (printed, name) => {
  expect(identifyProgram(codexCli, printed)).toEqual(name);
});
