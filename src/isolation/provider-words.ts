import { oneLine } from '../core/text/one-line.ts';
import { tryJson } from '../core/text/try-json.ts';

const MAX_CHARS = 300;

/** What a provider says in the body of an answer that is an error, in whichever dialect; null: no words. */
export function providerWords(body: string): string | null {
  const parsed = tryJson(body);
  const words = parsed === undefined ? plainText(body) : messageIn(Array.isArray(parsed) ? parsed[0] : parsed);
  const line = oneLine(words ?? '', MAX_CHARS);
  return line === '' ? null : line;
}

/** `{"error":{"message":…}}`, `{"message":…}` and what gateways make of it. */
function messageIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail } = value as Readonly<Record<string, unknown>>;
  return [error, message, detail].map(messageIn).find((found) => found !== null) ?? null;
}

/** A page is for people at a screen. */
function plainText(body: string): string | null {
  return /^\s*</.test(body) ? null : body;
}

/** For how long a provider asks to wait, in ms, by its header `retry-after`; null: it does not say. */
export function waitOf(header: string): number | null {
  const seconds = /^\s*(\d{1,8})\s*$/.exec(header)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}
