import { z } from 'zod';
import type { Immutable } from '../immutable.ts';

const amount = z.number().nonnegative().nullable();

/** What the fields of a status block may say. */
export const claimedStatuses = ['IN_PROGRESS', 'COMPLETE', 'BLOCKED'] as const;
export const claimedTestsStatuses = ['PASSING', 'FAILING', 'NOT_RUN'] as const;
export const offeredWorkTypes = ['IMPLEMENTATION', 'TESTING', 'DOCUMENTATION', 'REFACTORING'] as const;
/** OTHER: any word that is not offered. */
const claimedWorkTypes = [...offeredWorkTypes, 'OTHER'] as const;

const limitSchema = z.object({
  window: z.enum(['five-hour', 'weekly', 'extra', 'unknown']),
  resumeAt: z.iso.datetime().nullable(),
});

/** What a journal holds of an agent's output, and `ralph analyze --json` prints. A change that breaks readers needs a new major version. */
export const analysisSchema = z.object({
  format: z
    .enum(['json', 'json-array', 'jsonl', 'text'])
    .describe("Form of the output: the CLI's one object, its array, its lines, or plain text."),
  signal: z
    .object({
      from: z.enum(['block', 'phrases', 'none']).describe('What the claims were read from.'),
      status: z.enum(claimedStatuses).nullable(),
      exitSignal: z.boolean().nullable().describe('After inference from STATUS: COMPLETE.'),
      testsStatus: z.enum(claimedTestsStatuses).nullable(),
      workType: z.enum(claimedWorkTypes).nullable(),
      tasksCompleted: z.number().int().nonnegative().nullable(),
      filesModified: z.number().int().nonnegative().nullable(),
      recommendation: z.string().nullable(),
      summary: z.string().nullable().default(null).describe('SUMMARY: what was done, assumed and left out.'),
      asks: z.string().nullable().default(null).describe('QUESTION: what a person must decide.'),
      lastWords: z.string().exactOptional().describe('Where there is no block: how the final message ends.'),
      unreadable: z.array(z.string()).describe('Names of fields that were there and could not be read.'),
    })
    .describe('What the agent claims of itself. null: absent or unreadable.'),
  completionIndicator: z.boolean(),
  confidence: z.number().min(0).max(100).describe('100 with a status block; phrases count from 60.'),
  testOnly: z.boolean(),
  noWork: z.boolean(),
  question: z.boolean(),
  agentError: z
    .object({
      kind: z.enum([
        'auth',
        'billing',
        'rate-limit',
        'server',
        'model',
        'prompt-too-long',
        'unknown-session',
        'max-turns',
        'budget',
        'other',
      ]),
      text: z.string(),
    })
    .nullable()
    .describe("How the agent's CLI itself failed."),
  errors: z
    .array(z.object({ text: z.string(), fingerprint: z.string() }))
    .describe('Errors in the final message; one entry per fingerprint.'),
  denials: z
    .array(z.object({ tool: z.string(), command: z.string().nullable() }))
    .describe('Tool calls that were refused, in order.'),
  usageLimit: limitSchema
    // Only one of two signs says so: a structured event or field, and the text of the CLI's own error.
    .extend({
      unconfirmed: z.literal(true).exactOptional(),
      // No time gives it back: a person has to.
      byPerson: z.literal(true).exactOptional(),
    })
    .nullable(),
  sessionId: z.string().nullable(),
  turns: amount,
  tokens: amount.describe('Input, output and cache tokens added up.'),
  costUsd: amount.describe('Cost of this process in US dollars.'),
});

/** What one agent output says. `null` means absent or unreadable throughout. */
export type Analysis = Immutable<z.infer<typeof analysisSchema>>;
/** What the agent claims of itself. */
export type Signal = Analysis['signal'];
/** How the agent's CLI itself failed. */
export type AgentError = NonNullable<Analysis['agentError']>;
/** An error in the final message; its fingerprint is the same when it comes again. */
export type FingerprintedError = Analysis['errors'][number];
/** A tool call that was refused; `command` is null for a tool that takes none. */
export type Denial = Analysis['denials'][number];
/** The provider's limit that ended a call; `resumeAt` is an ISO instant. */
export type UsageLimit = NonNullable<Analysis['usageLimit']>;

const printedSchema = analysisSchema.extend({
  usageLimit: limitSchema.nullable().describe('The limit of the provider that ended the call.'),
});

/** The analysis as `ralph analyze --json` prints it. */
export function printedAnalysis(analysis: Analysis): object {
  return printedSchema.parse(analysis);
}

/** The published JSON Schema of `ralph analyze --json`. */
export function analysisJsonSchema(): object {
  return { title: 'ralph analyze --json', ...z.toJSONSchema(printedSchema) };
}
