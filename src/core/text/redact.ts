const MASK = '***';
/** Shorter values are words, not secrets. */
const MIN_SECRET_CHARS = 6;

/** Keys that are known by their form: Anthropic, OpenAI, GitHub, AWS, Slack, Google, npm, GitLab, private keys, JSON web tokens. */
const knownKeys: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /sk-ant-[\w-]{8,}/g,
  /\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}/g,
  /gh[opsur]_[A-Za-z0-9]{16,}/g,
  /github_pat_\w{16,}/g,
  /(?:AKIA|ASIA)[A-Z0-9]{16}/g,
  /xox[a-z]-[A-Za-z0-9-]{10,}/g,
  /AIza[\w-]{35}/g,
  /npm_[A-Za-z0-9]{36}/g,
  /glpat-[\w-]{20,}/g,
  // Only where a word starts: otherwise a long run of such characters would be tried at each of them.
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g,
];

/** The text without secrets: given values (plain, base64, URL- and JSON-encoded) and keys of well-known form become `***`. */
export function redact(text: string, secretValues: readonly string[]): string {
  return createRedactor(secretValues)(text);
}

/** `redact` for many texts: the forms of the values are worked out once. */
export function createRedactor(secretValues: readonly string[]): (text: string) => string {
  const forms = [...new Set(secretValues.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return (text) => {
    const byValue = forms.reduce((rest, form) => rest.replaceAll(form, MASK), text);
    return knownKeys.reduce((rest, pattern) => rest.replaceAll(pattern, MASK), byValue);
  };
}

function formsOf(value: string): readonly string[] {
  const lines = [value, value.trim(), ...value.split(/\r?\n/).map((line) => line.trim())];
  return lines.filter((line) => line.length >= MIN_SECRET_CHARS).flatMap(encodingsOf);
}

function encodingsOf(value: string): readonly string[] {
  const url = encodeURIComponent(value.toWellFormed());
  const form = url.replaceAll('%20', '+');
  const lowerHex = url.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase());
  const base64 = [0, 1, 2].map((offset) => base64At(value, offset));
  const urlSafe = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [value, url, form, lowerHex, JSON.stringify(value).slice(1, -1), ...base64, ...urlSafe];
}

/** How base64 of a longer text shows `value` when it starts `offset` bytes (modulo 3) into it, without the characters that its neighbours share. */
function base64At(value: string, offset: number): string {
  const bytes = [...new Uint8Array(offset), ...new TextEncoder().encode(value)];
  const text = btoa(String.fromCharCode(...bytes));
  const first = Math.ceil((offset * 8) / 6);
  return text.slice(first, Math.floor((bytes.length * 8) / 6));
}

/** The same data with every text in it changed; keys stay. */
export function mapTexts<T>(data: T, change: (text: string) => string): T {
  return mapped(data, change) as T;
}

function mapped(data: unknown, change: (text: string) => string): unknown {
  if (typeof data === 'string') return change(data);
  if (Array.isArray(data)) return data.map((item) => mapped(item, change));
  if (typeof data === 'object' && data !== null)
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, mapped(value, change)]));
  return data;
}
