import { isJobSecret } from './inputs.ts';

/** What every program needs to run at all, and the proxies and certificates without which some networks cannot be reached. */
const ALWAYS = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'TERM',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  // The runner's own net: at the end of the job it kills what still carries this id.
  'RUNNER_TRACKING_ID',
  'RUNNER_OS',
  'RUNNER_ARCH',
  'RUNNER_TOOL_CACHE',
  'CI',
  // Where packages come from: for the agent, and for installing it.
  'npm_config_registry',
  'npm_config_cafile',
  'NPM_CONFIG_REGISTRY',
  'NPM_CONFIG_CAFILE',
  'JAVA_HOME',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'NVM_DIR',
  'PYTHONPATH',
  'pythonLocation',
  'DOTNET_ROOT',
  'ANDROID_HOME',
] as const;

/** The variables by which an agent's CLI finds its provider. */
export interface Provider {
  /** The names of all of them. */
  readonly variables: RegExp;
  /** One that is set is a login. */
  readonly keys: readonly string[];
  readonly otherSecrets: readonly string[];
  /** One that is `1` means a login that is found elsewhere, such as a cloud's. */
  readonly switches: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment of the agent: an allow-list, never the job's. */
export function agentEnvironment(
  environment: Environment,
  names: readonly string[],
  { variables }: Provider,
): Record<string, string> {
  return pick(
    environment,
    (name) => (ALWAYS as readonly string[]).includes(name) || variables.test(name) || names.includes(name),
  );
}

/** Environment of verify commands, which run code that the agent wrote: the agent's without the provider's keys. */
export function verifyEnvironment(
  environment: Environment,
  names: readonly string[],
  { variables }: Provider,
): Record<string, string> {
  return pick(
    environment,
    (name) => (ALWAYS as readonly string[]).includes(name) || (names.includes(name) && !variables.test(name)),
  );
}

/** Whether there is anything with which the agent could log in. */
export function hasProviderKey(environment: Environment, { keys, switches }: Provider): boolean {
  return (
    keys.some((name) => (environment[name] ?? '').trim() !== '') ||
    switches.some((name) => (environment[name] ?? '') === '1')
  );
}

/** The credential with which the agent logs in; null: it is not one of the provider's own variables. */
export function providerKey(environment: Environment, { keys }: Provider): string | null {
  return keys.map((name) => (environment[name] ?? '').trim()).find((value) => value !== '') ?? null;
}

/** Values that must never be shown or published: tokens, keys, and what `agent-env` names if it looks like a credential. */
export function secretValues(
  environment: Environment,
  names: readonly string[],
  { keys, otherSecrets }: Provider,
): string[] {
  const secret = (name: string): boolean =>
    keys.includes(name) ||
    otherSecrets.includes(name) ||
    /^(INPUT_GITHUB-TOKEN|GITHUB_TOKEN|GH_TOKEN|ACTIONS_RUNTIME_TOKEN|ACTIONS_ID_TOKEN_REQUEST_TOKEN)$/.test(name) ||
    /(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_KEY|ACCESS_KEY)/i.test(name) ||
    (names.includes(name) && (environment[name] ?? '').length >= 20);
  return [
    ...new Set(
      Object.keys(environment)
        .filter(secret)
        .map((name) => (environment[name] ?? '').trim())
        .filter((value) => value.length >= 8),
    ),
  ];
}

function pick(environment: Environment, wanted: (name: string) => boolean): Record<string, string> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && wanted(entry[0]) && !isJobSecret(entry[0]),
  );
  return Object.fromEntries(entries);
}
