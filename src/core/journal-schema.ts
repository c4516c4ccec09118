import { z } from 'zod';

const count = z.number().int().min(0);
const snapshot = z.object({ head: z.string(), tree: z.string() });

/** `Analysis`, as a journal holds it. */
export const analysisSchema = z.object({
  format: z.enum(['json', 'json-array', 'jsonl', 'text']),
  signal: z.object({
    from: z.enum(['block', 'phrases', 'none']),
    status: z.enum(['IN_PROGRESS', 'COMPLETE', 'BLOCKED']).nullable(),
    exitSignal: z.boolean().nullable(),
    testsStatus: z.enum(['PASSING', 'FAILING', 'NOT_RUN']).nullable(),
    workType: z.enum(['IMPLEMENTATION', 'TESTING', 'DOCUMENTATION', 'REFACTORING']).nullable(),
    tasksCompleted: z.number().nullable(),
    filesModified: z.number().nullable(),
    recommendation: z.string().nullable(),
    unreadable: z.array(z.string()),
  }),
  completionIndicator: z.boolean(),
  confidence: z.number(),
  testOnly: z.boolean(),
  noWork: z.boolean(),
  question: z.boolean(),
  agentError: z
    .object({
      kind: z.enum(['auth', 'billing', 'rate-limit', 'server', 'model', 'prompt-too-long', 'unknown-session', 'max-turns', 'budget', 'other']),
      text: z.string(),
    })
    .nullable(),
  errors: z.array(z.object({ text: z.string(), fingerprint: z.string() })),
  denials: z.array(z.object({ tool: z.string(), command: z.string().nullable() })),
  usageLimit: z.object({ window: z.enum(['five-hour', 'weekly', 'extra', 'unknown']), resumeAt: z.string().nullable() }).nullable(),
  sessionId: z.string().nullable(),
  turns: z.number().nullable(),
  tokens: z.number().nullable(),
  costUsd: z.number().nullable(),
});

/** `Evidence`, as a journal holds it. */
export const evidenceSchema = z.object({
  before: snapshot,
  after: snapshot,
  files: z.array(z.string()).max(200),
  fileCount: count,
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
  verification: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('not-run') }),
    z.object({ kind: z.literal('passed'), durationMs: z.number() }),
    z.object({ kind: z.literal('failed'), command: z.string(), code: z.number().nullable(), tail: z.string(), durationMs: z.number() }),
  ]),
});

/** `Verdict`, as a journal holds it. */
export const verdictSchema = z.object({
  progress: z.boolean(),
  taskDone: z.boolean(),
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

/** `Task`, as the start of a journal holds it. */
export const taskSchema = z.object({
  id: z.string(),
  title: z.string(),
  body: z.string(),
  source: z.object({ kind: z.literal('issue'), number: z.number().int(), url: z.string() }),
  priority: z.number(),
  dependsOn: z.array(z.string()),
  optional: z.boolean(),
});
