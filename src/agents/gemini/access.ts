import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { pastTheProxy, secretsAmong, noServerAddress, serverAddress, type AccessOf } from '../cli/cli.ts';
import { geminiProtocol } from './messages/protocol.ts';

const KEY = 'GEMINI_API_KEY';
const ADDRESS = 'GOOGLE_GEMINI_BASE_URL';
const PROVIDER = 'https://generativelanguage.googleapis.com';

/** Gemini CLI's way to Google, or a gateway. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const { [KEY]: key = '', [ADDRESS]: named = '', ...environment } = given;
  const provider = serverAddress(named.trim() === '' ? PROVIDER : named.trim());
  if (provider === null) return noServerAddress(ADDRESS);
  // Where it is not set, a file `.env` of the repository could name another.
  if (key.trim() === '') return { kind: 'direct', environment: { ...environment, [ADDRESS]: provider } };
  const keys = { [KEY]: key.trim() };
  return {
    kind: 'brokered',
    protocol: geminiProtocol({ prices, mayWebSearch: allowsWebSearch(allowedTools) }),
    provider,
    keys,
    secrets: secretsAmong(Object.values(keys)),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      [ADDRESS]: address,
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
};
