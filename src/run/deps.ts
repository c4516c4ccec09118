import type { AgentName } from '../core/agent-names.ts';
import type { RunReport, ParallelEnd } from '../handover/report.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { GateDeps, KnownLane } from '../gate/deps.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { Agent, CommandRunner, Verifier } from '../ports/agent.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { McpServer } from '../core/mcp/values.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { HandoffFolder } from '../ports/handoff.ts';
import type { Forge, RequestsSent } from '../ports/forge.ts';
import type { SendWebhook } from '../ports/machine.ts';
import type { UserPrompt } from '../ports/prompt.ts';
import type { Repository } from '../ports/repository.ts';
import type { Remote } from '../ports/remote.ts';
import type { Seal, StateStore } from '../ports/state.ts';
import type { RunRecord } from './run-record.ts';

/** The common dependencies of main and post. */
export interface RunDeps extends Pick<
  GateDeps,
  'config' | 'context' | 'runTag' | 'clock' | 'log' | 'redact' | 'variables'
> {
  readonly debug: (text: string) => void;
  /** Returns the text of this job's journal, or null if none. */
  readonly readJournal: () => string | null;
  /** Keeps a packed receipt as a file of the job, for its next steps. */
  readonly keepReceipt: (content: Uint8Array) => void;
  readonly connect: Connections;
}

/** An agent of the order, whose code is loaded when it is first connected. */
export interface AgentConnection {
  readonly name: AgentName;
  /** Connects the agent. Only the needs of the first call are used. */
  readonly connect: (needs: AgentNeeds) => Promise<Agent>;
}

/** The parts of the base branch that an agent needs. */
export interface AgentNeeds {
  /** Servers of the agent's tools. */
  readonly mcpServers: readonly McpServer[];
  /** The pipeline, whose steps may have their own rules, or null if none. */
  readonly pipeline: Pipeline | null;
}

/** The needs of a process that makes no call. */
export const NO_NEEDS: AgentNeeds = { mcpServers: [], pipeline: null };

/** The outside world of a run. Each connection is made once, at its first use. */
export interface Connections {
  readonly forge: () => Promise<Forge>;
  /** Returns the requests that were sent to GitHub, or null if it was never connected. */
  readonly requests: () => RequestsSent | null;
  /** Returns GitHub's refusals of the run's wishes, as warnings. */
  readonly refusedWishes: () => readonly string[];
  /** Sends messages to the user's webhook; null without a webhook. */
  readonly webhook: SendWebhook | null;
  readonly remote: () => Promise<Remote>;
  readonly repository: () => Promise<Repository>;
  readonly store: () => Promise<StateStore>;
  readonly seal: () => Promise<Seal>;
  /** Connects the first of the agents, for a check of the set-up. */
  readonly agent: (needs: AgentNeeds) => Promise<Agent>;
  /** The agents in the order in which they are called. */
  readonly agents: readonly [AgentConnection, ...(readonly AgentConnection[])];
  /**
   * Returns the agents that only steps of the pipeline name; the isolation is then prepared for their calls as well.
   */
  readonly stepAgents: (pipeline: Pipeline | null) => readonly AgentConnection[];
  readonly verifier: () => Promise<Verifier>;
  /** Runs commands of a pipeline, and tools that make lock files. */
  readonly commands: () => Promise<CommandRunner>;
  /** Returns the measured isolation of everything that runs the lane's code, or null while nothing is measured. */
  readonly isolation: () => IsolationFacts | null;
  /**
   * Opens the folder through which the jobs of a split run hand over: the lane's folder in the gate, and the folder
   * that the inputs name in other jobs.
   */
  readonly handoff: (lane: LaneId | null) => Promise<HandoffFolder>;
  /** Checks the set-up with the run's own connections. */
  readonly examine: (known: KnownLane, by: Examination) => Promise<readonly Finding[]>;
}

/** The dependencies of the check of the set-up. */
export interface Examination extends Pick<Connections, 'forge' | 'remote' | 'repository' | 'agent' | 'verifier'> {
  readonly signal: AbortSignal;
}

/** The dependencies of main. */
export interface ActionDeps extends RunDeps {
  readonly machine: Machine;
  readonly startedAt: number;
  readonly appendJournal: LoopDeps['appendJournal'];
  readonly keepPatch: LoopDeps['keepPatch'];
  /** Returns the hash of the journal's last line, or null if the journal is empty. */
  readonly journalHash: () => string | null;
  /** Ends this process with the report's outputs, while a part of the run hangs. */
  readonly leave: (report: RunReport) => void;
}

/** The run's access to its machine. */
export interface Machine
  extends Pick<LoopDeps, 'readLearnings' | 'files' | 'sleep'>, Pick<GateDeps, 'readLeftCircuit'> {
  /** Reads the user's prompt, or the built-in one, with everything else that the checkout has for the agent. */
  readonly readPrompt: () => Promise<UserPrompt>;
  /** Writes the run's record to disk, completely or not at all; throws a UserError if that fails. */
  readonly record: (record: Pick<RunRecord, 'stage' | 'claimed' | 'work'>) => void;
  /** Returns a sentence that explains the loss of this run's files on disk, or null while they exist. */
  readonly loss: () => string | null;
  /**
   * Returns a signal that is aborted when the run is cancelled; calls `giveUp` if the run does not finish in time after
   * that.
   */
  readonly onCancel: (giveUp: (why: string) => Promise<void>) => AbortSignal;
  /** Ends the agent's processes. */
  readonly endAgent: () => Promise<void>;
}

/** The end of a run in this job. */
export type RunEnd =
  | { readonly kind: 'ended'; readonly report: RunReport; readonly beside: Beside }
  /**
   * Other jobs continue the run. `report` describes what this job did, or is null if the gate has only begun the run.
   */
  | {
      readonly kind: 'handed-over';
      readonly lanes: readonly [HandedLane, ...(readonly HandedLane[])];
      readonly report: RunReport | null;
      readonly beside: Beside;
    }
  /** The jobs of all lanes are over. */
  | { readonly kind: 'summed-up'; readonly together: ParallelEnd };

/** The reports of the run's other lanes that ended in the same job, which can only be the gate's job. */
type Beside = readonly RunReport[];

/** The gate's hand-over of a lane; the job that receives it verifies it by `digest`. */
export interface HandedLane {
  readonly lane: LaneId;
  readonly branch: string;
  readonly digest: string;
}
