import type { AgentName } from '../core/agent-names.ts';
import type { Config, RunContext } from '../config/config.ts';
import type { RunReport } from '../handover/report.ts';
import type { GateDeps } from '../gate/deps.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { Agent, Commands, Verifier } from '../ports/agent.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { McpServer } from '../core/mcp/values.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { KnownLane } from '../ports/examiner.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { Forge, RequestsSent } from '../ports/forge.ts';
import type { Clock, Log } from '../ports/machine.ts';
import type { UserPrompt } from '../ports/prompt.ts';
import type { Remote, Repository } from '../ports/repository.ts';
import type { Seal, StateStore } from '../ports/state.ts';
import type { RunRecord } from './believed.ts';

/** What main and post have in common. */
export interface RunDeps {
  readonly config: Config;
  readonly context: RunContext;
  readonly runTag: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly debug: (text: string) => void;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  /** Environment variables that a pipeline may name: those that the agent gets to see, without keys. */
  readonly variables: Readonly<Record<string, string>>;
  readonly connect: Connections;
}

/** An agent of the order: its code is loaded when it is first connected. */
export interface AgentConnection {
  readonly name: AgentName;
  /** The first call decides. */
  readonly connect: (needs: AgentNeeds) => Promise<Agent>;
}

/** What the base branch asks of an agent. */
export interface AgentNeeds {
  /** Of its tools. */
  readonly mcpServers: readonly McpServer[];
  /** Whose steps may have rules of their own; null: there is none. */
  readonly pipeline: Pipeline | null;
}

/** For who makes no call. */
export const NO_NEEDS: AgentNeeds = { mcpServers: [], pipeline: null };

/** The world that a run talks to. Each is made at its first use, and once. */
export interface Connections {
  readonly forge: () => Promise<Forge>;
  /** What was asked of the forge; null: nothing, it was never connected. */
  readonly requests: () => RequestsSent | null;
  /** What GitHub refused of the run's wishes, as warnings. */
  readonly refusedWishes: () => readonly string[];
  readonly remote: () => Promise<Remote>;
  readonly repository: () => Promise<Repository>;
  readonly store: () => Promise<StateStore>;
  readonly seal: () => Promise<Seal>;
  /** The first of the agents, for a check of the set-up. */
  readonly agent: (needs: AgentNeeds) => Promise<Agent>;
  /** In the order in which they are asked. */
  readonly agents: readonly [AgentConnection, ...(readonly AgentConnection[])];
  readonly verifier: () => Promise<Verifier>;
  /** Runs commands of a pipeline, and tools that make lock files. */
  readonly commands: () => Promise<Commands>;
  /** What was measured of the isolation of all that runs the lane's code; null: nothing yet. */
  readonly isolation: () => IsolationFacts | null;
  /** Where the jobs of a split run hand over. */
  readonly handoff: () => Promise<HandoffFolder>;
  /** Checks the set-up with the world's own connections. */
  readonly examine: (known: KnownLane, by: Examination) => Promise<readonly Finding[]>;
}

/** What the check of the set-up works with. */
export interface Examination extends Pick<Connections, 'forge' | 'remote' | 'repository' | 'agent' | 'verifier'> {
  readonly signal: AbortSignal;
}

/** What main has besides. */
export interface RiverDeps extends RunDeps {
  readonly machine: Machine;
  readonly startedAt: number;
  readonly appendJournal: LoopDeps['appendJournal'];
  readonly keepPatch: LoopDeps['keepPatch'];
  /** Hash of the journal's last line; null: it has none. */
  readonly journalHash: () => string | null;
  /** Ends the run while a part of it hangs. */
  readonly leave: (report: RunReport) => void;
}

/** What a run has of its machine. */
export interface Machine
  extends Pick<LoopDeps, 'readLearnings' | 'files' | 'sleep'>, Pick<GateDeps, 'readLeftCircuit'> {
  /** The user's prompt, or the built-in one, with what else the checkout has for the agent. */
  readonly readPrompt: () => Promise<UserPrompt>;
  /** Puts the run's record on disk, whole or not at all; throws a UserError when it cannot. */
  readonly record: (record: Omit<RunRecord, 'version' | 'startedAt' | 'steeringDigest' | 'settings'>) => void;
  /** Why everything that this run has on disk is gone, as a sentence; null while it is there. */
  readonly loss: () => string | null;
  /** Calls `giveUp` when the run was cancelled and is not done in time. */
  readonly onCancel: (giveUp: (why: string) => Promise<void>) => AbortSignal;
  /** Ends the agent's processes. */
  readonly endAgent: () => Promise<void>;
  readonly exit: (code: number) => void;
}

/** How a run ends in this job. `report`: what is known of the run; null: the gate has only begun it. */
export interface RunEnd {
  readonly report: RunReport | null;
  /** Another job continues it, and knows what it gets by `digest`; null: it is over. */
  readonly handedOver: { readonly digest: string; readonly branch: string } | null;
}
