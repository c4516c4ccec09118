import { createHash } from 'node:crypto';
import type { AgentName } from '../core/agent-names.ts';
import { agentToCall } from '../core/lane/decide.ts';
import { sessionsOf } from '../core/lane/session.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Policy } from '../core/policy.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { GateDeps } from '../gate/deps.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { requesterOf } from '../gate/event/intent.ts';
import { releaseLane } from '../gate/lane/claim.ts';
import { findStart } from '../gate/lane/start.ts';
import { packTranscripts, sealedTranscriptOf, type SealedPart } from '../handover/conversations.ts';
import type { Work, WorkIntake } from '../handover/intake.ts';
import { reportWithoutLane, type RunReport } from '../handover/report.ts';
import type { LoopAgent, LoopDeps, OpenedAgent } from '../loop/deps.ts';
import type { Agent, AgentIdentity } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { Remote } from '../ports/repository.ts';
import type { Released, Seal, StateStore } from '../ports/state.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { reportOfWork } from '../publish/report-of.ts';
import { packJournal } from './packed-journal.ts';
import { type AgentConnection, type AgentNeeds, type Connections, NO_NEEDS, type RunDeps } from './deps.ts';

/**
 * Returns the agents of a run, none of which is opened yet. `prepared` receives an agent's name and version once it is.
 */
export function createLoopAgents(
  { agents: [first, ...others] }: Pick<Connections, 'agents'>,
  needs: AgentNeeds,
  prepared: (called: AgentIdentity) => void,
): LoopDeps['agents'] {
  const openingOf = (agent: AgentConnection): LoopAgent => createLazyAgent(agent, needs, prepared);
  return [openingOf(first), ...others.map(openingOf)];
}

/**
 * Opens the agent whose turn comes first, so that an agent that cannot be installed ends the run before people read
 * that it works.
 */
export async function openFirst(
  agents: LoopDeps['agents'],
  { state, policy }: Pick<WorkIntake, 'state' | 'policy'>,
  now: number,
): Promise<void> {
  const name = agentToCall({ state, policy: { ...policy, agents: agentNamesOf(agents) }, now });
  await (agents.find((agent) => agent.name === name) ?? agents[0]).open();
}

/** Returns the names of the agents in their order. */
export function agentNamesOf([first, ...others]: LoopDeps['agents']): Policy['agents'] {
  return [first.name, ...others.map(({ name }) => name)];
}

/** Returns the exporter of an agent's transcripts; null when this run had no conversation with that agent. */
type Exporters = (name: AgentName) => Promise<Pick<Agent, 'exportSession'> | null>;

/** Returns the exporters of the agents that this process opened. */
export function openedExporters(agents: LoopDeps['agents']): Exporters {
  return (name) => Promise.resolve(agents.find((agent) => agent.name === name)?.opened()?.agent ?? null);
}

/** Returns the exporters of the agents that the recorded run called, for a later process. */
export function recordedExporters({ agents }: Pick<Connections, 'agents'>, { state, journal }: Work): Exporters {
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
export function createSessionExport({
  exporters,
  first,
  seal,
  store,
  log,
}: {
  readonly exporters: Exporters;
  /** The agent of a conversation whose agent is unknown. */
  readonly first: AgentName;
  readonly seal: Seal;
  readonly store: Pick<StateStore, 'transcript'>;
  readonly log: Log;
}): PublishDeps['exportSessions'] {
  return async (state) => {
    const parts: SealedPart[] = [];
    for (const { agent: name, session } of sessionsOf(state, first)) {
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
    return found?.kind === 'found' ? sealedTranscriptOf(found.transcript.content, name) : null;
  }
}

/** Creates an agent that is connected, installed and asked for its version when it is first opened, and only once. */
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

/** The common dependencies of the stages, and those of the publisher. */
export type Stages = PublishDeps &
  Pick<LoopDeps, 'seal' | 'store'> &
  Omit<GateDeps, 'repository' | 'examine' | 'readLeftCircuit' | 'claiming'> & { readonly remote: Remote };

/** Connects the stages. `exporters` export the transcripts of conversations; null when there are none. */
export async function connectStages(
  { config, context, runTag, clock, log, redact, connect, variables, readJournal }: RunDeps,
  { exporters, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly exporters: Exporters | null },
): Promise<Stages> {
  const [forge, remote, store, seal] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.seal(),
  ]);
  const first = connect.agents[0].name;
  const exportSessions = exporters === null ? nothing : createSessionExport({ exporters, first, seal, store, log });
  const asked = requesterOf(meaningOfRun({ context, config }));
  const ports = { forge, remote, store, clock, log, redact, sha256: hashText, seal };
  // The job that publishes has no journal of its own.
  const journal =
    config.handoff.phase === 'publish'
      ? async () => decodeText(await (await connect.handoff(null)).read('loop/journal.jsonl'))
      : () => Promise.resolve(readJournal());
  const begins: GateDeps['findStart'] = (lane) => findStart({ forge, ...lane });
  return {
    ...{ config, context, asked, runTag, variables, ...ports },
    findStart: begins,
    exportSessions,
    packedJournal: async (lastHash) => packJournal(await journal(), { lastHash, redact }),
    stepWithinMs,
    unsaved: null,
  };
}

function decodeText(content: Uint8Array | null): string | null {
  return content === null ? null : Buffer.from(content).toString();
}

function nothing(): Promise<null> {
  return Promise.resolve(null);
}

/** Returns the hash of a text, in hex digits. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Creates the report of work that is not published, as far as the run got. */
export function reportUnpublished({ config, context, redact, clock }: RunDeps, work: Work): RunReport {
  const { pullRequest } = work.lane;
  return reportOfWork({ config, context, redact, now: clock.now() }, work, { pullRequest, headSha: null, saved: null });
}

/** Creates the report of a run that has no work. */
export function reportWithoutWork({ context, clock }: RunDeps, outcome: Outcome, startedAt: number): RunReport {
  const { owner, repo } = context.repository;
  const repositoryUrl = `${context.serverUrl}/${owner}/${repo}`;
  return reportWithoutLane({ outcome, repositoryUrl, runUrl: context.runUrl, startedAt, endedAt: clock.now() });
}

/** Adds to the report the requests to GitHub's API, and as warnings the refused wishes. */
export function withGitHub({ connect }: RunDeps, report: RunReport): RunReport {
  const requests = connect.requests();
  if (report.kind === 'without-lane') return { ...report, requests };
  return { ...report, requests, warnings: [...report.warnings, ...connect.refusedWishes()] };
}

/** Logs refused wishes once per job, because a job that hands over has no other place for them. */
export function logRefusedWishes({ connect, log }: RunDeps): void {
  for (const refused of connect.refusedWishes()) log.warning(refused);
}

/**
 * Gives a lane back. A run that never began also gives its reservation back; the reservation of a run that worked
 * counts as the usage of its calls, if those could not be counted.
 */
export async function giveBackLane(
  { connect, ...run }: RunDeps,
  lane: LaneId,
  what: 'claim' | 'claim-and-reservation',
): Promise<Released> {
  const store = await connect.store();
  return releaseLane({ ...run, store }, lane, what === 'claim-and-reservation');
}
