import type { Finding } from '../../../src/core/doctor/finding.ts';
import type { Verifier } from '../../../src/ports/agent.ts';
import type { AgentScript } from './behaviours.ts';
import type { Kept } from './in-memory-state.ts';
import type { FakeClock, FakeForge, FakeRemote, Origin } from './in-memory.ts';

/** A project with everything that outlives a run: the world that its runs share. */
export interface Project {
  readonly origin: Origin;
  readonly forge: FakeForge;
  readonly remote: FakeRemote;
  readonly kept: Kept;
  readonly clock: FakeClock;
  readonly script: AgentScript;
  inputs: Readonly<Record<string, string>>;
  verifier: Verifier;
  /** What the check of the set-up finds. */
  findings: readonly Finding[];
  /** How many runs there were. */
  runs: number;
}
