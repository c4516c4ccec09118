import { expect, test } from 'vitest';
import { buildSandboxEnvironment } from '../../../../src/core/isolation/environment.ts';

const surroundings = {
  home: '/var/tmp/sandbox/home',
  proxyPort: 3128,
  isVisible: (path: string) => !path.startsWith('/home/'),
};

test('what leads to the folders of another user is left out, and the proxy is the way out', () => {
  const environment = buildSandboxEnvironment(
    {
      PATH: '/usr/bin',
      HOME: '/home/runner',
      USER: 'runner',
      TMPDIR: '/home/runner/work/_temp',
      CARGO_HOME: '/home/runner/.cargo',
      GOROOT: '/usr/lib/go',
      HTTPS_PROXY: 'http://user:secret@proxy.example:3128',
      https_proxy: 'http://user:secret@proxy.example:3128',
      SSH_AUTH_SOCK: '/run/agent.sock',
      XDG_RUNTIME_DIR: '/run/user/1001',
      DATABASE_URL: 'postgres://db',
    },
    surroundings,
  );
  expect(environment).toEqual({
    PATH: '/usr/bin',
    GOROOT: '/usr/lib/go',
    DATABASE_URL: 'postgres://db',
    HOME: '/var/tmp/sandbox/home',
    USER: 'ralph',
    LOGNAME: 'ralph',
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
    GIT_CONFIG_COUNT: '3',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
    GIT_CONFIG_KEY_1: 'gc.auto',
    GIT_CONFIG_VALUE_1: '0',
    GIT_CONFIG_KEY_2: 'maintenance.auto',
    GIT_CONFIG_VALUE_2: 'false',
    NO_PROXY: '127.0.0.1,localhost,::1',
    no_proxy: '127.0.0.1,localhost,::1',
    HTTP_PROXY: 'http://127.0.0.1:3128',
    HTTPS_PROXY: 'http://127.0.0.1:3128',
    http_proxy: 'http://127.0.0.1:3128',
    https_proxy: 'http://127.0.0.1:3128',
    NODE_USE_ENV_PROXY: '1',
    JAVA_TOOL_OPTIONS: expect.stringContaining('-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128') as string,
  });
});

test.each([
  ['2', '5', 'GIT_CONFIG_KEY_2'],
  ['nonsense', '3', 'GIT_CONFIG_KEY_0'],
])('settings of git stand behind those that are given (%s)', (given, count, first) => {
  const environment = buildSandboxEnvironment({ GIT_CONFIG_COUNT: given }, surroundings);
  expect(environment).toMatchObject({ GIT_CONFIG_COUNT: count, [first]: 'safe.directory' });
});
