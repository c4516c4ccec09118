import type { Capabilities } from '../../core/agent-names.ts';
import type { Agent, AgentCall, AgentRun } from '../../ports/agent.ts';

/** An agent by its table: what it does not offer is neither asked of it nor believed of what it prints. */
export function withinCapabilities(agent: Agent, { resume, denials }: Pick<Capabilities, 'resume' | 'denials'>): Agent {
  return {
    ...agent,
    call: async (call: AgentCall): Promise<AgentRun> => {
      const run = await agent.call(resume ? call : { ...call, resume: null });
      const { analysis } = run;
      return {
        ...run,
        analysis: {
          ...analysis,
          sessionId: resume ? analysis.sessionId : null,
          denials: denials ? analysis.denials : [],
        },
      };
    },
  };
}
