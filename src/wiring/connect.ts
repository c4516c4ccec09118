import type { Forge } from '../ports/forge.ts';
import type { Repository, WorkTreeFiles } from '../ports/repository.ts';
import { agentsOfSteps } from '../core/pipeline/pipeline.ts';
import type { ConfiguredAgent, WebhookConfig, Config } from '../config/config.ts';
import type { SendWebhook } from '../ports/machine.ts';
import type { AgentConnection, AgentNeeds, Connections } from '../run/deps.ts';
import { createWorkFiles } from '../runner/workspace-files.ts';
import type { AgentLogin } from './agents/agent-settings.ts';
import { connectRemote, openRepository, buildPublishingRules } from './git.ts';
import type { LazyIsolation } from './isolation/isolated.ts';
import { type ServerTimeouts, type World, systemClock } from './world.ts';
import { formatUserAgent } from '../runner/run-context.ts';

/** The connections, with the work tree's files for the entries. */
interface WiredConnections extends Connections {
  /** Returns the text files of the work tree, regardless of the user who owns it. */
  readonly workFiles: () => Promise<WorkTreeFiles>;
}

/** Returns the sender to the user's webhook, whose code is loaded for its first message, or null without a webhook. */
export function openWebhook({ address, secret }: WebhookConfig, isPost: boolean): SendWebhook | null {
  if (address === null) return null;
  const opened = once(async () => {
    const { createWebhook } = await import('../runner/webhook.ts');
    const { fetchFor } = await import('../github/proxied-fetch.ts');
    return createWebhook({ address, secret, isPost, fetch: await fetchFor(address) });
  });
  return async (message) => (await opened())(message);
}

/**
 * Creates the world's ports, each once, at its first use. If `timeouts` is null, each adapter uses its own timeouts.
 */
export function connectPorts(
  world: World,
  { timeouts, isolated }: { readonly timeouts: ServerTimeouts | null; readonly isolated: LazyIsolation },
): WiredConnections {
  const rules = once(() => buildPublishingRules(world));
  const checkout = once(async () => openRepository(world, { rules: await rules(), isolated }));
  const [first, ...others] = world.config.agent.order;
  // Only one agent works at a time, so all share one broker port.
  const door = once(async () => {
    const { listen } = await isolated.open();
    return (await import('../isolation/broker.ts')).shareBrokerPort(listen);
  });
  const connected = (chosen: ConfiguredAgent): WiredAgent => {
    const login = once(async () =>
      (await wiring()).openLogin(world, chosen, { ...(await isolated.open()), listen: await door() }),
    );
    return {
      name: chosen.name,
      login,
      connect: once(async (needs: AgentNeeds) =>
        (await wiring()).createAgent(world, chosen, {
          ...needs,
          isolation: await isolated.open(),
          login: await login(),
        }),
      ),
    };
  };
  const agents = [connected(first), ...others.map(connected)] as const;
  let stepAgents: readonly WiredAgent[] = [];
  let forge: Forge | null = null;
  const github = once(async () => (forge = await connectForge(world, timeouts)));
  return {
    workFiles: once(async () => (await checkout()).files(createWorkFiles)),
    forge: github,
    requests: () => forge?.requests() ?? null,
    refusedWishes: () => forge?.refusedWishes() ?? [],
    // Only post has time limits of its own.
    webhook: openWebhook(world.config.webhook, timeouts !== null),
    remote: once(async () => connectRemote(world, { rules: await rules(), timeouts, forge: github })),
    repository: once(async () =>
      isolatedRepository(await checkout(), { isolated, agents: () => [...agents, ...stepAgents] }),
    ),
    store: once(async () => (await import('./state.ts')).openStore(world, timeouts)),
    seal: once(async () => (await import('./state.ts')).openSeal(world)),
    agent: agents[0].connect,
    agents,
    stepAgents: (pipeline) => {
      const named = agentsOfSteps(pipeline).map(({ name }) => name);
      return (stepAgents = world.config.agent.others.filter(({ name }) => named.includes(name)).map(connected));
    },
    verifier: once(async () => (await wiring()).createVerifyCommands(world, await isolated.open())),
    commands: once(async () => (await wiring()).loadStepCommands(world, await isolated.open())),
    isolation: isolated.facts,
    handoff: async (lane) => (await import('./handoff.ts')).openHandoff(world.config, lane),
    examine: async (known, by) => (await import('./doctor/examine-run.ts')).examineRun(world, known, by),
  };
}

const wiring = () => import('./agent.ts');

/** An agent, and the holder of its keys. */
interface WiredAgent extends AgentConnection {
  readonly login: () => Promise<AgentLogin>;
}

/**
 * Returns the repository with the isolation around it. Before any code of the lane runs in the work tree, closes the
 * network and measures what is still open; afterwards ends all processes.
 */
function isolatedRepository(
  repository: Repository,
  { isolated, agents }: { readonly isolated: LazyIsolation; readonly agents: () => readonly WiredAgent[] },
): Repository {
  return {
    ...repository,
    checkOutTree: async (signal) => {
      const isolation = await isolated.open();
      const leave = await repository.checkOutTree(signal);
      try {
        const ports: number[] = [];
        for (const { login } of agents()) {
          const { broker } = await login();
          if (broker !== null) ports.push(await broker.port());
        }
        const names = agents().map(({ name }) => name);
        await isolation.begin(ports[0] ?? null, names);
      } catch (error) {
        await leave();
        throw error;
      }
      return async () => {
        await isolation.count();
        await leave();
      };
    },
  };
}

function once<T, Given extends readonly unknown[] = []>(
  make: (...given: Given) => Promise<T>,
): (...given: Given) => Promise<T> {
  let made: Promise<T> | null = null;
  return (...given) => (made ??= make(...given));
}

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
