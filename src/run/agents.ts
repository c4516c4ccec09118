import { createHash } from 'node:crypto';
import type { AgentName } from '../core/agent-names.ts';
import { chooseAgentToCall } from '../core/lane/decide.ts';
import { listSessions } from '../core/lane/session.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Policy } from '../core/policy.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { packTranscripts, pickSealedTranscript, type SealedPart } from '../handover/conversations.ts';
import type { Work, WorkIntake } from '../handover/intake.ts';
import type { LoopAgent, LoopDeps, OpenedAgent } from '../loop/deps.ts';
import type { Agent, AgentIdentity } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { Seal, StateStore } from '../ports/state.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { type AgentConnection, type AgentNeeds, type Connections, NO_NEEDS } from './deps.ts';

/**
 * Returns the agents of a run, not yet opened. `prepared` receives the name and version of each agent when it is
 * opened.
 */
export function createLoopAgents(
  { agents: [first, ...others], stepAgents }: Pick<Connections, 'agents' | 'stepAgents'>,
  needs: AgentNeeds,
  prepared: (called: AgentIdentity) => void,
): LoopAgents {
  const openingOf = (agent: AgentConnection): LoopAgent => createLazyAgent(agent, needs, prepared);
  return {
    agents: [openingOf(first), ...others.map(openingOf)],
    stepAgents: stepAgents(needs.pipeline).map(openingOf),
  };
}

/** The agents that a run may call. */
export type LoopAgents = Pick<LoopDeps, 'agents' | 'stepAgents'>;

/**
 * Opens the agent whose turn comes first and those of the pipeline's steps, so that an agent that cannot be installed
 * ends the run before a comment says that the run is at work.
 */
export async function openFirstAgents(
  { agents, stepAgents }: LoopAgents,
  { state, policy }: Pick<WorkIntake, 'state' | 'policy'>,
  now: number,
): Promise<void> {
  const name = chooseAgentToCall({ state, policy: { ...policy, agents: listAgentNames(agents) }, now });
  await (agents.find((agent) => agent.name === name) ?? agents[0]).open();
  for (const agent of stepAgents) await agent.open();
}

/** Returns the names of the agents in their order. */
export function listAgentNames([first, ...others]: LoopDeps['agents']): Policy['agents'] {
  return [first.name, ...others.map(({ name }) => name)];
}

/** Returns the exporter of an agent's transcripts, or null if this run had no conversation with that agent. */
export type Exporters = (name: AgentName) => Promise<Pick<Agent, 'exportSession'> | null>;

/** Returns the exporters of the agents that this process opened. */
export function listOpenedExporters(agents: LoopDeps['agents']): Exporters {
  return (name) => Promise.resolve(agents.find((agent) => agent.name === name)?.opened()?.agent ?? null);
}

/** Returns the exporters of the agents that the recorded run called, for a later process. */
export function listRecordedExporters({ agents }: Pick<Connections, 'agents'>, { state, journal }: Work): Exporters {
  const called = new Set([state.agent ?? agents[0].name, ...journal.map(({ agent }) => agent)]);
  return async (name) => {
    const agent = called.has(name) ? agents.find((known) => known.name === name) : undefined;
    return agent === undefined ? null : agent.connect(NO_NEEDS);
  };
}

/**
 * Creates the function that exports the transcripts of a lane's conversations, encrypted. If this run had no
 * conversation with their agent, the stored transcripts are kept.
 */
export function createSessionExport(deps: {
  readonly exporters: Exporters;
  /** The agent of a conversation whose agent is unknown. */
  readonly first: AgentName;
  readonly seal: Seal;
  readonly store: Pick<StateStore, 'transcript'>;
  readonly log: Log;
}): PublishDeps['exportSessions'] {
  const { exporters, first, seal, store, log } = deps;
  return async (state) => {
    const parts: SealedPart[] = [];
    for (const { agent: name, session } of listSessions(state, first)) {
      const exporter = await exporters(name);
      const content = exporter === null ? await stored(state, name) : await exported(exporter, state.lane, session.id);
      if (content !== null) parts.push({ agent: name, content });
    }
    const file = packTranscripts(parts);
    return file === null ? null : { sha256: createHash('sha256').update(file).digest('hex'), content: file };
  };

  async function exported(
    agent: Pick<Agent, 'exportSession'>,
    lane: LaneId,
    sessionId: string,
  ): Promise<Uint8Array | null> {
    const content = await agent.exportSession(sessionId);
    if (content === null) return null;
    const closed = await seal.close(content, { lane, sessionId });
    if (closed === null) log.info('session: its transcript is not kept (the agent has no key to encrypt it with)');
    return closed?.content ?? null;
  }

  async function stored({ lane, transcript }: LaneState, name: AgentName): Promise<Uint8Array | null> {
    const found = transcript === null ? null : await store.transcript(lane, transcript);
    return found?.kind === 'found' ? pickSealedTranscript(found.transcript.content, name) : null;
  }
}

/** Creates an agent that is connected, installed and asked for its version only once, when it is first opened. */
function createLazyAgent(
  { name, connect }: AgentConnection,
  needs: AgentNeeds,
  prepared: (called: AgentIdentity) => void,
): LoopAgent {
  let known: OpenedAgent | null = null;
  let opens: Promise<OpenedAgent> | null = null;
  const open = async (): Promise<OpenedAgent> => {
    const agent = await connect(needs);
    const called = await agent.prepare();
    known = { agent, called };
    prepared(called);
    return known;
  };
  return { name, open: () => (opens ??= open()), opened: () => known };
}
