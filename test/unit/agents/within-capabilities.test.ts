import { expect, test } from 'vitest';
import type { Agent, AgentCall, AgentRun } from '../../../src/ports/agent.ts';
import { restrictToCapabilities } from '../../../src/wiring/agents/agent-settings.ts';

const denial = { tool: 'Bash', command: 'docker ps' };

/** Returns the session that an agent is asked to resume, and which of its denials and sessions are accepted. */
async function called(capabilities: { readonly resume: boolean; readonly denials: boolean }) {
  const heard: (string | null)[] = [];
  const agent = {
    call: ({ resume }: AgentCall) => {
      heard.push(resume);
      return Promise.resolve({ analysis: { denials: [denial], sessionId: 'new', tokens: 7 } } as unknown as AgentRun);
    },
  } as unknown as Agent;
  const { analysis } = await restrictToCapabilities(agent, capabilities).call({ resume: 'old' } as AgentCall);
  return { heard, analysis };
}

test.each([
  [
    { resume: true, denials: true },
    { heard: ['old'], analysis: { denials: [denial], sessionId: 'new', tokens: 7 } },
  ],
  [
    { resume: true, denials: false },
    { heard: ['old'], analysis: { denials: [], sessionId: 'new', tokens: 7 } },
  ],
  [
    { resume: false, denials: true },
    { heard: [null], analysis: { denials: [denial], sessionId: null, tokens: 7 } },
  ],
])('%j', async (capabilities, seen) => {
  expect(await called(capabilities)).toEqual(seen);
});
