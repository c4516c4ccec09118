import { claudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import { brokeredAccess, headersIn, type AccessOf, valueIn, valuesIn } from '../cli/access.ts';
import { openAiProtocol } from '../openai/protocol.ts';

/** Copilot's way to a provider of the user's. With a token for GitHub's own service, it goes there by itself. */
export const accessOf: AccessOf = (given, setting) => {
  const keys = valuesIn(given, ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN']);
  const type = valueIn(given, 'COPILOT_PROVIDER_TYPE') || 'openai';
  // What Azure is asked is not known here; a provider without a key has nothing to hide.
  if (valueIn(given, ADDRESS) === '' || type === 'azure' || Object.keys(keys).length === 0)
    return { kind: 'direct', environment: given };
  // The CLI takes `\n` for the end of a line as well.
  const headers = headersIn(valueIn(given, HEADERS), /\n|\\n/);
  const isResponses = valueIn(given, 'COPILOT_PROVIDER_WIRE_API') === 'responses';
  const isAnthropic = type === 'anthropic';
  const access = brokeredAccess(given, setting, {
    keys,
    address: ADDRESS,
    standard: '',
    taken: ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN', HEADERS, 'COPILOT_GITHUB_TOKEN'],
    headers,
    path: isAnthropic ? '' : '/v1',
    // Without GitHub there is nobody else to ask.
    beside: { COPILOT_OFFLINE: 'true' },
    protocol: (way) =>
      isAnthropic
        ? claudeProtocol({ ...way, api: messagesApi, headers })
        : openAiProtocol({ ...way, apis: [isResponses ? 'responses' : 'chat'], basePath: '/v1', headers }),
  });
  return access.kind === 'brokered' && type !== 'openai' && !isAnthropic ? WRONG_TYPE : access;
};

const ADDRESS = 'COPILOT_PROVIDER_BASE_URL';
const HEADERS = 'COPILOT_PROVIDER_HEADERS';

const WRONG_TYPE = {
  kind: 'unusable',
  problem: '`COPILOT_PROVIDER_TYPE` is not one of openai, anthropic and azure. Correct it, or leave it out.',
} as const;
