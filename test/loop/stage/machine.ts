import { createHash } from 'node:crypto';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import type { AgentName } from '../../../src/core/agent-names.ts';
import { agentsOfSteps } from '../../../src/core/pipeline/pipeline.ts';
import type { Config, RunContext } from '../../../src/config/config.ts';
import type { McpServer } from '../../../src/core/mcp/values.ts';
import type { Agent, CommandCall } from '../../../src/ports/agent.ts';
import type { Clock } from '../../../src/ports/machine.ts';
import type { HandoffFolder, HandoffName } from '../../../src/ports/handoff.ts';
import type { AgentNeeds, Connections } from '../../../src/run/deps.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { createAgent, type AgentScript } from './behaviours.ts';
import { sealWith } from './in-memory-state.ts';
import { createCheckout, type Checkout } from './in-memory.ts';
import { placedCheckout } from './placed.ts';
import { handedFilesOf, type Project } from './project.ts';
import type { LaneId } from '../../../src/core/tasks/ids.ts';
import { tapped, type Tap } from './tap.ts';

/** The machine of one job: post finds the files that main leaves there. */
export interface Machine {
  readonly config: Config;
  readonly context: RunContext;
  readonly runTag: string;
  readonly clock: Clock;
  readonly checkout: Checkout;
  readonly agent: Agent;
  readonly others: readonly { readonly name: AgentName; readonly agent: Agent }[];
  readonly stepAgents: Machine['others'];
  /** Returns the number of agent calls made here. */
  readonly calls: () => number;
  /** The reason why the disk accepts no record, or null if it does. */
  diskProblem: Error | null;
  /** The run's record as on disk. */
  record: string;
  /** The journal as on disk. */
  journal: string;
  /** The packed receipt; null until one is kept. */
  receipt: Uint8Array | null;
  /** The MCP servers given to the agent, or null if no agent ran here. */
  mcpServers: readonly McpServer[] | null;
}

/** Creates a new machine in the state in which main starts. */
export function createMachine(
  project: Project,
  {
    config,
    context,
    runTag,
    skewMs,
  }: { readonly config: Config; readonly context: RunContext; readonly runTag: string; readonly skewMs: number },
): Machine {
  const { script, origin } = project;
  const checkout = createCheckout(origin);
  checkout.allowed = config.allowProtectedPaths;
  let calls = 0;
  const onMachine = (name: AgentName, own: AgentScript): Agent => {
    const agent = createAgent(own, { name, checkout, clock: project.clock });
    const call: Agent['call'] = (asked) => {
      const before = own.calls.length;
      const answer = agent.call(asked);
      calls += own.calls.length - before;
      return answer;
    };
    return { ...agent, call };
  };
  const clock: Clock = { now: () => project.clock.now() + skewMs };
  const record: RunRecord = {
    version: 2,
    stage: 'gate',
    startedAt: clock.now(),
    steeringDigest: null,
    claimed: [],
    work: null,
  };
  return {
    config,
    context,
    runTag,
    clock,
    checkout,
    agent: onMachine('claude', script),
    others: project.others.map(([name, own]) => ({ name, agent: onMachine(name, own) })),
    stepAgents: project.stepAgents.map(([name, own]) => ({ name, agent: onMachine(name, own) })),
    calls: () => calls,
    diskProblem: null,
    record: JSON.stringify(record),
    journal: '',
    receipt: null,
    mcpServers: null,
  };
}

/** Returns the ports of one process on the machine, main or post: the real stores over data in memory. */
export function connectionsOf(project: Project, machine: Machine, tap: Tap): Connections {
  const { config, clock } = machine;
  const { stateStore } = config;
  // A new process does not know yet what the server requires.
  project.remote.isSigning = false;
  const isKept = stateStore === 'auto' || stateStore === 'ref';
  const isCopied = stateStore === 'auto' || stateStore === 'cache';
  const store = createSnapshotStore({
    place: isKept ? tapped('refs', project.kept.refs, tap) : null,
    copies: isCopied ? { place: 'cache', store: tapped('cache', project.kept.cache, tap) } : null,
    conversations: isKept ? tapped('conversations', project.kept.conversations, tap) : null,
    now: clock.now,
    pace: { random: () => 0, sleep: () => Promise.resolve() },
  });
  const connectAgent = (needs: AgentNeeds) => {
    machine.mcpServers = needs.mcpServers;
    return Promise.resolve(tapped('agent', machine.agent, tap));
  };
  const forge = withWishes(tapped('forge', project.forge, tap));
  return {
    forge: () => Promise.resolve(forge),
    requests: () => project.forge.requests(),
    refusedWishes: () => forge.refusedWishes(),
    webhook: config.webhook.address === null ? null : project.webhook,
    remote: () => Promise.resolve(tapped('remote', project.remote, tap)),
    repository: () =>
      Promise.resolve(tapped('repository', placedCheckout(machine.checkout, config.workingDirectory), tap)),
    store: () => Promise.resolve(store),
    seal: () => Promise.resolve(sealWith(project.script.key)),
    agent: connectAgent,
    agents: [
      { name: 'claude', connect: connectAgent },
      ...machine.others.map(({ name, agent }) => ({ name, connect: () => Promise.resolve(tapped(name, agent, tap)) })),
    ],
    stepAgents: (pipeline) => {
      const named = agentsOfSteps(pipeline).map(({ name }) => name);
      return machine.stepAgents
        .filter(({ name }) => named.includes(name))
        .map(({ name, agent }) => ({ name, connect: () => Promise.resolve(tapped(name, agent, tap)) }));
    },
    verifier: () => Promise.resolve(tapped('verifier', project.verifier, tap)),
    commands: () =>
      Promise.resolve(
        tapped('commands', { run: (call: CommandCall) => Promise.resolve(project.command(call, machine)) }, tap),
      ),
    isolation: () => null,
    handoff: (lane) => {
      const of = config.handoff.lane === 'each' ? (lane ?? '') : config.handoff.lane;
      return Promise.resolve(tapped('handoff', handoffOf(project, of), tap));
    },
    examine: () => Promise.resolve(project.findings),
  };
}

/** Returns the folder through which jobs hand over; a bundle in it is identified by its newest commit. */
function handoffOf(project: Project, lane: LaneId): HandoffFolder {
  const { origin } = project;
  const handoff = handedFilesOf(project, lane);
  const pathOf = (name: HandoffName): string => (lane === '' ? name : `${lane}/${name}`);
  const contentOf = (name: HandoffName): Uint8Array | null => {
    const bundled = origin.bundles.get(pathOf(name));
    return handoff.get(name) ?? (bundled === undefined ? null : Buffer.from(bundled));
  };
  return {
    read: (name) => Promise.resolve(contentOf(name)),
    fingerprint: (name) => {
      const content = contentOf(name);
      return Promise.resolve(
        content === null ? null : { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length },
      );
    },
    write: (name, content) => {
      handoff.set(name, Buffer.from(content));
      return Promise.resolve();
    },
    pathOf: (name) => Promise.resolve(pathOf(name)),
    move: (from, to) => {
      const bundled = origin.bundles.get(pathOf(from));
      if (bundled !== undefined) origin.bundles.set(pathOf(to), bundled);
      origin.bundles.delete(pathOf(from));
      return Promise.resolve();
    },
    remove: (name) => {
      handoff.delete(name);
      origin.bundles.delete(pathOf(name));
      return Promise.resolve();
    },
  };
}
