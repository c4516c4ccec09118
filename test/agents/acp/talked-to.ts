import { createAcpBase } from '../../../src/agents/acp/cli.ts';
import type { AgentCli, CliCall, CliPlace, PreparedCall } from '../../../src/agents/cli/cli.ts';
import type { AgentName } from '../../../src/core/agent-names.ts';

/** Returns a CLI that runs over the Agent Client Protocol; `start` returns how it is started. */
export function talkedTo(
  name: AgentName,
  cli: AgentCli,
  start: (
    call: CliCall,
    place: CliPlace,
  ) => Promise<Pick<PreparedCall, 'environment'> & Partial<Pick<PreparedCall, 'args'>>>,
): AgentCli {
  const { prepare, kindOfDenial, judgeStall } = createAcpBase(name);
  return {
    ...cli,
    kindOfDenial,
    judgeStall,
    prepare: async (call, place) => ({
      ...(await prepare({ ...call, model: null, turnLimit: null }, place)),
      ...(await start(call, place)),
    }),
  };
}
