import { COMMAND_HELP } from '../../core/people/command.ts';
import {
  nameTaskReference,
  nameReferenceById,
  findTaskByName,
  MAX_TASK_NAME_CHARS,
} from '../../core/people/named-task.ts';
import type { OrderGiven } from '../../core/sharing/orders.ts';
import { orderInSnapshot as giveOrder } from '../../core/snapshot/changes.ts';
import { parseBudgetIn } from '../../core/snapshot/snapshot.ts';
import { taskFilePaths } from '../../core/tasks/files/form/root-plan.ts';
import { fileSources, isIssueTask, nameOfTaskId, parseTaskName, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { cutText, listFirstNames, toOneLine } from '../../core/text/phrase.ts';
import type { Updated } from '../../ports/state.ts';
import { toPlainLine } from '../arguments.ts';
import { DEFAULT_OPTIONAL_SECTIONS } from '../defaults.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';
import { formatLaneOption } from '../../report/overview/lane-waits.ts';
import { readCheckoutTasks } from '../tasks/read-tasks.ts';
import { wrapText } from '../terminal-text.ts';
import {
  LANE_OPTIONS_HELP,
  type LaneArguments,
  readLaneArguments,
  renderLane,
  type CommandArgument,
} from './lane-text.ts';
import { restoreLaneState, type OpenPlaces, readLane, type StatePlace } from './read-lane.ts';
import { printLane, readStatusTasks, renderLaneJson } from './status.ts';

/** Creates the commands that give orders to a lane: `ralph pause`, `resume`, `stop`, `retry` and `reset`. */
export function createOrderCommands(open: OpenPlaces): readonly CliCommand[] {
  return ORDERS.map(({ name, usage, does, takes }) => ({
    ...COMMAND_LIST[name],
    help: helpOf(usage, does),
    run: async (args, terminal) => {
      const given = await readLaneArguments(args, open, takes);
      return order(wantedOrder(name, given.subject), given, terminal);
    },
  }));
}

interface Wanted {
  readonly kind: OrderGiven['kind'];
  /** The task, by its id or name; null if the order is not for a single task. */
  readonly task: string | null;
}

function wantedOrder(name: OrderCommand['name'], subject: string): Wanted {
  if (name === 'reset') return { kind: subject === 'circuit' ? 'reset-circuit' : 'reset-session', task: null };
  return { kind: name, task: subject === '' ? null : subject };
}

const whatToReset: CommandArgument = {
  name: 'circuit or session',
  isRequired: true,
  problem: (given) =>
    ['circuit', 'session'].includes(given)
      ? null
      : `${JSON.stringify(given)} cannot be reset: expected circuit or session.`,
};

const taskToRetry: CommandArgument = {
  name: 'the task',
  isRequired: false,
  problem: (given) =>
    given.trim() === '' || given.length > MAX_TASK_NAME_CHARS
      ? `${JSON.stringify(cutText(given, 80))} is not a task: expected an id or a name that "ralph tasks" shows, such as "#12", US-003 or plan-3f9a12c0.`
      : null,
};

interface OrderCommand {
  readonly name: 'pause' | 'resume' | 'stop' | 'retry' | 'reset';
  readonly usage: string;
  readonly does: string;
  readonly takes: CommandArgument | null;
}

const ORDERS: readonly OrderCommand[] = [
  { name: 'pause', usage: 'pause', does: `Pauses the queue or an issue: ${COMMAND_HELP.pause}.`, takes: null },
  { name: 'resume', usage: 'resume', does: 'Ends a pause.', takes: null },
  { name: 'stop', usage: 'stop', does: `Stops the queue or an issue: ${COMMAND_HELP.stop}.`, takes: null },
  {
    name: 'retry',
    usage: 'retry [TASK]',
    does: 'Gives failed and blocked tasks all their attempts again; with TASK (its id or its name in "ralph tasks": US-003, .ralph/fix_plan.md:4, "#12") only that one.',
    takes: taskToRetry,
  },
  {
    name: 'reset',
    usage: 'reset circuit|session',
    does: 'reset circuit: closes the circuit, whatever opened it.\nreset session: starts a new conversation with the agent.',
    takes: whatToReset,
  },
];

/** Maximum length of a person's name; a longer one makes the order unreadable. */
const MAX_PERSON_CHARS = 100;

async function order({ kind, task: name }: Wanted, given: LaneArguments, terminal: Terminal): Promise<CommandEnd> {
  await refuseUnknownLane(given);
  const task = name === null ? null : await findTask(given, name, terminal.now());
  const { lane, json, sameLane, opened } = given;
  const words = [kind.replace('-', ' '), ...(task === null ? [] : [task])].join(' ');
  const orderGiven: OrderGiven = {
    kind,
    task,
    run: null,
    by: toOneLine(opened.person, MAX_PERSON_CHARS),
    from: 'command-line',
    at: terminal.now(),
  };
  const kept = await Promise.all(
    opened.places.map(async ({ name, store }) => ({
      name,
      why: whyNotKept(await store.update(giveOrder(lane, orderGiven))),
    })),
  );
  for (const { name, why } of kept) {
    if (why !== null)
      terminal.error(
        `ralph ${words}: the order could not be saved in the ${name}, and nothing was changed there: ${toPlainLine(why, 600)}\n`,
      );
  }
  const places = opened.places.filter((_, index) => kept[index]?.why === null);
  if (places.length < kept.length) {
    // The reasons are printed above. `--json` reports all places; the text reports only the places that saved the
    // order.
    const report = await readLane(lane, json ? opened.places : places, terminal.now());
    terminal.out(
      json
        ? renderLaneJson(report)
        : `${receipt(words, lane, places)}${renderLane(report, sameLane, await readStatusTasks(lane, opened.folder))}`,
    );
    return 'failed';
  }
  if (!json) terminal.out(receipt(words, lane, places));
  const [report, files] = await Promise.all([
    readLane(lane, places, terminal.now()),
    readStatusTasks(lane, opened.folder),
  ]);
  return printLane(words, { report, json, sameLane, files }, terminal);
}

function whyNotKept(updated: Updated<string | null>): string | null {
  return updated.kind === 'updated' ? updated.answer : updated.why;
}

/** Returns a text that says when runs obey an order saved in these places; empty if there are no places. */
function receipt(words: string, lane: string, places: readonly StatePlace[]): string {
  if (places.length === 0) return '';
  const names = places.map(({ name }) => name);
  const kept = `Order saved (${names.join(' and ')}): ${words}.`;
  // Only local runs read the directory, so no run on GitHub is mentioned.
  if (names.every((name) => name === 'directory')) {
    const atWork = words === 'stop' ? 'ends after its current iteration' : 'continues to its end';
    return `${kept} The next "ralph run" obeys it before anything else; one at work now ${atWork}.\n\n`;
  }
  const obeyed = names.includes('ref')
    ? ' Runs in Actions obey it when their `state-store` is `auto` (the default) or `ref`.'
    : '';
  const now =
    words === 'stop' ? 'ends after its current iteration, and one of three jobs at its end' : 'continues to its end';
  return `${kept} The next run of ${nameOfBranch(lane)} obeys it before anything else; a run in progress now ${now}.${obeyed}\n\n`;
}

function nameOfBranch(lane: string): string {
  return lane === QUEUE ? 'the queue' : `${nameOfTaskId(lane)}'s own branch`;
}

function helpOf(usage: string, does: string): string {
  return wrapText(
    `Usage: ralph ${usage} [--issue N] [--dir FOLDER] [--remote NAME] [--json]

${does}

The order is saved on the ref refs/ralph/v2/state of the checkout's remote, with
your own git credentials, and in the checkout's folder .ralph/state if there is
one. The next run obeys it before anything else, and records who gave it: your
git user.name, or $USER. Then the status is shown, as by ralph status.

${LANE_OPTIONS_HELP}

Exit codes: 0 the order is saved, 1 it could not be saved everywhere, 2 wrong
arguments, no checkout, no such remote, or no such branch or task.
`,
    80,
  );
}

/**
 * Throws a UsageError if the order's lane does not exist. Does nothing if a place that cannot be read may have the
 * lane.
 */
async function refuseUnknownLane({ lane, opened: { places } }: LaneArguments): Promise<void> {
  const lanes = await lanesOf(places);
  if (lane === QUEUE || lanes === null || lanes.includes(lane)) return;
  const others = lanes.filter((name) => name !== QUEUE).map(nameOfTaskId);
  throw new UsageError([
    `--issue: ${nameOfTaskId(lane)} does not have a branch of its own yet, so it cannot take an order. ${others.length === 0 ? 'No issue has one.' : `These have one: ${listFirstNames(others)}.`}`,
  ]);
}

/**
 * Returns the id of the lane's task with this id or name. Throws a UsageError if none of the places that can be read
 * has such a task.
 */
async function findTask({ lane, opened }: LaneArguments, name: string, now: number): Promise<TaskId> {
  const id = parseTaskName(name);
  const [known, listed] = await Promise.all([
    readLaneTasks(opened.places, lane, now),
    lane === QUEUE
      ? readCheckoutTasks(opened.folder, {
          sources: fileSources,
          optionalSections: DEFAULT_OPTIONAL_SECTIONS.split(','),
        })
      : null,
  ]);
  if (id !== null && known === null) return id;
  const ofFiles = listed?.tasks.map(({ task }) => nameTaskReference(task)) ?? [];
  const named = findTaskByName(name, [...ofFiles, ...(known ?? []).map(nameReferenceById)]);
  if (named.kind === 'task') return named.id;
  if (named.kind === 'several') throw new UsageError([named.why]);
  if (id !== null && !isIssueTask(id) && listed !== null && listed.problems.length > 0) return id;
  const branch = nameOfBranch(lane);
  const hasBranch = id !== null && (await lanesOf(opened.places))?.includes(id) === true;
  const what =
    id !== null && isIssueTask(id)
      ? `No run of ${branch} has worked on ${nameOfTaskId(id)}.`
      : `There is no task ${cutText(name, 80)} in ${branch} or in ${listFirstNames(fileSources.flatMap((source) => taskFilePaths[source]))}.`;
  throw new UsageError([
    `${what} ${named.nearest}${hasBranch ? ` It has a branch of its own: add${formatLaneOption(id)}.` : ''}`,
  ]);
}

/** Returns the lanes of all places, or null if one of them did not answer. */
async function lanesOf(places: readonly StatePlace[]): Promise<readonly string[] | null> {
  const found = await Promise.all(places.map((place) => place.lanes()));
  return found.every((each) => each.kind === 'lanes') ? [...new Set(found.flatMap(({ lanes }) => lanes))] : null;
}

/** Returns the tasks that runs of the lane worked on or may be working on now, or null if a place cannot be read. */
async function readLaneTasks(
  places: readonly StatePlace[],
  lane: string,
  now: number,
): Promise<readonly TaskId[] | null> {
  const found = await Promise.all(
    places.map(async ({ name, store }) => {
      const read = await store.read();
      const restored = restoreLaneState(name, read, { lane, now });
      const counters = read.kind === 'snapshot' ? parseBudgetIn(read.snapshot, now) : null;
      if (counters?.kind !== 'budget' || (restored.kind !== 'found' && restored.kind !== 'absent')) return null;
      const reserved = counters.budget.reservations.filter((each) => each.lane === lane && now < each.expiresAt);
      return [
        ...(restored.kind === 'found' ? Object.keys(restored.state.tasks) : []),
        ...reserved.flatMap(({ tasks }) => tasks),
      ];
    }),
  );
  return found.every((tasks) => tasks !== null) ? found.flat() : null;
}
