import { loadableAgents } from '../../agents/all.ts';
import type { OpenReader } from '../../cli/inspect/analyze.ts';

/** Creates a reader of an agent's output. Loads only that agent's code. */
export const openReader: OpenReader = async (agent, now) => {
  const output = await loadableAgents[agent].output();
  if (typeof output === 'function') return output({ now, onEvent: null });
  const { createAgentReader } = await import('../../agents/reading/reader.ts');
  return createAgentReader({ dialect: output, now, tokensBefore: null, onEvent: null });
};
