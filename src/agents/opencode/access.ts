import { createClaudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import { createBrokeredAccess, normalizeServerAddress, type AccessOf, resolveVariable } from '../cli/access.ts';
import { createOpenAiProtocol, OPENAI_ADDRESS } from '../openai/protocol.ts';

/**
 * The paths after the broker's address: a provider's own API, and the API that all OpenAI-compatible servers have.
 */
const OWN_PATH = '/v1';
export const GATEWAY_PATH = '/chat/v1';

/** The providers that OpenCode can use. `id` is the part before the slash in the name of a model. */
const providers = [
  { id: 'anthropic', key: 'ANTHROPIC_API_KEY', address: 'ANTHROPIC_BASE_URL', standard: 'https://api.anthropic.com' },
  { id: 'openai', key: 'OPENAI_API_KEY', address: 'OPENAI_BASE_URL', standard: OPENAI_ADDRESS },
] as const;

/** Returns OpenCode's access to Anthropic, OpenAI, or a gateway that is compatible with one of them. */
export const findOpencodeAccess: AccessOf = (given, setting) => {
  const loggedIn = providers.filter(({ key }) => resolveVariable(given, key) !== '');
  const named = loggedIn.find(({ id }) => setting.model?.startsWith(`${id}/`) === true);
  const [login, other] = named === undefined ? loggedIn : [named];
  if (login === undefined) return { kind: 'direct', environment: given };
  if (other !== undefined)
    return {
      kind: 'unusable',
      problem:
        'OpenCode uses one provider in a run, and both `ANTHROPIC_API_KEY` and `OPENAI_API_KEY` are set. Name the model with its provider, for example `model: openai/gpt-5.5`.',
    };
  const { id, key, address, standard } = login;
  // Use the newer API only for OpenAI itself, which serves some models only there; compatible servers have the older
  // one.
  const isOwn = id !== 'openai' || (normalizeServerAddress(resolveVariable(given, address)) ?? standard) === standard;
  const path = isOwn ? OWN_PATH : GATEWAY_PATH;
  return createBrokeredAccess(given, setting, {
    ...{ keys: { [key]: resolveVariable(given, key) }, address, standard, path },
    withheld: providers.flatMap((one) => [one.key, one.address]),
    protocol: (way) =>
      id === 'anthropic'
        ? createClaudeProtocol({ ...way, api: messagesApi, headers: {} })
        : createOpenAiProtocol({ ...way, apis: [isOwn ? 'responses' : 'chat'], basePath: path, headers: {} }),
  });
};
