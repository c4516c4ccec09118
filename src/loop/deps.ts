import type { Config, RunContext } from '../config/config.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Order } from '../core/sharing/orders.ts';
import type { WithdrawalKind } from '../core/people/withdrawal.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { AgentName } from '../core/agent-names.ts';
import type { Agent, AgentName as CalledName, Commands, Verifier } from '../ports/agent.ts';
import type { Clock, Log, Sleep } from '../ports/machine.ts';
import type { UserPrompt } from '../ports/prompt.ts';
import type { Remote, Repository, WorkFiles } from '../ports/repository.ts';
import type { Policy } from '../core/policy.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Windows } from '../core/lane/windows.ts';
import type { Seal, StateStore, Unavailable } from '../ports/state.ts';
import type { HeadDeps } from '../handover/clear-head.ts';
import type { Work } from '../handover/intake.ts';

/** An iteration that begins (1-based), and the orders that people gave since the run began. */
interface Beginning {
  readonly task: Task;
  readonly iteration: number;
  readonly orders: readonly Order[];
}

/** What people took back while the run works; null: nothing that is known. `task`: how they took back its issue. `lane`: who closed its pull request or deleted its branch, as words that complete "stopped by …". */
interface TakenBack {
  readonly task: WithdrawalKind | null;
  readonly lane: string | null;
}

/** Where an iteration's work is safe: on the branch, or with the job that publishes it. */
type Outlet =
  | {
      readonly kind: 'push';
      readonly remote: Pick<
        Remote,
        'push' | 'pushOn' | 'pushWithState' | 'probePush' | 'probeMerge' | 'pathsByTask' | 'remakeWithout'
      >;
      readonly forge: HeadDeps['forge'];
    }
  | { readonly kind: 'hand-over'; readonly handOver: (work: Work) => Promise<void> };

/** How a run waits. `policy`: the user's, before a reservation tightens it. `renew`: reserves what a run of `maxRunMs` in all may use from now on; never throws. */
interface WaitPolicy {
  readonly policy: Policy;
  readonly renew: (
    work: Work,
    maxRunMs: number,
  ) => Promise<{ readonly kind: 'renewed'; readonly windows: Windows; readonly policy: Policy } | Unavailable>;
}

/** An agent that is installed and loaded, and what its CLI calls itself. */
export interface OpenedAgent {
  readonly agent: Pick<Agent, 'call' | 'kindOfDenial' | 'importSession' | 'exportSession' | 'coAuthor' | 'sweep'>;
  readonly called: CalledName;
}

/** An agent that the run may call. `open` installs and loads it, once, or throws a UserError. `opened` returns null until then. */
export interface LoopAgent {
  readonly name: AgentName;
  readonly open: () => Promise<OpenedAgent>;
  readonly opened: () => OpenedAgent | null;
}

/** The work after a deed, and why the run ends here; null: it continues. */
export interface Advanced {
  readonly work: Work;
  readonly end: Outcome | null;
}

/** What the loop needs of the world. */
export interface LoopDeps {
  readonly config: Config;
  readonly context: Pick<RunContext, 'runId' | 'runAttempt' | 'runUrl' | 'verifyProblems'>;
  /** In the policy's order. */
  readonly agents: readonly [LoopAgent, ...(readonly LoopAgent[])];
  readonly repository: Pick<
    Repository,
    | 'snapshot'
    | 'compare'
    | 'commit'
    | 'publishedTexts'
    | 'commitTexts'
    | 'takeHead'
    | 'beginMerge'
    | 'lockFilesLeft'
    | 'keepAlone'
    | 'abandonMerge'
    | 'putBack'
    | 'review'
    | 'layTree'
    | 'layClean'
  >;
  readonly outlet: Outlet;
  readonly verifier: Verifier;
  readonly commands: Commands;
  /** The steps of an iteration, as the base branch has them; null: an iteration is one agent call. */
  readonly pipeline: Pipeline | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly sleep: Sleep;
  /** Looks at what people did since the run began, with at most three requests; never throws. Null: this job cannot ask. */
  readonly lookAtPeople: ((work: Work, task: Task | null) => Promise<TakenBack>) | null;
  /** Null: the run cannot wait for the end of a limit. */
  readonly patience: WaitPolicy | null;
  readonly store: Pick<StateStore, 'read' | 'update' | 'transcript'>;
  /** UUID of this run's process tree. */
  readonly runTag: string;
  readonly seal: Pick<Seal, 'open'>;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Aborted when this run alone is asked to end after its iteration; the reason is the name of who asked. */
  readonly ending: AbortSignal;
  readonly prompt: UserPrompt;
  /** What the lane's agent gets to read of its notebook and those of other lanes, as they are now; empty when there are none. */
  readonly readLearnings: (lane: LaneId) => Promise<string>;
  readonly files: WorkFiles;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  readonly sha256: (text: string) => string;
  /** Reports a finished iteration to people. */
  readonly narrate: (entry: JournalEntry, work: Work) => void;
  /** Shows people how the run stands as an iteration begins, with the orders that wait for the next run. Never throws. */
  readonly showLive: (work: Work, begins: Beginning) => Promise<void>;
  /** The same as a wait begins. Never throws. */
  readonly showWait: (work: Work, until: Extract<Outcome, { kind: 'parked' }>) => Promise<void>;
  /** Says how much of a wait is left, to people who read along. */
  readonly sayLeft: (text: string) => void;
  /** Adds a line to the run's journal, on disk. */
  readonly appendJournal: (line: string) => void;
  /** Keeps a patch of unpublished work beside the journal; never throws. */
  readonly keepPatch: (name: string, patch: string) => void;
  /** Hash of the journal's last line; null: it has none. */
  readonly journalHash: () => string | null;
  /** Puts the work on disk; called at every point after which it must not be lost. */
  readonly record: (work: Work) => void;
}
