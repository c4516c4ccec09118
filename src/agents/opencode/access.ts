import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import type { Prices } from '../../core/spending/prices.ts';
import type { ModelProtocol } from '../../ports/broker.ts';
import { claudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import { pastTheProxy, secretsAmong, noServerAddress, serverAddress, type AccessOf } from '../cli/cli.ts';
import { openAiProtocol } from '../openai/protocol.ts';
import { GATEWAY_PATH, OWN_PATH } from './provider.ts';

/** A provider that it can be led to. */
interface Provider {
  /** Before the slash in the name of a model. */
  readonly id: string;
  readonly key: string;
  readonly address: string;
  /** Where the environment names none. */
  readonly standard: string;
  readonly protocol: (way: Way) => ModelProtocol;
}

interface Way {
  /** Behind the broker's address. */
  readonly path: string;
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}

const providers: readonly Provider[] = [
  {
    id: 'anthropic',
    key: 'ANTHROPIC_API_KEY',
    address: 'ANTHROPIC_BASE_URL',
    standard: 'https://api.anthropic.com',
    protocol: ({ mayWebSearch, prices }) => claudeProtocol({ api: messagesApi, headers: {}, mayWebSearch, prices }),
  },
  {
    id: 'openai',
    key: 'OPENAI_API_KEY',
    address: 'OPENAI_BASE_URL',
    standard: 'https://api.openai.com/v1',
    protocol: ({ path, prices, mayWebSearch }) =>
      openAiProtocol({
        apis: [path === GATEWAY_PATH ? 'chat' : 'responses'],
        basePath: path,
        headers: {},
        mayWebSearch,
        prices,
      }),
  },
];

/** OpenCode's way to Anthropic, OpenAI, or a gateway that speaks like one of them. */
export const accessOf: AccessOf = (all, { allowedTools, model, prices }) => {
  const loggedIn = providers.filter(({ key }) => (all[key] ?? '').trim() !== '');
  const named = loggedIn.find(({ id }) => model?.startsWith(`${id}/`) === true);
  const [login, other] = named === undefined ? loggedIn : [named];
  if (login === undefined) return { kind: 'direct', environment: all };
  if (other !== undefined)
    return {
      kind: 'unusable',
      problem:
        'OpenCode uses one provider in a run, and both `ANTHROPIC_API_KEY` and `OPENAI_API_KEY` are set. Name the model with its provider, for example `model: openai/gpt-5.5`.',
    };
  const others = providers.filter((one) => one !== login).flatMap(({ key, address }) => [key, address]);
  const given = Object.fromEntries(Object.entries(all).filter(([name]) => !others.includes(name)));
  const { key, address: variable, standard, protocol } = login;
  const { [key]: value = '', [variable]: address = '', ...environment } = given;
  const provider = serverAddress(address.trim() === '' ? standard : address.trim());
  if (provider === null) return noServerAddress(variable);
  const keys = { [key]: value.trim() };
  // OpenAI has models that only its newer API serves; what speaks like OpenAI has the older one.
  const path = login.key !== 'OPENAI_API_KEY' || provider === standard ? OWN_PATH : GATEWAY_PATH;
  return {
    kind: 'brokered',
    protocol: protocol({ path, prices, mayWebSearch: allowsWebSearch(allowedTools) }),
    provider,
    keys,
    secrets: secretsAmong(Object.values(keys)),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      [variable]: `${address}${path}`,
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
};
