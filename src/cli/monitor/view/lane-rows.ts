import { spendSummary } from '../../../report/sentences/spend.ts';
import { barOf } from '../../../report/pages/progress-bar.ts';
import type { Overview } from '../../overview/overview-schema.ts';
import {
  conditionOf,
  laneWait,
  nameOfLaneAt,
  summaryOf,
  taskLine,
  type Condition,
} from '../../overview/overview-text.ts';
import { flow, padded, piece, widthOf, wrapped, type Line, type Look, type Size } from './columns.ts';

const BAR_CELLS = 10;
const CONDITION_COLUMNS = 12;
/** Of the chosen lane: what it waits for, and its open tasks. */
const DETAIL_ROWS = 8;

type Row = Overview['lanes'][number];

/** All lanes, and more of the chosen one; at most `rows` lines, the chosen one among them. `selected` null: none is chosen. */
export function laneRows(
  overview: Overview,
  { columns, rows }: Size,
  selected: number | null,
  now: number,
): readonly Line[] {
  const { lanes, spend } = overview;
  const width = Math.max(0, ...lanes.map(({ lane, place }) => widthOf([piece(nameOfLaneAt(lane, place))])));
  const summary = wrapped(summaryOf(lanes.filter((lane) => lane.kind === 'lane')), columns, 'plain');
  const spent = wrapped(`Last 31 days: ${spendSummary(spend)}`, columns, 'faint');
  const chosen = selected === null ? undefined : lanes[selected];
  const details = chosen === undefined ? [] : detailsOf(chosen, columns, now).slice(0, DETAIL_ROWS);
  const list = lanes.map((lane, index) => rowOf(lane, { width, isSelected: index === selected }));
  // Lists of lanes are short; where the screen is shorter still, the details go first.
  const left = Math.max(0, rows - Math.min(list.length, rows));
  const below = [[] as Line, ...details].slice(0, details.length === 0 ? 0 : Math.max(0, left - 1));
  const rest = left - below.length;
  return [
    ...(rest > 0 ? summary.slice(0, rest) : []),
    ...windowOf(list, selected ?? 0, rows),
    ...below,
    ...(rest > summary.length + 1 ? [[] as Line, ...spent].slice(0, rest - summary.length) : []),
  ];
}

/** So many of the rows, the selected one among them. */
function windowOf(list: readonly Line[], selected: number, rows: number): readonly Line[] {
  const start = Math.max(0, Math.min(selected - Math.floor(rows / 2), list.length - rows));
  return list.slice(start, start + rows);
}

const looks: Readonly<Record<Condition, Look>> = {
  works: 'good',
  ready: 'good',
  done: 'good',
  'to review': 'good',
  paused: 'warning',
  parked: 'warning',
  waits: 'warning',
  stuck: 'bad',
  'circuit open': 'bad',
  idle: 'faint',
};

function rowOf(row: Row, { width, isSelected }: { readonly width: number; readonly isSelected: boolean }): Line {
  const name = padded(
    [
      piece(isSelected ? '› ' : '  ', 'strong'),
      piece(nameOfLaneAt(row.lane, row.place), isSelected ? 'strong' : 'plain'),
    ],
    width + 4,
  );
  if (row.kind !== 'lane') return [...name, piece(row.kind, 'bad')];
  const { tasks, pullRequest } = row;
  const condition = conditionOf(row);
  const done = tasks.filter(({ state }) => state === 'done').length;
  return [
    ...name,
    ...padded([piece(condition, looks[condition])], CONDITION_COLUMNS + 2),
    ...(tasks.length === 0
      ? [piece('no tasks', 'faint')]
      : [
          piece(`${barOf({ done, total: tasks.length, cells: BAR_CELLS })} `, 'good'),
          piece(`${done}/${tasks.length} done`),
        ]),
    ...(pullRequest === null
      ? []
      : [piece(`  #${pullRequest.number}${pullRequest.state === null ? '' : ` ${pullRequest.state}`}`)]),
  ];
}

function detailsOf(row: Row, columns: number, now: number): readonly Line[] {
  if (row.kind !== 'lane') return wrapped(row.why, columns, 'bad');
  const { waits, tasks, warnings, pullRequest } = row;
  return [
    ...(pullRequest === null
      ? []
      : flow([[piece(pullRequest.title ?? ''), piece(` ${pullRequest.url}`, 'faint')]], columns)),
    ...waits.filter(({ task }) => task === null).flatMap((wait) => wrapped(laneWait(wait, now), columns, 'warning')),
    ...tasks
      .filter(({ state }) => state !== 'done')
      .map((task): Line => [piece(task.current ? '• ' : '  '), piece(taskLine(task, waits))]),
    ...warnings.flatMap((warning) => wrapped(`warning: ${warning}`, columns, 'warning')),
  ];
}
