import type { AgentName as ChosenName } from '../core/agent-names.ts';
import type { ObjectId, Verification } from '../core/evidence.ts';
import type { RedBase } from '../core/lane/base/red-base.ts';
import type { ChecksSummary } from '../core/feedback/checks/checks.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { CircuitOpener } from '../core/others/left-circuit.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import type { CircuitView } from '../core/lane/circuit.ts';
import type { OpenUsage } from '../core/lane/windows.ts';
import type { HeldHead, IsolationSource, Receipt } from './intake.ts';
import type { Policy } from '../core/policy.ts';
import type { Prices } from '../core/spending/prices.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { Change, TaskShare } from '../core/lane/change.ts';
import type { Check, LaneState } from '../core/lane/state.ts';
import type { LookAt } from '../core/review/look-at.ts';
import type { Task, ShownProgress } from '../core/tasks/task.ts';
import type { LaneId, TaskId } from '../core/tasks/ids.ts';
import type { AgentName } from '../ports/agent.ts';

/** Everything a reader may see of one run, as much of it as the run got to know. Agent text in it is redacted. */
export type RunReport = ReportWithoutLane | ReportAtGate | LaneReport;

/** Of a run that had a lane. */
export type LaneReport = EndedReport | AnsweredReport | WorkedReport;

/** The run ended before it knew anything of its work: refused, failed at its inputs, cancelled. */
export interface ReportWithoutLane extends RunFacts {
  readonly kind: 'without-lane';
}

/** The gate ended the run before it knew how the lane stands. */
export interface ReportAtGate extends RunFacts, Setting, SetUpFacts {
  readonly kind: 'at-gate';
}

/** The gate ended the run, knowing how the lane stands. */
export interface EndedReport extends RunFacts, Setting, LaneFacts, SetUpFacts {
  readonly kind: 'ended';
}

/** The run answered a command: how the lane stands is what it was asked. */
export interface AnsweredReport extends RunFacts, Setting, LaneFacts {
  readonly kind: 'answered';
  readonly view: LaneView;
}

/** The run worked, as far as it got. */
export interface WorkedReport extends RunFacts, Setting, LaneFacts {
  readonly kind: 'worked';
  /** Tasks that this branch has work of and that are not listed any more: closed by hand, without the label, deleted from their file. */
  readonly unlisted: readonly TaskId[];
  /** Iterations of this run, oldest first. */
  readonly iterations: readonly JournalEntry[];
  /** Of this run. */
  readonly tokens: number;
  readonly costUsd: number;
  /** A sentence part for people, e.g. `resumed, 2 h old`. */
  readonly session: string;
  /** null: not known yet. */
  readonly saved: SavedReport | null;
  readonly withheld: readonly WithheldFile[];
  /** Published files that a reviewer looks at first, of this run. */
  readonly lookAt: readonly LookAt[];
  /** What the branch holds, over all runs. */
  readonly change: Change;
  /** What `verify` said of the untouched base; null: not known. */
  readonly baseCheck: Check | null;
  /** What it said of the branch in a clean clone; null: not known. */
  readonly headCheck: HeadCheck | null;
  /** null: nothing was measured. */
  readonly isolation: IsolationReport | null;
  readonly agent: AgentName;
  /** The task whose issue says that the run is at work; null: none does. */
  readonly shown: TaskId | null;
  /** The run's own bound because of which it did not wait for a limit, as it was to; null: there is none. */
  readonly notWaited: RunBound | null;
}

/** What was measured of the isolation, and whose word it is. */
export interface IsolationReport {
  readonly facts: IsolationFacts;
  readonly from: IsolationSource;
}

/** A verification in a clean clone. `of` the published head (but for a commit that only archives), or of an earlier commit of this run. */
export interface HeadCheck {
  readonly of: 'head' | 'earlier';
  readonly commit: ObjectId;
  readonly verification: Exclude<Verification, { readonly kind: 'not-run' }>;
}

/** What every run knows, however early it ends. */
export interface RunFacts {
  readonly outcome: Outcome;
  /** `https://github.com/owner/repo`, for links to commits. */
  readonly repositoryUrl: string;
  readonly runUrl: string;
  /** Of the log: the step's page where that is known, else `runUrl`. */
  readonly logUrl: string;
  /** Instants in ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** What the run asked of GitHub's API; null: not counted yet. */
  readonly requests: ApiUsage | null;
}

/** What a run was set up with, and what went wrong beside its work. */
export interface Setting {
  readonly policy: Policy;
  /** In the order in which they are asked. `model`: null = the agent's own choice. */
  readonly agents: readonly { readonly name: ChosenName; readonly model: string | null }[];
  readonly prices: Prices;
  readonly taskLabel: string;
  /** Where the run looks for tasks: `issues`, `plan`, `prd`, `beads`. */
  readonly taskSources: readonly string[];
  readonly verifyCommands: readonly string[];
  readonly warnings: readonly string[];
  /** Files and settings of other Ralphs: what is used and what is not, one line each. */
  readonly found: readonly string[];
  /** Percentage of a run's iterations from which it is shown that they changed nothing but tests. */
  readonly testOnlyPercent: number;
  /** Whether a review of the pull request is answered. */
  readonly answersReviews: boolean;
}

/** What `doctor` found; empty: nobody asked for it. */
interface SetUpFacts {
  readonly findings: readonly Finding[];
}

/** How the run leaves its lane. */
export interface LaneFacts {
  readonly lane: LaneId;
  readonly branch: string;
  /** null: this run did not look. */
  readonly baseBranch: string | null;
  /** Tip of the branch on the remote; null: there is none. */
  readonly headSha: string | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  /** Every eligible task of the lane, in the order of work. */
  readonly tasks: readonly TaskReport[];
  /** What people and CI asked of its pull request, as far as it is a task of the lane now. */
  readonly feedback: readonly TaskReport[];
  /** What people and CI have asked of it over all runs, and what came of it. */
  readonly answers: Feedback;
  /** Of its head; null: nobody looked. */
  readonly checks: ChecksSummary | null;
  /** How `verify` fails on the base branch; null: it passes, or nobody asked. */
  readonly redBase: RedBase | null;
  /** What people had decided of its head as the run began; null: nothing, or nobody looked. */
  readonly held: HeldHead | null;
  readonly circuit: CircuitWord;
  /** What opened the circuit last. */
  readonly openedBy: CircuitOpener;
  /** What is left of the repository's current window. */
  readonly callsRemaining: number;
  /** `restored #40 (cache)`, or why there is none. */
  readonly restored: string;
}

/** How a lane stands, for the answer to a command. */
export interface LaneView {
  readonly lane: LaneId;
  /** null: the lane has not run yet, or its state could not be read. */
  readonly state: LaneState | null;
  /** `restored #40 (cache and ref)`, or why there is none. */
  readonly restored: string;
  /** The lease of another run; null: the lane is free. */
  readonly claimedBy: Lease | null;
  readonly tasks: readonly TaskReport[];
  readonly circuit: CircuitWord;
  /** When an open circuit is probed. */
  readonly probeAt: number | null;
  /** What is used of the repository's windows, and reserved by runs of other lanes. */
  readonly usage: OpenUsage;
  /** 0: no limit. */
  readonly limits: Pick<Policy, 'maxCallsPerHour' | 'maxTokensPerHour' | 'maxCostUsdPerDay'>;
  /** Of the order that this run was given. */
  readonly receipt: Receipt | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  readonly taskLabel: string;
  /** Of how many jobs the runs are: one of three asks nobody while its agent works. */
  readonly jobs: 'one' | 'three';
  readonly runUrl: string;
  readonly now: number;
}

export interface TaskReport {
  readonly task: Task;
  readonly progress: ShownProgress;
  /** What the branch has of it, over all runs. */
  readonly share: TaskShare;
  /** Address of the comment that asks a person about it, where another branch asked; null: there is none. */
  readonly asked: string | null;
}

/** HTTP requests sent, and what GitHub said that the token has left of its hour; null where it did not say. `resetAt` in ms. */
export interface ApiUsage {
  readonly sent: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
}

type CircuitWord = CircuitView['kind'];

/** `where` is the store that holds the copy, e.g. `cache`. */
export type SavedReport =
  | { readonly kind: 'saved'; readonly sequence: number; readonly where: string }
  | { readonly kind: 'not-saved'; readonly why: string };

/** A changed file that was left out of the commits. */
interface WithheldFile {
  readonly path: string;
  readonly why: string;
}

/** The report of a run that ended before it had a lane. */
export function reportWithoutLane(facts: Omit<RunFacts, 'requests' | 'logUrl'>): ReportWithoutLane {
  return { kind: 'without-lane', ...facts, logUrl: facts.runUrl, requests: null };
}
