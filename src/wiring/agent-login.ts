import { brokerEnvironment, loginOf, type AwsSigning, type BrokeredLogin } from '../agents/claude/login.ts';
import { UserError } from '../errors.ts';
import { proxiedFetch } from '../github/proxied-fetch.ts';
import type { PlacedBroker } from '../isolation/broker.ts';
import type { Sign } from '../ports/broker.ts';
import type { Isolation } from './isolation/isolation.ts';

/** The agent's environment, and what holds the keys that were in it; null: they stay there. */
export interface AgentLogin {
  readonly environment: Readonly<Record<string, string>>;
  readonly broker: PlacedBroker | null;
}

/** Takes the keys out of the agent's environment, where its provider is one that a broker can stand before; throws UserError for an address that is none. */
export async function loginFor(
  given: Readonly<Record<string, string>>,
  { allowedTools, listen }: { readonly allowedTools: readonly string[] } & Pick<Isolation, 'listen'>,
): Promise<AgentLogin> {
  const login = loginOf(given);
  if (login.kind === 'unusable') throw new UserError('configuration', login.problem);
  if (login.kind === 'direct') return { environment: login.environment, broker: null };
  const [
    { createBroker },
    { createDirectSend, createFetchSend },
    { claudeProtocol },
    { bedrockApi, messagesApi, vertexApi },
  ] = await Promise.all([
    import('../isolation/broker.ts'),
    import('../isolation/provider-connection.ts'),
    import('../agents/claude/messages/protocol.ts'),
    import('../agents/claude/messages/endpoints.ts'),
  ]);
  const { api, environment, provider, keys, headers } = login;
  const broker = createBroker({
    protocol: claudeProtocol({
      api: api.kind === 'bedrock' ? bedrockApi : api.kind === 'vertex' ? vertexApi(api.models) : messagesApi,
      headers,
      mayWebSearch: allowedTools.some((rule) => /^WebSearch(?:\(|$)/.test(rule)),
    }),
    provider,
    keys,
    secrets: secretsOf(login),
    environmentFor: (at) => brokerEnvironment(login, at),
    sign: api.kind === 'bedrock' && api.signing !== null ? await signer(api.signing) : null,
    listen,
    connect: async () => {
      const throughProxy = await proxiedFetch(provider);
      return throughProxy === null ? createDirectSend() : createFetchSend(throughProxy);
    },
  });
  return { environment, broker };
}

/** A shorter value of a header is a setting, and nothing that anybody would hide. */
const MIN_SECRET_CHARS = 8;

function secretsOf({ api, keys, headers }: BrokeredLogin): readonly string[] {
  const signing = api.kind === 'bedrock' ? api.signing : null;
  const others = [...Object.values(headers), signing?.secretAccessKey ?? '', signing?.sessionToken ?? ''];
  return [...Object.values(keys), ...others].filter((value) => value.length >= MIN_SECRET_CHARS);
}

async function signer(signing: AwsSigning): Promise<Sign> {
  const { createAwsSigner } = await import('../isolation/aws-signature.ts');
  return createAwsSigner(signing);
}
