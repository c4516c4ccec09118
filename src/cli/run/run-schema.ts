import { z } from 'zod';
import { outcomeKinds } from '../../core/outcome.ts';

const count = z.number().int().nonnegative();

/** What `ralph run --json` prints. A change that breaks readers needs a new major version. */
export const runSchema = z.object({
  outcome: z.enum(outcomeKinds as readonly [string, ...string[]]).describe('Why the run ended.'),
  reason: z.string().describe('In more detail, as in the output `reason` of the action.'),
  iterations: count.describe('Of this run.'),
  tasksDone: count.describe('In all.'),
  tasks: count.describe('In all.'),
  branch: z.string().nullable().describe('The branch in this checkout; null when the run did not get so far.'),
  head: z.string().nullable().describe('Its newest commit; null when there is none.'),
  costUsd: z.number().nonnegative().nullable().describe('Of this run, in US dollars; null: not known.'),
  tokens: count.describe('Of this run.'),
  resumeAt: z.iso.datetime().nullable().describe('When parked work can continue; null otherwise.'),
  pushed: z.boolean().nullable().describe('Whether the branch was pushed; null without --push.'),
});

/** The published JSON Schema of `ralph run --json`. */
export function runJsonSchema(): object {
  return { title: 'ralph run --json', ...z.toJSONSchema(runSchema) };
}
