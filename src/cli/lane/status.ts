import { laneOfStatus, parseFoundStatus } from '../../core/local/status-document.ts';
import { fileSources, type LaneId, QUEUE } from '../../core/tasks/ids.ts';
import { formatInstant } from '../../core/countdown.ts';
import { nameOutcome } from '../../report/sentences/ends/outcome-name.ts';
import { type LookAtGitHub, toPlainLine, buildPrintedSettings, type ReadEffectiveSettings } from '../arguments.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, readCheckoutFile, type Terminal } from '../command.ts';
import { DEFAULT_OPTIONAL_SECTIONS } from '../defaults.ts';
import { readCheckoutTasks } from '../tasks/read-tasks.ts';
import type { LaneStatusReport } from './lane-schema.ts';
import { LANE_OPTIONS_HELP, type CheckoutTask, readLaneArguments, renderLane } from './lane-text.ts';
import { type OpenPlaces, readLane } from './read-lane.ts';

const HELP = `Usage: ralph status [--issue N] [--dir FOLDER] [--remote NAME] [--json]
       ralph status --all [--dir FOLDER] [--remote NAME] [--json]

Shows the status of the queue, or of an issue with its own branch: its saved
state and where that was found, which run works on it now, circuit, pause, park,
session, what the repository used of its hour and day, tasks, the last changes
with who asked for them, and the settings of its workflows (without a workflow,
those of ralph run), each with its origin: an input, the input settings, the
environment, a file, or (with --json) its default.

It reads the ref refs/ralph/v2/state of the checkout's remote, with your own git
credentials, and the checkout's folder .ralph/state if there is one. The two are
separate.

With --all: the queue and every issue's branch in a few lines, what waits for
what, and the spending of the last 31 days. With GITHUB_TOKEN (or GH_TOKEN) also
titles, the issues that no run has begun yet, what they wait for, and whether a
pull request is open. The JSON is then described by
schemas/ralph-overview.schema.json.

With --json, a task has an id that is the same in every run: issue-12, a story's
prd-US-001, or a plan entry's plan-3f9a12c0. "ralph retry" takes it.

${LANE_OPTIONS_HELP}
  --all          the queue and every issue's branch

Exit codes: 0 the status is shown, 1 a place cannot be reached or read, or was
written by a newer version, 2 wrong arguments, no checkout or no such remote.
`;

/** Creates `ralph status`, which shows the state of a lane. */
export function createStatusCommand(
  open: OpenPlaces,
  look: LookAtGitHub,
  readEffective: ReadEffectiveSettings,
): CliCommand {
  return {
    ...COMMAND_LIST.status,
    help: HELP,
    run: (args, terminal) => status(args, terminal, { open, look, readEffective }),
  };
}

async function status(
  args: readonly string[],
  terminal: Terminal,
  reads: { readonly open: OpenPlaces; readonly look: LookAtGitHub; readonly readEffective: ReadEffectiveSettings },
): Promise<CommandEnd> {
  const { open, look, readEffective } = reads;
  const places = args.includes('--all') ? open : openOrEmpty(open);
  const { lane, json, all, remote, sameLane, opened } = await readLaneArguments(args, places, 'all-lanes');
  if (all) {
    const { showAll } = await import('../overview/read-overview.ts');
    return showAll({ ...opened, remote, json, look, readEffective }, terminal);
  }
  const [report, settings, files] = await Promise.all([
    readLane(lane, opened.places, terminal.now()),
    readEffective(opened.folder),
    readStatusTasks(lane, opened.folder),
  ]);
  const end = printLane(
    'status',
    { report: { ...report, settings: settings.map(buildPrintedSettings) }, json, sameLane, files },
    terminal,
  );
  if (!json) terminal.out(await describeUnsavedRun(opened.folder, report));
  return end;
}

/** Returns a line about the last run in the checkout if it saved no state, otherwise nothing. */
async function describeUnsavedRun(folder: string, { branchId: lane, places }: LaneStatusReport): Promise<string> {
  const file = await readCheckoutFile(folder, '.ralph/status.json');
  const found = file.kind === 'text' ? parseFoundStatus(file.text) : null;
  if (found?.kind !== 'ours' || found.run.outcome === null) return '';
  const { outcome, startedAt, updatedAt } = found.run;
  if (laneOfStatus(found.run) !== lane) return '';
  const isSaved = places.some(
    (place) =>
      place.kind === 'branch' && place.lastRun !== null && Date.parse(place.lastRun.at) >= Date.parse(startedAt),
  );
  if (isSaved) return '';
  return `The last run here ended: ${toPlainLine(nameOutcome(outcome))}, ${formatInstant(Date.parse(updatedAt))}; it saved no state.\n`;
}

/** Reads the tasks in the checkout's files that belong to this lane. */
export async function readStatusTasks(lane: LaneId, folder: string): Promise<readonly CheckoutTask[]> {
  if (lane !== QUEUE) return [];
  const optionalSections = DEFAULT_OPTIONAL_SECTIONS.split(',');
  return (await readCheckoutTasks(folder, { sources: fileSources, optionalSections })).tasks;
}

/** Opens a checkout without any state as one without places, because its settings can still be shown. */
function openOrEmpty(open: OpenPlaces): OpenPlaces {
  return async (checkout) => {
    const opened = await open(checkout);
    return opened.kind === 'missing' && opened.folder !== null
      ? { kind: 'open', folder: opened.folder, places: [], person: '' }
      : opened;
  };
}

/** Prints the report of the command `name`; problems of places go to the error output. */
export function printLane(
  name: string,
  printed: {
    readonly report: LaneStatusReport;
    readonly json: boolean;
    readonly sameLane: string;
    readonly files: readonly CheckoutTask[];
  },
  terminal: Terminal,
): CommandEnd {
  const { report, json, sameLane, files } = printed;
  terminal.out(json ? renderLaneJson(report) : renderLane(report, sameLane, files));
  const problems = report.places.filter((place) => place.kind !== 'branch');
  for (const { why } of problems) terminal.error(`ralph ${name}: ${why}\n`);
  return problems.length === 0 ? 'done' : 'failed';
}

/** Renders the report for `--json`. */
export function renderLaneJson(report: LaneStatusReport): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}
