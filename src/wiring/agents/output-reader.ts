import type { OpenReader } from '../../cli/inspect/analyze.ts';
import type { ReadAgent } from '../../core/agent-names.ts';
import type { Dialect } from '../../agents/reading/agent-event.ts';

/** Loads the dialect of one agent, and the code of no other. */
export const DIALECTS: Readonly<Record<Exclude<ReadAgent, 'claude'>, () => Promise<Dialect>>> = {
  codex: async () => (await import('../../agents/codex/events/dialect.ts')).codexDialect,
  gemini: async () => (await import('../../agents/gemini/events/dialect.ts')).geminiDialect,
  opencode: async () => (await import('../../agents/opencode/events/dialect.ts')).opencodeDialect,
  copilot: async () => (await import('../../agents/copilot/events/dialect.ts')).copilotDialect,
  qwen: async () => (await import('../../agents/qwen/events/dialect.ts')).qwenDialect,
};

/** Creates a reader of the agent's output. */
export const openReader: OpenReader = async (agent, now) => {
  if (agent === 'claude') {
    const { createOutputReader } = await import('../../agents/claude/output/reader.ts');
    return createOutputReader({ now, onEvent: null });
  }
  const [{ createAgentReader }, dialect] = await Promise.all([
    import('../../agents/reading/reader.ts'),
    DIALECTS[agent](),
  ]);
  return createAgentReader({ dialect, now, tokensBefore: null, onEvent: null });
};
