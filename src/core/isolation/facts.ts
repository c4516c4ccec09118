import { z } from 'zod';

/** How far what runs the lane's code is kept apart from this program, the strongest first. */
const isolationLevels = ['namespace', 'user', 'sandbox', 'none'] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

const MAX_HOSTS = 100;
const MAX_CHECKS = 100;
const name = z.string().max(300);
const count = z.number().int().nonnegative();

/** What was measured of a run's isolation, and nothing that was only planned. */
export const isolationFacts = z.strictObject({
  level: z.enum(isolationLevels),
  /** Why it is not a stronger one, as a sentence; null: it is what was asked for, or the strongest. */
  why: z.string().max(500).nullable(),
  /** What the probe tried from the agent's place, and the names of those checks that are not as they should be; null: it did not run. */
  probe: z.strictObject({ checks: count, failed: z.array(name).max(MAX_CHECKS) }).nullable(),
  /** `limited`: broker and proxy are all that can be reached; `any`: the user opened it; `open`: nothing here can limit it. */
  network: z.enum(['limited', 'any', 'open']),
  /** How many hosts the proxy lets through, and services of this machine can be reached. */
  allowedHosts: count,
  /** `host:port` that the proxy refused → how often; at most 100 of them. */
  refused: z.record(name, count).refine((refused) => Object.keys(refused).length <= MAX_HOSTS),
  /** Whether a broker kept the model key, so that the agent never held it. */
  keyHidden: z.boolean(),
  /** Processes that were left when the last call had ended; null: not counted. */
  processesLeft: count.nullable(),
});

/** See `isolationFacts`. */
export type IsolationFacts = z.infer<typeof isolationFacts>;
