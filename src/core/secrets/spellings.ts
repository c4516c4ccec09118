import { base64At } from './base64.ts';
import { canonicalOf, letterOf } from './canonical.ts';

/** Shorter values would be found in any text. */
const MIN_SEARCHED_CHARS = 8;
/** Letters by which a spelling is found; all spellings that are searched have as many. */
const WINDOW = 8;

/** The values that give a secret away: itself, and of one with many lines (a private key) each long line. */
export function partsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const parts = [value.trim(), ...lines.filter((line) => line.length >= 20)];
  return [...new Set(parts)].filter((part) => part.length >= MIN_SEARCHED_CHARS);
}

/** A spelling: its letters and, of one that may stand in plain text, what else it is made of. */
interface Spelling {
  readonly letters: Uint8Array;
  /** Between its letters nothing else may stand than this, or the same separator everywhere; null: anything. */
  readonly exact: Uint8Array | null;
}

/**
 * Whether bytes hold one of the values in a common spelling: escaped in any way, base64 (URL-safe, of UTF-16), hex, numbers, reversed,
 * with a separator behind every character, cut over lines or string literals, UTF-16. One pass, whatever the number of values.
 */
export function createSpellingSearch(values: readonly string[]): (bytes: Uint8Array) => boolean {
  const byHash = new Map<number, Spelling[]>();
  const mayStart = new Uint8Array(1 << 16);
  for (const spelling of values.flatMap(partsOf).flatMap(spellingsOf)) {
    const hash = hashOf(spelling.letters);
    mayStart[hash >>> 16] = 1;
    byHash.set(hash, [...(byHash.get(hash) ?? []), spelling]);
  }
  if (byHash.size === 0) return () => false;

  return (bytes) => {
    const { decoded, letters } = canonicalOf(bytes);
    const place = createPlaces(decoded);
    let hash = 0;
    for (let end = 0; end < letters.length; end += 1) {
      hash = (Math.imul(hash, BASE) + (letters[end] ?? 0)) | 0;
      if (end >= WINDOW) hash = (hash - Math.imul(letters[end - WINDOW] ?? 0, BASE_TO_WINDOW)) | 0;
      if (end < WINDOW - 1 || mayStart[hash >>> 16] === 0) continue;
      const start = end - WINDOW + 1;
      for (const spelling of byHash.get(hash) ?? [])
        if (startsWith(letters, start, spelling.letters) && standsThere(decoded, place(start), spelling)) return true;
    }
    return false;
  };
}

const BASE = 0x01000193;
let power = 1;
for (let i = 0; i < WINDOW; i += 1) power = Math.imul(power, BASE);
const BASE_TO_WINDOW = power;

function hashOf(letters: Uint8Array): number {
  let hash = 0;
  for (let at = 0; at < WINDOW; at += 1) hash = (Math.imul(hash, BASE) + (letters[at] ?? 0)) | 0;
  return hash;
}

function startsWith(letters: Uint8Array, start: number, wanted: Uint8Array): boolean {
  if (start + wanted.length > letters.length) return false;
  for (let at = 0; at < wanted.length; at += 1) if (letters[start + at] !== wanted[at]) return false;
  return true;
}

/** Where in `decoded` the letter of a number stands; asked for growing numbers, it walks once. */
function createPlaces(decoded: Uint8Array): (number: number) => number {
  let at = -1;
  let reached = -1;
  return (number) => {
    while (reached < number) {
      at += 1;
      if (letterOf(decoded[at] ?? 0) !== 0) reached += 1;
      if (at >= decoded.length) break;
    }
    return at;
  };
}

function spellingsOf(value: string): readonly Spelling[] {
  const plain = new TextEncoder().encode(value.toWellFormed());
  const wide = utf16(value);
  const reversed = plain.toReversed();
  const encoded = [plain, wide, reversed].flatMap((bytes) => [0, 1, 2].map((offset) => base64At(bytes, offset)));
  const texts = [
    ...encoded,
    ...encoded.slice(0, 3).map((text) => Array.from(text).reverse().join('')),
    hex(plain),
    hex(wide),
    hex(reversed),
    plain.join(''),
  ];
  return [
    ...[plain, reversed].map((bytes) => exactly(bytes)),
    ...texts.map((text) => ({ letters: canonicalOf(new TextEncoder().encode(text)).letters, exact: null })),
  ].filter(({ letters }) => letters.length >= WINDOW);
}

function exactly(bytes: Uint8Array): Spelling {
  const { decoded, letters } = canonicalOf(bytes);
  const first = decoded.findIndex((byte) => letterOf(byte) !== 0);
  const last = decoded.findLastIndex((byte) => letterOf(byte) !== 0);
  return { letters, exact: decoded.slice(Math.max(0, first), last + 1) };
}

function utf16(value: string): Uint8Array {
  return Uint8Array.from(Array.from(value).flatMap((character) => unitsOf(character)));
}

function unitsOf(character: string): readonly number[] {
  return Array.from({ length: character.length }, (_, i) => character.charCodeAt(i)).flatMap((unit) => [
    unit & 255,
    unit >> 8,
  ]);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Whether the spelling, letter case included, begins at `start`, and what stands between its letters only separates them. */
function standsThere(decoded: Uint8Array, start: number, { exact }: Spelling): boolean {
  if (exact === null) return true;
  let at = start;
  let from = 0;
  let isWhole = true;
  let separator = -1;
  let isSpaced = true;
  while (from < exact.length) {
    if (decoded[at] !== exact[from]) return false;
    const nextAt = nextLetter(decoded, at + 1);
    const nextFrom = nextLetter(exact, from + 1);
    if (nextFrom >= exact.length) break;
    const gap = decoded.subarray(at + 1, nextAt);
    const wanted = exact.subarray(from + 1, nextFrom);
    isWhole &&= isSame(withoutFiller(gap, isWide(gap)), withoutFiller(wanted, isWide(gap)));
    const inserted = (gap.length - wanted.length) / (wanted.length + 1);
    separator = separator === -1 ? inserted : separator;
    isSpaced &&= inserted > 0 && inserted <= MAX_SEPARATOR && inserted === separator;
    if (!isWhole && !isSpaced) return false;
    at = nextAt;
    from = nextFrom;
  }
  return true;
}

/** Bytes between two characters that stand apart. */
const MAX_SEPARATOR = 8;

function nextLetter(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && letterOf(bytes[at] ?? 0) === 0) at += 1;
  return at;
}

/** Behind a line end or the end of a string literal anything may lead on. */
function isWide(gap: Uint8Array): boolean {
  return gap.some((byte) => byte === 10 || byte === 13 || byte === 34 || byte === 39 || byte === 96);
}

/** Blanks, controls and what is not ASCII separate nothing that is seen; `wide`: nor do quotes, operators and marks of comments. */
function withoutFiller(gap: Uint8Array, wide: boolean): Uint8Array {
  return gap.filter((byte) => byte > 32 && byte < 127 && byte !== 92 && !(wide && WIDE_FILLER.has(byte)));
}

const WIDE_FILLER: ReadonlySet<number> = new Set(new TextEncoder().encode('"\'`+.,&|/#*>;-()[]_'));

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
