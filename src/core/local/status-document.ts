import { z } from 'zod';
import { HOUR_MS } from '../countdown.ts';
import { type Outcome, outcomeKinds } from '../outcome.ts';
import { amountSchema, countSchema, type Immutable } from '../policy.ts';
import { isLaneId, type LaneId, QUEUE } from '../tasks/ids.ts';
import { renameKey, tryJson } from '../text/try-json.ts';

const instant = z.iso.datetime();

const positiveAmount = z.number().nonnegative();

/**
 * The status of a local run, stored in `.ralph/status.json` under the key `run` next to the fields that readers of
 * other Ralphs know. Instants are ISO (UTC), and a limit of 0 means no limit.
 */
export const runStatusSchema = z.object({
  version: z.literal(1),
  pid: z.number().int().positive(),
  startedAt: instant,
  updatedAt: instant,
  /** The lane: `queue` or `issue-N`. */
  branchId: z.string().max(120),
  branch: z.string().max(250),
  doing: z.enum(['starting', 'agent', 'steps', 'verify', 'waiting', 'ended']),
  iteration: countSchema,
  maxIterations: countSchema,
  task: z.object({ id: z.string().max(120), title: z.string().max(300) }).nullable(),
  tasks: z.object({ done: countSchema, all: countSchema }),
  circuit: z.enum(['closed', 'half-open', 'open']),
  /** Number of agent calls in the current hour, and its limit. */
  calls: z.object({ used: countSchema, limit: countSchema }),
  /** Cost of the run and of the day with their limits, in US dollars. */
  cost: z.object({ run: positiveAmount, runLimit: positiveAmount, day: positiveAmount, dayLimit: positiveAmount }),
  /**
   * Number of consecutive done signals and the number that completes the work; the same for test-only iterations and
   * the number that halts the run.
   */
  signals: z.object({ done: countSchema, doneLimit: countSchema, testOnly: countSchema, testOnlyLimit: countSchema }),
  /** The instant until which the run waits, or null if it does not wait. */
  resumeAt: instant.nullable(),
  /** The outcome, or null while the run continues. */
  outcome: z
    .object({ kind: z.enum(outcomeKinds as readonly [string, ...string[]]), reason: z.string().max(200) })
    .nullable(),
});

export type RunStatus = Immutable<z.infer<typeof runStatusSchema>>;

const text = z.string().max(2000);

/**
 * Makes a schema accept missing, empty or mistyped values from a shell script's file, so that the rest can be shown.
 */
const lenient = <T extends z.ZodType>(schema: T): z.ZodCatch<z.ZodNullable<T>> => schema.nullable().catch(null);

const otherStatusSchema = z.object({
  status: lenient(text),
  last_action: lenient(text),
  exit_reason: lenient(text),
  loop_count: lenient(countSchema),
  calls_made_this_hour: lenient(countSchema),
  max_calls_per_hour: lenient(countSchema),
  timestamp: lenient(z.iso.datetime({ offset: true })),
});

/** The status of another Ralph's run; unknown values are null. */
export const otherRunSchema = z.object({
  status: z.string().nullable(),
  lastAction: z.string().nullable(),
  exitReason: z.string().nullable(),
  iteration: countSchema.nullable(),
  calls: z.object({ used: countSchema, limit: countSchema }).nullable(),
  at: z.string().nullable(),
});

type OtherRun = Immutable<z.infer<typeof otherRunSchema>>;

/** The content of a `status.json`; `why` continues a sentence that begins with the file's name. */
type FoundStatus =
  | { readonly kind: 'ours'; readonly run: RunStatus }
  | { readonly kind: 'other'; readonly run: OtherRun }
  | { readonly kind: 'unreadable'; readonly why: string };

const progressSchema = z.object({ status: text, elapsed_seconds: lenient(amountSchema), last_output: lenient(text) });

/** The state of the agent's call in a `progress.json`. */
export const agentProgressSchema = z.object({
  status: z.string(),
  elapsedSeconds: amountSchema.nullable(),
  lastOutput: z.string().nullable(),
});

type AgentProgress = Immutable<z.infer<typeof agentProgressSchema>>;

/** Values for keys that may be missing. */
const blank = {
  status: null,
  last_action: null,
  exit_reason: null,
  loop_count: null,
  calls_made_this_hour: null,
  max_calls_per_hour: null,
  timestamp: null,
};

/** Values outside of the run that readers of other Ralphs need. */
interface StatusExtras {
  readonly now: number;
  /** Tokens used in the current hour and their limit; 0 means no limit. */
  readonly tokens: { readonly used: number; readonly limit: number };
  /** The instant when the hour's window ends, or null if no window is open. */
  readonly hourEndsAt: number | null;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸'];

const WORDS: Readonly<Record<Outcome['kind'], string>> = {
  complete: 'completed',
  idle: 'completed',
  halted: 'halted',
  blocked: 'halted',
  parked: 'paused',
  paused: 'paused',
  limit: 'stopped',
  cancelled: 'stopped',
  refused: 'stopped',
  failed: 'error',
};

/** Parses the text of a `status.json` of this program or of another Ralph. */
export function parseFoundStatus(content: string): FoundStatus {
  const json = tryJson(content);
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return { kind: 'unreadable', why: 'is not a JSON object' };
  if ('run' in json) {
    const ours = runStatusSchema.safeParse(renameKey(json.run, 'lane', 'branchId'));
    if (ours.success) return { kind: 'ours', run: ours.data };
    const at = ours.error.issues[0];
    return {
      kind: 'unreadable',
      why: `has a value that this version cannot read (run${at === undefined ? '' : at.path.map((key) => `.${String(key)}`).join('')})`,
    };
  }
  const other = otherStatusSchema.safeParse({ ...blank, ...json });
  if (!other.success || (other.data.status === null && other.data.loop_count === null))
    return { kind: 'unreadable', why: 'has no run, loop_count or status' };
  const { status, last_action, exit_reason, loop_count, calls_made_this_hour: used, max_calls_per_hour } = other.data;
  return {
    kind: 'other',
    run: {
      status,
      lastAction: last_action,
      exitReason: exit_reason === '' ? null : exit_reason,
      iteration: loop_count,
      calls: used === null ? null : { used, limit: max_calls_per_hour ?? 0 },
      at: other.data.timestamp,
    },
  };
}

/** Returns the lane that a run works on, or the queue if the run ended before it named one. */
export function laneOfStatus({ branchId }: Pick<RunStatus, 'branchId'>): LaneId {
  return isLaneId(branchId) ? branchId : QUEUE;
}

/** Parses the text of a `progress.json`; returns null if it has no known content. */
export function parseProgress(content: string): AgentProgress | null {
  const parsed = progressSchema.safeParse(withBlanks(tryJson(content)));
  if (!parsed.success) return null;
  const { status, elapsed_seconds, last_output } = parsed.data;
  return { status, elapsedSeconds: elapsed_seconds, lastOutput: last_output === '' ? null : last_output };
}

/** Returns the state from another Ralph's circuit file, or null if it has no known state. */
export function parseOtherCircuit(content: string): RunStatus['circuit'] | null {
  const parsed = z.object({ state: z.enum(['CLOSED', 'HALF_OPEN', 'OPEN']) }).safeParse(tryJson(content));
  if (!parsed.success) return null;
  const circuits = { CLOSED: 'closed', HALF_OPEN: 'half-open', OPEN: 'open' } as const;
  return circuits[parsed.data.state];
}

function withBlanks(json: unknown): unknown {
  return typeof json === 'object' && json !== null ? { elapsed_seconds: null, last_output: null, ...json } : json;
}

/**
 * Returns the content of `.ralph/status.json`: fields for ralph-claude-code's monitor and bmalph, and the run itself
 * under `run`.
 */
export function buildLocalStatus(run: RunStatus, { now, tokens, hourEndsAt }: StatusExtras): object {
  const { word, action } = statusWordsOf(run);
  return {
    timestamp: new Date(now).toISOString(),
    loop_count: run.iteration,
    calls_made_this_hour: run.calls.used,
    max_calls_per_hour: run.calls.limit,
    tokens_used_this_hour: tokens.used,
    max_tokens_per_hour: tokens.limit,
    last_action: action,
    status: word,
    exit_reason: run.outcome?.reason ?? '',
    tasks_completed: run.tasks.done,
    tasks_total: run.tasks.all,
    next_reset: new Date(hourEndsAt ?? now + HOUR_MS).toISOString().slice(11, 19),
    run,
  };
}

/**
 * Returns the content of `.ralph/progress.json` during and after a call. `lastOutput` is the last line of the agent's
 * output.
 */
export function buildProgressDocument(
  doing: 'executing' | 'completed' | 'failed' | 'idle',
  call: { readonly startedAt: number; readonly now: number; readonly lastOutput: string },
): object {
  const { startedAt, now, lastOutput } = call;
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  return {
    status: doing,
    ...(doing === 'executing'
      ? {
          indicator: SPINNER[seconds % SPINNER.length],
          elapsed_seconds: seconds,
          last_output: lastOutput.slice(0, 200),
        }
      : {}),
    timestamp: formatLogInstant(now),
  };
}

/** Formats an instant in UTC as in other Ralphs' logs: `2026-11-21 17:00:05`. */
export function formatLogInstant(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replace('T', ' ');
}

/** Returns a status word that other Ralphs know, and the last action. */
function statusWordsOf({ doing, outcome }: RunStatus): { readonly word: string; readonly action: string } {
  if (outcome !== null) return { word: WORDS[outcome.kind as Outcome['kind']], action: outcome.kind };
  return doing === 'waiting' ? { word: 'paused', action: 'api_limit' } : { word: 'running', action: 'executing' };
}
