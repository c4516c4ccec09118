import { z } from 'zod';
import { AGENT_NAMES } from '../agent-names.ts';
import { isFailure, providerTroubles } from '../agents/providers.ts';
import { analysisSchema } from '../analysis/analysis.ts';
import { evidenceSchema } from '../evidence.ts';
import { answerKinds } from '../feedback/memory.ts';
import { addIteration, isUnpriced } from '../lane/change.ts';
import { verificationRecordSchema, type LaneState, parseState } from '../lane/state/state.ts';
import { serializeState } from '../lane/state/serialize-state.ts';
import { findAccessError, verdictSchema } from '../lane/verdict/verdict.ts';
import { proofSchema } from '../proof/proof.ts';
import { windowsSchema } from '../lane/windows.ts';
import { outcomeSchema, parkReasons } from '../outcome.ts';
import { withdrawalKinds } from '../people/withdrawal.ts';
import { countCallsIn, hasUnpricedCall, listReviews } from '../pipeline/step-record.ts';
import { amountSchema, anyInstant, countSchema, type Immutable, policySchema } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { type QueuedTask, queuedTaskSchema } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';

const common = { version: z.literal(1), lane: z.string() };

/** The schema of a task. A journal's field `hold` is the task's `obstacle`; earlier journals lack it. */
const taskSchema = queuedTaskSchema
  .unwrap()
  .omit({ obstacle: true })
  .extend({ hold: queuedTaskSchema.unwrap().shape.obstacle.default(null) })
  .transform(({ hold, ...task }): QueuedTask => ({ ...task, obstacle: hold }));

const passedOverSchema = z.object({ name: z.enum(AGENT_NAMES), why: z.enum(providerTroubles), until: anyInstant });

const startSchema = z.object({
  ...common,
  startedAt: anyInstant,
  policy: policySchema,
  tasks: z.array(taskSchema),
  /** The serialized LaneState. */
  state: z.string(),
});

const entrySchema = z.object({
  ...common,
  /** Number of the iteration within the run, 1-based. */
  iteration: z.number().int().min(1),
  taskId: z.string(),
  taskTitle: z.string(),
  /** The agent that was called; null in journals from versions with a single agent. */
  agent: z.enum(AGENT_NAMES).nullable().default(null),
  /** Agents earlier in the order that were not called, with the reasons. */
  passedOver: z.array(passedOverSchema).default([]),
  /** Instant at which the iteration was decided on and charged. */
  startedAt: anyInstant,
  /** The tree that changes of the task are compared with if the task is started in this iteration. */
  taskTree: z.string(),
  /**
   * Instant at which the session turned out not to be resumable, so that the call was repeated in a new session; null
   * if the session was fine.
   */
  sessionDroppedAt: anyInstant.nullable(),
  /**
   * Instant at which a failed resumed call without changes was repeated and charged again; `why` is its failure. With a
   * pipeline, the step records both calls. Earlier journals lack the field.
   */
  madeAgain: z.object({ at: anyInstant, why: z.string() }).nullable().default(null),
  endedAt: anyInstant,
  analysis: analysisSchema,
  evidence: evidenceSchema,
  /**
   * Tasks that the agent added to a file and that the run includes from then on. Journals from versions without task
   * files lack the field.
   */
  found: z.array(taskSchema).default([]),
  /** The commit of the iteration's changes; null if nothing changed. */
  commit: z.string().nullable(),
  verdict: verdictSchema,
  /** Number of changed lines of the branch, measured after a task is done; null if not measured. */
  lines: z.number().int().min(0).nullable().default(null),
});

const lineSchema = z.discriminatedUnion('kind', [
  startSchema.extend({ kind: z.literal('start') }),
  entrySchema.extend({ kind: z.literal('iteration') }),
  /** The result of the verify commands at the head in a clean clone. */
  z.object({
    ...common,
    kind: z.literal('check'),
    checkedAt: anyInstant,
    check: verificationRecordSchema,
    /** Tasks that this run had finished. A failed verification reopens them. */
    finished: z.array(z.string()),
  }),
  /** The proofs of tasks by their tests, after a verification of the head. */
  z.object({
    ...common,
    kind: z.literal('proof'),
    provedAt: anyInstant,
    proofs: z.array(z.object({ task: z.string(), proof: proofSchema })),
  }),
  /** An answer by the loop itself to people or CI. */
  z.object({
    ...common,
    kind: z.literal('answer'),
    answeredAt: anyInstant,
    /** Feedback tasks that were done without a call. */
    tasks: z.array(z.string()),
    /** The kind of the answers; null in earlier journals. */
    result: z.enum(answerKinds).nullable().default(null),
    /** The head at that time. */
    commit: z.string(),
  }),
  /** A wait for the end of a limit. */
  z.object({
    ...common,
    kind: z.literal('wait'),
    waitedFrom: anyInstant,
    /** Instant at which the run's allowance was requested again. */
    resumedAt: anyInstant,
    reason: z.enum(parkReasons),
    /** Usage known after the wait, which replaces the usage in the state. */
    windows: windowsSchema,
    /** The run's limits after the wait. */
    maxIterations: countSchema,
    maxCostUsd: amountSchema,
  }),
  /** A refusal of commits by the git server. */
  z.object({
    ...common,
    kind: z.literal('left-out'),
    leftOutAt: anyInstant,
    tasks: z.array(z.string()),
    files: z.array(z.string()),
    words: z.string(),
    tree: z.string().nullable(),
  }),
  z.object({
    ...common,
    kind: z.literal('withdrawal'),
    seenAt: anyInstant,
    /** Tasks that people took back during the run. */
    withdrawals: z.array(z.object({ task: z.string(), why: z.enum(withdrawalKinds) })),
  }),
  z.object({
    ...common,
    kind: z.literal('end'),
    decidedAt: anyInstant,
    /** True if the run had been cancelled by then. */
    cancelled: z.boolean(),
    outcome: outcomeSchema,
  }),
]);

/** The first line of a run's journal: the starting point of the run's decisions. */
export interface JournalStart extends Immutable<Omit<z.infer<typeof startSchema>, 'state'>> {
  readonly state: LaneState;
}

/**
 * The line of one iteration. Together with the start line, it is enough to replay the decisions. The agent's text in it
 * is redacted and capped.
 */
export type JournalEntry = Immutable<z.infer<typeof entrySchema>>;

/** Returns the number of agent calls of an iteration. */
export function countEntryCalls({ evidence, madeAgain }: Pick<JournalEntry, 'evidence' | 'madeAgain'>): number {
  return countCallsIn(evidence.steps) + (madeAgain === null ? 0 : 1);
}

/** Returns the number of iterations with a call of unknown cost. */
export function countUnpriced(entries: readonly JournalEntry[]): number {
  return entries.filter(({ agent, analysis, evidence: { steps } }) =>
    isUnpriced({ ...analysis, agent, isPartlyPriced: hasUnpricedCall(steps) }),
  ).length;
}

type ParsedLine = Immutable<z.infer<typeof lineSchema>>;

/** The last line of a run's journal: the decision that ended the run. A killed or failed run has none. */
export type JournalEnd = Extract<ParsedLine, { kind: 'end' }>;

/** An event between two iterations, or before the first. */
export type JournalEvent = Exclude<ParsedLine, { kind: 'start' | 'iteration' | 'end' }>;

/** A parsed line of a journal. */
export type JournalLine =
  | { readonly kind: 'start'; readonly start: JournalStart }
  | { readonly kind: 'iteration'; readonly entry: JournalEntry }
  | JournalEvent
  | JournalEnd
  | { readonly kind: 'unreadable'; readonly why: string };

/**
 * Serializes the start of a run as one line of JSON without a line end. Tasks keep only what decisions need, without
 * texts.
 */
export function serializeStart(start: JournalStart): string {
  return JSON.stringify({
    kind: 'start',
    ...start,
    tasks: start.tasks.map(queued),
    state: serializeState(start.state),
  });
}

/** Serializes an iteration as one line of JSON without a line end. */
export function serializeEntry(entry: JournalEntry): string {
  return JSON.stringify({ kind: 'iteration', ...entry, found: entry.found.map(queued) });
}

function queued({ id, priority, dependsOn, optional, obstacle }: QueuedTask): object {
  return { id, priority, dependsOn, optional, hold: obstacle };
}

/** Serializes an event, or the end, as one line of JSON without a line end. */
export function serializeEvent({ kind, ...event }: JournalEvent | JournalEnd): string {
  return JSON.stringify({ kind, ...event });
}

/** Parses a line of a journal; accepts any string. */
export function parseJournalLine(line: string): JournalLine {
  const json = tryJson(line);
  if (json === undefined) return { kind: 'unreadable', why: 'it is not JSON' };
  const parsed = lineSchema.safeParse(json);
  if (!parsed.success) return { kind: 'unreadable', why: describeIssues(parsed.error.issues) };
  if (parsed.data.kind === 'iteration') {
    const { kind, ...entry } = parsed.data;
    return { kind, entry };
  }
  if (parsed.data.kind !== 'start') return parsed.data;
  const { kind, ...start } = parsed.data;
  const state = parseState(start.state, start.lane);
  if (state.kind === 'state') return { kind, start: { ...start, state: state.state } };
  const why = state.kind === 'newer' ? 'a newer version wrote it' : state.why;
  return { kind: 'unreadable', why: `the state in it cannot be read: ${why}` };
}

function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const fields = [...new Set(issues.map(({ path }) => path.join('.')))];
  const named = fields.filter((field) => field !== '').slice(0, 5);
  return named.length === 0
    ? 'it is not a line of a journal'
    : `${named.join(', ')}: missing, or does not match the schema`;
}

/**
 * Records an iteration in the lane's change, which the pull request describes. `titleOf` returns the titles of other
 * tasks that the iteration finished.
 */
export function recordIteration(state: LaneState, entry: JournalEntry, titleOf: (id: TaskId) => string): LaneState {
  const { taskId, taskTitle, analysis, evidence, verdict, commit, startedAt, endedAt } = entry;
  const change = addIteration(state.change, {
    taskId,
    title: taskTitle,
    signal: analysis.signal,
    costUsd: analysis.costUsd,
    tokens: analysis.tokens,
    durationMs: Math.max(0, endedAt - startedAt),
    commit,
    agent: hasWorked(entry) ? entry.agent : null,
    verification: evidence.verification.kind,
    isPartlyPriced: hasUnpricedCall(evidence.steps),
    reviews: listReviews(evidence.steps),
    isDone: verdict.taskDone,
    overruled: [...verdict.discrepancies, ...verdict.vetoes],
    alsoDone: Object.fromEntries(verdict.alsoDone.map((id) => [id, titleOf(id)])),
  });
  return { ...state, change: { ...change, lines: entry.lines ?? change.lines } };
}

/**
 * Returns true if an iteration's agent worked: content changed, or no limit, failure or wrong configuration stopped the
 * call.
 */
export function hasWorked({
  analysis,
  evidence: { end },
  verdict,
}: Pick<JournalEntry, 'analysis' | 'evidence' | 'verdict'>): boolean {
  if (verdict.progress) return true;
  const { agentFailed } = verdict;
  const failed = isFailure({ analysis, end, agentFailed });
  return analysis.usageLimit === null && findAccessError(analysis) === null && !failed;
}
