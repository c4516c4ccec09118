import { formatDuration } from '../../../report/format.ts';
import { formatInstant } from '../../../core/time.ts';
import type { LocalPicture, Picture } from '../monitor-schema.ts';
import { fit, flow, merged, padded, piece, spread, widthOf, wrapped, type Line, type Size } from './columns.ts';
import { isGoingOn, knownLane, localFacts, type Fact } from './facts.ts';
import { laneRows } from './lane-rows.ts';
import type { Session } from './session.ts';

/** Lines that belong together; those of the lowest rank are kept longest. */
interface Block {
  readonly lines: readonly Line[];
  readonly rank: number;
}

const NAME_COLUMNS = 9;
/** Below, a name stands right before what it names. */
const NARROW_COLUMNS = 50;
const MESSAGE_ROWS = 3;
/** Fewer rows have no room for both a message and the keys. */
const ROWS_FOR_BOTH = 12;
const LAST = Number.MAX_SAFE_INTEGER;

/** The picture at a size: never more lines than rows, none wider than the columns. Without keys where nobody can press one. */
export function renderScreen(picture: Picture, size: Size, session: Session | null, now: number): readonly Line[] {
  const { columns, rows } = size;
  if (columns < 1 || rows < 1) return [];
  const footer = session === null ? [] : footerOf(picture, session, size);
  const room = Math.max(0, rows - footer.length);
  const body =
    picture.shows === 'all' || picture.local === null
      ? allBody(picture, { columns, rows: room }, session, now)
      : localBody(picture, picture.local, { columns, rows: room }, now);
  const filler = session === null ? [] : Array.from({ length: room - body.length }, (): Line => []);
  return [...body, ...filler, ...footer].slice(0, rows).map((line) => merged(fit(line, columns)));
}

function localBody(picture: Picture, local: LocalPicture, { columns, rows }: Size, now: number): readonly Line[] {
  return kept(
    [
      { rank: 3, lines: localHeader(picture, local, columns, now) },
      ...localFacts(local, now).map((fact) => ({ rank: fact.rank, lines: factLines(fact, columns) })),
      ...picture.problems.map((problem) => ({ rank: 7, lines: wrapped(problem, columns, 'warning') })),
      outputBlock(local, columns),
    ],
    rows,
  );
}

function localHeader({ name }: Picture, local: LocalPicture, columns: number, now: number): readonly Line[] {
  const { run } = local;
  if (run.kind !== 'ours') return spread([piece(name, 'strong'), piece(' · local run')], [], columns);
  const { branch, lane, pid, startedAt, updatedAt } = run.status;
  const until = isGoingOn(run) ? now : Date.parse(updatedAt);
  return spread(
    [piece(name, 'strong'), piece(` · ${branch} · ${lane}`)],
    [piece(`${formatDuration(until - Date.parse(startedAt))} · PID ${pid}`, 'faint')],
    columns,
  );
}

function factLines({ name, parts, gap, clock }: Fact, columns: number): readonly Line[] {
  const isNarrow = columns < NARROW_COLUMNS;
  const label = isNarrow ? [piece(`${name} `, 'faint')] : padded([piece(name, 'faint')], NAME_COLUMNS);
  const room = columns - widthOf(label);
  const lines = flow(clock === null ? parts : [...parts, clock], Math.max(1, room), gap);
  return lines.map((line, index) => [...(index === 0 ? label : [piece(' '.repeat(widthOf(label)))]), ...line]);
}

/** The newest lines come last, and are kept when there is no room for all. */
function outputBlock({ output }: LocalPicture, columns: number): Block {
  if (output === null || output.lines.length === 0) return { rank: LAST, lines: [] };
  const title = [piece(`── ${output.file} `, 'faint')];
  const rule = piece('─'.repeat(Math.max(0, columns - widthOf(title))), 'faint');
  return { rank: LAST, lines: [[...title, rule], ...output.lines.map((line) => [piece(line)])] };
}

/** As much as fits, in the given order; of the last block its heading and its end. */
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

function allBody(picture: Picture, size: Size, session: Session | null, now: number): readonly Line[] {
  const { all, name, problems } = picture;
  const title: Line = [piece(name, 'strong'), piece(' · all branches')];
  if (all === null) {
    const waits = problems.length === 0 ? [[piece('Reading all branches …', 'faint')]] : [];
    return [title, ...waits, ...problems.flatMap((problem) => wrapped(problem, size.columns, 'warning'))];
  }
  const header = spread(title, [piece(`as of ${formatInstant(Date.parse(all.at))}`, 'faint')], size.columns);
  const warnings = [...problems, ...all.problems].flatMap((problem) => wrapped(problem, size.columns, 'warning'));
  const rows = Math.max(1, size.rows - header.length - warnings.length);
  return [...header, ...laneRows(all, { ...size, rows }, session?.selected ?? null, now), ...warnings].slice(
    0,
    Math.max(1, size.rows),
  );
}

function footerOf(picture: Picture, session: Session, { columns, rows }: Size): readonly Line[] {
  const keys = flow(keysOf(picture, session), columns).slice(0, 1);
  const text =
    session.asking !== null
      ? wrapped(session.asking.question, columns, 'strong')
      : session.message !== null
        ? wrapped(session.message.text, columns, session.message.look)
        : [];
  if (text.length === 0) return keys;
  return rows < ROWS_FOR_BOTH
    ? text.slice(0, Math.max(1, rows - 2)).slice(0, 2)
    : [...text.slice(0, MESSAGE_ROWS), ...keys];
}

/** The most useful first: where there is little room, the others are not shown. */
function keysOf(picture: Picture, session: Session): readonly Line[] {
  const key = (name: string, does: string): Line => [piece(name, 'strong'), piece(` ${does}`)];
  if (session.shows === 'all')
    return [
      key('q', 'quit'),
      key('p', 'pause/resume'),
      key('s', 'stop'),
      key('r', 'retry'),
      key('a', 'local run'),
      key('↑↓', 'choose'),
    ];
  const isPaused = picture.local !== null && (knownLane(picture.local)?.pause ?? null) !== null;
  return [
    key('q', 'quit'),
    key('p', isPaused ? 'resume' : 'pause'),
    key('s', 'stop'),
    key('r', 'retry'),
    key('a', 'all branches'),
  ];
}
