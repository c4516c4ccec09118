import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import type { Prices } from '../../core/spending/prices.ts';
import type { ModelProtocol } from '../../ports/broker.ts';

/** How an agent reaches its model: through the broker, which holds the keys, or by itself. */
export type Access =
  | BrokeredAccess
  | { readonly kind: 'direct'; readonly environment: Variables }
  | { readonly kind: 'unusable'; readonly problem: string };

interface BrokeredAccess {
  readonly kind: 'brokered';
  readonly protocol: ModelProtocol;
  /** Address of the provider, without a slash at the end. */
  readonly provider: string;
  /** Name of the variable that gets the placeholder → key. */
  readonly keys: Variables;
  /** What must not come back in an answer, the keys included. */
  readonly secrets: readonly string[];
  /** The agent's, without keys. */
  readonly environment: Variables;
  /** By which the agent's CLI finds the broker at an address. */
  readonly environmentFor: (at: { readonly address: string; readonly placeholders: Variables }) => Variables;
  /** What signs requests with keys that never travel; null: the key travels. */
  readonly signWith: AwsKeys | null;
}

/** Keys by which requests are signed. */
export interface AwsKeys {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Empty: the keys are not temporary. */
  readonly sessionToken: string;
}

/** What the user asked for, as far as it decides about requests to the model. */
export interface AccessSetting {
  readonly allowedTools: readonly string[];
  /** null = the CLI's choice. */
  readonly model: string | null;
  readonly prices: Prices;
}

/** Takes the keys out of an agent's environment. */
export type AccessOf = (environment: Variables, setting: AccessSetting) => Access;

export type Variables = Readonly<Record<string, string>>;

/** A login by keys that a broker can hold. */
interface Login {
  readonly keys: Variables;
  /** The variable that names the provider's address. */
  readonly address: string;
  /** The address where the environment names none. */
  readonly standard: string;
  /** Variables that the agent does not get either. */
  readonly taken?: readonly string[];
  /** Sent with every request: the user's, for a gateway. */
  readonly headers?: Variables;
  /** What of the broker's address is given to the CLI behind its host. */
  readonly path?: string;
  /** What else leads the CLI to the broker. */
  readonly beside?: Variables;
  readonly protocol: (way: Pick<AccessSetting, 'prices'> & { readonly mayWebSearch: boolean }) => ModelProtocol;
}

const MIN_SECRET_CHARS = 8;

/** The way through the broker. */
export function brokeredAccess(given: Variables, { allowedTools, prices }: AccessSetting, login: Login): Access {
  const { keys, address: variable, standard, taken = [], headers = {}, path = '', beside = {} } = login;
  const provider = serverAddress(valueIn(given, variable) || standard);
  if (provider === null) return noServerAddress(variable);
  const environment = without(given, [...Object.keys(keys), variable, ...taken]);
  return {
    kind: 'brokered',
    protocol: login.protocol({ prices, mayWebSearch: allowsWebSearch(allowedTools) }),
    provider,
    keys,
    secrets: secretsAmong([...Object.values(keys), ...Object.values(headers)]),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      [variable]: `${address}${path}`,
      ...beside,
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
}

/** The same for a CLI that has one key, and takes an address that is not set from a file `.env` of the repository: it is always set. */
export function accessByKey(
  given: Variables,
  setting: AccessSetting,
  login: Omit<Login, 'keys'> & { readonly key: string },
): Access {
  const { key: name, address } = login;
  const key = valueIn(given, name);
  const access = brokeredAccess(given, setting, { ...login, keys: { [name]: key } });
  return key !== '' || access.kind !== 'brokered'
    ? access
    : { kind: 'direct', environment: { ...access.environment, [address]: access.provider } };
}

/** What a variable holds; empty where it is not set. */
export function valueIn(environment: Variables, name: string): string {
  return (environment[name] ?? '').trim();
}

/** The variables with these names that hold something. */
export function valuesIn(environment: Variables, names: readonly string[]): Variables {
  const values = names.map((name): [string, string] => [name, valueIn(environment, name)]);
  return Object.fromEntries(values.filter(([, value]) => value !== ''));
}

export function without(environment: Variables, names: readonly string[]): Variables {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));
}

/** `Name: value` in each line, as the CLIs read them. */
export function headersIn(text: string, lineEnd: RegExp): Record<string, string> {
  const pairs = text.split(lineEnd).flatMap((line): [string, string][] => {
    const [, name = '', value = ''] = /^\s*([\w-]+)\s*:(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name.toLowerCase(), value.trim()]];
  });
  return Object.fromEntries(pairs);
}

/** Returns the address of a server without a trailing slash; null if the text is not an address. */
export function serverAddress(text: string): string | null {
  const address = URL.parse(text);
  return address === null || !/^https?:$/.test(address.protocol) || address.username !== ''
    ? null
    : `${address.origin}${address.pathname}`.replace(/\/+$/, '');
}

/** What is wrong with a variable that is to name such an address. */
export function noServerAddress(variable: string): Extract<Access, { kind: 'unusable' }> {
  return {
    kind: 'unusable',
    problem: `\`${variable}\` is not the address of a server: it begins with \`https://\` or \`http://\` and holds no password. Correct it, or leave it out.`,
  };
}

/** Requests to this machine go past the proxy of the network. */
export function pastTheProxy(environment: Variables): Variables {
  const given = environment['NO_PROXY'] ?? environment['no_proxy'] ?? '';
  const without = [given, '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  return { NO_PROXY: without, no_proxy: without };
}

/** The values that anybody would hide; a shorter one is a setting. */
export function secretsAmong(values: readonly string[]): readonly string[] {
  return values.filter((value) => value.length >= MIN_SECRET_CHARS);
}
