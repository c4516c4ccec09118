import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { Immutable } from '../../core/policy.ts';
import { taskStates } from '../../core/tasks/task.ts';
import {
  computeMergedTaskCost,
  type HistorySummary,
  summarizeHistory,
  type HistoryTotals,
  listTaskHistories,
  type TaskHistory,
} from '../../core/history/task-history.ts';
import { listStoredRuns } from '../../core/snapshot/stored-run.ts';
import { mapTexts } from '../../core/text/redact.ts';
import type { HistoryPage } from '../../report/history/history-page.ts';
import { renderHistory } from '../../report/history/history-text.ts';
import { describeUnreachablePlace } from '../../report/overview/build-overview.ts';
import { parseArguments, toPlainLine } from '../arguments.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  describeSystemError,
  type Terminal,
  UsageError,
} from '../command.ts';
import type { OpenPlaces } from '../lane/read-lane.ts';

const HELP = `Usage: ralph history [--html FILE] [--dir FOLDER] [--remote NAME] [--json]

Shows what became of Ralph's pull requests, and what their tasks cost. In all,
and for each week, agent, model and label: the merged tasks, the average cost of
one, how many people merged untouched, review rounds, the time from the label to
the merge, and how many were reverted within 30 days. A cost that is not known
counts nowhere, and is never $0.00.

It reads the ref refs/ralph/v2/state of the checkout's remote, with your own git
credentials, and the checkout's folder .ralph/state if there is one. It does not
use GitHub's API.

  --html FILE    also writes it as a page with charts, which loads nothing from
                 anywhere and runs no script
  --dir FOLDER   any folder of the checkout (default: the current one)
  --remote NAME  the remote that holds the state (default: origin)
  --json         prints one JSON object instead, described by
                 schemas/ralph-history.schema.json

Exit codes: 0 the history is shown, 1 a place cannot be reached or read, or the
page cannot be written, 2 wrong arguments, no checkout or no such remote.
`;

/** Maximum length of a text. */
const MAX_TEXT_CHARS = 200;

/** Creates `ralph history`, which shows what tasks cost and what became of them. */
export function createHistoryCommand(open: OpenPlaces): CliCommand {
  return { ...COMMAND_LIST.history, help: HELP, run: (args, terminal) => showHistory(args, terminal, open) };
}

async function showHistory(args: readonly string[], terminal: Terminal, open: OpenPlaces): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { html: 'value', dir: 'value', remote: 'value', json: 'flag' },
    { name: '', min: 0, max: 0 },
  );
  const [[folder = '.'], [remote = null], [page = null]] = [
    given.values('dir'),
    given.values('remote'),
    given.values('html'),
  ];
  const opened = given.problems.length > 0 ? null : await open({ folder, remote });
  if (opened?.kind !== 'open') throw new UsageError(opened === null ? given.problems : [opened.why]);
  const read = await Promise.all(opened.places.map(async ({ name, store }) => ({ name, found: await store.read() })));
  const snapshots = read.flatMap(({ found }) => (found.kind === 'snapshot' ? [found.snapshot] : []));
  const problems = read.flatMap(({ name, found }) =>
    found.kind === 'unavailable' ? [toPlainLine(describeUnreachablePlace(name, found.why))] : [],
  );
  const tasks = mapTexts(snapshots.flatMap(listTaskHistories), (text) => toPlainLine(text, MAX_TEXT_CHARS));
  const runs = snapshots.flatMap(listStoredRuns);
  const repository = runs.map(({ runUrl }) => repositoryOf(runUrl)).find((address) => address !== null) ?? null;
  const [history, now] = [summarizeHistory(tasks), terminal.now()];
  if (given.has('json'))
    terminal.out(`${JSON.stringify(historyReportOf(history, { tasks, repository, problems, now }), null, 2)}\n`);
  // Without any state, nothing is known about pull requests.
  else if (snapshots.length > 0 || problems.length === 0)
    terminal.out(renderHistory(history, { title: repository?.split('/').slice(-2).join('/') ?? '', now }));
  const unwritten = page === null ? null : await whyNotWritten(page, { history, tasks, repository, now });
  const all = [...problems, ...(unwritten === null ? [] : [unwritten])];
  for (const problem of all) terminal.error(`ralph history: ${problem}\n`);
  return all.length === 0 ? 'done' : 'failed';
}

/** Writes the page. Returns null, or the reason why it was not written. */
async function whyNotWritten(file: string, page: HistoryPage): Promise<string | null> {
  const { renderHistoryPage } = await import('../../report/history/history-page.ts');
  try {
    await writeFile(file, renderHistoryPage(page));
    return null;
  } catch (error) {
    return `${JSON.stringify(file)} cannot be written: ${describeSystemError(error)}.`;
  }
}

/** Returns the address of the repository of a run of GitHub Actions, or null for any other run. */
function repositoryOf(runUrl: string): string | null {
  return /^(https:\/\/[\w.:-]+(?:\/[\w.-]+){2})\/actions\/runs\/\d+/.exec(runUrl)?.[1] ?? null;
}

const instant = z.iso.datetime();

const wholeNumber = z.int().nonnegative();

const amount = z.number().nonnegative();

const totals = {
  tasks: wholeNumber,
  merged: wholeNumber.describe('Tasks that were done and whose pull request was merged.'),
  notMerged: wholeNumber.describe('Tasks whose pull request was closed, or merged without them.'),
  open: wholeNumber,
  pricedTasks: wholeNumber.describe('Merged tasks whose cost is known.'),
  costUsd: amount.nullable().describe('Cost of these tasks in US dollars; null without tasks.'),
  costPerMergedTaskUsd: amount.nullable(),
  lostUsd: amount.nullable().describe('Known cost of the tasks that were not merged; null: not known for any.'),
  judgedTasks: wholeNumber.describe('Merged tasks for which it is known whether people changed them.'),
  untouchedTasks: wholeNumber.describe('Of these, the tasks that were merged without a commit by a person.'),
  reviewRounds: wholeNumber.describe('Runs that answered reviews, over all merged tasks.'),
  minutesToMerge: amount
    .nullable()
    .describe('Median time from the label to the merge; null: no merged task had a label.'),
  reverted: wholeNumber.describe('Merged tasks whose pull request was reverted within 30 days.'),
};

const group = z.object({
  name: z.string().nullable().describe('For a week, its Monday in UTC: `2026-11-23`; null: unknown or none.'),
  ...totals,
});

/** The output of `ralph history --json`. A change that breaks readers needs a new major version. */
export const historySchema = z.object({
  at: instant,
  repository: z.string().nullable().describe('Address of its page; null: no run of GitHub Actions is known.'),
  all: z.object(totals),
  weeks: z
    .array(group)
    .describe('By the week in which the pull request ended, or was opened if it is still open; oldest first.'),
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
        labels: z.array(z.string()).describe('Without the labels that Ralph adds.'),
        agent: z.string().nullable(),
        model: z.string().nullable().describe("null: unknown, or the agent's own choice."),
        iterations: wholeNumber,
        costUsd: amount
          .nullable()
          .describe("Includes an equal share of the cost of its pull request's reviews and checks; null: unknown."),
        labelledAt: instant.nullable(),
        openedAt: instant.describe('When the pull request was opened.'),
        end: z.enum(['open', 'merged', 'unfinished', 'closed']).describe('`unfinished`: merged before it was done.'),
        endedAt: instant.nullable(),
        untouched: z
          .boolean()
          .nullable()
          .describe('Merged without a commit by a person; null: not merged, or unknown.'),
        reviewRounds: wholeNumber,
        peopleCommits: wholeNumber.nullable().describe('Known commits by people on the branch; null: unknown.'),
        revertedAt: instant.nullable(),
      }),
    )
    .describe('Newest pull request first.'),
  problems: z.array(z.string()).describe('Problems of reading, as sentences.'),
});

type HistoryReport = Immutable<z.infer<typeof historySchema>>;

/** Returns the history in the form of `--json`. */
function historyReportOf(
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

function toTotals({ priced, judged, untouched, medianMs, ...totals }: HistoryTotals): HistoryReport['all'] {
  return {
    ...totals,
    pricedTasks: priced,
    costUsd: roundUsd(totals.costUsd),
    lostUsd: roundUsd(totals.lostUsd),
    costPerMergedTaskUsd: roundUsd(computeMergedTaskCost({ costUsd: totals.costUsd, priced })),
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
