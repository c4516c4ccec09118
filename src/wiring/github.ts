import type { Config } from '../config/config.ts';
import type { Forge } from '../ports/forge.ts';
import { formatUserAgent } from '../runner/user-agent.ts';
import { systemClock, type ServerTimeouts, type World } from './world.ts';

/** Connects to GitHub's API. */
export async function connectForge(
  world: Pick<World, 'environment' | 'context' | 'log' | 'debug'> & { readonly config: Pick<Config, 'githubToken'> },
  timeouts: ServerTimeouts | null,
): Promise<Forge> {
  const { environment, config, context, log, debug } = world;
  const [{ createForge }, { withWishes }] = await Promise.all([
    import('../github/forge.ts'),
    import('../github/wishes/with-wishes.ts'),
  ]);
  const adapter = createForge({
    token: config.githubToken,
    tokenFrom: 'input',
    apiUrl: context.apiUrl,
    repository: context.repository,
    userAgent: formatUserAgent(environment),
    log,
    debug,
    now: systemClock.now,
    ...(timeouts === null ? {} : { pace: timeouts.request }),
  });
  return withWishes(adapter);
}
