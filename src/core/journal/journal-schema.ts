import { z } from 'zod';
import { taskObstacles } from '../tasks/task.ts';

const count = z.number().int().min(0);
const snapshot = z.object({ head: z.string(), tree: z.string() });

/** `Evidence`, as a journal holds it. */
export const evidenceSchema = z.object({
  before: snapshot,
  after: snapshot,
  files: z.array(z.string()).max(200),
  fileCount: count,
  withheld: z.array(z.string()).max(20),
  agentCommits: count,
  insertions: count,
  deletions: count,
  end: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('exited'), code: z.number().int() }),
    z.object({ kind: z.literal('timeout'), of: z.enum(['call', 'run']) }),
    z.object({ kind: z.literal('signalled'), signal: z.string() }),
    z.object({ kind: z.literal('cancelled') }),
  ]),
  outputChars: count,
  fencedBlock: z.boolean(),
  verification: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('not-run') }),
    z.object({ kind: z.literal('passed'), durationMs: z.number() }),
    z.object({
      kind: z.literal('failed'),
      command: z.string(),
      code: z.number().nullable(),
      tail: z.string(),
      durationMs: z.number(),
    }),
  ]),
  // Journals of before tasks could stand in files have none.
  checklist: z
    .object({
      current: z.enum(['open', 'done', 'gone']).nullable(),
      done: z.array(z.string()),
      finished: count,
      removed: count,
      added: count,
    })
    .nullable()
    .default(null),
});

/** `Verdict`, as a journal holds it. */
export const verdictSchema = z.object({
  progress: z.boolean(),
  taskDone: z.boolean(),
  alsoDone: z.array(z.string()).default([]),
  testOnly: z.boolean(),
  questionOnly: z.boolean(),
  discrepancies: z.array(z.string()),
  vetoes: z.array(z.string()),
  advice: z.array(z.string()),
  countedDenials: count,
  circuit: z.enum(['closed', 'half-open', 'open']),
});

/** `Policy`, as the start of a journal holds it. */
export const policySchema = z.object({
  maxIterations: count,
  maxRunMs: count,
  maxIterationsPerTask: count,
  agentTimeoutMs: count,
  maxCallsPerHour: count,
  maxTokensPerHour: count,
  maxCostUsd: z.number(),
  maxCostUsdPerDay: z.number(),
  onPermissionDenied: z.enum(['count', 'halt', 'continue']),
  circuit: z.object({
    noProgress: count,
    sameError: count,
    permissionDenials: count,
    outputDeclinePercent: z.number(),
    cooldownMs: count,
    autoReset: z.boolean(),
  }),
  completionSignals: count,
  testOnlyIterations: count,
  session: z.enum(['resume', 'fresh', 'task']),
  sessionExpiryMs: count,
  verifies: z.boolean(),
  allowedTools: z.array(z.string()),
});

/** `QueuedTask`, as the start of a journal holds it. */
export const taskSchema = z
  .object({
    id: z.string(),
    priority: z.number(),
    dependsOn: z.array(z.string()),
    optional: z.boolean(),
    // Journals call it so. Those of before anything could be in a task's way have none.
    hold: z.enum(taskObstacles).nullable().default(null),
  })
  .transform(({ hold, ...task }) => ({ ...task, obstacle: hold }));

const instant = z.number().int().min(0).max(8.64e15);
const message = z.string();

/** `Outcome`, as the end of a journal holds it. */
export const outcomeSchema = z.union([
  z.object({ kind: z.literal('cancelled'), reason: z.enum(['signal', 'killed']) }),
  z.object({
    kind: z.literal('complete'),
    reason: z.enum(['project_complete', 'completion_signals', 'plan_complete']),
  }),
  z.object({ kind: z.literal('halted'), reason: z.enum(['permission_denied', 'test_saturation', 'safety']) }),
  z.object({
    kind: z.literal('halted'),
    reason: z.literal('circuit_open'),
    circuitReason: z.enum(['no_progress', 'same_error', 'permission_denied', 'output_decline', 'state_unreadable']),
    tripped: z.enum(['this-run', 'earlier']),
    probeAt: z.number(),
  }),
  z.object({ kind: z.literal('blocked'), reason: z.literal('needs_human') }),
  z.object({
    kind: z.literal('parked'),
    reason: z.enum(['calls_per_hour', 'tokens_per_hour', 'cost_per_day', 'usage_limit']),
    resumeAt: instant,
  }),
  z.object({ kind: z.literal('limit'), reason: z.enum(['iterations', 'minutes', 'cost']) }),
  z.object({ kind: z.literal('idle'), reason: z.enum(['no_tasks', 'all_done', 'not_for_us', 'answered']) }),
  z.object({ kind: z.literal('idle'), reason: z.literal('noted'), message: z.string() }),
  z.object({ kind: z.literal('paused'), reason: z.literal('by_person'), by: z.string() }),
  z.object({ kind: z.literal('refused'), reason: z.enum(['not_allowed', 'another_run']), message }),
  z.object({ kind: z.literal('failed'), reason: z.enum(['configuration', 'infrastructure']), message }),
]);
