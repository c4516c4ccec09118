import { limitIn, statusIn } from './failure.ts';
import type { UsageLimit } from '../../../core/analysis/analysis.ts';
import type { Failure, RateLimit } from './cli-event.ts';
import { epochReset, nextReset } from '../../../core/analysis/reset-time.ts';
import { HOUR_MS } from '../../../core/time.ts';

type Window = UsageLimit['window'];

const SHORT_WINDOW_MS = 5 * HOUR_MS;

/** The provider's limit that ended a call: from the CLI's structured event first, then from the text and status of its own error. What two signs do not both speak for is unconfirmed. */
export function usageLimitOf(failure: Failure | null, rejected: RateLimit | null, now: number): UsageLimit | null {
  const limit = reportedLimit(failure, rejected, now);
  if (limit === null) return null;
  const whole =
    limit.resumeAt === null && isByPerson(limitIn(failure?.text ?? '')) ? { ...limit, byPerson: true as const } : limit;
  return confirmed(whole, failure, { rejected, now });
}

/** Money and what an organization allows come back by a person. */
function isByPerson(limit: string | null): boolean {
  return limit !== null && /\b(?:spend(?:ing)?|credits?|monthly|organi[sz]ation|org|extra usage)\b/i.test(limit);
}

function confirmed(
  limit: UsageLimit,
  failure: Failure | null,
  { rejected, now }: { readonly rejected: RateLimit | null; readonly now: number },
): UsageLimit {
  return hasSecondSign(limit, failure, { rejected, now }) ? limit : { ...limit, unconfirmed: true };
}

/** Beside an event it is a failure that speaks of a limit, and not of a shorter one; a failure alone needs both its text and its fields. */
function hasSecondSign(
  { window, resumeAt }: UsageLimit,
  failure: Failure | null,
  { rejected, now }: { readonly rejected: RateLimit | null; readonly now: number },
): boolean {
  if (failure === null) return false;
  const text = limitIn(failure.text);
  const isNamed = rejected === null ? hasLimitField(failure) && text !== null : hasLimitField(failure) || text !== null;
  const isShort = window === 'five-hour' || (text !== null && windowOfText(text) === 'five-hour');
  // No sign of a limit of five hours is one of a longer wait.
  const isLonger = resumeAt !== null && Date.parse(resumeAt) > now + SHORT_WINDOW_MS;
  return isNamed && !(isShort && isLonger);
}

function reportedLimit(failure: Failure | null, rejected: RateLimit | null, now: number): UsageLimit | null {
  const text = failure?.text ?? '';
  if (rejected !== null) {
    const resumeAt = rejected.resetsAt === null ? nextReset(text, now) : epochReset(rejected.resetsAt);
    return { window: windowOfType(rejected.type), resumeAt };
  }
  if (failure === null) return null;
  const limit = limitIn(text);
  const epoch = limit && /^\|(\d{9,13})\b/.exec(text.trimStart().slice(limit.length))?.[1];
  if (epoch) return { window: 'unknown', resumeAt: epochReset(Number(epoch)) };
  if (limit !== null || failure.apiError === 'usage_limit_reached')
    return { window: windowOfText(limit ?? text), resumeAt: nextReset(text, now) };
  return isOverload(failure) ? { window: 'unknown', resumeAt: null } : null;
}

function windowOfText(text: string): Window {
  if (/\bextra usage\b/i.test(text)) return 'extra';
  if (/\b(?:5-hour|five-hour|session)\b/i.test(text)) return 'five-hour';
  return /\bweekly\b/i.test(text) ? 'weekly' : 'unknown';
}

function windowOfType(type: string | null): Window {
  if (type === null) return 'unknown';
  if (type === 'five_hour') return 'five-hour';
  if (type.startsWith('seven_day')) return 'weekly';
  return /overage|extra/.test(type) ? 'extra' : 'unknown';
}

/** What the CLI says of its error beside the text. An overload is nobody's limit. */
function hasLimitField({ apiError, error, status }: Failure): boolean {
  return apiError === 'usage_limit_reached' || error === 'rate_limit' || status === 429;
}

/** 429 and 529 after the CLI's own retries. */
function isOverload(failure: Failure): boolean {
  const status = failure.status ?? statusIn(failure.text);
  return status === 429 || status === 529 || failure.error === 'rate_limit' || failure.error === 'overloaded';
}
