import type { GitHubCheckout, LookAtGitHub, RepositoryAccess } from '../cli/arguments.ts';
import { UserError } from '../errors.ts';
import { repositoryOfRemote } from '../git/names.ts';
import type { ForgeOptions } from '../github/client.ts';
import type { Log } from '../ports/machine.ts';
import { formatUserAgent } from '../runner/run-context.ts';

const GITHUB_HOSTS: readonly string[] = ['github.com', 'www.github.com', 'ssh.github.com'];

/** Runs `look` with the command line's GitHub: the repository of the checkout's remote, with the person's own token. */
export const lookAtGitHub: LookAtGitHub = async (checkout, look) => {
  const token = (process.env.GITHUB_TOKEN ?? process.env.GH_TOKEN ?? '').trim();
  if (token === '') return { kind: 'no-token' };
  try {
    return { kind: 'seen', value: await look(await connect(checkout, token)) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'failed', why: error.message };
  }
};

async function connect(checkout: GitHubCheckout, token: string): Promise<RepositoryAccess> {
  const [{ createForge }, options] = await Promise.all([
    import('../github/forge.ts'),
    findOwnRepository(checkout, token),
  ]);
  const { owner, repo } = options.repository;
  return { repository: `${owner}/${repo}`, forge: createForge(options) };
}

/** Exit code of git outside of a repository. */
const NO_CHECKOUT = 128;

/**
 * Returns the checkout's repository with its person's access. Throws UserError if it is not on a server that may have
 * the token.
 */
export async function findOwnRepository({ folder, remote, log }: GitHubCheckout, token: string): Promise<ForgeOptions> {
  const { createGit } = await import('../git/git.ts');
  const name = remote ?? 'origin';
  const { exitCode, stdout } = await createGit({ folder, env: process.env, configuration: 'own' }).answer([
    'remote',
    'get-url',
    name,
  ]);
  const named = exitCode === 0 ? repositoryOfRemote(stdout.toString().trim()) : null;
  if (named === null)
    throw new UserError(
      'configuration',
      exitCode === NO_CHECKOUT
        ? `${JSON.stringify(folder)} is not in a checkout of git. Go into one, or name it with --dir.`
        : `The checkout ${JSON.stringify(folder)} has no remote ${JSON.stringify(name)} on a GitHub server. Add it with "git remote add ${name} URL".`,
    );
  // Send a token only to a server that the person named, never to one that a checkout names.
  const apiUrl =
    process.env.GITHUB_API_URL ?? (GITHUB_HOSTS.includes(named.host.toLowerCase()) ? 'https://api.github.com' : null);
  if (apiUrl === null)
    throw new UserError(
      'configuration',
      `The remote ${JSON.stringify(name)} is on ${named.host}. To send the token there, set GITHUB_API_URL, for a GitHub Enterprise Server https://${named.host}/api/v3.`,
    );
  return {
    token,
    tokenFrom: 'person',
    apiUrl: apiUrl.replace(/\/+$/, ''),
    repository: named.repository,
    userAgent: formatUserAgent(process.env),
    log: createPrintingLog(log),
    now: () => Date.now(),
  };
}

/** Creates a log that prints all its lines to the person, without levels. */
export function createPrintingLog(print: (line: string) => void): Log {
  return {
    info: print,
    warning: print,
    error: print,
    group: (title, body) => {
      print(title);
      return body();
    },
  };
}
