import type { AgentName } from '../core/agent-names.ts';
import type { ObjectId, Verification } from '../core/evidence.ts';
import type { RedBase } from '../core/lane/base/red-base.ts';
import type { ChecksSummary } from '../core/feedback/checks/checks.ts';
import type { Forecast } from '../core/forecast/forecast.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { CircuitOpener } from '../core/others/left-circuit.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import type { CallFailure } from '../core/analysis/failure-words.ts';
import type { CircuitView } from '../core/lane/circuit.ts';
import type { OpenUsage } from '../core/lane/windows.ts';
import type { HeldHead, IsolationSource, Receipt } from './intake.ts';
import type { Policy } from '../core/policy.ts';
import type { Prices } from '../core/spending/prices.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { BranchChange, TaskShare } from '../core/lane/change.ts';
import type { VerificationRecord, LaneState } from '../core/lane/state/state.ts';
import type { FilesToLookAt } from '../core/review/look-at.ts';
import type { Task, ShownProgress } from '../core/tasks/task.ts';
import type { Train } from '../core/train/train.ts';
import type { LaneId, TaskId } from '../core/tasks/ids.ts';
import type { AgentIdentity } from '../ports/agent.ts';
import type { RequestsSent } from '../ports/forge.ts';
import type { StoredRun } from '../core/snapshot/stored-run.ts';
import type { WithheldChange } from '../ports/repository.ts';

/** Everything that a reader may see of one run, as far as the run got. Agent text in it is redacted. */
export type RunReport = ReportWithoutLane | ReportAtGate | LaneReport;

/** The report of a run that had a lane. */
export type LaneReport = EndedReport | AnsweredReport | WorkedReport;

/** The report of a run that ended before it knew its work: refused, failed at its inputs, or cancelled. */
export interface ReportWithoutLane extends RunFacts {
  readonly kind: 'without-lane';
}

/** The report of a run that the gate ended before it had read the lane's state. */
export interface ReportAtGate extends RunFacts, ReportSetting, SetUpFacts {
  readonly kind: 'at-gate';
}

/** The report of a run that the gate ended after it had read the lane's state. */
export interface EndedReport extends RunFacts, ReportSetting, LaneFacts, SetUpFacts {
  readonly kind: 'ended';
}

/** The report of a run that answered a command with the lane's state. */
export interface AnsweredReport extends RunFacts, ReportSetting, LaneFacts {
  readonly kind: 'answered';
  readonly view: LaneView;
}

/** The report of a run that worked, as far as it got. */
export interface WorkedReport extends RunFacts, ReportSetting, LaneFacts {
  readonly kind: 'worked';
  /** Tasks with work on this branch that are no longer listed: closed, without the label, or deleted. */
  readonly unlisted: readonly TaskId[];
  /** Iterations of this run, oldest first. */
  readonly iterations: readonly JournalEntry[];
  /** Tokens that this run used. */
  readonly tokens: number;
  /** Cost of this run in US dollars. */
  readonly costUsd: number;
  /** Similar tasks and advice for the issue before its first iteration; null in any other case. */
  readonly forecast: Forecast | null;
  /** Sentence part for people, e.g. `resumed, 2 h old`. */
  readonly session: string;
  /** Result of saving the state, or null if it is not known yet. */
  readonly saved: SavedReport | null;
  readonly withheld: readonly WithheldChange[];
  /** Published files of this run that a reviewer looks at first. */
  readonly lookAt: readonly FilesToLookAt[];
  /** The change on the branch, over all runs. */
  readonly change: BranchChange;
  /** Result of `verify` on the untouched base, or null if it is not known. */
  readonly baseVerification: VerificationRecord | null;
  /** Result of `verify` on the branch in a clean clone, or null if it is not known. */
  readonly headVerification: HeadVerification | null;
  /** Isolation of the agent, or null if nothing was measured. */
  readonly isolation: IsolationReport | null;
  readonly agent: AgentIdentity;
  /** The task whose issue says that the run is at work, or null if no issue says so. */
  readonly shown: TaskId | null;
  /** The run's own limit that kept it from waiting for a usage limit, or null if no limit did. */
  readonly waitSkippedBy: RunBound | null;
}

/** The measured isolation and the source of the facts. */
export interface IsolationReport {
  readonly facts: IsolationFacts;
  readonly from: IsolationSource;
}

/** A verification in a clean clone, of the published head (but for archiving) or of an earlier commit of this run. */
export interface HeadVerification {
  readonly of: 'head' | 'earlier';
  readonly commit: ObjectId;
  readonly verification: Exclude<Verification, { readonly kind: 'not-run' }>;
}

/** Facts that every run knows, however early it ends. */
export interface RunFacts {
  readonly outcome: Outcome;
  /** `https://github.com/owner/repo`, for links to commits. */
  readonly repositoryUrl: string;
  readonly runUrl: string;
  /** Page of the log: the step's page if it is known, otherwise `runUrl`. */
  readonly logUrl: string;
  /** Instants in ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Requests of the run to GitHub's API, or null if they are not counted yet. */
  readonly requests: RequestsSent | null;
}

/** The settings of a run, and problems other than those of its work. */
export interface ReportSetting {
  readonly policy: Policy;
  /** Agents in the order in which they are called. A null `model` is the agent's own choice. */
  readonly agents: readonly { readonly name: AgentName; readonly model: string | null }[];
  readonly prices: Prices;
  readonly taskLabel: string;
  /** Sources in which the run looks for tasks: `issues`, `plan`, `prd`, `beads`. */
  readonly taskSources: readonly string[];
  readonly verifyCommands: readonly string[];
  readonly warnings: readonly string[];
  /** Files and settings of other Ralphs, used or unused, one line each. */
  readonly found: readonly string[];
  /** The result of the event apart from the run's work or end, as sentences, or null. */
  readonly before: string | null;
  /** The open pull requests of Ralph's branches in the order in which to merge them, or null if they were not read. */
  readonly train: Train | null;
  /** Percentage of test-only iterations at which the report mentions them. */
  readonly testOnlyPercent: number;
  /** True if reviews of the pull request are answered. */
  readonly answersReviews: boolean;
  /** The search that makes issues tasks as well; null without one. */
  readonly issueQuery: string | null;
}

/** The findings of `doctor`; empty if nobody asked for them. */
interface SetUpFacts {
  readonly findings: readonly Finding[];
}

/** The state in which the run leaves its lane. */
export interface LaneFacts {
  readonly lane: LaneId;
  readonly branch: string;
  /** The base branch, or null if this run did not look it up. */
  readonly baseBranch: string | null;
  /** Tip of the branch on the remote, or null if none. */
  readonly headSha: string | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  /** Every eligible task of the lane, in the order of work. */
  readonly tasks: readonly TaskReport[];
  /** Requests of people and CI to the lane's pull request that are tasks of the lane now. */
  readonly feedback: readonly TaskReport[];
  /** Requests of people and CI to the pull request over all runs, with the answers. */
  readonly answers: Feedback;
  /** Checks of the pull request's head, or null if they were not read. */
  readonly checks: ChecksSummary | null;
  /** Failure of `verify` on the base branch; null if it passes or was not checked. */
  readonly redBase: RedBase | null;
  /**
   * People's decisions on the pull request's head when the run began; null if none, or they were not read.
   */
  readonly held: HeldHead | null;
  readonly circuit: CircuitWord;
  /** The failed call that opened the circuit; null when it is not open, or none did. */
  readonly failure: CallFailure | null;
  /** The cause that last opened the circuit. */
  readonly openedBy: CircuitOpener;
  /** Number of calls left in the repository's current window. */
  readonly callsRemaining: number;
  /** Text such as `restored #40 (cache)`, or why no state was restored. */
  readonly restored: string;
}

/** The state of a lane, for the answer to a command. */
export interface LaneView {
  readonly lane: LaneId;
  /** The stored state; null if the lane has not run yet, or its state could not be read. */
  readonly state: LaneState | null;
  /** Text such as `restored #40 (cache and ref)`, or why no state was restored. */
  readonly restored: string;
  /** The lease of another run, or null if the lane is free. */
  readonly claimedBy: Lease | null;
  readonly tasks: readonly TaskReport[];
  readonly circuit: CircuitWord;
  /** Instant at which an open circuit is probed, or null if it is not open. */
  readonly probeAt: number | null;
  /** Usage of the repository's windows, including reservations by runs of other lanes. */
  readonly usage: OpenUsage;
  /** Limits of the windows; 0 = no limit. */
  readonly limits: Pick<Policy, 'maxCallsPerHour' | 'maxTokensPerHour' | 'maxCostUsdPerDay'>;
  /** The effect of the order that this run was given, or null if it was given none. */
  readonly receipt: Receipt | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  readonly taskLabel: string;
  /** Number of jobs of a run. A run in three jobs cannot ask for orders while its agent works. */
  readonly jobs: 'one' | 'three';
  readonly runUrl: string;
  readonly now: number;
}

export interface TaskReport {
  readonly task: Task;
  readonly progress: ShownProgress;
  /** The task's share of the branch, over all runs. */
  readonly share: TaskShare;
  /** Address of the comment that asks a person about the task, if another branch asked, otherwise null. */
  readonly asked: string | null;
}

type CircuitWord = CircuitView['kind'];

/** The result of saving the state. `where` is the store that has the copy, such as `cache`. */
export type SavedReport =
  | { readonly kind: 'saved'; readonly sequence: number; readonly where: string }
  | { readonly kind: 'not-saved'; readonly why: string };

/** Creates the report of a run that ended before it had a lane. */
export function createLanelessReport(facts: Omit<RunFacts, 'requests' | 'logUrl'>): ReportWithoutLane {
  return { kind: 'without-lane', ...facts, logUrl: facts.runUrl, requests: null };
}

/** The end of a run that worked on several lanes in parallel. */
export interface ParallelEnd {
  readonly lanes: readonly EndOfLane[];
  /** `https://github.com/owner/repo`, for links. */
  readonly repositoryUrl: string;
  /** The open pull requests after this run, in their order; null if the run did not read them. */
  readonly train: Train | null;
}

export interface EndOfLane {
  readonly lane: LaneId;
  readonly branch: string;
  /** The run on this lane in its stored form, or null if none of its jobs published anything. */
  readonly run: StoredRun | null;
}
