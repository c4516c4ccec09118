import { z } from 'zod';
import type { Finding } from '../core/doctor/finding.ts';
import type { ObjectId, Verification } from '../core/evidence.ts';
import type { ChecksSummary } from '../core/feedback/checks/checks.ts';
import type { Hold } from '../core/feedback/pull-request-now.ts';
import type { IsolationFacts } from '../core/isolation/probe.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import { settleFinished } from '../core/lane/check.ts';
import { type LaneState, serializeState } from '../core/lane/state.ts';
import type { McpServer } from '../core/mcp/values.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import type { Settlement } from '../core/people/needs.ts';
import type { Need } from '../core/people/notifications.ts';
import type { Pipeline } from '../core/pipeline/pipeline.ts';
import type { Policy } from '../core/policy.ts';
import type { LookAt } from '../core/review/look-at.ts';
import { type FoundSetting, foundSettingSchema } from '../core/settings/effective.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { OrderKind } from '../core/sharing/orders.ts';
import type { LaneId, TaskId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import { mapTexts } from '../core/text/redact.ts';
import { tryJson } from '../core/text/try-json.ts';
import type { AgentName } from '../ports/agent.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { LaneStart, OpenedLane, Withheld } from '../ports/repository.ts';

/** What the gate hands to the loop (`policy`: the user's, bound by what this run reserved; `claimedAt`: from when the claim and the run's time count), or the end of the run that it decided. Plain data. */
export type Intake =
  | {
      readonly kind: 'work';
      readonly lane: Lane;
      readonly opened: OpenedLane;
      readonly tasks: readonly Task[];
      readonly state: LaneState;
      readonly policy: Policy;
      readonly claimedAt: number;
      /** What each iteration does; null: it calls the agent. */
      readonly pipeline: Pipeline | null;
      /** Servers of the agent's tools, as the base branch and the inputs name them. */
      readonly mcpServers: readonly McpServer[];
      readonly notes: Notes;
    }
  | {
      readonly kind: 'end';
      readonly outcome: Outcome;
      readonly lane: Lane | null;
      readonly tasks: readonly Task[];
      readonly state: LaneState | null;
      readonly answer: Answer | null;
      readonly over: Over | null;
      readonly notes: Notes;
    };

/** What nobody is needed for any more since the event, and the thread that may have asked for them; null: nothing. */
interface Over {
  readonly thread: number;
  readonly needs: readonly Need[];
  readonly why: Settlement;
}

/** A lane as this run found it. */
export interface Lane {
  readonly id: LaneId;
  readonly branch: string;
  readonly baseBranch: string;
  readonly start: LaneStart;
  readonly pullRequest: PullRequest | null;
}

/** What a command is answered, in the thread where it was given; null: in the job's summary and log alone. */
export interface Answer {
  readonly thread: number | null;
  readonly text:
    | { readonly kind: 'status'; readonly receipt: Receipt | null }
    | { readonly kind: 'doctor'; readonly findings: readonly Finding[] }
    | { readonly kind: 'help'; readonly word: string }
    | { readonly kind: 'refusal'; readonly why: string };
}

/** What became of an order; `changed`: it was not so before. */
export interface Receipt {
  readonly order: OrderKind;
  readonly changed: boolean;
}

/** What people must hear of how the run began. */
export interface Notes {
  /** `restored #40 (cache and ref)`, or why there is none. */
  readonly restored: string;
  readonly warnings: readonly string[];
  /** Issues whose text somebody changed who may not, and which have no notice yet that they wait for the label. */
  readonly notices: readonly ApprovalNotice[];
  /** The lease of another run; null: the lane is free. */
  readonly claimedBy: Lease | null;
  /** Files and settings of other Ralphs: what is used and what is not, one line each. */
  readonly found: readonly string[];
  /** Of the pull request's head; null: nobody looked. */
  readonly checks: ChecksSummary | null;
  /** What people had decided of the pull request's head as the run began; null: nothing, or nobody looked. */
  readonly held: HeldHead | null;
}

/** `isDraft`: whether the pull request was a draft then. `refusal`: why the head could not be freed for what is asked of it, as a sentence; null: nobody tried, or it was freed. */
export interface HeldHead {
  readonly hold: Hold;
  readonly isDraft: boolean;
  readonly refusal: string | null;
}

/** A run that ends in the gate, before it knows anything of a lane. */
export function endIntake(outcome: Outcome): Extract<Intake, { kind: 'end' }> {
  return {
    kind: 'end',
    outcome,
    lane: null,
    tasks: [],
    state: null,
    answer: null,
    over: null,
    notes: { restored: 'not needed', warnings: [], notices: [], claimedBy: null, found: [], checks: null, held: null },
  };
}

export type WorkIntake = Extract<Intake, { readonly kind: 'work' }>;

/** What the gate's job hands over to the jobs of the loop and of publishing. Whoever takes it knows its hash from the gate itself. */
export interface HandedIntake {
  readonly version: 1;
  readonly kind: 'intake';
  /** Under which the lane is claimed and its use reserved. */
  readonly runTag: string;
  readonly intake: WorkIntake;
  /** Tip of the lane's branch, which the gate has made where there was none; null: there is none yet. */
  readonly remoteHead: ObjectId | null;
  /** The task whose issue says that the run is at work; null: none does. */
  readonly shown: TaskId | null;
  /** The transcript of the lane's session, encrypted, in a file beside it; null: there is none. */
  readonly session: HandedFile | null;
  /** What the environment of the gate's job and the base branch's settings file say in place of inputs. */
  readonly settings: readonly FoundSetting[];
}

export const handedFileSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().min(0),
});

/** A file beside a parcel that names it. */
export type HandedFile = z.infer<typeof handedFileSchema>;

const headSchema = z.object({
  version: z.number(),
  kind: z.literal('intake'),
  runTag: z.string(),
  intake: z.object({}),
  settings: z.array(foundSettingSchema).default([]),
});

/** Reads a parcel whose hash was checked, so that it is what a gate has written; null: not one of this version. */
export function parseHandedIntake(text: string): HandedIntake | null {
  const json = tryJson(text);
  const head = headSchema.safeParse(json);
  return head.success && head.data.version === 1 ? { ...(json as HandedIntake), settings: head.data.settings } : null;
}

/** Who says what was measured: this job, the job of the loop, or the record on disk that main left to post. */
export type IsolationSource = (typeof isolationSources)[number];

export const isolationSources = ['this-job', 'loop-job', 'record'] as const;

/** Work of a run in which nothing was done, as far as it stands. */
export function untouchedWork(
  {
    lane,
    tasks,
    notes,
    state,
    head,
    remoteHead,
    shown,
    startedAt,
  }: Pick<Work, 'lane' | 'tasks' | 'notes' | 'state' | 'head' | 'remoteHead' | 'shown' | 'startedAt'>,
  now: number,
): Omit<Work, 'outcome'> {
  return {
    lane,
    tasks,
    notes,
    stateBefore: state,
    state,
    journal: [],
    headVerification: null,
    base: head,
    head,
    remoteHead,
    safe: { state, iterations: 0 },
    hasNewCommits: false,
    withheld: [],
    lookAt: [],
    warnings: [],
    isolation: null,
    isolationFrom: 'loop-job',
    shown,
    notWaited: null,
    agent: { name: '', version: '' },
    startedAt,
    endedAt: now,
  };
}

/** What the loop hands to the publisher. It is on disk after every step, so that post can publish what a killed main left. */
export interface Work {
  readonly lane: Lane;
  readonly tasks: readonly Task[];
  readonly notes: Notes;
  /** State of the lane before this run: what holds if the commits cannot be published. */
  readonly stateBefore: LaneState;
  readonly state: LaneState;
  readonly journal: readonly JournalEntry[];
  /** This run's newest verification in a clean clone, of which commit, and after how many iterations; null: there was none. */
  readonly headVerification: {
    readonly commit: ObjectId;
    readonly after: number;
    readonly verification: Verification;
  } | null;
  /** The commit that the lane was at when this run opened it. */
  readonly base: ObjectId;
  /** Tip of the lane's branch as this run makes it. */
  readonly head: ObjectId;
  /** Tip of the branch on the remote, as far as this run knows; null: there is none. */
  readonly remoteHead: ObjectId | null;
  /** What holds for `remoteHead`: the state then, and how many iterations had led to it. */
  readonly safe: { readonly state: LaneState; readonly iterations: number };
  /** Whether this run made commits. */
  readonly hasNewCommits: boolean;
  readonly withheld: readonly Withheld[];
  /** What a reviewer looks at first, of this run. */
  readonly lookAt: readonly LookAt[];
  readonly warnings: readonly string[];
  /** What was measured of the isolation of all that runs the lane's code; null: the loop has not begun, or nothing was measured. */
  readonly isolation: IsolationFacts | null;
  readonly isolationFrom: IsolationSource;
  /** The task whose issue says that the run is at work; null: none does. */
  readonly shown: TaskId | null;
  /** The run's own bound because of which it did not wait for a limit, as it was to; null: there is none. */
  readonly notWaited: RunBound | null;
  readonly agent: AgentName;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}

/** A lane's state as it is stored, at whatever moment of a run. `transcript` is the one that is stored beside it. */
export function documentOf(
  state: LaneState,
  { transcript, redact }: { readonly transcript: LaneState['transcript']; readonly redact: (text: string) => string },
): string {
  // Text by text: a secret that is also a word of the form must not destroy the whole.
  return serializeState({ ...mapTexts(state, redact), transcript });
}

/** The stored transcripts that are still those of a conversation of the state; null: they are of none. */
export function transcriptBefore(before: LaneState, state: LaneState): LaneState['transcript'] {
  const known = new Set(idsOf(before));
  return idsOf(state).some((id) => known.has(id)) ? before.transcript : null;
}

function idsOf({ session, resting }: LaneState): readonly string[] {
  return [session, ...Object.values(resting)].flatMap((one) => one?.id ?? []);
}

/** The work's state as others may build on it: the loop checks what it finished in a clean clone before it ends, and until then nothing of it is done. */
export function verifiedState(
  { state, head, headVerification, journal }: Work,
  policy: Policy,
  now: number,
): LaneState {
  const { headCheck } = state;
  // Behind the last iteration the loop itself commits no more than marks in files of tasks.
  const isNewest = headVerification?.after === journal.length;
  const proven = isNewest ? [head, headVerification.commit] : [head];
  const isProven = headCheck?.kind === 'passed' && proven.includes(headCheck.commit);
  return settleFinished(state, isProven || !policy.verifies, now);
}
