import { claudeProvider } from './provider.ts';

/** How the agent reaches its model: through the broker, which holds the keys, or by itself. */
export type Login =
  | {
      readonly kind: 'brokered';
      /** Without a slash at the end. */
      readonly provider: string;
      /** Name of the variable → key. */
      readonly keys: Readonly<Record<string, string>>;
      /** Sent with every request. */
      readonly headers: Readonly<Record<string, string>>;
      /** The agent's, without keys. */
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'direct'; readonly environment: Readonly<Record<string, string>> }
  | { readonly kind: 'unusable'; readonly problem: string };

const PROVIDER = 'https://api.anthropic.com';
const ADDRESS = 'ANTHROPIC_BASE_URL';
const HEADERS = 'ANTHROPIC_CUSTOM_HEADERS';

/** Takes the keys out of the agent's environment. A cloud's login is not one of ours: it stays where it is. */
export function loginOf(environment: Readonly<Record<string, string>>): Login {
  const keyNames: readonly string[] = claudeProvider.keys;
  const keys = Object.entries(environment).filter(([name, value]) => keyNames.includes(name) && value.trim() !== '');
  const isCloud = claudeProvider.switches.some((name) => environment[name] === '1');
  if (isCloud || keys.length === 0) return { kind: 'direct', environment };
  const given = (environment[ADDRESS] ?? '').trim();
  const address = URL.parse(given === '' ? PROVIDER : given);
  if (address === null || !/^https?:$/.test(address.protocol) || address.username !== '')
    return {
      kind: 'unusable',
      problem: `\`${ADDRESS}\` is not the address of a server: it begins with \`https://\` or \`http://\` and holds no password. Correct it, or leave it out.`,
    };
  const taken = [...keyNames, ADDRESS, HEADERS];
  return {
    kind: 'brokered',
    provider: `${address.origin}${address.pathname}`.replace(/\/+$/, ''),
    keys: Object.fromEntries(keys.map(([name, value]) => [name, value.trim()])),
    headers: headersIn(environment[HEADERS] ?? ''),
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !taken.includes(name))),
  };
}

/** `Name: value` in each line, as the CLI reads them. */
function headersIn(text: string): Record<string, string> {
  const pairs = text.split('\n').flatMap((line): [string, string][] => {
    const [, name = '', value = ''] = /^\s*([\w-]+)\s*:(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name.toLowerCase(), value.trim()]];
  });
  return Object.fromEntries(pairs);
}

/** What the agent's CLI finds the broker by. Requests to this machine go past the proxy of the network. */
export function brokerEnvironment(
  given: Readonly<Record<string, string>>,
  { address, placeholders }: { readonly address: string; readonly placeholders: Readonly<Record<string, string>> },
): Record<string, string> {
  const without = [given['NO_PROXY'] ?? given['no_proxy'] ?? '', '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  return { ...placeholders, [ADDRESS]: address, NO_PROXY: without, no_proxy: without };
}
