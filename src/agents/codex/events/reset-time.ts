import { hourOf, MONTHS } from '../../../core/analysis/reset-time.ts';
import { DAY_MS, MINUTE_MS } from '../../../core/time.ts';

/** `try again at 10:38 AM.`, or on another day `try again at Nov 25th, 2026 8:41 AM.`: nothing stands behind it. */
const RESET =
  /\btry again at (?:([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? )?(\d{1,2}):(\d{2})\s?([ap]m)\.?\s*$/i;

/** The instant (ISO) that the text's reset time names, on the clock of UTC: the process runs with TZ=UTC. Null: it names none. */
export function codexReset(text: string, now: number): string | null {
  const [, month, day, year, hourText, minuteText, half] = RESET.exec(text) ?? [];
  const hour = hourOf(Number(hourText), half?.toLowerCase());
  const minute = Number(minuteText);
  if (hourText === undefined || hour === null || minute > 59) return null;
  if (month === undefined) return isoOf(nextAt(hour, minute, now));
  const date = { year: Number(year), month: MONTHS.indexOf(month.slice(0, 3).toLowerCase()), day: Number(day) };
  const instant = Date.UTC(date.year, date.month, date.day, hour, minute);
  const isDate = date.month !== -1 && new Date(instant).getUTCDate() === date.day;
  return isDate ? isoOf(instant) : null;
}

/** Without seconds, a reset within this minute reads as if it were over. */
function nextAt(hour: number, minute: number, now: number): number {
  const today = Math.floor(now / DAY_MS) * DAY_MS + hour * 60 * MINUTE_MS + minute * MINUTE_MS;
  return today + MINUTE_MS > now ? today : today + DAY_MS;
}

function isoOf(instant: number): string {
  return new Date(instant).toISOString();
}
