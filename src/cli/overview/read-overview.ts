import { MINUTE_MS } from '../../core/countdown.ts';
import { createInitialState } from '../../core/lane/state/state.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { toQueuedEntry } from '../../core/snapshot/dashboard-record.ts';
import { listStoredRuns } from '../../core/snapshot/stored-run.ts';
import { isFileSource, issueOfId, type LaneId, QUEUE } from '../../core/tasks/ids.ts';
import type { Task } from '../../core/tasks/task.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import {
  buildOverview,
  describeUnreachablePlace,
  type FoundLane,
  type GitHubFacts,
} from '../../report/overview/build-overview.ts';
import type { Overview } from '../../report/overview/lane-waits.ts';
import { type LookAtGitHub, toPlainLine, type ReadEffectiveSettings, type RepositoryAccess } from '../arguments.ts';
import { DEFAULT_COOLDOWN_MINUTES } from '../defaults.ts';
import { restoreLaneState, type StatePlace } from '../lane/read-lane.ts';
import { readIssueTasks } from '../tasks/issue-tasks.ts';
import { readCheckoutTasks } from '../tasks/read-tasks.ts';
import { buildTaskSettings, type TaskSettings } from '../tasks/task-settings.ts';
import type { CommandEnd, Terminal } from '../command.ts';
import { renderOverview } from '../../report/overview/overview-text.ts';

const MAX_TEXT_CHARS = 300;
/** Maximum number of issues that are queried one by one because they are closed or have lost their label. */
const MAX_ASKED = 20;

/** The checkout that the overview reads; a null `remote` means `origin`. */
interface OverviewCheckout {
  readonly folder: string;
  readonly remote: string | null;
  readonly places: readonly StatePlace[];
  readonly look: LookAtGitHub;
  readonly readEffective: ReadEffectiveSettings;
  readonly log: (line: string) => void;
}

const unset: ReportedSettings = { workflow: '', settings: [], problems: [] };

/** Reads every lane of the repository in each place. Every text in the overview is one clean line. */
export async function readOverview(
  { folder, remote, places, look, readEffective, log }: OverviewCheckout,
  now: number,
): Promise<Overview> {
  const listed = await Promise.all(
    places.map(async (place) => {
      const found = await place.lanes();
      // Do not read a place that has just failed to answer: the second request would only wait again.
      return { place, found, read: found.kind === 'unavailable' ? found : await place.store.read() };
    }),
  );
  const unlisted = listed.flatMap(({ place, found }) =>
    found.kind === 'unavailable' ? [describeUnreachablePlace(place.name, found.why)] : [],
  );
  const lanes = listed.flatMap(({ place: { name: place }, found, read }, index) =>
    found.kind === 'lanes'
      ? lanesAtPlace(found.lanes, index).map((lane) => ({
          lane,
          place,
          stored: restoreLaneState(place, read, { lane, now }),
        }))
      : [],
  );
  const effective = await readEffective(folder);
  const [answered = unset] = effective;
  const { sources, label, query, optionalSections, branchPrefix } = buildTaskSettings(answered, {});
  const files = sources.filter(isFileSource);
  const [found, seen] = await Promise.all([
    readCheckoutTasks(folder, { sources: files, optionalSections }),
    look({ folder, remote, log }, (viewer) => readGitHub(viewer, lanes, { label, query, branchPrefix })),
  ]);
  const github = seen.kind === 'seen' ? seen.value : null;
  const overview = buildOverview(
    {
      lanes,
      runs: listed.flatMap(({ place: { name }, read }) =>
        read.kind === 'snapshot' ? listStoredRuns(read.snapshot).map((run) => ({ place: name, run })) : [],
      ),
      listed: [
        ...(github?.tasks ?? []).map((task) => ({ task: toQueuedEntry(task), written: 'todo' as const })),
        ...found.tasks.map(({ task, state: written }) => ({ task: toQueuedEntry(task), written })),
      ],
      github,
      initial: (lane) => createInitialState(lane, now),
      cooldownMs: longestCooldown(effective),
      problems: [
        ...unlisted,
        ...(seen.kind === 'failed' ? [`GitHub cannot be asked for titles: ${completeSentence(seen.why)}`] : []),
      ],
    },
    now,
  );
  return mapTexts(overview, (text) => toPlainLine(text, MAX_TEXT_CHARS));
}

/** Returns the longest cooldown of all workflows in ms, after which the next run of any of them may continue. */
function longestCooldown(settings: readonly ReportedSettings[]): number {
  const minutes = settings
    .flatMap((of) => of.settings.filter(({ input }) => input === 'circuit-cooldown-minutes'))
    .map(({ text }) => Number(text))
    .filter((number) => number >= 0);
  return (minutes.length === 0 ? DEFAULT_COOLDOWN_MINUTES : Math.max(...minutes)) * MINUTE_MS;
}

async function readGitHub(
  viewer: RepositoryAccess,
  lanes: readonly FoundLane[],
  { label, query, branchPrefix }: Pick<TaskSettings, 'label' | 'query' | 'branchPrefix'>,
): Promise<GitHubFacts & { readonly tasks: readonly Task[] }> {
  const { forge, repository } = viewer;
  const { tasks } = await readIssueTasks(viewer, { label, query });
  const listed = new Set(tasks.map(({ id }) => id));
  const names = [...new Set(lanes.map(({ lane }) => lane))];
  const worked = [
    ...names,
    ...lanes.flatMap(({ stored }) => (stored.kind === 'found' ? Object.keys(stored.state.tasks) : [])),
  ];
  const others = [...new Set(worked)].filter((id) => !listed.has(id)).flatMap((id) => issueOfId(id) ?? []);
  const [issues, pulls] = await Promise.all([
    Promise.all(others.slice(0, MAX_ASKED).map((number) => forge.issue(number))),
    Promise.all(
      names.slice(0, MAX_ASKED).map(async (lane) => {
        const found = await forge.pullRequestOf(`${branchPrefix}${lane}`);
        const title = found === null ? null : ((await forge.issue(found.number))?.title ?? null);
        return found === null
          ? []
          : [[lane, { number: found.number, url: found.url, title, state: found.state }] as const];
      }),
    ),
  ]);
  const titles = issues.flatMap((issue) => (issue === null ? [] : [[issue.number, issue.title] as const]));
  return { repository, tasks, titles: new Map(titles), pullRequests: new Map(pulls.flat()) };
}

/**
 * Returns the queue and then the lanes by issue number. The first place always has the queue, even before its first
 * run.
 */
function lanesAtPlace(lanes: readonly LaneId[], place: number): readonly LaneId[] {
  const all = place === 0 ? [...new Set([QUEUE, ...lanes])] : lanes;
  return all.toSorted((a, b) => (issueOfId(a) ?? 0) - (issueOfId(b) ?? 0));
}

/** Prints every lane; problems of reading go to the error output. */
export async function showAll(
  { json, ...looked }: Omit<OverviewCheckout, 'log'> & { readonly json: boolean },
  terminal: Terminal,
): Promise<CommandEnd> {
  const log = (line: string): void => {
    terminal.error(`${toPlainLine(line, 300)}\n`);
  };
  const overview = await readOverview({ ...looked, log }, terminal.now());
  terminal.out(json ? `${JSON.stringify(overview, null, 2)}\n` : renderOverview(overview));
  const problems = [
    ...overview.problems,
    ...overview.branches.flatMap((lane) => (lane.kind === 'branch' ? [] : [`${lane.branchId}: ${lane.why}`])),
  ];
  for (const problem of problems) terminal.error(`ralph status: ${problem}\n`);
  return problems.length === 0 ? 'done' : 'failed';
}
