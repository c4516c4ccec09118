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

const MIN_SECRET_CHARS = 8;
