import { brokerEnvironment, loginOf } from '../agents/claude/login.ts';
import { UserError } from '../errors.ts';
import { fetchFor } from '../github/proxied-fetch.ts';
import type { Broker } from '../ports/broker.ts';

/** The agent's environment, and what holds the keys that were in it; null: they stay there. */
export interface AgentLogin {
  readonly environment: Readonly<Record<string, string>>;
  readonly broker: Broker | null;
}

/** Takes the keys out of the agent's environment, where its provider is one that a broker can stand before; throws UserError for an address that is none. */
export async function loginFor(
  given: Readonly<Record<string, string>>,
  allowedTools: readonly string[],
): Promise<AgentLogin> {
  const login = loginOf(given);
  if (login.kind === 'unusable') throw new UserError('configuration', login.problem);
  if (login.kind === 'direct') return { environment: login.environment, broker: null };
  const [{ createBroker }, { claudeProtocol }] = await Promise.all([
    import('../isolation/broker.ts'),
    import('../agents/claude/messages/protocol.ts'),
  ]);
  const { environment, provider, keys, headers } = login;
  const broker = createBroker({
    protocol: claudeProtocol({ headers, mayWebSearch: allowedTools.some((rule) => /^WebSearch(?:\(|$)/.test(rule)) }),
    provider,
    keys,
    environmentFor: (at) => brokerEnvironment(environment, at),
    connect: () => fetchFor(provider),
  });
  return { environment, broker };
}
