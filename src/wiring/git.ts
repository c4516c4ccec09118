import { join } from 'node:path';
import { listCoAuthors } from './agents/providers.ts';
import type { Checkout } from '../git/checkout/checkout.ts';
import type { PublishingRules } from '../git/inspection/inspection.ts';
import type { Forge } from '../ports/forge.ts';
import type { Remote } from '../ports/remote.ts';
import type { RunIdentity } from '../runner/run-context.ts';
import type { LazyIsolation } from './isolation/isolated.ts';
import type { ServerTimeouts, World } from './world.ts';

/** The author of the loop's commits, and of the agent's own commits if the checkout names none. */
export const COMMIT_IDENTITY = { name: 'ralph-action', email: 'ralph-action@users.noreply.github.com' } as const;

/** Returns the folder of a run's repositories and trees. */
export function locateGitFolder({ runFolder }: Pick<RunIdentity, 'runFolder'>): string {
  return join(runFolder, 'git');
}

/** Connects to the remote side of the repository. */
export async function connectRemote(
  world: World,
  options: {
    readonly rules: PublishingRules;
    readonly timeouts: ServerTimeouts | null;
    readonly forge: () => Promise<Pick<Forge, 'makeCommit'>>;
  },
): Promise<Remote> {
  const { rules, timeouts, forge } = options;
  const { signCommits } = world.config;
  const [{ createRemote }, { locateQuarantine: quarantineFolder }] = await Promise.all([
    import('../git/remote/remote.ts'),
    import('../git/checkout/quarantine.ts'),
  ]);
  return createRemote({
    url: world.remoteUrl,
    token: world.config.githubToken,
    branchPrefix: world.config.branchPrefix,
    baseBranch: world.config.baseBranch,
    folder: world.config.workingDirectory,
    workFolder: join(world.runFolder, 'push'),
    quarantineFolder: quarantineFolder(locateGitFolder(world)),
    rules,
    identity: COMMIT_IDENTITY,
    coAuthors: listCoAuthors(world.config.agent.order),
    signer:
      signCommits === 'false'
        ? null
        : { isWanted: signCommits === 'true', make: async (commit) => (await forge()).makeCommit(commit) },
    env: world.environment,
    log: world.log,
    ...(timeouts === null ? {} : { commandTimeoutMs: timeouts.gitCommandMs }),
  });
}

/** Opens the checkout in which the run works, as the port Repository. */
export async function openRepository(
  world: World,
  { rules, isolated }: { readonly rules: PublishingRules; readonly isolated: LazyIsolation },
): Promise<Checkout> {
  const { createRepository } = await import('../git/checkout/checkout.ts');
  const { config, context } = world;
  return createRepository({
    folder: context.workspace,
    remote: { url: world.remoteUrl, token: config.githubToken },
    workingDirectory: config.workingDirectory,
    workFolder: locateGitFolder(world),
    rules,
    identity: COMMIT_IDENTITY,
    signOff: config.signOff,
    env: world.environment,
    log: world.log,
    learnSecrets: world.secrets.learn,
    agentSandbox: async () => {
      const { agentSandbox, environmentFor } = await isolated.open();
      if (agentSandbox === null) return null;
      const { createWorkerProgram: sandboxWorkerProgram } = await import('./isolation/sandbox-place.ts');
      const { file, args } = sandboxWorkerProgram(world.actionFolder);
      const environment = environmentFor({ PATH: world.environment['PATH'] ?? '' });
      return { agentSandbox, worker: { file, args: [...args, 'tree'], environment } };
    },
  });
}

/** Returns the rules that decide what may be published; they are the same for commits and pushes. */
export async function buildPublishingRules({ config, secrets }: World): Promise<PublishingRules> {
  const { createSecretScanner } = await import('../secrets/scanner.ts');
  return {
    allowProtectedPaths: config.allowProtectedPaths,
    maxPatchFiles: config.maxPatchFiles,
    maxPatchKib: config.maxPatchKib,
    secretValues: () => [...secrets.values(), config.githubToken],
    scanner: createSecretScanner(),
  };
}
