import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { pastTheProxy, secretsAmong, noServerAddress, serverAddress, type AccessOf } from '../cli/cli.ts';
import { openAiProtocol } from '../openai/protocol.ts';
import { STANDARD_ADDRESS } from './provider.ts';

/** Codex's way to OpenAI, or to another provider of the Responses API. */
export const accessOf: AccessOf = (given, { allowedTools, prices }) => {
  const textOf = (name: string): string => (given[name] ?? '').trim();
  const key = textOf('OPENAI_API_KEY') || textOf('CODEX_API_KEY');
  if (key === '') return { kind: 'direct', environment: given };
  const provider = serverAddress(textOf('OPENAI_BASE_URL') || STANDARD_ADDRESS);
  if (provider === null) return noServerAddress('OPENAI_BASE_URL');
  const keys = { OPENAI_API_KEY: key };
  const environment = Object.fromEntries(Object.entries(given).filter(([name]) => !TAKEN.includes(name)));
  return {
    kind: 'brokered',
    protocol: openAiProtocol({
      apis: ['responses'],
      basePath: BASE_PATH,
      headers: accountHeaders(textOf('OPENAI_ORGANIZATION'), textOf('OPENAI_PROJECT')),
      mayWebSearch: allowsWebSearch(allowedTools),
      prices,
    }),
    provider,
    keys,
    secrets: secretsAmong([key]),
    environment,
    environmentFor: ({ address, placeholders }) => ({
      ...placeholders,
      OPENAI_BASE_URL: `${address}${BASE_PATH}`,
      ...pastTheProxy(environment),
    }),
    signWith: null,
  };
};

/** Of the broker's address, as the CLI is given it. */
const BASE_PATH = '/v1';
const TAKEN: readonly string[] = [
  ...['OPENAI_API_KEY', 'CODEX_API_KEY', 'OPENAI_BASE_URL'],
  ...['OPENAI_ORGANIZATION', 'OPENAI_PROJECT'],
];

/** Whose account pays, where a key is good for several. */
function accountHeaders(organization: string, project: string): Readonly<Record<string, string>> {
  return {
    ...(organization === '' ? {} : { 'openai-organization': organization }),
    ...(project === '' ? {} : { 'openai-project': project }),
  };
}
