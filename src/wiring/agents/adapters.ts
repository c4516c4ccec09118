import type { AccessOf } from '../../agents/cli/access.ts';
import type { AgentName } from '../../core/agent-names.ts';
import type { AgentCli } from '../../agents/cli/cli.ts';

/** The code of one agent. */
interface Adapter {
  readonly cli: () => Promise<{ readonly cli: AgentCli }>;
  readonly access: () => Promise<{ readonly accessOf: AccessOf }>;
}

/** Of no agent is the code loaded that is not used. */
export const ADAPTERS: Readonly<Record<AgentName, Adapter>> = {
  claude: { cli: () => import('../../agents/claude/cli.ts'), access: () => import('../../agents/claude/access.ts') },
  codex: { cli: () => import('../../agents/codex/cli.ts'), access: () => import('../../agents/codex/access.ts') },
  gemini: { cli: () => import('../../agents/gemini/cli.ts'), access: () => import('../../agents/gemini/access.ts') },
  opencode: {
    cli: () => import('../../agents/opencode/cli.ts'),
    access: () => import('../../agents/opencode/access.ts'),
  },
  copilot: { cli: () => import('../../agents/copilot/cli.ts'), access: () => import('../../agents/copilot/access.ts') },
  qwen: { cli: () => import('../../agents/qwen/cli.ts'), access: () => import('../../agents/qwen/access.ts') },
  command: { cli: () => import('../../agents/command/cli.ts'), access: () => import('../../agents/command/access.ts') },
};
