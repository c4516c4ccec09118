import { hashPageContent, MAX_TICKS, type Tick, findTicks, findPageTicks } from '../core/dashboard/boxes.ts';
import { createInitialState } from '../core/lane/state/state.ts';
import { measureUsageAt } from '../core/lane/windows.ts';
import { sumWindows } from '../core/sharing/budget.ts';
import {
  addToQueue,
  changeDashboard,
  parseDashboardIn,
  type DashboardRecord,
  rememberQueue,
  toQueuedEntry,
} from '../core/snapshot/dashboard-record.ts';
import { parseBudgetIn, listLanes, type Snapshot } from '../core/snapshot/snapshot.ts';
import { listStoredRuns } from '../core/snapshot/stored-run.ts';
import { issueOfId, QUEUE } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import { mapTexts } from '../core/text/redact.ts';
import { completeSentence } from '../core/text/phrase.ts';
import type { Train } from '../core/train/train.ts';
import { getErrorText } from '../errors.ts';
import type { RunNotes, SeenDashboard } from '../handover/intake.ts';
import type { DashboardIssue } from '../ports/forge.ts';
import { buildOverview, type FoundLane } from '../report/overview/build-overview.ts';
import { DASHBOARD_TITLE, renderDashboard } from '../report/pages/dashboard.ts';
import type { PublishDeps } from './deps.ts';
import { viewLane } from '../core/snapshot/judged.ts';

type KnownNotes = Pick<RunNotes, 'dashboard' | 'queue' | 'train'> & { readonly tasks: readonly Task[] };

/** Maximum number of writes of the page in one run. */
const MAX_WRITES = 4;

/** The place whose state the page shows. */
const PLACE = 'ref';

/**
 * Updates the dashboard: opens one if none exists, and leaves it alone while it is closed. Changes nothing in a run
 * that did not read the open pull requests. Usually takes at most two requests, including the gate's. Returns warnings.
 */
export async function publishDashboard(deps: PublishDeps, notes: KnownNotes): Promise<readonly string[]> {
  const { train } = notes;
  if (!deps.config.dashboard || train === null) return [];
  try {
    return await keepDashboard(deps, notes, train);
  } catch (error) {
    // A failure of the page must not end the run, so it becomes a warning.
    return [`The dashboard was not updated: ${completeSentence(getErrorText(error))}`];
  }
}

async function keepDashboard(deps: PublishDeps, notes: KnownNotes, train: Train): Promise<readonly string[]> {
  const read = await deps.store.read();
  if (read.kind !== 'snapshot') {
    const why = read.kind === 'none' ? 'it needs a state in the repository: set `state-store: auto`' : read.why;
    return [`The dashboard was not updated: ${completeSentence(why)}`];
  }
  const { listed, tasks } = mapTexts(
    { listed: notes.queue ?? null, tasks: notes.tasks.map(toQueuedEntry) },
    deps.redact,
  );
  const kept = await remember(deps, read.snapshot, (record) => ({
    ...record,
    queue: listed === null ? addToQueue(record.queue, tasks) : rememberQueue(record.queue, listed),
  }));
  const { issue } = kept.record;
  const page = { train, answers: notes.dashboard?.answers ?? [] };
  if (issue === null) return openPage(deps, kept, page);
  const known = notes.dashboard ?? null;
  const looked =
    known === null ? await readUnhandledDashboard(deps, kept.record, issue.number) : { seen: known, fresh: [] };
  if (looked === 'unknown') return [];
  if (looked === null) return openPage(deps, kept, page);
  const { seen, fresh } = looked;
  if (!seen.isOpen) return [];
  // Keep newer ticks for the next run of the queue: the gate has judged only those that it read.
  const unjudged = await rememberTicks(deps, kept, fresh);
  return writePage(deps, { kept: unjudged, seen, page, writes: MAX_WRITES });
}

/** The state of the repository, and its record of the dashboard. */
interface KeptDashboard {
  readonly snapshot: Snapshot;
  readonly record: DashboardRecord;
}

interface Page {
  readonly train: Train;
  readonly answers: SeenDashboard['answers'];
}

/**
 * Writes the page, remembers the ticks that people made since it was read, and writes it again with them: up to
 * `writes` times, while people tick boxes.
 */
async function writePage(
  deps: PublishDeps,
  writing: { readonly kept: KeptDashboard; readonly seen: SeenDashboard; readonly page: Page; readonly writes: number },
): Promise<readonly string[]> {
  const { kept, seen, page, writes } = writing;
  const body = buildPage(deps, kept, page);
  const content = hashPageContent(body);
  if (content === seen.content) return [];
  const written = await deps.forge.writeDashboard(seen.id, body);
  if (written.kind === 'refused') return [];
  if (written.value === null) return openPage(deps, kept, page);
  const { ticks, edits } = ticksBetween(seen, written.value, content);
  if (ticks.length === 0) return [];
  const after = await rememberTicks(deps, kept, ticks);
  if (writes === 1) return [];
  return writePage(deps, { kept: after, seen: { ...seen, content, edits, ticks: [] }, page, writes: writes - 1 });
}

/**
 * Returns the ticks made between reading the page and writing it, and the number of edits up to the version that this
 * run wrote. Later versions stay on the page for the next run.
 */
function ticksBetween(
  seen: SeenDashboard,
  { revisions, edits }: DashboardIssue,
  content: string,
): { readonly ticks: readonly Tick[]; readonly edits: number } {
  const count = edits - seen.edits;
  const since = count <= 0 ? [] : revisions.slice(-count);
  const own = since.findLastIndex(({ text }) => text !== null && hashPageContent(text) === content);
  const between = since.slice(0, own);
  return {
    ticks: findTicks(between, since.length < count ? null : seen.ticks),
    edits: own === -1 ? edits : edits - (since.length - 1 - own),
  };
}

/**
 * Reads the dashboard with the ticks that no run has handled. Returns null if it was deleted, `unknown` if GitHub
 * refused.
 */
async function readUnhandledDashboard({ forge }: PublishDeps, record: DashboardRecord, number: number) {
  const read = await forge.readDashboard(number);
  if (read.kind === 'refused') return 'unknown' as const;
  if (read.value === null) return null;
  const { id, isOpen, body, edits } = read.value;
  const { all, fresh } = findPageTicks(read.value, record.read);
  return { seen: { number, id, isOpen, content: hashPageContent(body), edits, ticks: all, answers: [] }, fresh };
}

async function openPage(deps: PublishDeps, kept: KeptDashboard, page: Page): Promise<readonly string[]> {
  const opened = await deps.forge.openDashboard({ title: DASHBOARD_TITLE, body: buildPage(deps, kept, page) });
  if (opened.kind === 'refused') return [];
  const { issue } = opened.value;
  const gone = kept.record.issue?.number;
  const { record } = await remember(deps, kept.snapshot, (newest) =>
    newest.issue === null || newest.issue.number === gone ? { ...newest, issue } : newest,
  );
  const other = record.issue?.number ?? issue.number;
  return other === issue.number
    ? []
    : [
        `Another run made a dashboard at the same time: #${String(other)} is kept, and #${String(issue.number)} can be closed.`,
      ];
}

function rememberTicks(deps: PublishDeps, { snapshot }: KeptDashboard, ticks: readonly Tick[]): Promise<KeptDashboard> {
  const added = ticks.map((tick) => ({ ...tick, taken: null }));
  return remember(deps, snapshot, (record) => ({ ...record, ticks: [...record.ticks, ...added].slice(0, MAX_TICKS) }));
}

/** Changes the dashboard's record in the state; writes only if it differs. */
async function remember(
  { store, log }: PublishDeps,
  snapshot: Snapshot,
  change: (record: DashboardRecord) => DashboardRecord,
): Promise<KeptDashboard> {
  const changed = changeDashboard(change, 'dashboard: its queue and ticks');
  if (changed(snapshot).snapshot === snapshot) return { snapshot, record: parseDashboardIn(snapshot) };
  const updated = await store.update(changed);
  if (updated.kind === 'updated') return { snapshot: updated.snapshot, record: updated.answer };
  log.warning(`The record of the dashboard could not be saved: ${completeSentence(updated.why)}`);
  return { snapshot, record: changed(snapshot).answer };
}

function buildPage(
  { config, context, clock, redact }: PublishDeps,
  { snapshot, record }: KeptDashboard,
  { train, answers }: Page,
): string {
  const now = clock.now();
  const { owner, repo } = context.repository;
  const repositoryUrl = `${context.serverUrl}/${owner}/${repo}`;
  const lanes = [...new Set([QUEUE, ...listLanes(snapshot)])]
    .toSorted((one, other) => (issueOfId(one) ?? 0) - (issueOfId(other) ?? 0))
    .map((lane): FoundLane => ({ lane, place: PLACE, stored: viewLane(snapshot, lane, { place: PLACE, now }) }));
  const pulls = train.pulls.map(({ number, branch }) => {
    const url = `${repositoryUrl}/pull/${String(number)}`;
    return [branch.slice(config.branchPrefix.length), { number, url, title: null, state: 'open' as const }] as const;
  });
  const overview = buildOverview(
    {
      lanes,
      runs: listStoredRuns(snapshot).map((run) => ({ place: PLACE, run })),
      listed: record.queue.map((task) => ({ task, written: 'todo' as const })),
      github: { repository: `${owner}/${repo}`, titles: new Map(), pullRequests: new Map(pulls) },
      initial: (lane) => createInitialState(lane, now),
      cooldownMs: config.policy.circuit.cooldownMs,
      problems: [],
    },
    now,
  );
  const budget = parseBudgetIn(snapshot, now);
  const windows = budget.kind === 'budget' ? sumWindows(budget.budget, '', now) : { hour: null, day: null };
  const { branchPrefix, taskLabel, policy: limits } = config;
  const texts = mapTexts({ overview, lanes, answers, pending: record.ticks, runUrl: context.runUrl }, redact);
  const usage = measureUsageAt(windows, now);
  return renderDashboard({ ...texts, train, usage, limits, branchPrefix, taskLabel, now });
}
