import { DAY_MS, HOUR_MS, MINUTE_MS } from '../countdown.ts';

/** Matches words that announce a time from which calls are possible again. */
const ANNOUNCES = String.raw`\b(?:re-?sets?|try(?: it)? again|retry(?:ing)?|wait(?:ing)?|available(?: again)?|(?:re)?gain access|renews?|refresh(?:es|ed)?|lifted|resumes?|continues?|again|unlocks?|unlocked|cool-?down|back|restored|replenish(?:es|ed)?|cycle ends|(?:limited|blocked|suspended|unavailable) until)\b`;

const SECOND_MS = 1_000;

/** Maximum wait; a later time is not a reset. */
const MAX_RELATIVE_MS = 400 * DAY_MS;

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|msecs?|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, SECOND_MS],
  [/^(?:m|mins?|minutes?)$/i, MINUTE_MS],
  [/^(?:h|hrs?|hours?)$/i, HOUR_MS],
  [/^(?:d|days?)$/i, DAY_MS],
  [/^(?:w|weeks?)$/i, 7 * DAY_MS],
  [/^months?$/i, 30 * DAY_MS],
];

const UNIT = String.raw`(?:months?|milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)`;

/** Matches a duration of one or more parts, with or without blanks: `14h32m10s`. */
const PARTS = String.raw`\d{1,9}(?:\.\d{1,9})?\s?${UNIT}(?:(?:,? and |, ?| ?)\d{1,9}(?:\.\d{1,9})?\s?${UNIT})*(?![a-z])`;

const SPAN = new RegExp(
  String.raw`(?:${ANNOUNCES}(?!(?: wait)? time:)|\b(?:resets?_in|quotaResetDelay)\b)[^\n\d]{0,40}?(?:\b(?:in|after|for|about|another)\b ?)?(?:about |approximately |~ ?)?(${PARTS})`,
  'i',
);

const ONE_PART = new RegExp(String.raw`(\d{1,9}(?:\.\d{1,9})?)\s?(${UNIT})(?![a-z])`, 'gi');

const GLUED_PART = new RegExp(String.raw`(\d{1,9}(?:\.\d{1,9})?)\s?(${UNIT})`, 'gi');

/** Numbers in words; `a few` is an estimate. */
const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ['a few', 5],
  ...['a', 'an', 'one', 'the next'].map((word) => [word, 1] as const),
  ...['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'].map(
    (word, index) => [word, index + 2] as const,
  ),
]);

/** Matches a number of units in words such as `about an hour` or `three days`. */
const ONE = new RegExp(
  String.raw`${ANNOUNCES}(?:[^\n\d]{0,40}?\b(?:in|after|for|within))?(?: about| roughly| approximately| less than)? (${[...NUMBER_WORDS.keys()].join('|')}) (minute|hour|day|week|month)s?\b`,
  'i',
);

/** Matches a provider's field or a header. */
const FIELD =
  /["']?\b(?:(resets?_in|reset_after|resets?_in_seconds|resets?_after_seconds|retry[-_]after|retryDelay|retry_after_seconds|(?:x-)?ratelimit-reset(?:-[a-z]{1,20})?)|(retry[-_]after[-_]ms))["']?\s{0,4}[:=]\s{0,4}["']?(\d{1,12}(?:\.\d{1,9})?)(s|ms)?["']?(?![\w:-])/i;

/** The first three letters of each month. */
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const MONTH = String.raw`(?:${MONTHS.join('|')})[a-z]{0,6}`;

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Maximum number of years between two 29 Februaries. */
const MAX_YEARS = 8;

/** The year 10000 in ms. Later instants have no ISO form with a four-digit year and cannot be a reset time. */
const YEAR_10000 = 253_402_300_800_000;

/** Matches `5pm`, `5:30 pm`, `17:30`, `noon`, `midnight`. */
const CLOCK = String.raw`(?:(?:12 )?(?<word>noon|midnight)\b|(?<hour>\d{1,2})(?::(?<minute>\d{2})(?::\d{2})?)?\s?(?<half>[ap]\.?m\b\.?)?(?![\w:]))`;

/** Matches `10/9/2026` and `10/9`, the American form of a date. */
const SLASHED = /(?<![\d/])(0?[1-9]|1[0-2])\/(0?[1-9]|[12]\d|3[01])(?:\/(\d{4}))?(?![\d/])/g;

const OF_A_MONTH = String.raw` of (?:the|each|every|this|next|your)(?: \w+)? month\b`;

/** Matches `1st`, `1st of next month`, `end of the month`. */
const DAY_OF_MONTH = String.raw`(?:the )?(?:(?<dayOfMonth>[12]\d|3[01]|[1-9])(?:st|nd|rd|th)(?:${OF_A_MONTH}|(?= at |,? \d|[^\w ]|$))|(?<monthStart>(?:first(?: day)?|beginning|start|end)${OF_A_MONTH}))`;

/** Matches `Oct 9`, `Nov 25th, 2026`, `9 Oct 2026`, `Thursday`, `Mondays`, `tomorrow morning`. */
const DATE = String.raw`(?:${DAY_OF_MONTH}|(?<daysOn>tomorrow)(?: morning| afternoon| evening)?|(?:(?:(?:this|next) )?(?<weekday>(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:days?)?)\b,? ?)?(?:(?<month>(?!the )[a-z]{3,9})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,? (?<year>\d{4})\b)?|(?<firstDay>\d{1,2})(?:st|nd|rd|th)? (?<thenMonth>[a-z]{3,9})\.?(?:,? (?<thenYear>\d{4})\b)?)?)`;

const ZONE = String.raw`(?:\s?\((?<zone>[^()]{1,64})\)|,?(?: in)?\s?(?<shortZone>(?:Africa|America|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific)/[\w/+-]{1,40}|(?:UTC|GMT)\s?[+-]\d{1,2}(?::?\d{2})?(?!\d)|[+-]\d{2}:?\d{2}|UTC|GMT|Z|[ECMP][SD]?T|CES?T|BST|IST|JST|AE[SD]?T|SGT|KST|(?:Pacific|Eastern|Central|Mountain)(?: (?:Standard |Daylight )?Time)?)\b)?`;

const RESET = new RegExp(
  String.raw`${ANNOUNCES}(?:[ -](?:at|on|by|until|after|today|tonight|automatically|daily|weekly|every(?: (?:day|week))?|time(?: is)?:?))*["']?:? ?["']?(?:${DATE})(?:,? at |, | )?${CLOCK}${ZONE}`,
  'i',
);

/** Matches the date behind a time: `5pm (UTC) on Dec 3`, `9am Monday`. */
const THEN_DATE = new RegExp(
  String.raw`^,?(?: on)? (?=${MONTH}\b|\d{1,2}(?:st|nd|rd|th)? ${MONTH}\b|(?:this |next )?(?:${WEEKDAYS.join('|')})|tomorrow)${DATE}`,
  'i',
);

/** Matches a day or weekday without a time, which begins at its midnight. */
const RESET_DAY = new RegExp(
  String.raw`${ANNOUNCES}(?: (?:at|on|by|until|after|automatically|weekly|monthly|every))*:? (?:(?<month>${MONTH})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,? (?<year>\d{4})\b)?|(?:the )?(?<firstDay>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?<thenMonth>${MONTH})\b\.?(?:,? (?<thenYear>\d{4})\b)?|(?:(?:this|next) )?(?<weekday>(?:sun|mon|tues|wednes|thurs|fri|satur)days?)\b|(?<daysOn>tomorrow|tonight)\b|${DAY_OF_MONTH})${ZONE}`,
  'i',
);

/** Matches `2026-12-01 at 00:00 UTC`, `2026-11-27T09:00:00Z`, `2026-12-01`. */
const RESET_ISO = new RegExp(
  String.raw`(?:${ANNOUNCES}|\b(?:next_?|quota)?resets?_?(?:at|time(?:stamp)?|date)\b)[^\n\d]{0,20}(\d{4}-\d{2}-\d{2})(?:(?:T| at |,? )(\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?\s?(Z|UTC|[+-]\d{2}:?\d{2})?(?:\s?\(([^()]{1,64})\))?)?`,
  'i',
);

/** Matches a provider's field in seconds, or in ms if the number is too large for seconds. */
const RESET_EPOCH =
  /(?:["']?\b(?:next_)?resets?(?:[_ ]?at|_?time(?:stamp)?)?["']?\s{0,4}[:=]?\s{0,4}["']?|\blimit reached\|)(\d{10,13})\b/i;

/** The time zones that providers name with a word. */
const ZONE_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:GMT|Z)$/i, 'UTC'],
  [/^(?:P[SD]?T|Pacific(?: .*)?)$/i, 'America/Los_Angeles'],
  [/^(?:E[SD]?T|Eastern(?: .*)?)$/i, 'America/New_York'],
  [/^(?:C[SD]?T|Central(?: .*)?)$/i, 'America/Chicago'],
  [/^(?:M[SD]?T|Mountain(?: .*)?)$/i, 'America/Denver'],
  [/^CES?T$/i, 'Europe/Berlin'],
  [/^BST$/i, 'Europe/London'],
  [/^IST$/i, 'Asia/Kolkata'],
  [/^JST$/i, 'Asia/Tokyo'],
  [/^KST$/i, 'Asia/Seoul'],
  [/^SGT$/i, 'Asia/Singapore'],
  // The zone is without summer time, which AEDT names.
  [/^AEST$/i, '+10:00'],
  [/^AE[DT]?T$/i, 'Australia/Sydney'],
];

/**
 * Returns the ISO instant from which the text says that calls are possible again, read at `now`: an absolute time, a
 * time relative to `now`, or the next occurrence of its clock time or date. An occurrence that passed less than an hour
 * ago is returned as well. Returns null if no known form is found.
 */
export function parseResetTime(text: string, now: number): string | null {
  const spelled = text.replaceAll(
    SLASHED,
    (_, month: string, day: string, year: string | undefined) =>
      `${MONTHS[Number(month) - 1] ?? ''} ${day}${year === undefined ? '' : `, ${year}`}`,
  );
  const instant = absoluteReset(text) ?? relativeFrom(text, now) ?? clockReset(spelled, now);
  return instant === null ? null : isoOf(instant);
}

/**
 * Converts an epoch in seconds (in ms if it is too large for seconds) to an ISO instant; returns null if it is out of
 * range.
 */
export function parseResetEpoch(epoch: number): string | null {
  return isoOf(epoch > 1e11 ? epoch : epoch * 1000);
}

function isoOf(instant: number): string | null {
  return instant >= 0 && instant < YEAR_10000 ? new Date(instant).toISOString() : null;
}

function absoluteReset(text: string): number | null {
  const epoch = RESET_EPOCH.exec(text)?.[1];
  if (epoch !== undefined) return Number(epoch) > 1e11 ? Number(epoch) : Number(epoch) * 1000;
  const [, date, time = '00:00', offset = 'Z', zoneName] = RESET_ISO.exec(text) ?? [];
  if (date === undefined) return null;
  const instant = Date.parse(`${date}T${time}${offset.toUpperCase() === 'UTC' ? 'Z' : offset}`);
  if (Number.isNaN(instant)) return null;
  const zone = zoneName === undefined ? null : zoneNamed(zoneName);
  return zone === null ? instant : (instantsOf(zone, instant)[0] ?? instant);
}

function relativeFrom(text: string, now: number): number | null {
  const ms = relativeReset(text);
  return ms === null ? null : now + ms;
}

function clockReset(text: string, now: number): number | null {
  const reset = parseReset(text);
  const zone = reset && zoneNamed(reset.zone);
  if (!reset || !zone) return null;
  const today = wallDay(zone, now);
  return (
    daysOf(reset, today)
      .flatMap((day) => instantsOf(zone, Date.UTC(day.year, day.month, day.day, reset.hour, reset.minute)))
      .filter((instant) => reset.year !== null || instant > now - HOUR_MS)
      .sort((a, b) => a - b)[0] ?? null
  );
}

interface Reset {
  readonly year: number | null;
  readonly day: { readonly month: number; readonly day: number } | null;
  /** 0 = Sunday; null if no weekday is named. */
  readonly weekday: number | null;
  /** A day of any month; null if none is named. */
  readonly dayOfMonth: number | null;
  readonly isTomorrow: boolean;
  readonly hour: number;
  readonly minute: number;
  readonly zone: string;
}

function parseReset(text: string): Reset | null {
  const found = RESET.exec(text);
  const isWhole =
    found?.groups !== undefined &&
    (found.groups['half'] ?? found.groups['minute'] ?? found.groups['word']) !== undefined;
  const groups = isWhole ? withDate(found, text) : RESET_DAY.exec(text)?.groups;
  if (groups === undefined) return null;
  const hour = isWhole ? hourIn(groups) : 0;
  const minute = Number(groups['minute'] ?? 0);
  const monthName = groups['month'] ?? groups['thenMonth'];
  const month = monthName === undefined ? null : MONTHS.indexOf(monthName.slice(0, 3).toLowerCase());
  if (hour === null || minute > 59 || month === -1) return null;
  const year = groups['year'] ?? groups['thenYear'];
  const weekday = groups['weekday'];
  return {
    year: year === undefined ? null : Number(year),
    day: month === null ? null : { month, day: Number(groups['day'] ?? groups['firstDay']) },
    weekday: weekday === undefined || month !== null ? null : WEEKDAYS.indexOf(weekday.slice(0, 3).toLowerCase()),
    dayOfMonth: groups['monthStart'] === undefined ? Number(groups['dayOfMonth'] ?? 0) || null : 1,
    isTomorrow: groups['daysOn'] !== undefined,
    hour,
    minute,
    zone: groups['zone'] ?? groups['shortZone'] ?? 'UTC',
  };
}

/** Returns the groups of a time, with those of a date that follows it. */
function withDate(time: RegExpExecArray, text: string): Groups {
  const date: Groups = THEN_DATE.exec(text.slice(time.index + time[0].length))?.groups ?? {};
  return { ...time.groups, ...Object.fromEntries(Object.entries(date).filter(([, value]) => value !== undefined)) };
}

type Groups = Readonly<Record<string, string | undefined>>;

function hourIn(groups: Groups): number | null {
  if (groups['word'] !== undefined) return groups['word'].toLowerCase() === 'noon' ? 12 : 0;
  return hourOf(Number(groups['hour']), groups['half']?.replaceAll('.', '').toLowerCase());
}

/** Returns the hour of the day (0–23) for a 24-hour or 12-hour clock; null if the hour does not exist. */
function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour <= 23 ? hour : null;
  return hour >= 1 && hour <= 12 ? (hour % 12) + (half === 'pm' ? 12 : 0) : null;
}

/** Returns the days that the text may refer to. */
function daysOf({ year, day, weekday, dayOfMonth, isTomorrow }: Reset, today: WallDay): readonly WallDay[] {
  if (day !== null) return yearsFrom(year ?? today.year - 1, day, year === null ? MAX_YEARS + 2 : 1);
  if (dayOfMonth !== null)
    return [today.month, today.month + 1].map((month) => {
      // In a month without that day, a monthly plan renews on the last one.
      const lastDay = new Date(Date.UTC(today.year, month + 1, 0)).getUTCDate();
      return { ...today, month, day: Math.min(dayOfMonth, lastDay) };
    });
  const offsets = isTomorrow ? [1] : Array.from({ length: weekday === null ? 4 : 10 }, (_, at) => at - 1);
  return offsets
    .map((offset) => ({ ...today, day: today.day + offset }))
    .filter((date) => weekday === null || new Date(Date.UTC(date.year, date.month, date.day)).getUTCDay() === weekday);
}

/** Returns a day of the year in each of `years` years from `first`, where that date exists. */
function yearsFrom(
  first: number,
  { month, day }: { readonly month: number; readonly day: number },
  years: number,
): WallDay[] {
  return Array.from({ length: years }, (_, offset) => ({ year: first + offset, month, day })).filter(
    (date) => new Date(Date.UTC(date.year, date.month, date.day)).getUTCDate() === date.day,
  );
}

interface WallDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Returns the wall time of an instant, both in ms; a wall time is given as if it were UTC. */
type Zone = (instant: number) => number;

function zoneNamed(name: string): Zone | null {
  const known = ZONE_WORDS.find(([word]) => word.test(name.trim()))?.[1] ?? name.trim();
  // Compute offsets here, because `Intl` knows none before Node.js 22.
  const offset = parseOffset(known);
  if (offset !== null) return (instant) => instant + offset;
  const format = formatIn(known);
  return format && ((instant) => wallTime(format, instant));
}

/** Returns an offset such as `UTC+2`, `GMT+05:30` or `+0200` in ms; null for any other name. */
function parseOffset(name: string): number | null {
  const [, sign, hours = '', minutes = '00'] = /^(?:UTC|GMT)?\s?([+−-])(\d{1,2})(?::?([0-5]\d))?$/i.exec(name) ?? [];
  if (sign === undefined || Number(hours) > 14) return null;
  return (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS) * (sign === '+' ? 1 : -1);
}

function formatIn(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
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

function wallTime(format: Intl.DateTimeFormat, instant: number): number {
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

function wallDay(zone: Zone, instant: number): WallDay {
  const wall = new Date(zone(instant));
  return { year: wall.getUTCFullYear(), month: wall.getUTCMonth(), day: wall.getUTCDate() };
}

/**
 * Returns the instants at which clocks of the zone show `wall` (a wall time given as if it were UTC): two if clocks
 * were set back over that time. A wall time that clocks skip is shifted by the skipped interval.
 */
function instantsOf(zone: Zone, wall: number): readonly number[] {
  const offsetAt = (instant: number): number => zone(instant) - instant;
  const before = wall - offsetAt(wall - DAY_MS);
  const after = wall - offsetAt(wall + DAY_MS);
  const shown = [...new Set([before, after])].filter((instant) => instant + offsetAt(instant) === wall);
  return (shown.length > 0 ? shown : [before]).map((instant) => Math.round(instant / MINUTE_MS) * MINUTE_MS);
}

/**
 * Returns the wait that the text states, in ms: `in 58 hours`, `reset after 14h32m10s`, `5 days 22 hours`,
 * `retry-after: 30`. Returns null if it states none.
 */
function relativeReset(text: string): number | null {
  const field = FIELD.exec(text);
  if (field !== null) {
    const [, , inMs, number, unit] = field;
    return limitWait(Number(number) * (inMs !== undefined || unit === 'ms' ? 1 : SECOND_MS));
  }
  const spans = SPAN.exec(text)?.[1];
  if (spans !== undefined) return limitWait(sumSpans(spans));
  const [, number = '', unit = ''] = ONE.exec(text) ?? [];
  const count = NUMBER_WORDS.get(number.toLowerCase());
  return count === undefined ? null : count * unitMs(unit);
}

function sumSpans(spans: string): number {
  const apart = [...spans.matchAll(ONE_PART)];
  const parts = apart.length === [...spans.matchAll(/\d+(?:\.\d+)?/g)].length ? apart : [...spans.matchAll(GLUED_PART)];
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * unitMs(unit), 0);
}

function unitMs(unit: string): number {
  return UNITS.find(([form]) => form.test(unit))?.[1] ?? 0;
}

function limitWait(ms: number): number | null {
  return Number.isFinite(ms) && ms <= MAX_RELATIVE_MS ? ms : null;
}
