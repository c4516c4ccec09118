/** A kind of key with a known form. */
interface KeyPattern {
  /** The name of the scanner's own rule, if it has one. */
  readonly name: string;
  readonly pattern: RegExp;
}

/**
 * Keys of well-known form, which are hidden in all output and never pushed. Each pattern takes time proportional to the
 * text.
 */
const keyPatterns: readonly KeyPattern[] = [
  { name: 'anthropic', pattern: /sk-ant-[\w-]{8,}/g },
  { name: 'openai', pattern: /\bsk-(?!ant-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}/g },
  { name: 'github', pattern: /gh[opsur]_[A-Za-z0-9]{16,}/g },
  { name: 'github', pattern: /github_pat_\w{16,}/g },
  { name: 'aws', pattern: /(?:AKIA|ASIA)[A-Z0-9]{16}/g },
  { name: 'slack', pattern: /xox[a-z]-[A-Za-z0-9-]{10,}/g },
  { name: 'slack', pattern: /hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g },
  { name: 'google', pattern: /AIza[\w-]{35}/g },
  { name: 'npm', pattern: /npm_[A-Za-z0-9]{36}/g },
  { name: 'gitlab', pattern: /glpat-[\w-]{20,}/g },
  { name: 'stripe', pattern: /[sr]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}/g },
  { name: 'azure-storage', pattern: /AccountKey=[A-Za-z0-9+/]{86}==/gi },
  { name: 'pypi', pattern: /pypi-AgE[\w-]{50,}/g },
  { name: 'telegram', pattern: /(?<![\w-])\d{8,10}:[\w-]{35}(?![\w-])/g },
  { name: 'sendgrid', pattern: /\bSG\.[\w-]{22}\.[\w-]{43}/g },
  { name: 'shopify', pattern: /shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{32}/g },
  { name: 'linear', pattern: /lin_api_[A-Za-z0-9]{40}/g },
  { name: 'huggingface', pattern: /\bhf_[A-Za-z0-9]{34}/g },
  { name: 'docker', pattern: /dckr_pat_[\w-]{27}/g },
  // The pattern matches only at the start of a word; otherwise it would be tried at each character of a long run.
  { name: 'jwt', pattern: /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g },
];

/** Returns the names of the patterns found in a text, one per key. */
export function findKeyPatterns(text: string): readonly string[] {
  return keyPatterns.flatMap(({ name, pattern }) => (text.match(pattern) ?? []).map(() => name));
}

const MASK = '***';
/** Minimum length of a secret; shorter values are words. */
const MIN_SECRET_CHARS = 6;

/**
 * Patterns that are always masked: well-known keys, and anything that begins like a private key, because a part of a
 * key does not show whether it is one.
 */
const hidden: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  ...keyPatterns.map(({ pattern }) => pattern),
];

/** Masks secrets in a text with `***`: given values (plain, base64, URL- and JSON-encoded) and well-known keys. */
export function redactSecrets(text: string, secretValues: readonly string[]): string {
  return createRedactor(secretValues)(text);
}

/** Creates a `redactSecrets` for many texts, which computes the encodings of the values once. */
export function createRedactor(secretValues: readonly string[]): (text: string) => string {
  const forms = [...new Set(secretValues.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return (text) => {
    const byValue = forms.reduce((rest, form) => rest.replaceAll(form, MASK), text);
    return hidden.reduce((rest, pattern) => rest.replaceAll(pattern, MASK), byValue);
  };
}

/**
 * Creates a function that returns true if a text contains one of the values in any encoding. Texts that only look like
 * a key are ignored.
 */
export function createSecretFinder(secretValues: readonly string[]): (text: string) => boolean {
  const forms = [...new Set(secretValues.flatMap(formsOf))];
  return (text) => forms.some((form) => text.includes(form));
}

function formsOf(value: string): readonly string[] {
  const lines = [value, value.trim(), ...value.split(/\r?\n/).map((line) => line.trim())];
  return lines.filter((line) => line.length >= MIN_SECRET_CHARS).flatMap(encodingsOf);
}

function encodingsOf(value: string): readonly string[] {
  const url = encodeURIComponent(value.toWellFormed());
  const form = url.replaceAll('%20', '+');
  const lowerHex = url.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase());
  const base64 = [0, 1, 2].map((offset) => encodeBase64At(new TextEncoder().encode(value), offset));
  const urlSafe = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [value, url, form, lowerHex, JSON.stringify(value).slice(1, -1), ...base64, ...urlSafe];
}

/** Applies a change to every text in the data; keys stay unchanged. */
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

/**
 * Returns the base64 form of `bytes` inside a longer content at `offset` bytes (modulo 3), without the characters
 * shared with neighbouring bytes.
 */
export function encodeBase64At(bytes: Uint8Array, offset: number): string {
  const shifted = new Uint8Array(offset + bytes.length);
  shifted.set(bytes, offset);
  let binary = '';
  for (const byte of shifted) binary += String.fromCharCode(byte);
  return btoa(binary).slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
}
