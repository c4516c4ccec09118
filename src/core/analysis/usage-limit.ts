import type { UsageLimit } from './analysis.ts';
import type { Failure, RateLimit } from './cli-event.ts';
import { nextReset } from './reset-time.ts';

type Window = UsageLimit['window'];

/** The provider's limit that ended a call: from the CLI's structured event first, then from the text and status of its own error. */
export function usageLimitOf(failure: Failure | null, rejected: RateLimit | null, now: number): UsageLimit | null {
  const text = failure?.text ?? '';
  if (rejected !== null) {
    const resumeAt = rejected.resetsAt === null ? nextReset(text, now) : instantOf(rejected.resetsAt);
    return { window: windowOfType(rejected.type), resumeAt };
  }
  if (failure === null) return null;
  const epoch = /\blimit reached\|(\d{9,13})\b/i.exec(text)?.[1];
  if (epoch !== undefined) return { window: 'unknown', resumeAt: instantOf(Number(epoch)) };
  if (LIMIT_TEXT.test(text) || failure.apiError === 'usage_limit_reached') return { window: windowOfText(text), resumeAt: nextReset(text, now) };
  return isOverload(failure) ? { window: 'unknown', resumeAt: null } : null;
}

const LIMIT_TEXT = /\bhit your\b.{0,60}\blimit\b|\b(?:usage|session|5-hour|five-hour|weekly)\b.{0,20}\blimit reached\b|\b(?:usage|session|5-hour|weekly) limit reached\b|\bout of extra usage\b/i;

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

/** 429 and 529 after the CLI's own retries. */
function isOverload({ status, error, text }: Failure): boolean {
  return status === 429 || status === 529 || error === 'rate_limit' || error === 'overloaded' || /^API Error: (?:Repeated 529|Request rejected \(429\))/.test(text);
}

/** Later instants have no ISO form of four-digit years, and are no reset time. */
const YEAR_10000 = 253_402_300_800_000;

/** An epoch in seconds (ms when it is too large for that) as an ISO instant. */
function instantOf(epoch: number): string | null {
  const ms = epoch > 1e11 ? epoch : epoch * 1000;
  return ms < YEAR_10000 ? new Date(ms).toISOString() : null;
}
