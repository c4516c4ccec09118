import { encodeBase64At } from '../secrets/base64.ts';
import { keyPatterns } from '../secrets/key-patterns.ts';

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
