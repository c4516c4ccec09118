import type { AgentName } from '../../../src/core/agent-names.ts';
import type { Finding } from '../../../src/core/doctor/finding.ts';
import type { CommandCall, CommandRun, Verifier } from '../../../src/ports/agent.ts';
import type { SendWebhook } from '../../../src/ports/machine.ts';
import type { HandoffName } from '../../../src/ports/handoff.ts';
import type { LaneId } from '../../../src/core/tasks/ids.ts';
import type { AgentScript } from './behaviours.ts';
import type { Kept } from './in-memory-state.ts';
import type { Checkout, FakeClock, FakeForge, FakeRemote, Origin } from './in-memory.ts';

/** A project with everything that outlives a run and that its runs share. */
export interface Project {
  readonly origin: Origin;
  readonly forge: FakeForge;
  readonly remote: FakeRemote;
  readonly kept: Kept;
  readonly clock: FakeClock;
  readonly script: AgentScript;
  /** The scripts of the agents after the first, in order. */
  readonly others: readonly (readonly [AgentName, AgentScript])[];
  /** The scripts of the agents that only steps of a pipeline name. */
  readonly stepAgents: Project['others'];
  /** The files that the jobs of a split run hand over, by name. */
  readonly handoff: Map<HandoffName, Uint8Array>;
  /** The same for the jobs of one lane each, by lane. */
  readonly handoffs: Map<LaneId, Map<HandoffName, Uint8Array>>;
  /** Takes the messages to the webhook, where one is set. */
  webhook: SendWebhook;
  inputs: Readonly<Record<string, string>>;
  /** Variables of the job in addition to those that the runner sets. */
  environment: Readonly<Record<string, string>>;
  verifier: Verifier;
  /** Runs the commands of a pipeline; they may change the machine that they run on. */
  command: (call: CommandCall, machine: { readonly checkout: Checkout }) => CommandRun;
  /** The findings of the set-up check. */
  findings: readonly Finding[];
  /** Number of runs so far. */
  runs: number;
}

/** Returns the files of a lane's hand-over; an empty name means the hand-over of a run that makes only one. */
export function handedFilesOf({ handoff, handoffs }: Pick<Project, 'handoff' | 'handoffs'>, lane: LaneId) {
  if (lane === '') return handoff;
  const files = handoffs.get(lane) ?? new Map<HandoffName, Uint8Array>();
  handoffs.set(lane, files);
  return files;
}
