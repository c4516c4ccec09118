import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { pastTheProxy, secretsAmong, noServerAddress, serverAddress, type AccessOf } from '../cli/cli.ts';
import { openAiProtocol } from '../openai/protocol.ts';
import { STANDARD_ADDRESS } from './provider.ts';

const KEY = 'OPENAI_API_KEY';
const ADDRESS = 'OPENAI_BASE_URL';
/** Of the broker's address, as the CLI is given it. */
const BASE_PATH = '/v1';

/** Qwen Code's way to whoever speaks like OpenAI. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const { [KEY]: key = '', [ADDRESS]: named = '', ...environment } = given;
  const provider = serverAddress(named.trim() === '' ? STANDARD_ADDRESS : named.trim());
  if (provider === null) return noServerAddress(ADDRESS);
  // Where it is not set, a file `.env` of the repository could name another.
  if (key.trim() === '') return { kind: 'direct', environment: { ...environment, [ADDRESS]: provider } };
  const keys = { [KEY]: key.trim() };
  return {
    kind: 'brokered',
    protocol: openAiProtocol({
      apis: ['chat'],
      basePath: BASE_PATH,
      headers: {},
      mayWebSearch: allowsWebSearch(allowedTools),
      prices,
    }),
    provider,
    keys,
    secrets: secretsAmong(Object.values(keys)),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      [ADDRESS]: `${address}${BASE_PATH}`,
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
};
