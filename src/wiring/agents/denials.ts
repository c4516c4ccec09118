import type { AgentName } from '../../core/agent-names.ts';
import type { KindsOfDenial } from '../../core/journal/replay.ts';
import type { KindOfDenial } from '../../core/lane/denials.ts';

/** Of each agent what its refused calls amount to, without the code that runs it. */
const RULES: Readonly<Record<AgentName, () => Promise<{ readonly kindOfDenial: KindOfDenial }>>> = {
  claude: () => import('../../agents/claude/events/allow-rules.ts'),
  codex: () => import('../../agents/codex/tool-rules.ts'),
  gemini: () => import('../../agents/gemini/tool-rules.ts'),
  opencode: () => import('../../agents/opencode/tool-rules.ts'),
  copilot: () => import('../../agents/copilot/tool-rules.ts'),
  qwen: () => import('../../agents/qwen/tool-rules.ts'),
  command: () => import('../../agents/command/tool-rules.ts'),
};

/** Loads the rules of these agents and of no other. */
export async function kindsOfDenial(agents: readonly AgentName[]): Promise<KindsOfDenial> {
  const loaded = new Map(
    await Promise.all(agents.map(async (agent) => [agent, (await RULES[agent]()).kindOfDenial] as const)),
  );
  return (agent) => {
    const kind = loaded.get(agent);
    if (kind === undefined) throw new Error(`the rules of ${agent} were not loaded`);
    return kind;
  };
}
