import { z } from 'zod';
import { AGENT_NAMES } from '../agent-names.ts';
import { isFailure, providerTroubles } from '../agents/providers.ts';
import { analysisSchema } from '../analysis/analysis.ts';
import { evidenceSchema } from '../evidence.ts';
import { answerKinds } from '../feedback/memory.ts';
import { addIteration } from '../lane/change.ts';
import { checkSchema, type LaneState, parseState, serializeState } from '../lane/state.ts';
import { configurationProblem, verdictSchema } from '../lane/verdict.ts';
import { windowsSchema } from '../lane/windows.ts';
import { outcomeSchema, parkReasons } from '../outcome.ts';
import { withdrawalKinds } from '../people/withdrawal.ts';
import { callsIn } from '../pipeline/step-record.ts';
import { amount, anyInstant, count, type Immutable, policySchema } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { type QueuedTask, queuedTaskSchema } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';

const common = { version: z.literal(1), lane: z.string() };

/** Journals call a task's obstacle its `hold`; those of before anything could be in a task's way have none. */
const taskSchema = queuedTaskSchema
  .omit({ obstacle: true })
  .extend({ hold: queuedTaskSchema.shape.obstacle.default(null) })
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
  /** 1-based within the run. */
  iteration: z.number().int().min(1),
  taskId: z.string(),
  taskTitle: z.string(),
  /** Who was called. Journals of before there were several agents do not say. */
  agent: z.enum(AGENT_NAMES).nullable().default(null),
  /** Agents before it in the order, and why they were not asked. */
  passedOver: z.array(passedOverSchema).default([]),
  /** Instant at which the iteration was decided on and charged. */
  startedAt: anyInstant,
  /** Content that the task's own work was measured against when it was started in this iteration. */
  taskTree: z.string(),
  /** When the session turned out to be none that continues, so that the call was made once more without; null: it was not so. */
  sessionDroppedAt: anyInstant.nullable(),
  /** A resumed call that failed and changed nothing was made again, and charged again, at that instant; `why`: how it failed. With a pipeline, its step has both calls. Journals of before have none. */
  madeAgain: z.object({ at: anyInstant, why: z.string() }).nullable().default(null),
  endedAt: anyInstant,
  analysis: analysisSchema,
  evidence: evidenceSchema,
  /** Tasks that the agent added to a file; the run works them from then on. Journals of before tasks could stand in files have none. */
  found: z.array(taskSchema).default([]),
  /** Commit at the end of the iteration; null when nothing changed. */
  commit: z.string().nullable(),
  verdict: verdictSchema,
  /** Changed lines of the branch, measured when a task was done; null: not measured. */
  lines: z.number().int().min(0).nullable().default(null),
});

const withdrawalSchema = z.object({
  ...common,
  seenAt: anyInstant,
  /** Tasks that people took back while the run worked. */
  withdrawals: z.array(z.object({ task: z.string(), why: z.enum(withdrawalKinds) })),
});

const endSchema = z.object({
  ...common,
  decidedAt: anyInstant,
  /** Whether the run had been cancelled by then. */
  cancelled: z.boolean(),
  outcome: outcomeSchema,
});

const checkLineSchema = z.object({
  ...common,
  checkedAt: anyInstant,
  check: checkSchema,
  /** Tasks that this run had finished by then: where the check failed they are open again. */
  finished: z.array(z.string()),
});

const answerSchema = z.object({
  ...common,
  answeredAt: anyInstant,
  /** Feedback tasks that were done without a call. */
  tasks: z.array(z.string()),
  /** What came of them; null: journals of earlier versions do not say. */
  result: z.enum(answerKinds).nullable().default(null),
  /** The head then. */
  commit: z.string(),
});

const leftOutSchema = z.object({
  ...common,
  leftOutAt: anyInstant,
  tasks: z.array(z.string()),
  files: z.array(z.string()),
  words: z.string(),
  tree: z.string().nullable(),
});

const waitSchema = z.object({
  ...common,
  waitedFrom: anyInstant,
  /** When what the run may use was asked for again. */
  resumedAt: anyInstant,
  reason: z.enum(parkReasons),
  /** What was known then of the usage, in place of what the state had. */
  windows: windowsSchema,
  /** What bounds the run from then on. */
  maxIterations: count,
  maxCostUsd: amount,
});

const lineSchema = z.discriminatedUnion('kind', [
  startSchema.extend({ kind: z.literal('start') }),
  entrySchema.extend({ kind: z.literal('iteration') }),
  checkLineSchema.extend({ kind: z.literal('check') }),
  answerSchema.extend({ kind: z.literal('answer') }),
  waitSchema.extend({ kind: z.literal('wait') }),
  leftOutSchema.extend({ kind: z.literal('left-out') }),
  withdrawalSchema.extend({ kind: z.literal('withdrawal') }),
  endSchema.extend({ kind: z.literal('end') }),
]);

/** First line of a run's journal: what the decisions of the run started from. */
export interface JournalStart extends Immutable<Omit<z.infer<typeof startSchema>, 'state'>> {
  readonly state: LaneState;
}

/** One line per iteration: with the start, enough to make its decisions again. Agent text in it is redacted and capped before it gets here. */
export type JournalEntry = Immutable<z.infer<typeof entrySchema>>;

/** Agent calls of an iteration. */
export function callsOf({ evidence, madeAgain }: Pick<JournalEntry, 'evidence' | 'madeAgain'>): number {
  return callsIn(evidence.steps) + (madeAgain === null ? 0 : 1);
}

/** What the verify commands said of the head in a clean clone, between two iterations or at the end. */
export type JournalCheck = Immutable<z.infer<typeof checkLineSchema>>;

/** What the loop itself answered of what people and CI asked, between two iterations or before the first. */
export type JournalAnswer = Immutable<z.infer<typeof answerSchema>>;

/** What the git server refused of the commits so far, between two iterations. */
export type JournalLeftOut = Immutable<z.infer<typeof leftOutSchema>>;

/** A wait for the end of a limit, between two iterations or before the first. */
export type JournalWait = Immutable<z.infer<typeof waitSchema>>;

/** Tasks that people took back, seen between two iterations or before the first. */
export type JournalWithdrawal = Immutable<z.infer<typeof withdrawalSchema>>;

/** Last line of a run's journal: the decision that ended it. A killed or failed run leaves none. */
export type JournalEnd = Immutable<z.infer<typeof endSchema>>;

/** A journal's line, read back. */
export type JournalLine =
  | { readonly kind: 'start'; readonly start: JournalStart }
  | { readonly kind: 'iteration'; readonly entry: JournalEntry }
  | { readonly kind: 'check'; readonly check: JournalCheck }
  | { readonly kind: 'answer'; readonly answer: JournalAnswer }
  | { readonly kind: 'wait'; readonly wait: JournalWait }
  | { readonly kind: 'left-out'; readonly leftOut: JournalLeftOut }
  | { readonly kind: 'withdrawal'; readonly withdrawal: JournalWithdrawal }
  | { readonly kind: 'end'; readonly end: JournalEnd }
  | { readonly kind: 'unreadable'; readonly why: string };

/** The start of a run as one line of JSON, without a line end. Of the tasks it holds what decisions read: no text. */
export function serializeStart(start: JournalStart): string {
  return JSON.stringify({
    kind: 'start',
    ...start,
    tasks: start.tasks.map(queued),
    state: serializeState(start.state),
  });
}

/** An iteration as one line of JSON, without a line end. */
export function serializeEntry(entry: JournalEntry): string {
  return JSON.stringify({ kind: 'iteration', ...entry, found: entry.found.map(queued) });
}

function queued({ id, priority, dependsOn, optional, obstacle }: QueuedTask): object {
  return { id, priority, dependsOn, optional, hold: obstacle };
}

/** A check as one line of JSON, without a line end. */
export function serializeCheck(check: JournalCheck): string {
  return JSON.stringify({ kind: 'check', ...check });
}

/** An answer as one line of JSON, without a line end. */
export function serializeAnswer(answer: JournalAnswer): string {
  return JSON.stringify({ kind: 'answer', ...answer });
}

/** A wait as one line of JSON, without a line end. */
export function serializeWait(wait: JournalWait): string {
  return JSON.stringify({ kind: 'wait', ...wait });
}

/** What was left out, as one line of JSON, without a line end. */
export function serializeLeftOut(leftOut: JournalLeftOut): string {
  return JSON.stringify({ kind: 'left-out', ...leftOut });
}

/** A withdrawal as one line of JSON, without a line end. */
export function serializeWithdrawal(withdrawal: JournalWithdrawal): string {
  return JSON.stringify({ kind: 'withdrawal', ...withdrawal });
}

/** The end of a run as one line of JSON, without a line end. */
export function serializeEnd(end: JournalEnd): string {
  return JSON.stringify({ kind: 'end', ...end });
}

/** Reads a line of a journal; answers any string. */
export function parseJournalLine(line: string): JournalLine {
  const json = tryJson(line);
  if (json === undefined) return { kind: 'unreadable', why: 'it is not JSON' };
  const parsed = lineSchema.safeParse(json);
  if (!parsed.success) return { kind: 'unreadable', why: describeIssues(parsed.error.issues) };
  switch (parsed.data.kind) {
    case 'start': {
      const { kind, ...start } = parsed.data;
      const state = parseState(start.state, start.lane);
      if (state.kind === 'state') return { kind, start: { ...start, state: state.state } };
      return {
        kind: 'unreadable',
        why: `the state in it cannot be read: ${state.kind === 'newer' ? 'a newer version wrote it' : state.why}`,
      };
    }
    case 'iteration': {
      const { kind, ...entry } = parsed.data;
      return { kind, entry };
    }
    case 'check': {
      const { kind, ...check } = parsed.data;
      return { kind, check };
    }
    case 'answer': {
      const { kind, ...answer } = parsed.data;
      return { kind, answer };
    }
    case 'wait': {
      const { kind, ...wait } = parsed.data;
      return { kind, wait };
    }
    case 'left-out': {
      const { kind, ...leftOut } = parsed.data;
      return { kind, leftOut };
    }
    case 'withdrawal': {
      const { kind, ...withdrawal } = parsed.data;
      return { kind, withdrawal };
    }
    case 'end': {
      const { kind, ...end } = parsed.data;
      return { kind, end };
    }
  }
}

function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const fields = [...new Set(issues.map(({ path }) => path.join('.')))];
  const named = fields.filter((field) => field !== '').slice(0, 5);
  return named.length === 0
    ? 'it is not a line of a journal'
    : `${named.join(', ')}: missing, or does not match the schema`;
}

/** The state whose change has one more iteration. `titleOf`: of a task that was finished along with it. */
export function bookEntry(state: LaneState, entry: JournalEntry, titleOf: (id: TaskId) => string): LaneState {
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
    overruled: [...verdict.discrepancies, ...verdict.vetoes],
    alsoDone: Object.fromEntries(verdict.alsoDone.map((id) => [id, titleOf(id)])),
  });
  return { ...state, change: { ...change, lines: entry.lines ?? change.lines } };
}

/** Whether an iteration's agent did anything: one whose provider gave no answer has not, unless content changed. */
export function hasWorked({
  analysis,
  evidence: { end },
  verdict,
}: Pick<JournalEntry, 'analysis' | 'evidence' | 'verdict'>): boolean {
  if (verdict.progress) return true;
  const { agentFailed } = verdict;
  const failed = isFailure({ analysis, end, agentFailed });
  return analysis.usageLimit === null && configurationProblem(analysis) === null && !failed;
}
