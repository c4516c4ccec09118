import { stat } from 'node:fs/promises';
import { completeSentence, capitalizeFirst } from '../../core/text/phrase.ts';
import { type LookAtGitHub, parseArguments, type ReadEffectiveSettings } from '../arguments.ts';
import type { OpenPlaces } from '../lane/read-lane.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';
import type { Picture } from './monitor-schema.ts';
import type { MonitorWorld } from './terminal-world.ts';

const HELP = `Usage: ralph monitor [--all] [--once] [--json] [--dir FOLDER] [--remote NAME]

Shows the local run (ralph run, or another Ralph that writes .ralph/status.json)
on the whole screen: what it does, its task, the calls of the hour and the cost
as bars, done signals, circuit, a countdown while it waits, and the last lines
of the newest file in .ralph/logs. It follows the files, and changes nothing
unless you press a key. In the folder of an input working-directory it shows the
run there; at the top of the repository, the run that wrote last.

Without a local run, or with --all, it shows all branches, as ralph status --all
does, and reads them again every ten seconds; with GITHUB_TOKEN (or GH_TOKEN)
every minute.

Keys: p pauses or resumes, s stops, r tries the failed, blocked or set-aside
task again (asks first), a switches between the local run and all branches, up
and down choose a branch, q or Ctrl-C quits. They give the orders of ralph
pause, resume, stop and retry: in the view of the local run to .ralph/state
alone, in the view of all branches to the place where the chosen branch is kept.

Where there is no terminal (a pipe, TERM=dumb, CI), it prints a line for each
change, until the local run is over. In a checkout without a remote where
nothing has run yet, it waits for the first run.

  --all          all branches, not the local run
  --once         prints one picture as text
  --json         prints one JSON object, described by
                 schemas/ralph-monitor.schema.json
  --dir FOLDER   any folder of the checkout (default: the current one)
  --remote NAME  the remote that holds the state (default: origin)

Exit codes: 0 the end, 1 something could not be read (with --once and --json), 2
wrong arguments, or nothing to show.
`;

/** Creates `ralph monitor`, which shows the local run or all branches and keeps the display up to date. */
export function createMonitorCommand(
  sources: Pick<Needed, 'open' | 'look' | 'readEffective'>,
  openWorld: () => Promise<MonitorWorld>,
): CliCommand {
  return {
    ...COMMAND_LIST.monitor,
    help: HELP,
    run: async (args, terminal) => monitor(args, { ...sources, world: await openWorld(), terminal }),
  };
}

interface Needed {
  readonly open: OpenPlaces;
  readonly look: LookAtGitHub;
  readonly readEffective: ReadEffectiveSettings;
  readonly world: MonitorWorld;
  readonly terminal: Terminal;
}

async function monitor(
  args: readonly string[],
  { open, look, readEffective, world, terminal }: Needed,
): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { all: 'flag', once: 'flag', json: 'flag', dir: 'value', remote: 'value' },
    { name: '', min: 0, max: 0 },
  );
  if (given.problems.length > 0) throw new UsageError(given.problems);
  const [folder = '.'] = given.values('dir');
  const [remote = null] = given.values('remote');
  // Report a missing folder as an error; otherwise a run in one of its parent folders would be shown.
  const there = await stat(folder).catch(() => null);
  if (there?.isDirectory() !== true)
    throw new UsageError([`${JSON.stringify(folder)} ${there === null ? 'does not exist' : 'is not a folder'}.`]);
  const { createSource } = await import('./source.ts');
  const source = createSource({ folder, remote, open, look, readEffective, world });
  const isOnce = given.has('once') || given.has('json');
  const shows = given.has('all')
    ? 'all'
    : await chooseView(await source.local(terminal.now()), source.open, { folder, isOnce });
  if (shows === 'all') {
    const opened = await source.open({ folder, remote });
    if (opened.kind === 'missing') throw new UsageError([opened.why]);
  }
  if (isOnce) {
    const now = terminal.now();
    const picture = await (shows === 'all' ? source.allNow(now) : source.local(now));
    return print(picture, { json: given.has('json'), columns: world.columns() }, terminal);
  }
  const screen = await world.openScreen();
  if (screen === null) {
    const { printChanges } = await import('./lines.ts');
    await printChanges(source, shows, { world, terminal });
  } else {
    const { showPicture } = await import('./follow.ts');
    await showPicture({ source, screen, shows, folder, remote }, terminal);
  }
  return 'done';
}

/**
 * Returns the default view: a local run that exists or existed, otherwise all branches if there is a remote, otherwise
 * the first local run as soon as it begins.
 */
async function chooseView(
  { local }: Picture,
  open: OpenPlaces,
  { folder, isOnce }: { readonly folder: string; readonly isOnce: boolean },
): Promise<Picture['shows']> {
  if (local !== null && local.run.kind !== 'none') return 'local';
  const opened = await open({ folder, remote: null });
  if (opened.kind === 'open' && opened.places.some(({ name }) => name === 'ref')) return 'all';
  if (local !== null && (local.state !== null || local.output !== null)) return 'local';
  const isCheckout = opened.kind === 'open' || opened.folder !== null;
  if (isCheckout && !isOnce) return 'local';
  throw new UsageError([
    `There is nothing to show: no run has begun in ${JSON.stringify(folder)}.${opened.kind === 'missing' ? ` ${capitalizeFirst(completeSentence(opened.why))}` : ''}`,
  ]);
}

/** Number of rows that is enough for any picture. */
const TEXT_ROWS = 200;

async function print(
  picture: Picture,
  { json, columns }: { readonly json: boolean; readonly columns: number },
  terminal: Terminal,
): Promise<CommandEnd> {
  if (json) terminal.out(`${JSON.stringify(picture, null, 2)}\n`);
  else {
    const { layOutScreen } = await import('./view/screen.ts');
    const lines = layOutScreen(picture, { columns, rows: TEXT_ROWS }, null, Date.parse(picture.at));
    terminal.out(
      lines
        .map(
          (line) =>
            `${line
              .map(({ text }) => text)
              .join('')
              .trimEnd()}\n`,
        )
        .join(''),
    );
  }
  const shown = shownProblems(picture);
  const unshown = unshownProblems(picture);
  for (const problem of json ? [...shown, ...unshown] : unshown) terminal.error(`ralph monitor: ${problem}\n`);
  return shown.length + unshown.length === 0 ? 'done' : 'failed';
}

/** Returns the reading problems that the picture's text leaves out. */
function unshownProblems({ local, all }: Picture): readonly string[] {
  return [
    ...(local?.state?.places ?? []).flatMap((place) => (place.kind === 'branch' ? [] : [place.why])),
    ...(all?.branches ?? []).flatMap((lane) => (lane.kind === 'branch' ? [] : [`${lane.branchId}: ${lane.why}`])),
  ];
}

/** Returns the reading problems that the picture's text shows. */
function shownProblems({ local, all, problems }: Picture): readonly string[] {
  return [...problems, ...(local?.run.kind === 'unreadable' ? [local.run.why] : []), ...(all?.problems ?? [])];
}
