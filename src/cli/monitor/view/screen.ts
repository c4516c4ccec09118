import { formatInstant } from '../../../core/countdown.ts';
import { formatDuration, renderBar } from '../../../report/format.ts';
import { summarizeSpend } from '../../../report/sentences/spend.ts';
import type { Overview } from '../../../report/overview/lane-waits.ts';
import {
  type Condition,
  describeLaneCondition,
  describeLaneWait,
  isUnseen,
  nameOfLaneAt,
  summarizeLanes,
  renderOpenTask,
} from '../../../report/overview/overview-text.ts';
import type { LocalPicture, Picture } from '../monitor-schema.ts';
import {
  fitLine,
  wrapParts,
  type Line,
  type TextStyle,
  mergePieces,
  padLine,
  createPiece,
  type Size,
  spreadParts,
  measureWidth,
  wrapSentence,
} from './columns.ts';
import { type RunFact, isContinuing, parseKnownLane, listLocalFacts } from './facts.ts';
import type { ScreenState } from './session.ts';

const BAR_CELLS = 10;

const CONDITION_COLUMNS = 12;

/** Maximum number of rows about the chosen lane: its waits and its open tasks. */
const DETAIL_ROWS = 8;

type Row = Overview['branches'][number];

const looks: Readonly<Record<Condition, TextStyle>> = {
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

/** Lines that belong together; on a small screen the block with the lowest rank is kept longest. */
interface Block {
  readonly lines: readonly Line[];
  readonly rank: number;
}

const NAME_COLUMNS = 9;

/** Number of columns below which a name is followed directly by its value. */
const NARROW_COLUMNS = 50;

const MESSAGE_ROWS = 3;

/** Number of rows below which there is only space for a message or the keys. */
const ROWS_FOR_BOTH = 12;

const LAST = Number.MAX_SAFE_INTEGER;

/**
 * Lays out the picture in at most the rows and columns of a size. Leaves the keys out if `session` is null, because
 * then nobody can press one.
 */
export function layOutScreen(picture: Picture, size: Size, session: ScreenState | null, now: number): readonly Line[] {
  const { columns, rows } = size;
  if (columns < 1 || rows < 1) return [];
  const footer = session === null ? [] : footerOf(picture, session, size);
  const room = Math.max(0, rows - footer.length);
  const body =
    picture.shows === 'all' || picture.local === null
      ? allBody(picture, { columns, rows: room }, session, now)
      : localBody(picture, picture.local, { columns, rows: room }, now);
  const filler = session === null ? [] : Array.from({ length: room - body.length }, (): Line => []);
  return [...body, ...filler, ...footer].slice(0, rows).map((line) => mergePieces(fitLine(line, columns)));
}

function localBody(picture: Picture, local: LocalPicture, { columns, rows }: Size, now: number): readonly Line[] {
  return kept(
    [
      { rank: 3, lines: localHeader(picture, local, columns, now) },
      ...listLocalFacts(local, now).map((fact) => ({ rank: fact.rank, lines: factLines(fact, columns) })),
      ...picture.problems.map((problem) => ({ rank: 7, lines: wrapSentence(problem, columns, 'warning') })),
      outputBlock(local, columns),
    ],
    rows,
  );
}

function localHeader({ name }: Picture, local: LocalPicture, columns: number, now: number): readonly Line[] {
  const { run } = local;
  if (run.kind !== 'ours') return spreadParts([createPiece(name, 'strong'), createPiece(' · local run')], [], columns);
  const { branch, branchId: lane, pid, startedAt, updatedAt } = run.status;
  const until = isContinuing(run) ? now : Date.parse(updatedAt);
  return spreadParts(
    [createPiece(name, 'strong'), createPiece(` · ${branch} · ${lane}`)],
    [createPiece(`${formatDuration(until - Date.parse(startedAt))} · PID ${pid}`, 'faint')],
    columns,
  );
}

function factLines({ name, parts, gap, clock }: RunFact, columns: number): readonly Line[] {
  const isNarrow = columns < NARROW_COLUMNS;
  const label = isNarrow ? [createPiece(`${name} `, 'faint')] : padLine([createPiece(name, 'faint')], NAME_COLUMNS);
  const room = columns - measureWidth(label);
  const lines = wrapParts(clock === null ? parts : [...parts, clock], Math.max(1, room), gap);
  return lines.map((line, index) => [
    ...(index === 0 ? label : [createPiece(' '.repeat(measureWidth(label)))]),
    ...line,
  ]);
}

/** Returns the agent's output; the newest lines come last, and are kept if not all fit. */
function outputBlock({ output }: LocalPicture, columns: number): Block {
  if (output === null || output.lines.length === 0) return { rank: LAST, lines: [] };
  const title = [createPiece(`── ${output.file} `, 'faint')];
  const rule = createPiece('─'.repeat(Math.max(0, columns - measureWidth(title))), 'faint');
  return { rank: LAST, lines: [[...title, rule], ...output.lines.map((line) => [createPiece(withoutDate(line))])] };
}

/** Shortens the beginning of a log's line, `[2026-11-21 12:04:35] [INFO] `, to the time. */
function withoutDate(line: string): string {
  return line.replace(/^\[\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d)\] \[[A-Z]+\] /, '$1 ');
}

/** Returns the blocks that fit, in the given order; the last one may lose lines between its heading and its end. */
function kept(blocks: readonly Block[], rows: number): readonly Line[] {
  const room = new Map<Block, number>();
  let left = rows;
  for (const block of blocks.toSorted((one, other) => one.rank - other.rank)) {
    const taken = Math.min(left, block.lines.length);
    room.set(block, taken);
    left -= taken;
  }
  return blocks.flatMap((block) => {
    const taken = room.get(block) ?? 0;
    if (block.rank !== LAST) return block.lines.slice(0, taken);
    return taken < 2 ? [] : [...block.lines.slice(0, 1), ...block.lines.slice(1).slice(1 - taken)];
  });
}

function allBody(picture: Picture, size: Size, session: ScreenState | null, now: number): readonly Line[] {
  const { all, name, problems } = picture;
  const title: Line = [createPiece(name, 'strong'), createPiece(' · all branches')];
  if (all === null) {
    const waits = problems.length === 0 ? [[createPiece('Reading all branches …', 'faint')]] : [];
    return [title, ...waits, ...problems.flatMap((problem) => wrapSentence(problem, size.columns, 'warning'))];
  }
  const header = spreadParts(title, [createPiece(`as of ${formatInstant(Date.parse(all.at))}`, 'faint')], size.columns);
  const warnings = [...problems, ...all.problems].flatMap((problem) => wrapSentence(problem, size.columns, 'warning'));
  const rows = Math.max(1, size.rows - header.length - warnings.length);
  const list = isUnseen(all) ? [] : laneRows(all, { ...size, rows }, session?.selected ?? null, now);
  return [...header, ...list, ...warnings].slice(0, Math.max(1, size.rows));
}

function footerOf(picture: Picture, session: ScreenState, { columns, rows }: Size): readonly Line[] {
  const keys = wrapParts(keysOf(picture, session), columns).slice(0, 1);
  const text =
    session.asking !== null
      ? wrapSentence(session.asking.question, columns, 'strong')
      : session.message !== null
        ? wrapSentence(session.message.text, columns, session.message.look)
        : [];
  if (text.length === 0) return keys;
  return rows < ROWS_FOR_BOTH
    ? text.slice(0, Math.max(1, rows - 2)).slice(0, 2)
    : [...text.slice(0, MESSAGE_ROWS), ...keys];
}

/** Returns the keys, most useful first, because the others are not shown on a small screen. */
function keysOf(picture: Picture, session: ScreenState): readonly Line[] {
  const key = (name: string, does: string): Line => [createPiece(name, 'strong'), createPiece(` ${does}`)];
  if (session.shows === 'all')
    return [
      key('q', 'quit'),
      key('p', 'pause/resume'),
      key('s', 'stop'),
      key('r', 'retry'),
      key('a', 'local run'),
      key('↑↓', 'choose'),
    ];
  const isPaused = picture.local !== null && (parseKnownLane(picture.local)?.pause ?? null) !== null;
  return [
    key('q', 'quit'),
    key('p', isPaused ? 'resume' : 'pause'),
    key('s', 'stop'),
    key('r', 'retry'),
    key('a', 'all branches'),
  ];
}

/**
 * Renders all lanes and details of the selected one in at most `rows` lines, always including the selected lane. A null
 * `selected` means that no lane is selected.
 */
function laneRows(overview: Overview, { columns, rows }: Size, selected: number | null, now: number): readonly Line[] {
  const { branches: lanes, spend } = overview;
  const width = Math.max(
    0,
    ...lanes.map(({ branchId: lane, place }) => measureWidth([createPiece(nameOfLaneAt(lane, place))])),
  );
  const summary = wrapSentence(summarizeLanes(lanes.filter((lane) => lane.kind === 'branch')), columns, 'plain');
  const spent = wrapSentence(`Last 31 days: ${summarizeSpend(spend)}`, columns, 'faint');
  const chosen = selected === null ? undefined : lanes[selected];
  const details = chosen === undefined ? [] : renderRowDetails(chosen, columns, now).slice(0, DETAIL_ROWS);
  const list = lanes.map((lane, index) => rowOf(lane, { width, isSelected: index === selected }));
  // Lists of lanes are short, so the details get the rest of the rows; on an even shorter screen they are left out
  // first.
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

/** Returns at most `rows` lines of the list, including the selected one. */
function windowOf(list: readonly Line[], selected: number, rows: number): readonly Line[] {
  const start = Math.max(0, Math.min(selected - Math.floor(rows / 2), list.length - rows));
  return list.slice(start, start + rows);
}

function rowOf(row: Row, { width, isSelected }: { readonly width: number; readonly isSelected: boolean }): Line {
  const name = padLine(
    [
      createPiece(isSelected ? '› ' : '  ', 'strong'),
      createPiece(nameOfLaneAt(row.branchId, row.place), isSelected ? 'strong' : 'plain'),
    ],
    width + 4,
  );
  if (row.kind !== 'branch') return [...name, createPiece(row.kind, 'bad')];
  const { tasks, pullRequest } = row;
  const condition = describeLaneCondition(row);
  const done = tasks.filter(({ state }) => state === 'done').length;
  return [
    ...name,
    ...padLine([createPiece(condition, looks[condition])], CONDITION_COLUMNS + 2),
    ...(tasks.length === 0
      ? [createPiece('no tasks', 'faint')]
      : [
          createPiece(`${renderBar({ done, total: tasks.length, cells: BAR_CELLS })} `, 'good'),
          createPiece(`${done}/${tasks.length} done`),
        ]),
    ...(pullRequest === null
      ? []
      : [createPiece(`  #${pullRequest.number}${pullRequest.state === null ? '' : ` ${pullRequest.state}`}`)]),
  ];
}

function renderRowDetails(row: Row, columns: number, now: number): readonly Line[] {
  if (row.kind !== 'branch') return wrapSentence(row.why, columns, 'bad');
  const { waits, tasks, warnings, pullRequest } = row;
  return [
    ...(pullRequest === null
      ? []
      : wrapParts([[createPiece(pullRequest.title ?? ''), createPiece(` ${pullRequest.url}`, 'faint')]], columns)),
    ...waits
      .filter(({ task }) => task === null)
      .flatMap((wait) => wrapSentence(describeLaneWait(wait, now), columns, 'warning')),
    ...tasks
      .filter(({ state }) => state !== 'done')
      .map((task): Line => [createPiece(task.current ? '• ' : '  '), createPiece(renderOpenTask(task, waits))]),
    ...warnings.flatMap((warning) => wrapSentence(`warning: ${warning}`, columns, 'warning')),
  ];
}
