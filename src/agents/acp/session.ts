import { type ClientContext, methods, type McpServer as ProtocolServer } from '@agentclientprotocol/sdk';
import { type McpServer, replaceVariables } from '../../core/mcp/values.ts';
import type { AgentFailure } from '../reading/agent-event.ts';
import { asArray, asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { createPlainFailure } from './events/updates.ts';

/** Returns the session's option for this category, such as `model`, if the agent offers one. */
export function findSessionOption(
  opened: JsonObject | null,
  category: 'model' | 'thought_level',
): JsonObject | null | undefined {
  return asArray(opened?.['configOptions'])
    .map(asObject)
    .find((one) => one?.['category'] === category);
}

/** Sets the session's model to one that the agent offers. Returns the failure, or null. */
export async function chooseModel(
  agent: ClientContext,
  { id: sessionId, offered }: { readonly id: string; readonly offered: ReturnType<typeof findSessionOption> },
  model: string,
): Promise<AgentFailure | null> {
  const values = asArray(offered?.['options'])
    .map(asObject)
    .flatMap((one) => [one, ...asArray(one?.['options']).map(asObject)])
    .map((one) => asString(one?.['value']));
  const configId = asString(offered?.['id']);
  if (configId === null || !values.includes(model))
    return createPlainFailure(
      `The model ${model} is not available: the agent offers ${values.filter(Boolean).join(', ') || 'none, so name it in `agent-args` instead of `model`'}.`,
    );
  await agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value: model });
  return null;
}

/** Returns a server in the form of the protocol, with the values of its variables. */
export function buildProtocolServer(server: McpServer, variables: Readonly<Record<string, string>>): ProtocolServer {
  const put = (value: string): string => replaceVariables(value, variables);
  const pairs = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => ({ name, value: put(value) }));
  const { name } = server;
  return server.kind === 'command'
    ? { name, command: put(server.command), args: server.args.map(put), env: pairs(server.env) }
    : { name, type: server.transport, url: server.url, headers: pairs(server.headers) };
}
