import { formatInstant, HOUR_MS, MINUTE_MS } from '../../core/countdown.ts';
import {
  computeMergedTaskCost,
  type HistorySummary,
  type HistoryGroup,
  type HistoryTotals,
} from '../../core/history/task-history.ts';
import { renderMore, cutText } from '../../core/text/phrase.ts';
import { formatCost, formatCount } from '../format.ts';

/** Maximum number of groups of each kind that the table shows. */
const SHOWN = { weeks: 8, others: 10 };

/** The measures of a group, in the order in which every page shows them. */
export const MEASURES = [
  'merged tasks',
  'cost per merged task',
  'merged untouched',
  'review rounds',
  'label to merge',
  'reverted',
] as const;

/** Returns a group's measures as text, with `–` for a measure without data. */
export function formatMeasures(totals: HistoryTotals): Readonly<Record<(typeof MEASURES)[number], string>> {
  const { merged, judged, untouched, reviewRounds, medianMs, reverted } = totals;
  const cost = computeMergedTaskCost(totals);
  return {
    'merged tasks': String(merged),
    'cost per merged task': merged === 0 ? '–' : cost === null ? 'unknown' : formatCost(cost),
    'merged untouched': merged === 0 ? '–' : judged === 0 ? 'unknown' : `${String(percentOf(untouched, judged))} %`,
    'review rounds': merged === 0 ? '–' : (reviewRounds / merged).toFixed(1),
    'label to merge': medianMs === null ? '–' : formatLong(medianMs),
    reverted: merged === 0 ? '–' : String(reverted),
  };
}

/** Returns what the measures leave out, as sentences. */
export function describeMissingMeasures({
  merged,
  priced,
  judged,
  notMerged,
  lostUsd,
}: HistoryTotals): readonly string[] {
  const [unpriced, unjudged] = [merged - priced, merged - judged];
  const lost = lostUsd === null ? 'at an unknown cost' : `for ${formatCost(lostUsd)}`;
  return [
    ...(unpriced === 0
      ? []
      : [`The cost of ${formatCount(unpriced, 'merged task')} is unknown and not in the average.`]),
    ...(unjudged === 0
      ? []
      : [`Whether people changed ${formatCount(unjudged, 'merged task')} before the merge is unknown.`]),
    ...(notMerged === 0 ? [] : [`${formatCount(notMerged, 'task')} ended without a merge, ${lost}.`]),
  ];
}

/** Renders the number of tasks and their ends: `34 tasks: 24 merged, 3 not merged, 7 open`. */
export function renderEnds({ tasks, merged, notMerged, open }: HistoryTotals): string {
  const parts = [`${String(merged)} merged`, `${String(notMerged)} not merged`, `${String(open)} open`];
  return `${formatCount(tasks, 'task')}: ${parts.join(', ')}`;
}

/** Renders a long time in one unit: `42 min`, `28 h` or `5 days`. */
export function formatLong(ms: number): string {
  if (ms < HOUR_MS) return `${String(Math.round(ms / MINUTE_MS))} min`;
  const hours = Math.round(ms / HOUR_MS);
  return hours < 72 ? `${String(hours)} h` : `${String(Math.round(hours / 24))} days`;
}

export type GroupKind = 'agent' | 'model' | 'label' | 'week';

/** Returns the name of a group for people. */
export function nameOfGroup({ name }: HistoryGroup, kind: GroupKind): string {
  return name ?? { agent: 'unknown agent', model: "the agent's own choice", label: 'no label', week: '' }[kind];
}

/** Renders the history as a table for a terminal. */
export function renderHistory(
  history: HistorySummary,
  { title, now }: { readonly title: string; readonly now: number },
): string {
  const head = `${title === '' ? '' : `${title}, `}${formatInstant(now)}: ${renderEnds(history.all)}`;
  if (history.all.tasks === 0) return `${head}\n\nNo run has published a pull request yet.\n`;
  if (history.all.merged === 0)
    return `${[head, '', 'No task is merged yet.', ...describeMissingMeasures(history.all)].join('\n')}\n`;
  const sections = [
    { name: 'weeks from', kind: 'week', shown: SHOWN.weeks, groups: history.weeks.toReversed() },
    { name: 'agents', kind: 'agent', shown: SHOWN.others, groups: history.agents },
    { name: 'models', kind: 'model', shown: SHOWN.others, groups: history.models },
    { name: 'labels', kind: 'label', shown: SHOWN.others, groups: history.labels },
  ] as const;
  const rows: (readonly string[])[] = [
    ['', 'merged', 'cost/task', 'untouched', 'rounds', 'to merge', 'reverted'],
    ['all tasks', ...Object.values(formatMeasures(history.all))],
    ...sections.flatMap(({ name, kind, shown, groups }) => [
      [],
      [name],
      ...groups
        .slice(0, shown)
        .map((group) => [`  ${cutText(nameOfGroup(group, kind), 28)}`, ...Object.values(formatMeasures(group))]),
      ...(groups.length > shown ? [[` ${renderMore(groups.length - shown)}`]] : []),
    ]),
  ];
  const widths = [0, 1, 2, 3, 4, 5, 6].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return [head, '', ...lines, '', ...describeMissingMeasures(history.all)].join('\n').trimEnd().concat('\n');
}

function percentOf(part: number, whole: number): number {
  return Math.round((100 * part) / whole);
}
