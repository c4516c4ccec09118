import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { count } from '../numbers.ts';
import { outcomeKinds } from '../outcome.ts';

const instant = z.iso.datetime();
const amount = z.number().nonnegative();

/** What a local run says of itself in `.ralph/status.json`, under the key `run`, beside what readers of other Ralphs know. Instants are ISO (UTC); a limit of 0 means that there is none. */
export const runStatusSchema = z.object({
  version: z.literal(1),
  pid: z.number().int().positive(),
  startedAt: instant,
  updatedAt: instant,
  /** `queue` or `issue-N`. */
  lane: z.string().max(120),
  branch: z.string().max(250),
  doing: z.enum(['starting', 'agent', 'steps', 'verify', 'waiting', 'ended']),
  iteration: count,
  maxIterations: count,
  task: z.object({ id: z.string().max(120), title: z.string().max(300) }).nullable(),
  tasks: z.object({ done: count, all: count }),
  circuit: z.enum(['closed', 'half-open', 'open']),
  /** Agent calls of the hour. */
  calls: z.object({ used: count, limit: count }),
  /** In US dollars. */
  cost: z.object({ run: amount, runLimit: amount, day: amount, dayLimit: amount }),
  /** Done signals in a row, and how many complete the work; test-only iterations in a row, and how many halt it. */
  signals: z.object({ done: count, doneLimit: count, testOnly: count, testOnlyLimit: count }),
  /** What it waits for; null: it does not wait. */
  resumeAt: instant.nullable(),
  /** null: it goes on. */
  outcome: z
    .object({ kind: z.enum(outcomeKinds as readonly [string, ...string[]]), reason: z.string().max(200) })
    .nullable(),
});

export type RunStatus = Immutable<z.infer<typeof runStatusSchema>>;
