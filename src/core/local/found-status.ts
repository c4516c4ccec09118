import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { amount, count } from '../numbers.ts';
import { tryJson } from '../text/try-json.ts';
import { runStatusSchema, type RunStatus } from './run-status.ts';

const text = z.string().max(2000);
/** What a shell script wrote may be missing, empty or of another type: it is shown as far as it goes. */
const lenient = <T extends z.ZodType>(schema: T): z.ZodCatch<z.ZodNullable<T>> => schema.nullable().catch(null);

const otherStatusSchema = z.object({
  status: lenient(text),
  last_action: lenient(text),
  exit_reason: lenient(text),
  loop_count: lenient(count),
  calls_made_this_hour: lenient(count),
  max_calls_per_hour: lenient(count),
  timestamp: lenient(z.iso.datetime({ offset: true })),
});

/** What other Ralphs say of a run; null: not said. */
export const otherRunSchema = z.object({
  status: z.string().nullable(),
  lastAction: z.string().nullable(),
  exitReason: z.string().nullable(),
  iteration: count.nullable(),
  calls: z.object({ used: count, limit: count }).nullable(),
  at: z.string().nullable(),
});

type OtherRun = Immutable<z.infer<typeof otherRunSchema>>;

/** What a `status.json` says; `why` continues from the file's name. */
export type FoundStatus =
  | { readonly kind: 'ours'; readonly run: RunStatus }
  | { readonly kind: 'other'; readonly run: OtherRun }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Reads the text of a `status.json`, of a run of this program or of another Ralph. */
export function parseFoundStatus(content: string): FoundStatus {
  const json = tryJson(content);
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return { kind: 'unreadable', why: 'is not a JSON object' };
  if ('run' in json) {
    const ours = runStatusSchema.safeParse(json.run);
    if (ours.success) return { kind: 'ours', run: ours.data };
    const at = ours.error.issues[0];
    return {
      kind: 'unreadable',
      why: `says something of its run that this version cannot read (run${at === undefined ? '' : at.path.map((key) => `.${String(key)}`).join('')})`,
    };
  }
  const other = otherStatusSchema.safeParse({ ...blank, ...json });
  if (!other.success || (other.data.status === null && other.data.loop_count === null))
    return { kind: 'unreadable', why: 'has neither a run, nor a loop_count or a status' };
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

const progressSchema = z.object({ status: text, elapsed_seconds: lenient(amount), last_output: lenient(text) });

/** What a `progress.json` says of the agent's call. */
export const agentProgressSchema = z.object({
  status: z.string(),
  elapsedSeconds: amount.nullable(),
  lastOutput: z.string().nullable(),
});

export type AgentProgress = Immutable<z.infer<typeof agentProgressSchema>>;

/** Reads the text of a `progress.json`; null: it says nothing that is known here. */
export function parseProgress(content: string): AgentProgress | null {
  const parsed = progressSchema.safeParse(withBlanks(tryJson(content)));
  if (!parsed.success) return null;
  const { status, elapsed_seconds, last_output } = parsed.data;
  return { status, elapsedSeconds: elapsed_seconds, lastOutput: last_output === '' ? null : last_output };
}

/** The state that another Ralph's circuit file names; null: none that is known here. */
export function parseOtherCircuit(content: string): RunStatus['circuit'] | null {
  const parsed = z.object({ state: z.enum(['CLOSED', 'HALF_OPEN', 'OPEN']) }).safeParse(tryJson(content));
  if (!parsed.success) return null;
  const circuits = { CLOSED: 'closed', HALF_OPEN: 'half-open', OPEN: 'open' } as const;
  return circuits[parsed.data.state];
}

/** Keys that may be missing. */
const blank = {
  status: null,
  last_action: null,
  exit_reason: null,
  loop_count: null,
  calls_made_this_hour: null,
  max_calls_per_hour: null,
  timestamp: null,
};

function withBlanks(json: unknown): unknown {
  return typeof json === 'object' && json !== null ? { elapsed_seconds: null, last_output: null, ...json } : json;
}
