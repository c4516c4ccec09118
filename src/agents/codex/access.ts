import { createBrokeredAccess, type AccessOf, resolveVariable, selectVariables } from '../cli/access.ts';
import { createOpenAiProtocol, OPENAI_ADDRESS } from '../openai/protocol.ts';

/** Returns Codex's access to OpenAI, or to another provider of the Responses API. */
export const codexAccessOf: AccessOf = (given, setting) => {
  const key = resolveVariable(given, 'OPENAI_API_KEY') || resolveVariable(given, 'CODEX_API_KEY');
  if (key === '') return { kind: 'direct', environment: given };
  const account = Object.entries(selectVariables(given, Object.keys(ACCOUNT)));
  const headers = Object.fromEntries(account.map(([name, value]) => [ACCOUNT[name] ?? '', value]));
  return createBrokeredAccess(given, setting, {
    keys: { OPENAI_API_KEY: key },
    address: 'OPENAI_BASE_URL',
    standard: OPENAI_ADDRESS,
    withheld: ['CODEX_API_KEY', ...Object.keys(ACCOUNT)],
    path: '/v1',
    protocol: (way) => createOpenAiProtocol({ ...way, apis: ['responses'], basePath: '/v1', headers }),
  });
};

/** Headers by variable that select the paying account, for keys that serve several. */
const ACCOUNT: Readonly<Record<string, string>> = {
  OPENAI_ORGANIZATION: 'openai-organization',
  OPENAI_PROJECT: 'openai-project',
};
