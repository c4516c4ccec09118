import { acpCli } from '../../../src/agents/acp/cli.ts';
import type { AgentCli, CliCall, CliPlace, PreparedCall } from '../../../src/agents/cli/cli.ts';

/** Returns a CLI that runs over the Agent Client Protocol; `start` returns how it is started. */
export function talkedTo(
  cli: AgentCli,
  start: (
    call: CliCall,
    place: CliPlace,
  ) => Promise<Pick<PreparedCall, 'environment'> & Partial<Pick<PreparedCall, 'args'>>>,
): AgentCli {
  return {
    ...cli,
    kindOfDenial: acpCli.kindOfDenial,
    judgeStall: acpCli.judgeStall,
    prepare: async (call, place) => ({
      ...(await acpCli.prepare({ ...call, model: null }, place)),
      ...(await start(call, place)),
    }),
  };
}
