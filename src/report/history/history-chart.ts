import { DAY_MS } from '../../core/countdown.ts';
import { computeMergedTaskCost, type HistoryGroup, formatWeek } from '../../core/history/task-history.ts';
import { formatCost, formatCount } from '../format.ts';

/** Maximum number of weeks in a chart, up to the newest. */
const SHOWN_WEEKS = 26;
/** Minimum number of weeks, so that one week does not fill a chart. */
const FEWEST_WEEKS = 8;

const WEEK_MS = 7 * DAY_MS;
/** Sizes in px; widths are percentages, so that a chart fits any page and its text keeps its size. */
const SIZES = { height: 190, top: 18, plot: 140, label: 182 };
/** The part of the width, in percent, that is left to the numbers of the axis. */
const AXIS = 9;

/** A week of a chart; its group is null if the week has no task. */
interface Week {
  readonly monday: string;
  readonly group: HistoryGroup | null;
}

/** A part of a bar, from the bottom up; `name` is its class in the style sheet. */
interface Part {
  readonly name: string;
  readonly value: number;
}

/** Renders the number of tasks that were merged each week, and of those among them that nobody changed, as an SVG. */
export function renderMergedChart(weeks: readonly HistoryGroup[]): string {
  const shown = weeksOf(weeks);
  const bars = shown.map(({ group }): readonly Part[] =>
    group === null
      ? []
      : [
          { name: 'untouched', value: group.untouched },
          { name: 'changed', value: group.judged - group.untouched },
          { name: 'unknown', value: group.merged - group.judged },
        ],
  );
  const top = wholeTop(Math.max(...bars.map(sumOf)));
  const texts = shown.map(({ group }) =>
    group === null
      ? 'no task'
      : `${formatCount(group.merged, 'task')} merged, ${String(group.untouched)} untouched, ${String(group.reverted)} reverted`,
  );
  return renderChart('Merged tasks per week', { shown, bars, texts, top, format: String });
}

/** Renders the cost per merged task for each week, as an SVG. */
export function renderCostChart(weeks: readonly HistoryGroup[]): string {
  const shown = weeksOf(weeks);
  const costs = shown.map(({ group }) => (group === null ? null : computeMergedTaskCost(group)));
  const bars = costs.map((cost) => (cost === null ? [] : [{ name: 'cost', value: cost }]));
  const texts = shown.map(({ group }, at) => {
    const cost = costs[at] ?? null;
    if (cost !== null) return `${formatCost(cost)} per merged task`;
    return (group?.merged ?? 0) > 0 ? 'cost unknown' : 'no merged task';
  });
  const top = moneyTop(Math.max(...bars.map(sumOf)));
  return renderChart('Cost per merged task, per week', { shown, bars, texts, top, format: dollarsOf });
}

/** Returns the newest weeks without gaps, at least a few. */
function weeksOf(weeks: readonly HistoryGroup[]): readonly Week[] {
  const known = new Map(weeks.map((group) => [group.name ?? '', group]));
  const newest = Date.parse(weeks.at(-1)?.name ?? '1970-01-05');
  const oldest = Date.parse(weeks[0]?.name ?? '1970-01-05');
  const count = Math.min(SHOWN_WEEKS, Math.max(FEWEST_WEEKS, (newest - oldest) / WEEK_MS + 1));
  return Array.from({ length: count }, (_, index) => {
    const monday = formatWeek(newest - (count - 1 - index) * WEEK_MS);
    return { monday, group: known.get(monday) ?? null };
  });
}

interface Chart {
  readonly shown: readonly Week[];
  readonly bars: readonly (readonly Part[])[];
  /** The text of each bar, for people who point at it. */
  readonly texts: readonly string[];
  readonly top: number;
  readonly format: (value: number) => string;
}

function renderChart(name: string, { shown, bars, texts, top, format }: Chart): string {
  const step = (100 - AXIS) / shown.length;
  const lines = [0, top / 2, top].map((value) => {
    const y = px(yOf(value, top));
    return `<line x1="${pct(AXIS)}" x2="100%" y1="${y}" y2="${y}"/><text x="${pct(AXIS - 1.5)}" y="${px(yOf(value, top) + 4)}" text-anchor="end">${format(value)}</text>`;
  });
  const columns = bars.map((parts, at) => {
    let below = 0;
    const rects = parts.map(({ name: part, value }) => {
      const [from, to] = [yOf(below, top), yOf(below + value, top)];
      below += value;
      return value === 0
        ? ''
        : `<rect class="${part}" x="${pct(AXIS + (at + 0.14) * step)}" width="${pct(0.72 * step)}" y="${px(to)}" height="${px(from - to)}"/>`;
    });
    const whole = `<rect class="hit" x="${pct(AXIS + at * step)}" width="${pct(step)}" y="0" height="${px(SIZES.top + SIZES.plot)}"/>`;
    return `<g><title>Week from ${shown[at]?.monday ?? ''}: ${texts[at] ?? ''}</title>${whole}${rects.join('')}</g>`;
  });
  const last = shown.length - 1;
  const marks = [...new Set([0, Math.round(last / 2), last])].map((at) => {
    const anchor = at === 0 ? 'start' : at === last ? 'end' : 'middle';
    const x = AXIS + (at === 0 ? 0 : at === last ? shown.length : at + 0.5) * step;
    return `<text x="${pct(x)}" y="${px(SIZES.label)}" text-anchor="${anchor}">${dayOf(shown[at]?.monday ?? '')}</text>`;
  });
  return `<svg role="img" aria-label="${name}" width="100%" height="${String(SIZES.height)}">${[...lines, ...columns, ...marks].join('')}</svg>`;
}

function yOf(value: number, top: number): number {
  return SIZES.top + SIZES.plot * (1 - value / top);
}

/** Returns an even number for the top of an axis, not below the largest value. */
function wholeTop(most: number): number {
  const step = Math.max(2, 2 * 10 ** Math.floor(Math.log10(Math.max(1, most / 2))));
  return Math.max(2, Math.ceil(most / step) * step);
}

/** Returns the top of an axis of dollars, whose half is a round amount as well. */
function moneyTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(0.1, most)));
  const factor = [1, 2, 4, 6, 8, 10].find((one) => one * power >= most) ?? 10;
  return Number((factor * power).toPrecision(2));
}

/** Renders `$2` or `$0.50`. */
function dollarsOf(amount: number): string {
  return `$${Number.isInteger(amount) ? String(amount) : amount.toFixed(2)}`;
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

/** Renders `3 Aug` of `2026-08-03`. */
function dayOf(monday: string): string {
  return new Date(monday).toUTCString().slice(5, 11).replace(/^0/, '');
}

function pct(value: number): string {
  return `${String(Math.round(value * 100) / 100)}%`;
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
