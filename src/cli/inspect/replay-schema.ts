import { z } from 'zod';
import { answerKinds } from '../../core/feedback/memory.ts';
import { verdictSchema } from '../../core/lane/verdict/verdict.ts';
import type { Immutable } from '../../core/policy.ts';
import { outcomeSchema } from '../../core/outcome.ts';

const count = z.number().int().nonnegative();
const outcome = outcomeSchema
  .unwrap()
  .meta({ id: 'outcome', description: 'Why a run ended. Times are ms since the epoch.' });

const difference = z.object({
  line: z.number().int().positive().describe('Line of the journal, from 1.'),
  of: z
    .union([z.enum(['task', 'agent', 'outcome']), z.templateLiteral(['verdict.', verdictSchema.keyof()])])
    .describe('The decision: the task of an iteration, its agent, a field of its verdict, or the end of the run.'),
  recorded: z.unknown(),
  replayed: z.unknown().describe('For `task`: the id of the task, or the outcome if the run would have ended there.'),
});

const asked = {
  set: z.record(z.string(), z.string()).describe('The inputs that were set, as they were given.'),
  iterations: count.describe('Iterations until then.'),
};

const whatIf = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ended'), ...asked, outcome }).describe('The run would have ended.'),
  z
    .object({ kind: z.literal('waits'), ...asked, outcome })
    .describe('It would have waited for the end of a limit; `outcome` is the limit and its end.'),
  z
    .object({ kind: z.literal('other-task'), ...asked, taskId: z.string() })
    .describe('It would have worked on a task that the journal does not contain at this place.'),
  z
    .object({ kind: z.literal('goes-on'), ...asked, taskId: z.string() })
    .describe('It would have continued after the last iteration of the journal.'),
]);

/** The output of `ralph replay --json`. A change that breaks readers needs a new major version. */
export const replaySchema = z.object({
  branchId: z.string().describe('`queue` or `issue-N`.'),
  iterations: count.describe('Iterations in the journal.'),
  answers: z
    .array(
      z.object({
        after: count.describe('Iterations before it.'),
        tasks: z.array(z.string()),
        result: z
          .enum(answerKinds)
          .nullable()
          .describe('The result; null: the journal of an earlier version does not contain it.'),
        commit: z.string().describe('Newest commit of the branch at that time.'),
      }),
    )
    .describe('Requests of people and CI that the run answered without calling the agent.'),
  torn: z.boolean().describe('Whether the last line was cut off, and left out.'),
  outcome: outcome.nullable().describe('The recorded end; null when the journal has none.'),
  chain: z
    .object({
      kind: z
        .enum(['intact', 'unchained'])
        .describe('Whether each line carries the hash of the one before; earlier versions wrote none.'),
      last: z.string().describe("SHA-256 of the last line: the action's output journal-hash."),
    })
    .describe('A journal whose chain is broken is not replayed.'),
  differences: z
    .array(difference)
    .describe('Decisions that differ from the recorded ones; the exit code is 1 if there are any.'),
  whatIf: whatIf.nullable().describe('Answer to --set; null without it.'),
});

export type ReplayResult = Immutable<z.infer<typeof replaySchema>>;
