import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import type { Prices } from '../../core/spending/prices.ts';
import type { ModelProtocol } from '../../ports/broker.ts';

/** An agent's access to its model: through the broker, which holds the keys, or direct. */
export type ModelAccess =
  | BrokeredAccess
  | { readonly kind: 'direct'; readonly environment: AgentVariables }
  | { readonly kind: 'unusable'; readonly problem: string };

interface BrokeredAccess {
  readonly kind: 'brokered';
  readonly protocol: ModelProtocol;
  /** Address of the provider, without a slash at the end. */
  readonly provider: string;
  /** Each key by the name of the variable that gets a placeholder instead. */
  readonly keys: AgentVariables;
  /** Values that must not appear in an answer, including the keys. */
  readonly secrets: readonly string[];
  /** The agent's environment, without keys. */
  readonly environment: AgentVariables;
  /** Returns the variables that lead the agent's CLI to the broker at an address. */
  readonly environmentFor: (at: { readonly address: string; readonly placeholders: AgentVariables }) => AgentVariables;
  /** Keys that sign requests and are never sent; null if the key itself is sent. */
  readonly signWith: AwsKeys | null;
}

/** Keys that sign requests. */
export interface AwsKeys {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token; empty if the keys are not temporary. */
  readonly sessionToken: string;
}

/** The user's settings that decide about requests to the model. */
export interface AccessSetting {
  readonly allowedTools: readonly string[];
  /** The model; null leaves the choice to the CLI. */
  readonly model: string | null;
  readonly prices: Prices;
}

/** Returns an agent's access to its model; the keys are removed from its environment. */
export type AccessOf = (environment: AgentVariables, setting: AccessSetting) => ModelAccess;

export type AgentVariables = Readonly<Record<string, string>>;

/** The keys and variables with which a CLI logs in at a provider, if a broker can hold the keys. */
interface Login {
  readonly keys: AgentVariables;
  /** The name of the variable with the provider's address. */
  readonly address: string;
  /** The provider's address if that variable is not set. */
  readonly standard: string;
  /** Names of further variables that are withheld from the agent. */
  readonly withheld?: readonly string[];
  /** The user's headers for every request, for a gateway. */
  readonly headers?: AgentVariables;
  /** The path that is appended to the broker's address for the CLI. */
  readonly path?: string;
  /** Further variables that lead the CLI to the broker. */
  readonly extraEnvironment?: AgentVariables;
  readonly protocol: (way: Pick<AccessSetting, 'prices'> & { readonly mayWebSearch: boolean }) => ModelProtocol;
}

const MIN_SECRET_CHARS = 8;

/** Returns the access through the broker, or the problem of the provider's address. */
export function createBrokeredAccess(
  given: AgentVariables,
  { allowedTools, prices }: AccessSetting,
  login: Login,
): ModelAccess {
  const { keys, address: variable, standard, withheld = [], headers = {}, path = '', extraEnvironment = {} } = login;
  const provider = normalizeServerAddress(resolveVariable(given, variable) || standard);
  if (provider === null) return createUnusableAccess(variable);
  const environment = withoutVariables(given, [...Object.keys(keys), variable, ...withheld]);
  return {
    kind: 'brokered',
    protocol: login.protocol({ prices, mayWebSearch: allowsWebSearch(allowedTools) }),
    provider,
    keys,
    secrets: selectSecrets([...Object.values(keys), ...Object.values(headers)]),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      [variable]: `${address}${path}`,
      ...extraEnvironment,
      ...bypassProxyForLoopback(environment),
    }),
    signWith: null,
  };
}

/**
 * Returns the access for a CLI with a single key, direct if the key is not set. The address variable is set in any
 * case, because the CLI would otherwise read it from the repository's file `.env`.
 */
export function createKeyAccess(
  given: AgentVariables,
  setting: AccessSetting,
  login: Omit<Login, 'keys'> & { readonly key: string },
): ModelAccess {
  const { key: name, address } = login;
  const key = resolveVariable(given, name);
  const access = createBrokeredAccess(given, setting, { ...login, keys: { [name]: key } });
  return key !== '' || access.kind !== 'brokered'
    ? access
    : { kind: 'direct', environment: { ...access.environment, [address]: access.provider } };
}

/** Returns the value of a variable, or an empty text if it is unset. */
export function resolveVariable(environment: AgentVariables, name: string): string {
  return (environment[name] ?? '').trim();
}

/** Returns the variables with these names that are not empty. */
export function selectVariables(environment: AgentVariables, names: readonly string[]): AgentVariables {
  const values = names.map((name): [string, string] => [name, resolveVariable(environment, name)]);
  return Object.fromEntries(values.filter(([, value]) => value !== ''));
}

/** Returns the environment without the named variables. */
export function withoutVariables(environment: AgentVariables, names: readonly string[]): AgentVariables {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));
}

/** Parses lines of `Name: value`, as the CLIs read them. */
export function parseHeaderLines(text: string, lineEnd: RegExp): Record<string, string> {
  const pairs = text.split(lineEnd).flatMap((line): [string, string][] => {
    const [, name = '', value = ''] = /^\s*([\w-]+)\s*:(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name.toLowerCase(), value.trim()]];
  });
  return Object.fromEntries(pairs);
}

/** Returns the address of a server without a trailing slash; null if the text is not an address. */
export function normalizeServerAddress(text: string): string | null {
  const address = URL.parse(text);
  return address === null || !/^https?:$/.test(address.protocol) || address.username !== ''
    ? null
    : `${address.origin}${address.pathname}`.replace(/\/+$/, '');
}

/** Returns the access for a variable without a valid address. */
export function createUnusableAccess(variable: string): Extract<ModelAccess, { kind: 'unusable' }> {
  return {
    kind: 'unusable',
    problem: `\`${variable}\` is not the address of a server. It must begin with \`https://\` or \`http://\` and must not contain a password. Correct it, or leave it out.`,
  };
}

/** Returns the variables that let requests to this machine bypass the network's proxy. */
export function bypassProxyForLoopback(environment: AgentVariables): AgentVariables {
  const given = environment['NO_PROXY'] ?? environment['no_proxy'] ?? '';
  const without = [given, '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  return { NO_PROXY: without, no_proxy: without };
}

/** Returns the values that are long enough to be secret; a shorter one is a setting. */
export function selectSecrets(values: readonly string[]): readonly string[] {
  return values.filter((value) => value.length >= MIN_SECRET_CHARS);
}
