import type { Forge } from '../ports/forge.ts';
import type { Connections } from '../river/deps.ts';
import { createAgent, createCommands } from './agent.ts';
import { connectRemote, openRepository, publishingRules } from './git.ts';
import { connectForge } from './github.ts';
import { openHandoff } from './handoff.ts';
import { openBudget, openRefs, openSeal, openStore } from './state.ts';
import type { Patience, World } from './world.ts';

/** The world's ports, each made at its first use and once. `patience`: null leaves it to each adapter. */
export function connect(world: World, patience: Patience | null): Connections {
  const { stateStore } = world.config;
  const refs = once(() => openRefs(world, patience));
  const rules = once(() => publishingRules(world));
  let forge: Forge | null = null;
  return {
    forge: once(async () => (forge = await connectForge(world, patience))),
    requests: () => forge?.requests() ?? null,
    remote: once(async () => connectRemote(world, await rules(), patience)),
    repository: once(async () => openRepository(world, await rules())),
    store: once(async () => openStore(world, stateStore === 'cache' ? null : await refs())),
    budget: once(async () =>
      stateStore === 'cache' || stateStore === 'none' ? null : openBudget((await refs()).cells),
    ),
    seal: once(() => Promise.resolve(openSeal(world))),
    agent: once(() => createAgent(world)),
    verifier: once(() => createCommands(world)),
    handoff: once(() => openHandoff(world.config)),
    examine: async (known, by) => (await import('./doctor/examine-run.ts')).examineRun(world, known, by),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
