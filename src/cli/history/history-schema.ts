import { z } from 'zod';
import { costPerMergedTask, type HistorySummary, type HistoryTotals } from '../../core/history/history-totals.ts';
import type { TaskHistory } from '../../core/history/task-history.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { Immutable } from '../../core/policy.ts';
import { taskStates } from '../../core/tasks/task.ts';

const instant = z.iso.datetime();

const wholeNumber = z.int().nonnegative();

const amount = z.number().nonnegative();

const totals = {
  tasks: wholeNumber,
  merged: wholeNumber.describe('Tasks that were done and whose pull request was merged.'),
  notMerged: wholeNumber.describe('Tasks whose pull request was closed, or merged without them.'),
  open: wholeNumber,
  pricedTasks: wholeNumber.describe('Merged tasks of known cost.'),
  costUsd: amount.nullable().describe('Cost of those in US dollars; null: of none is it known.'),
  costPerMergedTaskUsd: amount.nullable(),
  lostUsd: amount.nullable().describe('Known cost of the tasks that were not merged; null: of none is it known.'),
  judgedTasks: wholeNumber.describe('Merged tasks of which is known whether people changed them.'),
  untouchedTasks: wholeNumber.describe('Those of them that were merged without a commit of a person.'),
  reviewRounds: wholeNumber.describe('Runs that answered reviews, of all merged tasks.'),
  minutesToMerge: amount.nullable().describe('Median time from the label to the merge; null: no merged task had one.'),
  reverted: wholeNumber.describe('Merged tasks whose pull request was reverted within 30 days.'),
};

const group = z.object({
  name: z.string().nullable().describe('A week is its Monday, `2026-11-23`, UTC; null: unknown, or without any.'),
  ...totals,
});

/** The output of `ralph history --json`. A change that breaks readers needs a new major version. */
const historySchema = z.object({
  at: instant,
  repository: z.string().nullable().describe('Its page; null: no run of GitHub Actions is known.'),
  all: z.object(totals),
  weeks: z.array(group).describe('By the end of the pull request, oldest first; open tasks by its opening.'),
  agents: z.array(group),
  models: z.array(group),
  labels: z.array(group).describe('A task with several labels counts in each.'),
  tasks: z
    .array(
      z.object({
        id: z.string(),
        title: z.string(),
        state: z.enum(taskStates),
        pullRequest: z.int().positive(),
        labels: z.array(z.string()).describe('Without those of Ralph.'),
        agent: z.string().nullable(),
        model: z.string().nullable().describe("null: unknown, or the agent's own choice."),
        iterations: wholeNumber,
        costUsd: amount
          .nullable()
          .describe("With an equal part of what its pull request's reviews and checks cost; null: unknown."),
        labelledAt: instant.nullable(),
        openedAt: instant.describe('When the pull request was opened.'),
        end: z.enum(['open', 'merged', 'unfinished', 'closed']).describe('`unfinished`: merged before it was done.'),
        endedAt: instant.nullable(),
        untouched: z
          .boolean()
          .nullable()
          .describe('Merged without a commit of a person; null: not merged, or unknown.'),
        reviewRounds: wholeNumber,
        peopleCommits: wholeNumber.nullable().describe('Known commits of people on the branch; null: unknown.'),
        revertedAt: instant.nullable(),
      }),
    )
    .describe('Newest pull request first.'),
  problems: z.array(z.string()).describe('Problems of reading, as sentences.'),
});

type HistoryReport = Immutable<z.infer<typeof historySchema>>;

/** Returns the published JSON Schema of `ralph history --json`. */
export function historyJsonSchema(): object {
  return { title: 'ralph history --json', ...z.toJSONSchema(historySchema) };
}

/** Returns the history in the form of `--json`. */
export function historyReportOf(
  history: HistorySummary,
  known: Pick<HistoryReport, 'repository' | 'problems'> & {
    readonly tasks: readonly TaskHistory[];
    readonly now: number;
  },
): HistoryReport {
  const groups = (of: HistorySummary['weeks']): HistoryReport['weeks'] =>
    of.map(({ name, ...rest }) => ({ name, ...toTotals(rest) }));
  return {
    at: iso(known.now),
    repository: known.repository,
    all: toTotals(history.all),
    weeks: groups(history.weeks),
    agents: groups(history.agents),
    models: groups(history.models),
    labels: groups(history.labels),
    tasks: known.tasks.map(({ labelledAt, openedAt, endedAt, revertedAt, isUntouched: untouched, ...task }) => ({
      ...{ id: task.id, title: task.title, state: task.state, pullRequest: task.pullRequest, labels: task.labels },
      ...{ agent: task.agent, model: task.model, iterations: task.iterations, costUsd: roundUsd(task.costUsd) },
      ...{ labelledAt: isoOrNull(labelledAt), openedAt: iso(openedAt), end: task.end, endedAt: isoOrNull(endedAt) },
      ...{ untouched, reviewRounds: task.reviewRounds, peopleCommits: task.peopleCommits },
      revertedAt: isoOrNull(revertedAt),
    })),
    problems: known.problems,
  };
}

function toTotals({ priced, judged, untouched, timed: _, medianMs, ...totals }: HistoryTotals): HistoryReport['all'] {
  return {
    ...totals,
    pricedTasks: priced,
    costUsd: roundUsd(totals.costUsd),
    lostUsd: roundUsd(totals.lostUsd),
    costPerMergedTaskUsd: roundUsd(costPerMergedTask({ costUsd: totals.costUsd, priced })),
    judgedTasks: judged,
    untouchedTasks: untouched,
    minutesToMerge: medianMs === null ? null : Math.round(medianMs / MINUTE_MS),
  };
}

/** Rounds an amount to a millionth of a dollar. */
function roundUsd(amount: number | null): number | null {
  return amount === null ? null : Math.round(amount * 1e6) / 1e6;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at);
}
