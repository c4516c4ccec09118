import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { AGENTS } from '../../core/agent-names.ts';
import type { AgentManifest } from '../../core/agents/manifest.ts';
import { listLoginProblems } from '../agents/providers.ts';
import type { Config } from '../../config/config.ts';

/** The agent's login on a person's machine. */
export interface HomeLogin {
  readonly isolation: Config['isolation'];
  /** The agent's own folder if its own login is used, or null if keys of the environment are used. */
  readonly agentFolder: string | null;
  readonly problems: readonly string[];
  /** A sentence about the login for the person, or null if there is nothing to say. */
  readonly note: string | null;
}

/**
 * Returns the login: keys of the environment, or the login of the agent's own program. The latter is a file that an
 * isolated agent cannot reach.
 */
export function findHomeLogin(
  environment: NodeJS.ProcessEnv,
  { isolation, agent }: Pick<Config, 'isolation' | 'agent'>,
  platform: NodeJS.Platform,
): HomeLogin {
  const problems = listLoginProblems(environment, agent.order);
  const [{ name }, another] = agent.order;
  const { ownLogin, keys } = AGENTS[name].provider;
  const hasKey = keys.some((variable) => (environment[variable] ?? '').trim() !== '');
  if (ownLogin === null || another !== undefined || problems.length === 0 || hasKey)
    return { isolation, agentFolder: null, problems, note: null };
  const agentFolder = findCliFolder(ownLogin, environment);
  // macOS keeps the login in its keychain, so there is no file to look for.
  const hasLogin = platform === 'darwin' || existsSync(join(agentFolder, ownLogin.file));
  if (!hasLogin)
    return {
      isolation,
      agentFolder,
      problems: [
        `There is no login for the agent. Start \`${ownLogin.program}\` once and log in, or set ${ownLogin.otherwise}.`,
      ],
      note: null,
    };
  if (isolation.wanted !== 'auto' && isolation.wanted !== 'none')
    return {
      isolation,
      agentFolder,
      problems: [
        `\`isolation: ${isolation.wanted}\` needs a key: an isolated agent cannot use the login in ${agentFolder}. Set ${ownLogin.otherwise}.`,
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
        : `The agent uses your own login (${agentFolder}), so it is not isolated: it runs as you. To isolate it, set ${ownLogin.otherwise}.`,
  };
}

/** Returns the folder in which a person's own CLI keeps its files. */
export function findCliFolder(
  { folderVariable, folder }: Pick<NonNullable<AgentManifest['provider']['ownLogin']>, 'folderVariable' | 'folder'>,
  environment: NodeJS.ProcessEnv,
): string {
  return environment[folderVariable] ?? join(homedir(), folder);
}
