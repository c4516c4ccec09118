import { z } from 'zod';
import { hintCodes } from '../prompt/hints.ts';

// Caps keep a document that someone tampered with from growing what we show or store.
/** A date ends at 8.64e15 ms. What is added to a stored instant, such as the hour of a window, must still be one. */
export const instant = z.number().int().min(0).max(8e15);
const count = z.number().int().min(0);
const amount = z.number().min(0);
const taskId = z.string().min(1).max(120);
const word = z.string().max(200);
const objectId = z.string().max(64);

const hour = z.object({ openedAt: instant, calls: count, tokens: count }).nullable();
const day = z.object({ openedAt: instant, costUsd: amount }).nullable();

const circuit = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('closed'),
    totalOpens: count,
    noProgress: count,
    errorStreaks: z.array(z.object({ fingerprint: z.string().max(400), count })).max(10),
    denials: count,
    decline: count,
    questionHeld: z.boolean(),
  }),
  z.object({
    kind: z.literal('open'),
    totalOpens: count,
    reason: z.enum(['no_progress', 'same_error', 'permission_denied', 'output_decline', 'state_unreadable']),
    openedAt: instant,
  }),
]);

const parkReason = z.enum(['calls_per_hour', 'tokens_per_hour', 'cost_per_day', 'usage_limit']);
const outcomeKind = z.enum([
  'cancelled',
  'complete',
  'halted',
  'blocked',
  'parked',
  'limit',
  'idle',
  'paused',
  'refused',
  'failed',
]);

const lastIteration = z.object({
  taskId: taskId.nullable(),
  progress: z.boolean(),
  fileCount: count,
  tree: objectId,
  verification: z.enum(['not-run', 'passed', 'failed']),
  hints: z.array(z.enum(hintCodes)).max(hintCodes.length),
});

const task = z.object({
  state: z.enum(['todo', 'in-progress', 'done', 'failed', 'blocked']),
  attempts: count,
  startedTree: objectId.nullable(),
  doneCommit: objectId.nullable(),
});

/** Everything but circuit and windows, which are read on their own: they are replaced by safe values, the rest is not. */
const published = z.object({
  head: objectId,
  pullRequest: z.object({ number: z.number().int().positive(), url: z.url().max(500) }).nullable(),
});

const body = z.object({
  version: z.literal(3),
  lane: z.string().max(120),
  sequence: count,
  savedAt: instant,
  signals: z.object({
    indicators: z.array(z.boolean()).max(5),
    vetoed: z.array(z.boolean()).max(5),
    outputChars: z.array(count).max(5),
    doneInARow: count,
    blockedInARow: count,
    testOnlyInARow: count,
  }),
  session: z
    .object({ id: z.string().min(1).max(200), startedAt: instant, lastUsedAt: instant, taskId: taskId.nullable() })
    .nullable(),
  tasks: z.record(taskId, task),
  approvals: z.record(taskId, z.object({ text: z.string().max(64), by: z.string().max(100), at: instant })),
  unmarked: z.array(taskId).max(100),
  currentTask: taskId.nullable(),
  park: z
    .object({ reason: parkReason, resumeAt: instant, taskId: taskId.nullable(), branchHead: objectId.nullable() })
    .nullable(),
  pause: z.object({ by: word, at: instant }).nullable(),
  ordersApplied: count,
  ledger: z
    .array(
      z.object({
        day: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
        calls: count,
        tokens: count,
        costUsd: amount,
        minutes: amount,
      }),
    )
    .max(31),
  transitions: z
    .array(
      z.object({
        at: instant,
        subject: z.enum(['circuit', 'session', 'task', 'pause', 'park', 'state']),
        from: word,
        to: word,
        reason: word,
      }),
    )
    .max(50),
  lastRun: z.object({ outcome: outcomeKind, reason: word, at: instant, published: published.nullable() }).nullable(),
  lastIteration: lastIteration.nullable(),
});

/** A lane's document, in the parts that are judged one by one. */
export const laneStateParts = {
  head: z.object({
    version: z.number().int().min(1),
    lane: z.string(),
    circuit: z.unknown().optional(),
    windows: z.unknown().optional(),
  }),
  body,
  circuit,
  windows: z.object({ hour: z.unknown().optional(), day: z.unknown().optional() }),
  hour,
  day,
  opened: z.object({ openedAt: instant }),
};

/** What the repository's budget has in common with a lane's document. */
export const budgetParts = { hour, day, instant, count, amount };
