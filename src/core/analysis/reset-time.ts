import { DAY_MS, MINUTE_MS } from '../time.ts';

/** The first three letters of the months. */
export const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** A 29 February comes again within eight years. */
const MAX_YEARS = 8;

/** `resets 5pm (Europe/Berlin)`, `resets Oct 9, 17:30`, …: the zone is UTC when none is named. */
const RESET =
  /\bresets?(?: at| on)? (?:([a-z]{3,9})\.? (\d{1,2})(?:,| at|, at)? )?(\d{1,2})(?::(\d{2}))?\s?(am|pm)?(?![\w:])(?:\s?\(([^()]{1,64})\))?/i;

/** The next instant after `now` that the text's reset time names, as ISO; null when it names none that we know. */
export function nextReset(text: string, now: number): string | null {
  const reset = parseReset(text);
  const zone = reset && zoneNamed(reset.zone);
  if (!reset || !zone) return null;
  const today = wallClock(zone, now);
  const days =
    reset.day === null
      ? [-1, 0, 1, 2].map((offset) => ({ ...today, day: today.day + offset }))
      : yearsFrom(today.year - 1, reset.day);
  const next = days
    .flatMap((day) => instantsOf(zone, Date.UTC(day.year, day.month, day.day, reset.hour, reset.minute)))
    .filter((instant) => instant > now)
    .sort((a, b) => a - b)[0];
  return next === undefined ? null : new Date(next).toISOString();
}

interface Reset {
  readonly day: { readonly month: number; readonly day: number } | null;
  readonly hour: number;
  readonly minute: number;
  readonly zone: string;
}

function parseReset(text: string): Reset | null {
  const [, month, day, hourText, minuteText, half, zone = 'UTC'] = RESET.exec(text) ?? [];
  if (hourText === undefined || (minuteText === undefined && half === undefined)) return null;
  const hour = hourOf(Number(hourText), half?.toLowerCase());
  const minute = Number(minuteText ?? 0);
  const monthIndex = month === undefined ? 0 : MONTHS.indexOf(month.slice(0, 3).toLowerCase());
  if (hour === null || minute > 59 || monthIndex === -1) return null;
  return { day: month === undefined ? null : { month: monthIndex, day: Number(day) }, hour, minute, zone };
}

/** The hour of the day (0–23) that a clock with or without halves shows; null: none does. */
export function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour <= 23 ? hour : null;
  return hour >= 1 && hour <= 12 ? (hour % 12) + (half === 'pm' ? 12 : 0) : null;
}

/** That day of the year in this and the following years, where it exists. */
function yearsFrom(year: number, { month, day }: { readonly month: number; readonly day: number }): WallDay[] {
  return Array.from({ length: MAX_YEARS + 2 }, (_, offset) => ({ year: year + offset, month, day })).filter(
    (date) => new Date(Date.UTC(date.year, date.month, date.day)).getUTCDate() === date.day,
  );
}

interface WallDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

type Zone = Intl.DateTimeFormat;

function zoneNamed(name: string): Zone | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name.trim(),
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return null;
  }
}

function wallClock(zone: Zone, instant: number): WallDay & { readonly asUtc: number } {
  const parts = new Map(zone.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const day = { year: part('year'), month: part('month') - 1, day: part('day') };
  return { ...day, asUtc: Date.UTC(day.year, day.month, day.day, part('hour'), part('minute'), part('second')) };
}

/** The instants at which the zone's clocks show a time (given as if it were UTC): two when clocks are set back over it; skipped ones are moved on by the gap. */
function instantsOf(zone: Zone, wall: number): readonly number[] {
  const offsetAt = (instant: number): number => wallClock(zone, instant).asUtc - Math.floor(instant / 1000) * 1000;
  const before = wall - offsetAt(wall - DAY_MS);
  const after = wall - offsetAt(wall + DAY_MS);
  const shown = [...new Set([before, after])].filter((instant) => instant + offsetAt(instant) === wall);
  return (shown.length > 0 ? shown : [before]).map((instant) => Math.round(instant / MINUTE_MS) * MINUTE_MS);
}
