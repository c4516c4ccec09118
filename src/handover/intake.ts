import { z } from 'zod';
import type { AnsweredTick, Tick } from '../core/dashboard/boxes.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { Forecast } from '../core/forecast/forecast.ts';
import type { ObjectId, Verification } from '../core/evidence.ts';
import type { ChecksSummary } from '../core/feedback/checks/checks.ts';
import type { Hold } from '../core/feedback/pull-request-now.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import { settleFinished } from '../core/lane/verification.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { serializeState, withoutCopies } from '../core/lane/state/serialize-state.ts';
import type { McpServer } from '../core/mcp/values.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import type { Settlement } from '../core/people/needs.ts';
import type { Need } from '../core/people/notifications.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { Policy } from '../core/policy.ts';
import type { FilesToLookAt } from '../core/review/look-at.ts';
import { type FoundSetting, foundSettingSchema } from '../core/settings/effective.ts';
import type { ListedQueue } from '../core/snapshot/dashboard-record.ts';
import type { RevertCommit } from '../core/snapshot/stored-pull.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { OrderKind } from '../core/sharing/orders.ts';
import type { LaneId, TaskId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Train } from '../core/train/train.ts';
import { mapTexts } from '../core/text/redact.ts';
import { tryJson } from '../core/text/try-json.ts';
import type { AgentIdentity } from '../ports/agent.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { LaneStart, OpenedLane, WithheldChange } from '../ports/repository.ts';

/**
 * The gate's hand-over to the loop, or the end of the run that the gate decided; plain data. `policy` is the user's,
 * limited by what this run reserved. `claimedAt` is the instant from which the claim and the run's time count, and
 * `startBy` the last one at which another job can begin the calls.
 */
export type Intake =
  | {
      readonly kind: 'work';
      readonly lane: IntakeLane;
      readonly opened: OpenedLane;
      readonly tasks: readonly Task[];
      readonly state: LaneState;
      readonly policy: Policy;
      readonly claimedAt: number;
      readonly startBy: number;
      /** The steps of each iteration; null means that an iteration calls the agent once. */
      readonly pipeline: Pipeline | null;
      /** Servers of the agent's tools, as the base branch and the inputs name them. */
      readonly mcpServers: readonly McpServer[];
      readonly notes: RunNotes;
      /**
       * Hash of the text of the lane's issue, for which the run only proposes sub-tasks; null means that it works on
       * tasks.
       */
      readonly proposes: string | null;
    }
  | {
      readonly kind: 'end';
      readonly outcome: Outcome;
      readonly lane: IntakeLane | null;
      readonly tasks: readonly Task[];
      readonly state: LaneState | null;
      readonly answer: CommandAnswer | null;
      readonly over: ClosedThread | null;
      readonly notes: RunNotes;
    };

/** Reasons for notifying people that ended with the event, and the thread that may contain the notice. */
export interface ClosedThread {
  readonly thread: number;
  readonly needs: readonly Need[];
  readonly why: Settlement;
}

/** A lane as this run found it. */
export interface IntakeLane {
  readonly id: LaneId;
  readonly branch: string;
  readonly baseBranch: string;
  readonly start: LaneStart;
  readonly pullRequest: PullRequest | null;
}

/**
 * The answer to a command, in the thread of the command. A null `thread` means that only the job's summary and log have
 * the answer.
 */
export interface CommandAnswer {
  readonly thread: number | null;
  readonly text:
    | { readonly kind: 'status'; readonly receipt: Receipt | null }
    | { readonly kind: 'doctor'; readonly findings: readonly Finding[] }
    | { readonly kind: 'help'; readonly word: string }
    /** The sub-issues that were made of an approved proposal. */
    | { readonly kind: 'approved'; readonly issues: readonly number[]; readonly isNew: boolean }
    | { readonly kind: 'refusal'; readonly why: string };
}

/** The effect of an order; `changed` is true if the order changed anything. */
export interface Receipt {
  readonly order: OrderKind;
  readonly changed: boolean;
}

/** Facts that people must know about how the run began. */
export interface RunNotes {
  /** Text such as `restored #40 (cache and ref)`, or why no state was restored. */
  readonly restored: string;
  readonly warnings: readonly string[];
  /**
   * Issues whose text was changed by a person without write permission, and that have no notice yet that they wait for
   * the label.
   */
  readonly notices: readonly ApprovalNotice[];
  /** The lease of another run, or null if the lane is free. */
  readonly claimedBy: Lease | null;
  /** Files and settings of other Ralphs, used or unused, one line each. */
  readonly found: readonly string[];
  /** Checks of the pull request's head, or null if they were not read. */
  readonly checks: ChecksSummary | null;
  /**
   * Decisions that people had made on the pull request's head when the run began; null if none, or they were
   * not read.
   */
  readonly held: HeldHead | null;
  /** The open pull requests of Ralph's branches in the order in which to merge them, or null if they were not read. */
  readonly train: Train | null;
  /** The dashboard as the gate has read it, or null if it was not read. */
  readonly dashboard: SeenDashboard | null;
  /** The queue as the gate has listed it, or null if it was not listed. */
  readonly queue: ListedQueue | null;
  /** Commits of the base branch that revert others, as far as a known pull request may have been reverted lately. */
  readonly reverts: readonly RevertCommit[];
  /** Similar tasks and advice for an issue that was requested by name and not yet begun; null in any other case. */
  readonly forecast: Forecast | null;
  /** The result of the event apart from this work or end, as sentences, or null. */
  readonly before: string | null;
}

/** The dashboard at one moment. `edits` is the number of its versions, and `content` is a hash of the newest one. */
export interface SeenDashboard {
  readonly number: number;
  readonly id: string;
  readonly isOpen: boolean;
  readonly content: string;
  readonly edits: number;
  /** The boxes that were ticked then. */
  readonly ticks: readonly Tick[];
  /** Judged ticks, also of earlier moments. */
  readonly answers: readonly AnsweredTick[];
}

/**
 * A head on which people have decided. `isDraft`: the pull request was a draft then. `refusal` is the reason why the
 * head could not be freed for feedback, as a sentence; it is null if the head was freed or this was not tried.
 */
export interface HeldHead {
  readonly hold: Hold;
  readonly isDraft: boolean;
  readonly refusal: string | null;
}

/** Creates the end of a run in the gate, before it knows a lane. */
export function endIntake(outcome: Outcome): EndIntake {
  return {
    kind: 'end',
    outcome,
    lane: null,
    tasks: [],
    state: null,
    answer: null,
    over: null,
    notes: createRunNotes('not needed'),
  };
}

/** Creates the notes of a lane. Only the origin of its state is required; the rest has defaults. */
export function createRunNotes(restored: string, known: Partial<RunNotes> = {}): RunNotes {
  return {
    ...{ restored, warnings: [], notices: [], claimedBy: null, found: [], reverts: [], forecast: null },
    ...{ checks: null, held: null, train: null, dashboard: null, queue: null, before: null, ...known },
  };
}

export type WorkIntake = Extract<Intake, { readonly kind: 'work' }>;
export type EndIntake = Extract<Intake, { readonly kind: 'end' }>;

/** One lane of a run that works on several, and the tag under which it is claimed. */
export interface LaneIntake {
  readonly intake: WorkIntake;
  readonly runTag: string;
}

/**
 * The gate's decision about an event. `runTag` is the tag under which the lane of `intake` is claimed; `beside`
 * contains the run's other lanes; it is empty unless `intake` is work. `over` is what ended before that work; null if
 * nothing did.
 */
export interface GateResult {
  readonly intake: Intake;
  readonly runTag: string;
  readonly beside: readonly LaneIntake[];
  readonly over: ClosedThread | null;
}

/** Returns the result of a gate that works on one lane, or on none. */
export function gateResultOfLane({ runTag }: { readonly runTag: string }, intake: Intake): GateResult {
  return { intake, runTag, beside: [], over: null };
}

/**
 * The hand-over of the gate's job to the jobs of the loop and of publishing. The receiver knows its hash from the gate
 * itself.
 */
export interface HandedIntake {
  readonly version: 1;
  readonly kind: 'intake';
  /** The run tag under which the lane is claimed and usage reserved. */
  readonly runTag: string;
  /** The lanes of the run in order, including this one. */
  readonly lanes: readonly LaneId[];
  readonly intake: WorkIntake;
  /** Tip of the lane's branch, which the gate has created if it did not exist; null if the lane has no branch yet. */
  readonly remoteHead: ObjectId | null;
  /** The reason why the server would refuse a merge of the base; null if it would not, or if no merge is possible. */
  readonly forbiddenMerge: string | null;
  /** The task whose issue says that the run is at work, or null if no issue says so. */
  readonly shown: TaskId | null;
  /** The encrypted transcript of the lane's session, in a separate file, or null if none. */
  readonly session: HandedFile | null;
  /** Settings in place of inputs, from the environment of the gate's job and the base branch's settings file. */
  readonly settings: readonly FoundSetting[];
}

export const handedFileSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().min(0),
});

/** A file next to a parcel that names it. */
export type HandedFile = z.infer<typeof handedFileSchema>;

const headSchema = z.object({
  version: z.number(),
  kind: z.literal('intake'),
  runTag: z.string(),
  lanes: z.array(z.string()),
  intake: z.object({ proposes: z.string().nullable().default(null) }),
  settings: z.array(foundSettingSchema).default([]),
});

/** Parses a parcel whose hash was checked, so that a gate has written it. Returns null if it is not of this version. */
export function parseHandedIntake(text: string): HandedIntake | null {
  const json = tryJson(text);
  const head = headSchema.safeParse(json);
  if (!head.success || head.data.version !== 1) return null;
  const { intake, ...handed } = json as HandedIntake;
  return { ...handed, intake: { ...intake, ...head.data.intake }, settings: head.data.settings };
}

/** The source of the isolation facts: this job, the job of the loop, or the record on disk that main left to post. */
export type IsolationSource = (typeof isolationSources)[number];

export const isolationSources = ['this-job', 'loop-job', 'record'] as const;

/** Creates the work of a run that has done nothing so far. */
export function createUntouchedWork(
  known: Pick<Work, 'lane' | 'tasks' | 'notes' | 'state' | 'head' | 'remoteHead' | 'shown' | 'startedAt' | 'proposal'>,
  now: number,
): Work {
  const { state, head } = known;
  return {
    ...known,
    stateBefore: state,
    journal: [],
    cleanVerification: null,
    base: head,
    lastPublished: { state, iterations: 0 },
    hasNewCommits: false,
    withheld: [],
    lookAt: [],
    warnings: [],
    isolation: null,
    isolationFrom: 'loop-job',
    waitSkippedBy: null,
    agent: { name: '', version: '' },
    endedAt: now,
    // This outcome is on disk while the loop runs, so it must describe a killed process.
    outcome: { kind: 'cancelled', reason: 'killed' },
  };
}

/** Creates the work of a run that begins with this intake. */
export function beginWork(
  { lane, tasks, notes, state, opened, claimedAt: startedAt, proposes }: Omit<WorkIntake, 'kind'>,
  { remoteHead, shown }: Pick<Work, 'remoteHead' | 'shown'>,
  now: number,
): Work {
  const proposal = proposes === null ? null : { text: proposes, words: null };
  return createUntouchedWork(
    { lane, tasks, notes, state, head: opened.head, remoteHead, shown, startedAt, proposal },
    now,
  );
}

/**
 * The loop's hand-over to the publisher. It is on disk after every step, so that post can publish the work of a killed
 * main.
 */
export interface Work {
  readonly lane: IntakeLane;
  readonly tasks: readonly Task[];
  readonly notes: RunNotes;
  /** The proposal of a run that only proposes sub-tasks of its lane's issue, otherwise null. */
  readonly proposal: Proposal | null;
  /** State of the lane before this run, which is saved if the commits cannot be published. */
  readonly stateBefore: LaneState;
  readonly state: LaneState;
  readonly journal: readonly JournalEntry[];
  /**
   * This run's newest verification in a clean clone, its commit, and the number of iterations before it; null if none.
   */
  readonly cleanVerification: {
    readonly commit: ObjectId;
    readonly after: number;
    readonly verification: Verification;
  } | null;
  /** The commit that the lane was at when this run opened it. */
  readonly base: ObjectId;
  /** Tip of the lane's branch on this machine. */
  readonly head: ObjectId;
  /** Tip of the branch on the remote, as far as this run knows; null if none. */
  readonly remoteHead: ObjectId | null;
  /** The state at `remoteHead`, and the number of iterations that had led to it. */
  readonly lastPublished: { readonly state: LaneState; readonly iterations: number };
  /** True if this run made commits. */
  readonly hasNewCommits: boolean;
  readonly withheld: readonly WithheldChange[];
  /** Changes of this run that a reviewer looks at first. */
  readonly lookAt: readonly FilesToLookAt[];
  readonly warnings: readonly string[];
  /**
   * Measured isolation of everything that runs the lane's code; null if the loop has not begun, or nothing was
   * measured.
   */
  readonly isolation: IsolationFacts | null;
  readonly isolationFrom: IsolationSource;
  /** The task whose issue says that the run is at work, or null if no issue says so. */
  readonly shown: TaskId | null;
  /** The run's own limit that kept it from waiting for a usage limit, or null if no limit did. */
  readonly waitSkippedBy: RunBound | null;
  readonly agent: AgentIdentity;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}

/**
 * A proposal of sub-tasks: the hash of the issue's text, and the agent's final message, which is null if no call ended.
 */
export interface Proposal {
  readonly text: string;
  readonly words: string | null;
}

/**
 * Returns a lane's state in its stored form at any moment of a run, without copies of other lanes' data. `transcript`
 * is the one that is stored next to it.
 */
export function serializeLaneState(
  state: LaneState,
  { transcript, redact }: { readonly transcript: LaneState['transcript']; readonly redact: (text: string) => string },
): string {
  // Redact texts one by one, so that a secret that is also a word of the format does not destroy the document.
  return serializeState({ ...mapTexts(withoutCopies(state), redact), transcript });
}

/** Returns the stored transcripts if they still belong to a conversation of the state, else null. */
export function findPreviousTranscript(before: LaneState, state: LaneState): LaneState['transcript'] {
  const known = new Set(idsOf(before));
  return idsOf(state).some((id) => known.has(id)) ? before.transcript : null;
}

function idsOf({ session, resting }: LaneState): readonly string[] {
  return [session, ...Object.values(resting)].flatMap((one) => one?.id ?? []);
}

/**
 * Returns the work's state for others to build on. Tasks that the loop finished are not done in it before their final
 * verification in a clean clone.
 */
export function selectStateToBuildOn(
  { state, head, cleanVerification, journal }: Work,
  policy: Policy,
  now: number,
): LaneState {
  const { headVerification } = state;
  // After the last iteration, the loop itself commits at most marks in task files, so the verification is still valid.
  const isNewest = cleanVerification?.after === journal.length;
  const proven = isNewest ? [head, cleanVerification.commit] : [head];
  const isProven = headVerification?.kind === 'passed' && proven.includes(headVerification.commit);
  return settleFinished(state, isProven || !policy.verifies, now);
}
