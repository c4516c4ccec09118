import { acpAgent } from './acp/agent.ts';
import { claudeAgent } from './claude/agent.ts';
import { codexAgent } from './codex/agent.ts';
import { commandAgent } from './command/agent.ts';
import { copilotAgent } from './copilot/agent.ts';
import { geminiAgent } from './gemini/agent.ts';
import { opencodeAgent } from './opencode/agent.ts';
import { qwenAgent } from './qwen/agent.ts';

/** The agents by the names that users give them. The first is the default, and the others have this order in lists. */
export const loadableAgents = {
  claude: claudeAgent,
  codex: codexAgent,
  gemini: geminiAgent,
  opencode: opencodeAgent,
  copilot: copilotAgent,
  qwen: qwenAgent,
  acp: acpAgent,
  command: commandAgent,
} as const;
