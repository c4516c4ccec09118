import { createClaudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import {
  createBrokeredAccess,
  parseHeaderLines,
  type AccessOf,
  resolveVariable,
  selectVariables,
} from '../cli/access.ts';
import { createOpenAiProtocol } from '../openai/protocol.ts';

/**
 * Returns Copilot's access to the user's own provider; with a token for GitHub's service instead, the access is direct.
 */
export const copilotAccessOf: AccessOf = (given, setting) => {
  const keys = selectVariables(given, ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN']);
  const type = resolveVariable(given, 'COPILOT_PROVIDER_TYPE') || 'openai';
  // No broker: Azure's form of requests is not supported, and without a key there is nothing to hide.
  if (resolveVariable(given, ADDRESS) === '' || type === 'azure' || Object.keys(keys).length === 0)
    return { kind: 'direct', environment: given };
  // The CLI also accepts `\n` as the end of a line.
  const headers = parseHeaderLines(resolveVariable(given, HEADERS), /\n|\\n/);
  const isResponses = resolveVariable(given, 'COPILOT_PROVIDER_WIRE_API') === 'responses';
  const isAnthropic = type === 'anthropic';
  const access = createBrokeredAccess(given, setting, {
    keys,
    address: ADDRESS,
    standard: '',
    withheld: ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN', HEADERS, 'COPILOT_GITHUB_TOKEN'],
    headers,
    path: isAnthropic ? '' : '/v1',
    // This keeps the CLI from contacting GitHub.
    extraEnvironment: { COPILOT_OFFLINE: 'true' },
    protocol: (way) =>
      isAnthropic
        ? createClaudeProtocol({ ...way, api: messagesApi, headers })
        : createOpenAiProtocol({ ...way, apis: [isResponses ? 'responses' : 'chat'], basePath: '/v1', headers }),
  });
  return access.kind === 'brokered' && type !== 'openai' && !isAnthropic ? WRONG_TYPE : access;
};

const ADDRESS = 'COPILOT_PROVIDER_BASE_URL';
const HEADERS = 'COPILOT_PROVIDER_HEADERS';

const WRONG_TYPE = {
  kind: 'unusable',
  problem: '`COPILOT_PROVIDER_TYPE` is not one of openai, anthropic and azure. Correct it, or leave it out.',
} as const;
