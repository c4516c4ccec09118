import type { AccessSetting } from '../../agents/cli/access.ts';
import type { AgentName } from '../../core/agent-names.ts';
import { UserError } from '../../errors.ts';
import { proxiedFetch } from '../../github/proxied-fetch.ts';
import type { BrokerOptions, PlacedBroker } from '../../isolation/broker.ts';
import { ADAPTERS } from './adapters.ts';

/** The agent's environment, and what holds the keys that were in it; null: they stay there. */
export interface AgentLogin {
  readonly environment: Readonly<Record<string, string>>;
  readonly broker: PlacedBroker | null;
  /** Whether the price of a model is known, so that a limit in dollars can bind it; null: nobody counts its requests. */
  readonly hasPrice: ((model: string) => boolean) | null;
}

/** Takes the keys out of the agent's environment, where its provider is one that a broker can stand before; throws UserError for an address that is none. */
export async function loginFor(
  agent: AgentName,
  given: Readonly<Record<string, string>>,
  { listen, ...setting }: AccessSetting & Pick<BrokerOptions, 'listen'>,
): Promise<AgentLogin> {
  const { accessOf } = await ADAPTERS[agent].access();
  const access = accessOf(given, setting);
  if (access.kind === 'unusable') throw new UserError('configuration', access.problem);
  if (access.kind === 'direct') return { environment: access.environment, broker: null, hasPrice: null };
  const [{ createBroker }, { createDirectSend, createFetchSend }] = await Promise.all([
    import('../../isolation/broker.ts'),
    import('../../isolation/provider-connection.ts'),
  ]);
  const { provider, signWith, environment, ...rest } = access;
  const broker = createBroker({
    ...rest,
    provider,
    sign: signWith === null ? null : (await import('../../isolation/aws-signature.ts')).createAwsSigner(signWith),
    listen,
    connect: async () => {
      const throughProxy = await proxiedFetch(provider);
      return throughProxy === null ? createDirectSend() : createFetchSend(throughProxy);
    },
  });
  return { environment, broker, hasPrice: rest.protocol.hasPrice };
}
