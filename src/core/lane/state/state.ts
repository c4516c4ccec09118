import { z } from 'zod';
import { AGENT_NAMES } from '../../agent-names.ts';
import { capProviderTimes, providersSchema } from '../../agents/providers.ts';
import { verificationKinds } from '../../evidence.ts';
import { feedbackSchema, noFeedback } from '../../feedback/memory.ts';
import { openStepSchema, outcomeKinds, passingLimits } from '../../outcome.ts';
import { MAX_NOTIFICATIONS, MAX_NOTIFICATIONS_PER_DAY, notificationSchema } from '../../people/notifications.ts';
import { noStepMemory, stepMemorySchema } from '../../pipeline/step-record.ts';
import { countSchema, type Immutable, instantSchema } from '../../policy.ts';
import { hintCodes } from '../../prompt/hints.ts';
import { MAX_WITHHELD_CHARS, MAX_WITHHELD_LINES } from '../../review/left-out.ts';
import { type LaneId, storedTaskId, type TaskId } from '../../tasks/ids.ts';
import { type TaskProgress, taskProgressSchema } from '../../tasks/task.ts';
import { countBytes } from '../../text/phrase.ts';
import { tryJson } from '../../text/try-json.ts';
import { redBaseSchema } from '../base/red-base.ts';
import { changeSchema, noChange } from '../change.ts';
import {
  type Circuit,
  circuitSchema,
  createClosedCircuit,
  noSignals,
  signalsSchema,
  unreadableCircuit,
} from '../circuit.ts';
import { ledgerDaySchema, MAX_LEDGER_DAYS } from '../ledger.ts';
import { MAX_TRANSITIONS, restingSchema, sessionSchema, transitionSchema, withTransition } from '../session.ts';
import { migrateState } from './state-migrations.ts';
import { limitWindows, parseWindows, type Windows } from '../windows.ts';

/** Version of documents that are written; older ones are migrated. */
export const STATE_VERSION = 9;

/** Maximum size of a stored document, in bytes of UTF-8. */
export const MAX_STATE_BYTES = 64 * 1024;

/** Maximum size of a stored transcript in bytes; transferring more is not worthwhile. */
export const MAX_SESSION_BYTES = 10 * 1024 * 1024;

/** Maximum stored length of a server's words, in characters. */
export const MAX_REFUSAL_CHARS = 1000;

// Caps prevent a manipulated document from inflating texts that are shown or stored.
const word = z.string().max(200);

const objectId = z.string().max(64);

const hash = z.string().regex(/^[0-9a-f]{64}$/);

const publishedSchema = z.object({
  head: objectId,
  pullRequest: z.object({ number: z.number().int().positive(), url: z.url().max(500) }).nullable(),
  /** The name of the branch; absent in a state that an earlier version or a run at home saved. */
  branch: z.string().max(300).exactOptional(),
});

/** The published part of the lane: the tip of its remote branch, and its pull request. */
export type PublishedLane = Immutable<z.infer<typeof publishedSchema>>;

/** Maximum number of branches, stashes and other work outside of the work tree that the next prompt names. */
export const MAX_BESIDE = 5;

/** Maximum number, and maximum length, of sentences about unproven tests in the next prompt. */
export const MAX_UNPROVEN = 5;
/** Maximum length of such a sentence in characters. */
export const MAX_UNPROVEN_CHARS = 600;

const lastIterationSchema = z.object({
  taskId: storedTaskId.nullable(),
  progress: z.boolean(),
  fileCount: countSchema,
  /** The tree of the work tree at the end of the iteration. */
  tree: objectId,
  /** Newest verification of `tree`, which an iteration without changes inherits. */
  verification: z.enum(verificationKinds),
  /** The failures of that verification, and the number of iterations in a row that had them; absent if it passed. */
  failed: z.object({ as: z.string().max(64), times: countSchema }).exactOptional(),
  /** Hints for the next prompt; hints.ts turns them into fixed sentences. */
  hints: z.array(z.enum(hintCodes)).max(hintCodes.length),
  /** Files of the iteration that were withheld or have conflict markers, with the reasons; absent if none. */
  withheld: z.array(z.string().max(MAX_WITHHELD_CHARS)).max(MAX_WITHHELD_LINES).optional(),
  /** Names of work that the iteration left outside of the work tree; absent if none. */
  beside: z.array(z.string().max(200)).max(MAX_BESIDE).optional(),
  /** Sentences about tests of finished tasks that prove too little, for the next prompt; absent if none. */
  unproven: z.array(z.string().max(MAX_UNPROVEN_CHARS)).max(MAX_UNPROVEN).exactOptional(),
  /** MCP servers whose tools the agent lacked; absent if none. */
  failedServers: z.array(z.string().max(120)).max(20).exactOptional(),
});

export type LastIteration = Immutable<z.infer<typeof lastIterationSchema>>;

const parkedAt = { resumeAt: instantSchema, taskId: storedTaskId.nullable(), branchHead: objectId.nullable() };

export const verificationRecordSchema = z.object({
  commit: objectId,
  /** First 32 hex digits of the SHA-256 of the commands, joined by line ends. */
  commands: z.string().max(64),
  kind: z.enum(['passed', 'failed']),
  /** The command that failed; null if all commands passed. */
  command: word.nullable(),
  /** Exit code of that command; null if all commands passed. */
  exitCode: z.number().int().nullable(),
  /** Time in ms that the commands took on the base; absent for other commits and in earlier states. */
  durationMs: countSchema.exactOptional(),
});

/** The result of the `verify` commands at a commit in a clean clone. */
export type VerificationRecord = Immutable<z.infer<typeof verificationRecordSchema>>;

/** Everything except circuit and windows, which are parsed separately because safe values replace invalid ones. */
const bodySchema = z.object({
  version: z.literal(STATE_VERSION),
  lane: z.string().max(120),
  /** Number of saves; of two copies, the one with the higher number is newer. */
  sequence: countSchema,
  savedAt: instantSchema,
  signals: signalsSchema,
  /** The agent that has the turn and owns `session`; null before the first turn. */
  agent: z.enum(AGENT_NAMES).nullable(),
  session: sessionSchema.nullable(),
  /** Sessions of the agents that do not have the turn. */
  resting: restingSchema,
  /** State of the agents' providers. */
  providers: providersSchema,
  /**
   * The encrypted transcripts of `session` and `resting` that belong to this state; a file with another hash is
   * rejected.
   */
  transcript: z.object({ sha256: hash, bytes: countSchema }).nullable(),
  /** Everything that the lane knows about each task. */
  tasks: z.record(storedTaskId, taskProgressSchema),
  /** True if a person retried all tasks that their file marks as failed or blocked; the next run determines which. */
  retriesAll: z.boolean(),
  /** Hash of an open circuit that another Ralph left in the checkout and that this lane has honoured. */
  leftCircuit: hash.nullable().default(null),
  currentTask: storedTaskId.nullable(),
  park: z
    .discriminatedUnion('reason', [
      z.object({ reason: z.enum(passingLimits), ...parkedAt }),
      z.object({ reason: z.literal('step_circuit'), step: openStepSchema, ...parkedAt }),
    ])
    .nullable(),
  pause: z.object({ by: word, at: instantSchema }).nullable(),
  /** Number of the newest order that this state has obeyed. */
  ordersApplied: countSchema,
  /** Usage of the last days, newest last. */
  ledger: z.array(ledgerDaySchema).max(MAX_LEDGER_DAYS),
  /** The last transitions, newest last. */
  transitions: z.array(transitionSchema).max(MAX_TRANSITIONS),
  /** The end of the last run that worked. */
  lastRun: z
    .object({ outcome: z.enum(outcomeKinds), reason: word, at: instantSchema, published: publishedSchema.nullable() })
    .nullable(),
  /** The last iteration, for the next prompt; it contains no prose of the agent. */
  lastIteration: lastIterationSchema.nullable(),
  /** Hash of the last line of the last run's journal, whose lines form a chain of hashes. */
  journalHash: hash.nullable(),
  /** Verification of the untouched base commit. */
  baseVerification: verificationRecordSchema.nullable(),
  /** The failure of `verify` on the lane's base; null if it passes or is unknown. */
  redBase: redBaseSchema.nullable().default(null),
  /** Verification of the lane's published head. */
  headVerification: verificationRecordSchema.nullable(),
  /** The server's words about a push that it will refuse again. No call is made until a probe of the push succeeds. */
  refusedPush: z
    .object({
      why: z.string().max(MAX_REFUSAL_CHARS),
      at: instantSchema,
      /** Set if a probe succeeded but the push failed, so that the server is not probed again for a day. */
      unprobed: z.literal(true).optional(),
    })
    .nullable(),
  change: changeSchema,
  /** Notifications that people have not settled yet, oldest first. */
  notified: z.array(notificationSchema).max(MAX_NOTIFICATIONS),
  /** Instants of notifications, newest last; absent in the earliest states of version 5. */
  notifiedAt: z.array(instantSchema).max(MAX_NOTIFICATIONS_PER_DAY).default([]),
  /** Data that pipeline steps leave for the next run; absent in states from versions without pipelines. */
  steps: stepMemorySchema.default(noStepMemory),
  /** Requests of people and CI on the pull request. */
  feedback: feedbackSchema,
});

/** All data that a lane keeps between runs. Instants are in ms since the epoch (UTC). */
export interface LaneState extends Immutable<z.infer<typeof bodySchema>> {
  readonly circuit: Circuit;
  readonly windows: Windows;
}

/**
 * The result of parsing a stored document. `problems` are sentences for people about parts that were replaced with safe
 * values.
 */
export type ParsedState =
  | { readonly kind: 'state'; readonly state: LaneState; readonly problems: readonly string[] }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'newer'; readonly version: number };

/** Returns the state of a lane that never ran. */
export function createInitialState(lane: LaneId, now: number): LaneState {
  return {
    version: STATE_VERSION,
    lane,
    sequence: 0,
    savedAt: now,
    circuit: createClosedCircuit(0),
    windows: { hour: null, day: null },
    signals: noSignals,
    agent: null,
    session: null,
    resting: {},
    providers: {},
    tasks: {},
    retriesAll: false,
    leftCircuit: null,
    currentTask: null,
    park: null,
    pause: null,
    ordersApplied: 0,
    ledger: [],
    transitions: [],
    lastRun: null,
    lastIteration: null,
    transcript: null,
    journalHash: null,
    baseVerification: null,
    redBase: null,
    headVerification: null,
    refusedPush: null,
    change: noChange,
    notified: [],
    notifiedAt: [],
    steps: noStepMemory,
    feedback: noFeedback,
  };
}

/** Returns the state for a lane whose stored state is unreadable: one probe iteration decides whether to continue. */
export function createProbeState(lane: LaneId, now: number): LaneState {
  const state = { ...createInitialState(lane, now), circuit: unreadableCircuit };
  return withTransition(state, {
    at: now,
    subject: 'state',
    from: 'unreadable',
    to: 'initial',
    reason: 'state_unreadable',
  });
}

const headSchema = z.object({
  version: z.number().int().min(1),
  lane: z.string(),
  circuit: z.unknown().optional(),
  windows: z.unknown().optional(),
});

/** Parses a stored document. Never throws; the result contains only data that matches the schema. */
export function parseState(document: string, lane: LaneId): ParsedState {
  if (countBytes(document) > MAX_STATE_BYTES)
    return { kind: 'unreadable', why: `it is longer than ${MAX_STATE_BYTES} bytes` };
  const stored = tryJson(document);
  const written = headSchema.safeParse(stored);
  if (!written.success) return { kind: 'unreadable', why: 'it is not a JSON object with `version` and `lane`' };
  if (written.data.version > STATE_VERSION) return { kind: 'newer', version: written.data.version };
  if (written.data.lane !== lane) return { kind: 'unreadable', why: 'it belongs to another branch' };
  const json = migrateState(stored, written.data.version);
  const body = bodySchema.safeParse(json);
  const doneIds = doneIdsSchema.safeParse(json);
  if (!body.success || !doneIds.success)
    return {
      kind: 'unreadable',
      why: `${(body.error ?? doneIds.error)?.issues[0]?.path.join('.') || 'the document'} does not match the schema`,
    };

  const circuit = circuitSchema.safeParse(written.data.circuit);
  const windows = parseWindows(written.data.windows, body.data.savedAt);
  const problems = [
    ...(circuit.success
      ? []
      : ['The circuit in the stored state cannot be read: one probe iteration decides whether the loop continues.']),
    ...windows.problems,
  ];
  const state: LaneState = {
    ...body.data,
    tasks: { ...progressOfDone(doneIds.data.done), ...body.data.tasks },
    circuit: circuit.success ? circuit.data : unreadableCircuit,
    windows: windows.windows,
  };
  return { kind: 'state', state, problems };
}

/**
 * Parses a stored document for a run that begins at `now`. Usage booked far in the future, by a machine with a wrong
 * clock, is treated as usage at `now`.
 */
export function parseStateAt(document: string, lane: LaneId, now: number): ParsedState {
  const parsed = parseState(document, lane);
  if (parsed.kind !== 'state') return parsed;
  const windows = limitWindows(parsed.state.windows, now);
  const providers = capProviderTimes(parsed.state.providers, now);
  const state: LaneState = { ...parsed.state, windows, providers };
  if (windows === parsed.state.windows) return { ...parsed, state };
  return {
    ...parsed,
    state,
    problems: [
      ...parsed.problems,
      'The usage windows in the stored state begin in the future, because the clock of a machine was wrong: they now begin with this run.',
    ],
  };
}

/** Maximum number of done tasks that a large document keeps as ids only. */
export const MAX_DONE_IDS = 3_000;

const doneIdsSchema = z.object({ done: z.array(storedTaskId).max(MAX_DONE_IDS).default([]) });

function progressOfDone(ids: readonly TaskId[]): Readonly<Record<TaskId, TaskProgress>> {
  const done = {
    state: 'done',
    attempts: 1,
    startedTree: null,
    doneCommit: null,
    reason: null,
    setAside: null,
  } as const;
  return Object.fromEntries(ids.map((id) => [id, done]));
}
