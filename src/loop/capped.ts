/** Longer texts of the agent are cut in the journal. */
const MAX_TEXT_CHARS = 4_000;
/** Longer lists of the agent are cut in the journal. */
const MAX_ITEMS = 50;

/** The same data with every text redacted and cut, every list cut: fit to be kept and shown. */
export function capped<T>(data: T, redact: (text: string) => string): T {
  return cap(data, redact) as T;
}

function cap(data: unknown, redact: (text: string) => string): unknown {
  if (typeof data === 'string') return redact(data).slice(0, MAX_TEXT_CHARS);
  if (Array.isArray(data)) return data.slice(0, MAX_ITEMS).map((item) => cap(item, redact));
  if (typeof data === 'object' && data !== null)
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, cap(value, redact)]));
  return data;
}
