import { cut } from '../core/text/cut.ts';

/** Longer texts of the agent are cut in the journal. */
const MAX_TEXT_CHARS = 4_000;
/** Longer lists of the agent are cut in the journal. */
const MAX_ITEMS = 50;

/** Redacts and cuts every text in the data and cuts every list, so that it can be kept and shown. */
export function bounded<T>(data: T, redact: (text: string) => string): T {
  return bound(data, redact) as T;
}

function bound(data: unknown, redact: (text: string) => string): unknown {
  if (typeof data === 'string') return cut(redact(data), MAX_TEXT_CHARS);
  if (Array.isArray(data)) return data.slice(0, MAX_ITEMS).map((item) => bound(item, redact));
  if (typeof data === 'object' && data !== null)
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, bound(value, redact)]));
  return data;
}
