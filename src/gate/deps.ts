import type { Config, RunContext } from '../config/config.ts';
import type { LeftCircuit } from '../core/others/left-circuit.ts';
import type { Claim } from '../core/sharing/lease.ts';
import type { Forge } from '../ports/forge.ts';
import type { findStart, FoundStart } from './lane/start.ts';
import type { Clock, Log } from '../ports/machine.ts';
import type { Repository } from '../ports/repository.ts';
import type { Remote } from '../ports/remote.ts';
import type { StateStore } from '../ports/state.ts';
import type { AskedValue } from '../core/doctor/facts.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { VerificationRecord } from '../core/lane/state/state.ts';

/** The ports and values that the gate needs. */
export interface GateDeps {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly repository: Pick<
    Repository,
    | 'missing'
    | 'problems'
    | 'readTexts'
    | 'namesOf'
    | 'namesAtRoot'
    | 'openLane'
    | 'compareOpen'
    | 'history'
    | 'revertsIn'
    | 'editedMerges'
    | 'branchesWith'
  >;
  readonly remote: Pick<Remote, 'branches' | 'pushObstacle' | 'deleteBranch'>;
  /** Finds the start of a lane's branch for this run. */
  readonly findStart: (lane: Omit<Parameters<typeof findStart>[0], 'forge' | 'remote'>) => Promise<FoundStart>;
  readonly store: StateStore;
  readonly examine: ExamineRun;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads the circuit that another Ralph left in the checkout as the job made it, or returns null if none. */
  readonly readLeftCircuit: () => Promise<Omit<LeftCircuit, 'hash'> | null>;
  /** Returns the text without secrets. */
  readonly redact: (text: string) => string;
  /** Returns the hash of a text in hex digits. */
  readonly sha256: (text: string) => string;
  /** Environment variables that a pipeline may name: those that the agent may see, without keys. */
  readonly variables: Readonly<Record<string, string>>;
  /** The UUID of this run's process tree. */
  readonly runTag: string;
  /** Called before lanes are claimed: from then on, every end of this run must release them. */
  readonly claiming: (claims: readonly Claim[]) => void;
}

/** The facts about its lane that a run knows before its set-up is checked. */
export interface KnownLane {
  readonly branch: string;
  readonly baseBranch: string;
  /** The place from which the lane's state came. */
  readonly state: AskedValue<string>;
  readonly baseVerification: VerificationRecord | null;
  /** Amount that all runs of today (UTC) used and reserved, in US dollars. */
  readonly spentTodayUsd: AskedValue<number>;
}

/** Checks everything that a run needs, without an agent call. Changes only this job's own checkout. */
type ExamineRun = (known: KnownLane) => Promise<readonly Finding[]>;
