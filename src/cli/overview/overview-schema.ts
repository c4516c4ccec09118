import { z } from 'zod';
import type { Immutable } from '../../core/immutable.ts';
import { taskStates } from '../../core/tasks/task.ts';

const instant = z.iso.datetime();
const count = z.int().nonnegative();
const amount = z.number().nonnegative();

/** What can be waited for. */
const waitKinds = ['run', 'pause', 'circuit', 'park', 'order', 'review', 'person', 'approval', 'dependency'] as const;

const wait = z.object({
  kind: z
    .enum(waitKinds)
    .describe(
      '`run`: another run works on it; `order`: the next run obeys it; `review`: people have the pull request; `person`: a task failed, is blocked or set aside; `approval`: its text changed; `dependency`: other tasks.',
    ),
  task: z.string().nullable().describe('Id of the task that waits; null: everything here waits.'),
  on: z.string().describe('Whom or what it waits for, in words.'),
  until: instant
    .nullable()
    .describe('At the latest, or from when on work continues; null: until somebody does something.'),
  command: z.string().nullable().describe('What ends the wait; null: no command of ralph does.'),
});

const lane = z.object({
  kind: z.literal('lane'),
  lane: z.string().describe('`queue` or `issue-N`.'),
  place: z.string().describe('`ref` (on the remote) or `directory` (in the checkout).'),
  pullRequest: z
    .object({
      number: z.int().positive(),
      url: z.string(),
      title: z.string().nullable().describe('null: not known without a token.'),
      state: z.enum(['open', 'merged', 'closed']).nullable().describe('null: not known without a token.'),
    })
    .nullable(),
  tasks: z
    .array(
      z.object({
        id: z.string(),
        name: z.string().describe('What people call it: `#12`, `.ralph/fix_plan.md:7`, `US-001`.'),
        title: z.string().nullable(),
        state: z.enum(taskStates),
        attempts: count.describe('Iterations.'),
        current: z.boolean(),
      }),
    )
    .describe('Of the files of the checkout too, for the queue.'),
  waits: z.array(wait),
  spend: z.object({ calls: count, tokens: count, costUsd: amount, minutes: amount }).describe('In the last 31 days.'),
  warnings: z.array(z.string()),
});

const unreadable = z.object({
  kind: z.enum(['unreadable', 'newer', 'unavailable']),
  lane: z.string(),
  place: z.string(),
  why: z.string(),
});

/** What `ralph status --all --json` prints. A change that breaks readers needs a new major version. */
export const overviewSchema = z.object({
  at: instant,
  repository: z.string().nullable().describe('`owner/name`; null: GitHub was not asked.'),
  lanes: z.array(z.discriminatedUnion('kind', [lane, unreadable])).describe('The queue first.'),
  spend: z
    .array(
      z.object({
        day: z.string().describe('`2026-11-21`, UTC.'),
        calls: count,
        tokens: count,
        costUsd: amount,
        minutes: amount,
      }),
    )
    .describe('Of all branches together, the last 31 days; without days on which nothing was used.'),
  problems: z.array(z.string()).describe('What could not be asked or read, as sentences.'),
});

export type Overview = Immutable<z.infer<typeof overviewSchema>>;
export type OverviewLane = Extract<Overview['lanes'][number], { kind: 'lane' }>;
export type Wait = OverviewLane['waits'][number];

/** The published JSON Schema of `Overview`. */
export function overviewJsonSchema(): object {
  return { title: 'ralph status --all --json', ...z.toJSONSchema(overviewSchema) };
}
