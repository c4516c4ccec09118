import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { claudeProvider } from '../../agents/cli/providers.ts';
import { loginProblemsOf } from '../agents/providers.ts';
import type { Config } from '../../config/config.ts';

/** How the agent logs in on a person's machine. */
export interface HomeLogin {
  readonly isolation: Config['isolation'];
  /** The agent's own folder, where its own login is used; null: keys of the environment are. */
  readonly agentFolder: string | null;
  readonly problems: readonly string[];
  /** What a person should know of it; null: nothing. */
  readonly note: string | null;
}

/** The keys of the environment, or the login of the agent's own program, which is a file that nothing isolated reaches. */
export function loginAtHome(
  environment: NodeJS.ProcessEnv,
  { isolation, agent }: Pick<Config, 'isolation' | 'agent'>,
  platform: NodeJS.Platform,
): HomeLogin {
  const problems = loginProblemsOf(environment, agent.order);
  const isClaude = agent.order.length === 1 && agent.order[0].name === 'claude';
  if (!isClaude) return { isolation, agentFolder: null, problems, note: null };
  const hasKey = claudeProvider.keys.some((name) => (environment[name] ?? '').trim() !== '');
  if (problems.length === 0 || hasKey) return { isolation, agentFolder: null, problems, note: null };
  const agentFolder = environment.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude');
  // macOS keeps it in its keychain.
  const hasLogin = platform === 'darwin' || existsSync(join(agentFolder, '.credentials.json'));
  if (!hasLogin)
    return {
      isolation,
      agentFolder,
      problems: [
        'There is no login for the agent. Start `claude` once and log in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (`claude setup-token` makes one).',
      ],
      note: null,
    };
  if (isolation.wanted !== 'auto' && isolation.wanted !== 'none')
    return {
      isolation,
      agentFolder,
      problems: [
        `\`isolation: ${isolation.wanted}\` needs a key: an isolated agent does not reach the login in ${agentFolder}. Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (\`claude setup-token\` makes one).`,
      ],
      note: null,
    };
  return {
    isolation: { ...isolation, wanted: 'none' },
    agentFolder,
    problems: [],
    note:
      isolation.wanted === 'none'
        ? null
        : `The agent uses your own login (${agentFolder}), so it is not isolated: it runs as you. To isolate it, set CLAUDE_CODE_OAUTH_TOKEN (claude setup-token makes one) or ANTHROPIC_API_KEY.`,
  };
}
