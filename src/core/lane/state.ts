import type { HintCode } from '../prompt/hints.ts';
import type { CircuitReason, OutcomeKind, ParkReason } from '../outcome.ts';
import { laneStateParts } from './state-schema.ts';
import { migrateState } from './state-migrations.ts';
import { believableWindows, parseWindows, type Windows } from './stored-windows.ts';
import type { LaneId, TaskId } from '../tasks/ids.ts';
import type { Approval, TaskProgress } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';

/** Everything that survives from one run of a lane to the next. Instants in ms since the epoch (UTC). */
export interface LaneState {
  readonly version: typeof stateVersion;
  readonly lane: LaneId;
  /** Grows by one with every save; the higher of two copies is the newer. */
  readonly sequence: number;
  readonly savedAt: number;
  readonly circuit: Circuit;
  readonly windows: Windows;
  readonly signals: Signals;
  readonly session: Session | null;
  readonly tasks: Readonly<Record<TaskId, TaskProgress>>;
  /** Consent to the texts of the issues that the lane worked on. */
  readonly approvals: Readonly<Record<TaskId, Approval>>;
  /** Tasks of files that are done although the branch's file did not list them, so that nothing marks them; newest last, at most 100. */
  readonly unmarked: readonly TaskId[];
  readonly currentTask: TaskId | null;
  readonly park: {
    readonly reason: ParkReason;
    readonly resumeAt: number;
    readonly taskId: TaskId | null;
    readonly branchHead: string | null;
  } | null;
  readonly pause: { readonly by: string; readonly at: number } | null;
  /** Number of the newest order that this state has obeyed. */
  readonly ordersApplied: number;
  /** Calls, tokens, cost and minutes per UTC day, newest last, at most 31. */
  readonly ledger: readonly LedgerDay[];
  /** Newest last, at most 50. */
  readonly transitions: readonly Transition[];
  /** How the last run that worked ended. */
  readonly lastRun: {
    readonly outcome: OutcomeKind;
    readonly reason: string;
    readonly at: number;
    readonly published: Published | null;
  } | null;
  /** What the next prompt says of the last iteration; composed by us, free of agent prose. */
  readonly lastIteration: LastIteration | null;
}

/**
 * HALF_OPEN is never stored: it follows from `noProgress` (diagnosis) or from `openedAt` and the clock (probe).
 * `totalOpens` counts trips over the lane's life.
 */
export type Circuit =
  | {
      readonly kind: 'closed';
      readonly totalOpens: number;
      readonly noProgress: number;
      readonly errorStreaks: readonly ErrorStreak[];
      readonly denials: number;
      readonly decline: number;
      readonly questionHeld: boolean;
    }
  | { readonly kind: 'open'; readonly totalOpens: number; readonly reason: CircuitReason; readonly openedAt: number };

/** In how many iterations in a row, up to the newest, the same error was there. */
export interface ErrorStreak {
  readonly fingerprint: string;
  readonly count: number;
}

/** Rolling windows over the lane's last five iterations, newest last. */
export interface Signals {
  /** Completion indicators. */
  readonly indicators: readonly boolean[];
  /** EXIT_SIGNAL true that evidence overruled and that did not even finish its own task. */
  readonly vetoed: readonly boolean[];
  /** Characters of the final messages. */
  readonly outputChars: readonly number[];
  /** Streaks that end at the newest iteration. */
  readonly doneInARow: number;
  readonly blockedInARow: number;
  readonly testOnlyInARow: number;
}

export interface Session {
  readonly id: string;
  readonly startedAt: number;
  readonly lastUsedAt: number;
  readonly taskId: TaskId | null;
}

/** What people can see of the lane on the remote: tip of its branch, and its pull request. */
export interface Published {
  readonly head: string;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
}

export interface LedgerDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd: number;
  readonly minutes: number;
}

export interface Transition {
  readonly at: number;
  readonly subject: 'circuit' | 'session' | 'task' | 'pause' | 'park' | 'state';
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

export interface LastIteration {
  readonly taskId: TaskId | null;
  readonly progress: boolean;
  readonly fileCount: number;
  /** Content of the work tree at its end. */
  readonly tree: string;
  /** Newest verification of `tree`, which an iteration without changes inherits. */
  readonly verification: 'not-run' | 'passed' | 'failed';
  /** Turned into fixed sentences by hints.ts. */
  readonly hints: readonly HintCode[];
}

/** What came of reading a stored document. `problems` are sentences for a person about parts that were replaced by safe ones. */
export type ParsedState =
  | { readonly kind: 'state'; readonly state: LaneState; readonly problems: readonly string[] }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'newer'; readonly version: number };

/** Version of the documents that are written; older ones are migrated. */
export const stateVersion = 3;
/** A stored document is at most this long, in bytes of UTF-8. */
export const maxStateBytes = 64 * 1024;
/** What is kept of a session's transcript: more is not worth its transfer. */
export const maxSessionBytes = 10 * 1024 * 1024;
export const maxTransitions = 50;
export const maxLedgerDays = 31;
export const maxUnmarked = 100;
/** Longer reasons in the state are cut. */
export const maxReasonChars = 200;

export const noSignals: Signals = {
  indicators: [],
  vetoed: [],
  outputChars: [],
  doneInARow: 0,
  blockedInARow: 0,
  testOnlyInARow: 0,
};

/** A circuit without any history but its number of trips. */
export function closedCircuit(totalOpens: number): Circuit & { readonly kind: 'closed' } {
  return { kind: 'closed', totalOpens, noProgress: 0, errorStreaks: [], denials: 0, decline: 0, questionHeld: false };
}

/** The state of a lane that never ran. */
export function initialState(lane: LaneId, now: number): LaneState {
  return {
    version: stateVersion,
    lane,
    sequence: 0,
    savedAt: now,
    circuit: closedCircuit(0),
    windows: { hour: null, day: null },
    signals: noSignals,
    session: null,
    tasks: {},
    approvals: {},
    unmarked: [],
    currentTask: null,
    park: null,
    pause: null,
    ordersApplied: 0,
    ledger: [],
    transitions: [],
    lastRun: null,
    lastIteration: null,
  };
}

/** For a lane whose state should be there and cannot be read: one probe iteration decides whether to go on. */
export function probeState(lane: LaneId, now: number): LaneState {
  const state = { ...initialState(lane, now), circuit: unreadableCircuit };
  return noted(state, { at: now, subject: 'state', from: 'unreadable', to: 'initial', reason: 'state_unreadable' });
}

/** Never CLOSED: opened so long ago that exactly one probe is due. */
const unreadableCircuit: Circuit = { kind: 'open', totalOpens: 0, reason: 'state_unreadable', openedAt: 0 };

/** The state with one more transition; the oldest beyond `maxTransitions` go. */
export function noted(state: LaneState, transition: Transition): LaneState {
  const entry = { ...transition, reason: transition.reason.slice(0, maxReasonChars) };
  return { ...state, transitions: [...state.transitions, entry].slice(-maxTransitions) };
}

/** Reads a stored document. Any string is answered; nothing in it is trusted beyond its schema. */
export function parseState(document: string, lane: LaneId): ParsedState {
  if (bytesOf(document) > maxStateBytes) return { kind: 'unreadable', why: `it is longer than ${maxStateBytes} bytes` };
  const stored = tryJson(document);
  const written = laneStateParts.head.safeParse(stored);
  if (!written.success) return { kind: 'unreadable', why: 'it is not a JSON object with a version and a lane' };
  if (written.data.version > stateVersion) return { kind: 'newer', version: written.data.version };
  if (written.data.lane !== lane) return { kind: 'unreadable', why: 'it belongs to another lane' };
  const json = migrateState(stored, written.data.version);
  const body = laneStateParts.body.safeParse(json);
  if (!body.success)
    return {
      kind: 'unreadable',
      why: `${body.error.issues[0]?.path.join('.') || 'the document'} is not as the schema wants it`,
    };

  const circuit = laneStateParts.circuit.safeParse(written.data.circuit);
  const windows = parseWindows(written.data.windows, body.data.savedAt);
  const problems = [
    ...(circuit.success
      ? []
      : ['The circuit in the stored state cannot be read: one probe iteration decides whether the loop goes on.']),
    ...windows.problems,
  ];
  const state: LaneState = {
    ...body.data,
    circuit: circuit.success ? circuit.data : unreadableCircuit,
    windows: windows.windows,
  };
  return { kind: 'state', state, problems };
}

/** Reads a stored document for a run that begins `now`: usage that a machine with a wrong clock booked far in the future counts from now on. */
export function parseStateAt(document: string, lane: LaneId, now: number): ParsedState {
  const parsed = parseState(document, lane);
  if (parsed.kind !== 'state') return parsed;
  const windows = believableWindows(parsed.state.windows, now);
  if (windows === parsed.state.windows) return parsed;
  return {
    ...parsed,
    state: { ...parsed.state, windows },
    problems: [
      ...parsed.problems,
      'The usage windows in the stored state begin in the future, since the clock of a machine was wrong: what was used counts from now on.',
    ],
  };
}

/** The document to store. Always within `maxStateBytes`: history goes first, finished tasks last. */
export function serializeState(state: LaneState): string {
  let kept: LaneState = {
    ...state,
    transitions: state.transitions.slice(-maxTransitions),
    ledger: state.ledger.slice(-maxLedgerDays),
  };
  for (const prune of prunings) {
    const document = JSON.stringify(kept);
    if (bytesOf(document) <= maxStateBytes) return document;
    kept = prune(kept);
  }
  return JSON.stringify(kept);
}

const prunings: readonly ((state: LaneState) => LaneState)[] = [
  (state) => ({ ...state, transitions: state.transitions.slice(-10), ledger: state.ledger.slice(-2) }),
  (state) => ({ ...state, tasks: keepTasks(state, ([, task]) => task.state !== 'todo' || task.attempts > 0) }),
  (state) => ({
    ...state,
    tasks: Object.fromEntries(
      Object.entries(state.tasks).map(([id, task]) => [
        id,
        { ...task, doneCommit: null, ...(task.state === 'done' ? { startedTree: null } : {}) },
      ]),
    ),
  }),
  // Only reached by a lane with hundreds of tasks: the oldest are the likeliest to be closed by now.
  (state) => ({
    ...state,
    transitions: [],
    tasks: newest(state.tasks, 150),
    approvals: newest(state.approvals, 150),
    unmarked: state.unmarked.slice(-50),
  }),
];

function keepTasks(
  state: LaneState,
  keep: (entry: [TaskId, TaskProgress]) => boolean,
): Readonly<Record<TaskId, TaskProgress>> {
  return Object.fromEntries(Object.entries(state.tasks).filter(keep));
}

function newest<T>(entries: Readonly<Record<TaskId, T>>, count: number): Readonly<Record<TaskId, T>> {
  return Object.fromEntries(Object.entries(entries).slice(-count));
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
