import { pastTheProxy, secretsAmong, serverAddress, type AccessOf } from '../cli/access.ts';
import { geminiProtocol } from './messages/protocol.ts';

const KEY = 'GEMINI_API_KEY';
const ADDRESS = 'GOOGLE_GEMINI_BASE_URL';
const PROVIDER = 'https://generativelanguage.googleapis.com';

/** Gemini CLI's way to Google, or a gateway. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const { [KEY]: key = '', [ADDRESS]: named = '', ...environment } = given;
  const provider = serverAddress(named.trim() === '' ? PROVIDER : named.trim());
  if (provider === null)
    return {
      kind: 'unusable',
      problem: `\`${ADDRESS}\` is not the address of a server: it begins with \`https://\` or \`http://\` and holds no password. Correct it, or leave it out.`,
    };
  // Where it is not set, a file `.env` of the repository could name another.
  if (key.trim() === '') return { kind: 'direct', environment: { ...environment, [ADDRESS]: provider } };
  const keys = { [KEY]: key.trim() };
  return {
    kind: 'brokered',
    protocol: geminiProtocol({ prices, mayWebSearch: allowedTools.some((rule) => /^WebSearch(?:\(|$)/.test(rule)) }),
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
