import { z } from 'zod';
import { answeredSettingsSchema } from '../arguments.ts';
import type { Immutable } from '../../core/policy.ts';
import { answerKinds, subjectKinds } from '../../core/feedback/memory.ts';
import { transitionSubjects } from '../../core/lane/session.ts';
import { orderKinds, orderOrigins } from '../../core/sharing/orders.ts';
import { taskStates } from '../../core/tasks/task.ts';

const instant = z.iso.datetime();
const count = z.int().nonnegative();
const amount = z.number().nonnegative();

const usage = z.object({
  hour: z
    .object({ calls: count, tokens: count, endsAt: instant })
    .nullable()
    .describe('The open hour; null: none is open.'),
  day: z.object({ costUsd: amount, endsAt: instant }).nullable().describe('The open day (UTC); null: none is open.'),
  reservations: z
    .array(
      z.object({
        branchId: z.string(),
        runUrl: z.string(),
        calls: count,
        tokens: count,
        costUsd: amount,
        expiresAt: instant,
      }),
    )
    .describe('Amounts that runs may still use; they are included in hour and day.'),
});

const lane = z.object({
  kind: z.literal('branch'),
  place: z.string().describe('`ref` (on the remote) or `directory` (in the checkout).'),
  saved: z
    .object({ sequence: count, origin: z.string(), at: instant })
    .nullable()
    .describe('The copy that was restored; null: no run has saved one.'),
  working: z
    .object({ runId: z.string(), runUrl: z.string(), since: instant, until: instant.describe('At the latest.') })
    .nullable()
    .describe('The run that is working on it.'),
  circuit: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('closed'),
      noProgress: count.describe('Iterations without progress in a row.'),
      totalOpens: count,
    }),
    z.object({
      kind: z.literal('open'),
      reason: z.string(),
      failure: z.string().optional().describe('How the call failed that opened it, with its own words.'),
      openedAt: instant,
      totalOpens: count,
    }),
  ]),
  pause: z.object({ by: z.string(), at: instant }).nullable(),
  park: z.object({ reason: z.string(), resumeAt: instant }).nullable(),
  session: z
    .object({ id: z.string(), startedAt: instant, lastUsedAt: instant, taskId: z.string().nullable() })
    .nullable(),
  currentTask: z.string().nullable(),
  tasks: z.array(
    z.object({
      id: z
        .string()
        .describe('`issue-12`, `prd-US-001`, `plan-3f9a12c0`, …: the same in every run; `ralph retry` takes it.'),
      title: z.string().nullable().describe('null: the state does not have it.'),
      state: z.enum(taskStates),
      attempts: count,
    }),
  ),
  lastRun: z
    .object({
      outcome: z.string(),
      reason: z.string(),
      at: instant,
      pullRequest: z.string().nullable().describe('Its address.'),
    })
    .nullable(),
  feedback: z
    .array(
      z.object({
        id: z.string(),
        kind: z.enum(subjectKinds),
        title: z.string(),
        state: z.enum(['open', ...answerKinds]),
      }),
    )
    .describe('Requests on the pull request, oldest first, with the answers.'),
  usage: usage.nullable().describe('Of the whole repository; null: it cannot be read, see warnings.'),
  ordersWaiting: z
    .array(
      z.object({
        order: z.enum(orderKinds),
        task: z.string().nullable().describe('The task to retry; null: the order is not about one task.'),
        by: z.string(),
        from: z.enum(orderOrigins),
        at: instant,
      }),
    )
    .describe('Orders that the next run obeys first; everything else is shown as if they had been obeyed.'),
  transitions: z
    .array(
      z.object({
        at: instant,
        subject: z.enum(transitionSubjects),
        from: z.string(),
        to: z.string(),
        reason: z.string(),
      }),
    )
    .describe('The last ten, newest last.'),
  warnings: z.array(z.string()),
});

const noLane = z.object({
  kind: z
    .enum(['unreadable', 'newer', 'unavailable'])
    .describe('The stored state cannot be read, was written by a newer version, or cannot be reached.'),
  place: z.string(),
  why: z.string(),
});

/**
 * The output of `ralph status --json`, and of every order with `--json`. A change that breaks readers needs a new major
 * version.
 */
export const laneReportSchema = z.object({
  branchId: z.string().describe('`queue` or `issue-N`.'),
  at: instant,
  places: z
    .array(z.discriminatedUnion('kind', [lane, noLane]))
    .describe("The remote's ref, and the checkout's directory if there is one: the two are separate."),
  settings: z
    .array(answeredSettingsSchema)
    .optional()
    .describe('Only in `ralph status`: the settings of each workflow.'),
});

export type LaneStatusReport = Immutable<z.infer<typeof laneReportSchema>>;
/** A lane in one place, as its next run will find it. */
export type PlaceReport = LaneStatusReport['places'][number];
export type ReportedLane = Extract<PlaceReport, { kind: 'branch' }>;
