/** Facts about the sandbox that a program's environment depends on. */
export interface SandboxSurroundings {
  readonly home: string;
  /** Port of the proxy on 127.0.0.1; null if the sandbox's network is not limited. */
  readonly proxyPort: number | null;
  /** Returns true if a folder exists in the sandbox. */
  readonly isVisible: (path: string) => boolean;
}

/** Matches variables whose values belong to another user or another network. */
const REPLACED =
  /^(HOME|USER|LOGNAME|SHELL|MAIL|TMPDIR|TMP|TEMP|https?_proxy|no_proxy|all_proxy|RUNNER_TRACKING_ID|XDG_\w+|SSH_AUTH_SOCK|DBUS_\w+|GNUPGHOME)$/i;
/** Matches variables that hold folders of package managers and toolchains. */
const FOLDERS =
  /^(CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|NVM_DIR|JAVA_HOME|PYTHONPATH|pythonLocation|DOTNET_ROOT|ANDROID_HOME|RUNNER_TOOL_CACHE)$/;
const LOOPBACK = '127.0.0.1,localhost,::1';

/**
 * Returns the environment of a program in the sandbox, without variables that point to another user's folders and with
 * the proxy as the only way out.
 */
export function buildSandboxEnvironment(
  given: Readonly<Record<string, string>>,
  { home, proxyPort, isVisible }: SandboxSurroundings,
): Record<string, string> {
  const kept = Object.entries(given).filter(
    ([name, value]) =>
      !REPLACED.test(name) && !(FOLDERS.test(name) && value.split(':').some((path) => path !== '' && !isVisible(path))),
  );
  // The proxy has no password, because a JVM never sends one. A password would protect nothing, because anyone else who
  // can reach the proxy has the machine's own network anyway.
  const proxy = proxyPort === null ? null : `http://127.0.0.1:${String(proxyPort)}`;
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    USER: 'ralph',
    LOGNAME: 'ralph',
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
    ...buildGitSettings(given),
    NO_PROXY: LOOPBACK,
    no_proxy: LOOPBACK,
    ...(proxy === null
      ? {}
      : {
          HTTP_PROXY: proxy,
          HTTPS_PROXY: proxy,
          http_proxy: proxy,
          https_proxy: proxy,
          // Node's built-in fetch uses a proxy only if this variable is set.
          NODE_USE_ENV_PROXY: '1',
          JAVA_TOOL_OPTIONS: [given['JAVA_TOOL_OPTIONS'] ?? '', ...jvmProxy(String(proxyPort))].join(' ').trim(),
        }),
  };
}

/**
 * The git settings of the sandbox, set without changing a file. Git accepts a checkout that belongs to another user (as
 * in a container) and never packs on its own, because packed files could not be distinguished from the agent's changes.
 */
const GIT_SETTINGS = [
  ['safe.directory', '*'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
] as const;

/** Returns the settings as variables, numbered after the given ones. */
export function buildGitSettings(given: Readonly<Record<string, string>>): Record<string, string> {
  const before = /^\d{1,3}$/.test(given['GIT_CONFIG_COUNT'] ?? '') ? Number(given['GIT_CONFIG_COUNT']) : 0;
  return {
    GIT_CONFIG_COUNT: String(before + GIT_SETTINGS.length),
    ...Object.fromEntries(
      GIT_SETTINGS.flatMap(([name, value], at) => [
        [`GIT_CONFIG_KEY_${String(before + at)}`, name],
        [`GIT_CONFIG_VALUE_${String(before + at)}`, value],
      ]),
    ),
  };
}

/** Returns JVM options for the proxy, because a JVM ignores proxy variables. */
function jvmProxy(port: string): readonly string[] {
  return ['http', 'https'].flatMap((scheme) => [
    `-D${scheme}.proxyHost=127.0.0.1`,
    `-D${scheme}.proxyPort=${port}`,
    `-D${scheme}.nonProxyHosts=localhost|127.*|[::1]`,
  ]);
}
