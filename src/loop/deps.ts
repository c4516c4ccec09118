import type { Config, RunContext } from '../config/config.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Order } from '../core/sharing/orders.ts';
import type { WithdrawalKind } from '../core/people/withdrawal.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { AgentName } from '../core/agent-names.ts';
import type { Agent, AgentIdentity, CommandRunner, Verifier } from '../ports/agent.ts';
import type { Clock, Log, Sleep } from '../ports/machine.ts';
import type { UserPrompt } from '../ports/prompt.ts';
import type { Repository, WorkFiles } from '../ports/repository.ts';
import type { Remote } from '../ports/remote.ts';
import type { Policy } from '../core/policy.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Windows } from '../core/lane/windows.ts';
import type { Seal, StateStore, Unavailable } from '../ports/state.ts';
import type { HeadDeps } from '../handover/clear-head.ts';
import type { Work } from '../handover/intake.ts';

/** The iteration that begins (1-based), and the orders that people gave since the run began. */
interface Beginning {
  readonly task: Task;
  readonly iteration: number;
  readonly orders: readonly Order[];
}

/**
 * The withdrawals by people while the run works; a field is null if no withdrawal is known. `task`: how they withdrew
 * the task's issue. `lane`: how they withdrew the lane, in words that complete "stopped by …".
 */
interface TakenBack {
  readonly task: WithdrawalKind | null;
  readonly lane: string | null;
}

/** The place where an iteration's work is safe: the branch, or the job that publishes. */
type Outlet =
  | {
      readonly kind: 'push';
      readonly remote: Pick<
        Remote,
        | 'push'
        | 'pushOn'
        | 'pushWithState'
        | 'sign'
        | 'probePush'
        | 'probeMerge'
        | 'branches'
        | 'pathsByTask'
        | 'remakeCommitsWithout'
      >;
      readonly forge: HeadDeps['forge'];
    }
  | {
      readonly kind: 'hand-over';
      readonly handOver: (work: Work) => Promise<void>;
      /** The reason why the server would refuse a merge of the base, from the gate's job; null if it would not. */
      readonly forbiddenMerge: string | null;
    };

/**
 * The policy of a waiting run. `policy` is the user's policy, before a reservation tightens it. `renew` reserves the
 * budget for the rest of a run that takes `maxRunMs` in total; never throws.
 */
interface WaitPolicy {
  readonly policy: Policy;
  readonly renew: (
    work: Work,
    maxRunMs: number,
  ) => Promise<{ readonly kind: 'renewed'; readonly windows: Windows; readonly policy: Policy } | Unavailable>;
}

/** An agent that is installed and loaded, and the name that its CLI gives. */
export interface OpenedAgent {
  readonly agent: Pick<Agent, 'call' | 'kindOfDenial' | 'importSession' | 'exportSession' | 'coAuthor' | 'sweep'>;
  readonly called: AgentIdentity;
}

/**
 * An agent that the run may call. `open` installs and loads it once, or throws a UserError. `opened` returns null until
 * then.
 */
export interface LoopAgent {
  readonly name: AgentName;
  readonly open: () => Promise<OpenedAgent>;
  readonly opened: () => OpenedAgent | null;
}

/** The work after an action. `end` is the reason why the run ends here, or null if it continues. */
export interface WorkAfterAction {
  readonly work: Work;
  readonly end: Outcome | null;
}

/** The loop's dependencies on the outside world. */
export interface LoopDeps {
  readonly config: Config;
  readonly context: Pick<RunContext, 'runId' | 'runAttempt' | 'runUrl' | 'verifyProblems'>;
  /** The agents, in the policy's order. */
  readonly agents: readonly [LoopAgent, ...(readonly LoopAgent[])];
  /** The agents that only steps of the pipeline name. */
  readonly stepAgents: readonly LoopAgent[];
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
    | 'checkOutTree'
    | 'checkOutCommitAlone'
    | 'taskChanges'
    | 'commitReverted'
  >;
  readonly outlet: Outlet;
  readonly verifier: Verifier;
  readonly commands: CommandRunner;
  /** The steps of an iteration, as the base branch has them; null means that an iteration is one agent call. */
  readonly pipeline: Pipeline | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly sleep: Sleep;
  /**
   * Finds out whether people have withdrawn the task or the lane since the run began, with at most three requests;
   * never throws. Null if this job cannot ask.
   */
  readonly lookAtPeople: ((work: Work, task: Task | null) => Promise<TakenBack>) | null;
  /** The policy for waiting, or null if the run cannot wait for the end of a limit. */
  readonly waitPolicy: WaitPolicy | null;
  readonly store: Pick<StateStore, 'lastSeen' | 'read' | 'update' | 'transcript'>;
  /** UUID of this run's process tree. */
  readonly runTag: string;
  readonly seal: Pick<Seal, 'open'>;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Aborted if only this run must end after its iteration; the reason is the name of the person. */
  readonly ending: AbortSignal;
  readonly prompt: UserPrompt;
  /**
   * Returns the present text of the lane's notebook and of those other lanes' notebooks that its agent may read; empty
   * if none.
   */
  readonly readLearnings: (lane: LaneId) => Promise<string>;
  readonly files: WorkFiles;
  /** Returns the text without secrets. */
  readonly redact: (text: string) => string;
  readonly sha256: (text: string) => string;
  /** Reports a finished iteration to people. */
  readonly narrate: (entry: JournalEntry, work: Work) => void;
  /**
   * Shows people the state of the run as an iteration begins, with the orders that wait for the next run. Never throws.
   */
  readonly showLive: (work: Work, begins: Beginning) => Promise<void>;
  /** Shows people the state of the run as a wait begins. Never throws. */
  readonly showWait: (work: Work, until: Extract<Outcome, { kind: 'parked' }>) => Promise<void>;
  /** Reports the remaining time of a wait to people who watch the run. */
  readonly sayLeft: (text: string) => void;
  /** Adds a line to the run's journal, on disk. */
  readonly appendJournal: (line: string) => void;
  /** Keeps a patch of unpublished work next to the journal; never throws. */
  readonly keepPatch: (name: string, patch: string) => void;
  /** Returns the hash of the journal's last line, or null if the journal is empty. */
  readonly journalHash: () => string | null;
  /** Writes the work to disk. It is called at every point after which the work must not be lost. */
  readonly record: (work: Work) => void;
}
