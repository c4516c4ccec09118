import { allowsWebSearch } from '../../core/agents/web-search.ts';
import { secretsAmong, type AccessOf } from '../cli/access.ts';
import { brokerEnvironment, loginOf } from './login.ts';
import { bedrockApi, messagesApi, vertexApi } from './messages/endpoints.ts';
import { claudeProtocol } from './messages/protocol.ts';

/** Claude Code's way to Anthropic, a gateway, Amazon Bedrock or Google Vertex AI. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const login = loginOf(given);
  if (login.kind !== 'brokered') return login;
  const { api, environment, provider, keys, headers } = login;
  const signWith = api.kind === 'bedrock' ? api.signing : null;
  const signing = [signWith?.secretAccessKey ?? '', signWith?.sessionToken ?? ''];
  return {
    kind: 'brokered',
    protocol: claudeProtocol({
      api: api.kind === 'bedrock' ? bedrockApi : api.kind === 'vertex' ? vertexApi(api.models) : messagesApi,
      headers,
      mayWebSearch: allowsWebSearch(allowedTools),
      prices,
    }),
    provider,
    keys,
    secrets: secretsAmong([...Object.values(keys), ...Object.values(headers), ...signing]),
    environment,
    environmentFor: (at) => brokerEnvironment(login, at),
    signWith,
  };
};
