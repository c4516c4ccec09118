import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { claudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import {
  pastTheProxy,
  secretsAmong,
  noServerAddress,
  serverAddress,
  type Access,
  type AccessOf,
  type Variables,
} from '../cli/cli.ts';
import { openAiProtocol } from '../openai/protocol.ts';
import type { Prices } from '../../core/spending/prices.ts';
import type { ModelProtocol } from '../../ports/broker.ts';

/** Copilot's way to a provider of the user's. With a token for GitHub's own service, it goes there by itself. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const textOf = (name: string): string => (given[name] ?? '').trim();
  const keys = Object.fromEntries(
    KEYS.flatMap((name): [string, string][] => (textOf(name) === '' ? [] : [[name, textOf(name)]])),
  );
  const address = textOf('COPILOT_PROVIDER_BASE_URL');
  const type = textOf('COPILOT_PROVIDER_TYPE') || 'openai';
  // What Azure is asked is not known here; a provider without a key has nothing to hide.
  if (address === '' || type === 'azure' || Object.keys(keys).length === 0)
    return { kind: 'direct', environment: given };
  const provider = serverAddress(address);
  if (provider === null) return noServerAddress('COPILOT_PROVIDER_BASE_URL');
  if (type !== 'openai' && type !== 'anthropic') return unusable(WRONG_TYPE);
  const headers = headersIn(textOf(HEADERS));
  const environment = Object.fromEntries(Object.entries(given).filter(([name]) => !TAKEN.includes(name)));
  return {
    kind: 'brokered',
    protocol: protocolOf({
      type,
      isResponses: textOf('COPILOT_PROVIDER_WIRE_API') === 'responses',
      headers,
      mayWebSearch: allowsWebSearch(allowedTools),
      prices,
    }),
    provider,
    keys,
    secrets: secretsAmong([...Object.values(keys), ...Object.values(headers)]),
    environment,
    environmentFor: ({ address: broker, placeholders }) => ({
      ...placeholders,
      COPILOT_PROVIDER_BASE_URL: type === 'anthropic' ? broker : `${broker}${BASE_PATH}`,
      // Without GitHub there is nobody else to ask.
      COPILOT_OFFLINE: 'true',
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
};

const KEYS = ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN'] as const;
const HEADERS = 'COPILOT_PROVIDER_HEADERS';
const TAKEN: readonly string[] = [...KEYS, HEADERS, 'COPILOT_PROVIDER_BASE_URL', 'COPILOT_GITHUB_TOKEN'];
/** Of the broker's address, as the CLI is given it. */
const BASE_PATH = '/v1';

const WRONG_TYPE = '`COPILOT_PROVIDER_TYPE` is not one of openai, anthropic and azure. Correct it, or leave it out.';

function unusable(problem: string): Access {
  return { kind: 'unusable', problem };
}

function protocolOf({
  type,
  isResponses,
  headers,
  mayWebSearch,
  prices,
}: {
  readonly type: 'openai' | 'anthropic';
  readonly isResponses: boolean;
  readonly headers: Variables;
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}): ModelProtocol {
  return type === 'anthropic'
    ? claudeProtocol({ api: messagesApi, headers, mayWebSearch, prices })
    : openAiProtocol({
        apis: [isResponses ? 'responses' : 'chat'],
        basePath: BASE_PATH,
        headers,
        mayWebSearch,
        prices,
      });
}

/** `Name: value` in each line; the CLI takes `\n` for the end of one as well. */
function headersIn(text: string): Variables {
  const pairs = text.split(/\n|\\n/).flatMap((line): [string, string][] => {
    const [, name = '', value = ''] = /^\s*([\w-]+)\s*:(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name.toLowerCase(), value.trim()]];
  });
  return Object.fromEntries(pairs);
}
