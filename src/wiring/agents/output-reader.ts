import type { OpenReader } from '../../cli/inspect/analyze.ts';
import type { ReadAgent } from '../../core/agent-names.ts';
import type { Dialect } from '../../agents/reading/agent-event.ts';

/** Loads the code of one agent and of no other. */
const DIALECTS: Readonly<Record<Exclude<ReadAgent, 'claude'>, () => Promise<{ readonly dialect: Dialect }>>> = {
  codex: () => import('../../agents/codex/events/dialect.ts'),
  gemini: () => import('../../agents/gemini/events/dialect.ts'),
  opencode: () => import('../../agents/opencode/events/dialect.ts'),
  copilot: () => import('../../agents/copilot/events/dialect.ts'),
  qwen: () => import('../../agents/qwen/events/dialect.ts'),
};

/** Creates a reader of the agent's output. */
export const openReader: OpenReader = async (agent, now) => {
  if (agent === 'claude') {
    const { createOutputReader } = await import('../../agents/claude/output/reader.ts');
    return createOutputReader({ now, onEvent: null });
  }
  const [{ createAgentReader }, { dialect }] = await Promise.all([
    import('../../agents/reading/reader.ts'),
    DIALECTS[agent](),
  ]);
  return createAgentReader({ dialect, now, tokensBefore: null, onEvent: null });
};
