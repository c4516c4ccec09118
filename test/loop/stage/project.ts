import type { AgentName } from '../../../src/core/agent-names.ts';
import type { Finding } from '../../../src/core/doctor/finding.ts';
import type { CommandCall, CommandRun, Verifier } from '../../../src/ports/agent.ts';
import type { HandoffName } from '../../../src/ports/handoff.ts';
import type { AgentScript } from './behaviours.ts';
import type { Kept } from './in-memory-state.ts';
import type { Checkout, FakeClock, FakeForge, FakeRemote, Origin } from './in-memory.ts';

/** A project with everything that outlives a run: the world that its runs share. */
export interface Project {
  readonly origin: Origin;
  readonly forge: FakeForge;
  readonly remote: FakeRemote;
  readonly kept: Kept;
  readonly clock: FakeClock;
  readonly script: AgentScript;
  /** Of the agents behind the first, in their order. */
  readonly others: readonly (readonly [AgentName, AgentScript])[];
  /** What the jobs of a split run hand over: files by name. */
  readonly handoff: Map<HandoffName, Uint8Array>;
  inputs: Readonly<Record<string, string>>;
  /** Variables of the job beside what the runner sets. */
  environment: Readonly<Record<string, string>>;
  verifier: Verifier;
  /** What runs the commands of a pipeline, by what they do to the machine that they run on. */
  command: (call: CommandCall, machine: { readonly checkout: Checkout }) => CommandRun;
  /** What the check of the set-up finds. */
  findings: readonly Finding[];
  /** How many runs there were. */
  runs: number;
}
