import { writeFile } from 'node:fs/promises';
import { historySummaryOf } from '../../core/history/history-totals.ts';
import { taskHistoriesIn } from '../../core/history/task-history.ts';
import { runsIn } from '../../core/snapshot/stored-run.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { mapTexts } from '../../core/text/redact.ts';
import type { HistoryPage } from '../../report/history/history-page.ts';
import { renderHistory } from '../../report/history/history-text.ts';
import { parseArguments, plainLine } from '../arguments.ts';
import { type CliCommand, type CommandEnd, LISTED, reasonOf, type Terminal, UsageError } from '../command.ts';
import type { OpenPlaces } from '../lane/read-lane.ts';
import { historyReportOf } from './history-schema.ts';

const HELP = `Usage: ralph history [--html FILE] [--dir FOLDER] [--remote NAME] [--json]

Shows what became of the pull requests of runs, and what their tasks cost: per
week, agent, model and label the merged tasks, the cost of one on average, how
many of them people merged untouched, the review rounds, the time from the label
to the merge, and how many were reverted within 30 days. A cost that is not
known counts nowhere, and is never $0.00.

It reads the ref refs/ralph/v2/state of the checkout's remote, with your own git
credentials, and the checkout's folder .ralph/state if there is one. It sends no
request to GitHub.

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
  return { ...LISTED.history, help: HELP, run: (args, terminal) => showHistory(args, terminal, open) };
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
    found.kind === 'unavailable' ? [plainLine(`The ${name} cannot be reached: ${completeSentence(found.why)}`)] : [],
  );
  const tasks = mapTexts(snapshots.flatMap(taskHistoriesIn), (text) => plainLine(text, MAX_TEXT_CHARS));
  const runs = snapshots.flatMap(runsIn);
  const repository = runs.map(({ runUrl }) => repositoryOf(runUrl)).find((address) => address !== null) ?? null;
  const [history, now] = [historySummaryOf(tasks), terminal.now()];
  terminal.out(
    given.has('json')
      ? `${JSON.stringify(historyReportOf(history, { tasks, repository, problems, now }), null, 2)}\n`
      : renderHistory(history, { title: repository?.split('/').slice(-2).join('/') ?? '', now }),
  );
  const unwritten = page === null ? null : await whyNotWritten(page, { history, tasks, repository, now });
  const all = [...problems, ...(unwritten === null ? [] : [unwritten])];
  for (const problem of all) terminal.error(`ralph history: ${problem}\n`);
  return all.length === 0 ? 'done' : 'failed';
}

/** Writes the page; returns null, or why it was not written. */
async function whyNotWritten(file: string, page: HistoryPage): Promise<string | null> {
  const { renderHistoryPage } = await import('../../report/history/history-page.ts');
  try {
    await writeFile(file, renderHistoryPage(page));
    return null;
  } catch (error) {
    return `${JSON.stringify(file)} cannot be written: ${reasonOf(error)}.`;
  }
}

/** Returns the address of the repository of a run of GitHub Actions; null for any other run. */
function repositoryOf(runUrl: string): string | null {
  return /^(https:\/\/[\w.:-]+(?:\/[\w.-]+){2})\/actions\/runs\/\d+/.exec(runUrl)?.[1] ?? null;
}
