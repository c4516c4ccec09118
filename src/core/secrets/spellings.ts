import { encodeBase64At } from '../text/redact.ts';

/** Bytes with the alternative spellings of characters normalized. */
interface Canonical {
  /** The bytes with escapes decoded; an escape of a non-ASCII character becomes 255. */
  readonly decoded: Uint8Array;
  /**
   * The letters and digits of `decoded` in lower case, without spaces, line ends, zero bytes, quotes and other
   * separators.
   */
  readonly letters: Uint8Array;
}

const SPACE = 32;

const FOREIGN = 255;

/** The entities that programs usually write; all others represent characters that are not ASCII letters. */
const ENTITIES: ReadonlyMap<string, number> = new Map([
  ['amp', 38],
  ['lt', 60],
  ['gt', 62],
  ['quot', 34],
  ['apos', 39],
]);

/** Minimum length of a value; a shorter one would be found in any text. */
const MIN_SEARCHED_CHARS = 8;

/** Number of letters that are hashed to find a spelling; every spelling has at least this many. */
const WINDOW = 8;

/**
 * Returns the values that reveal a secret: the secret itself and, if it has many lines (a private key), each long line.
 */
export function listRevealingParts(value: string): readonly string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const parts = [value.trim(), ...lines.filter((line) => line.length >= 20)];
  return [...new Set(parts)].filter((part) => part.length >= MIN_SEARCHED_CHARS);
}

/** A spelling of a value: its letters and, if it may occur in plain text, its exact bytes. */
interface Spelling {
  readonly letters: Uint8Array;
  /**
   * The exact bytes. Between the letters, only these bytes or one repeated separator may occur; null if anything may.
   */
  readonly exact: Uint8Array | null;
}

/**
 * Creates a function that returns true if bytes contain one of the values in a common spelling: escaped in any way,
 * base64 (URL-safe, of UTF-16), hex, numbers, reversed, with a separator after every character, split over lines or
 * string literals, UTF-16. It makes one pass, regardless of the number of values.
 */
export function createSpellingSearch(values: readonly string[]): (bytes: Uint8Array) => boolean {
  const byHash = new Map<number, Spelling[]>();
  const mayStart = new Uint8Array(1 << 16);
  for (const spelling of values.flatMap(listRevealingParts).flatMap(spellingsOf)) {
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
        if (startsWith(letters, start, spelling.letters) && matchesAt(decoded, place(start), spelling)) return true;
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

/**
 * Returns a function that maps a letter's number to its position in `decoded`. Each call must pass a larger number than
 * the call before, so that one pass suffices.
 */
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
  const wide = Uint8Array.from(Array.from(value).flatMap((character) => unitsOf(character)));
  const reversed = plain.toReversed();
  const encoded = [plain, wide, reversed].flatMap((bytes) => [0, 1, 2].map((offset) => encodeBase64At(bytes, offset)));
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

function unitsOf(character: string): readonly number[] {
  return Array.from({ length: character.length }, (_, i) => character.charCodeAt(i)).flatMap((unit) => [
    unit & 255,
    unit >> 8,
  ]);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns true if the spelling, including its letter case, begins at `start`, and only separators stand between its
 * letters.
 */
function matchesAt(decoded: Uint8Array, start: number, { exact }: Spelling): boolean {
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

/** Maximum number of bytes between two separated characters. */
const MAX_SEPARATOR = 8;

function nextLetter(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && letterOf(bytes[at] ?? 0) === 0) at += 1;
  return at;
}

/**
 * Returns true if a gap contains a line end or the end of a string literal, after which any continuation may follow.
 */
function isWide(gap: Uint8Array): boolean {
  return gap.some((byte) => byte === 10 || byte === 13 || byte === 34 || byte === 39 || byte === 96);
}

/**
 * Removes bytes that separate nothing visible: blanks, controls, backslashes and non-ASCII bytes; with `wide` also
 * quotes, operators and comment marks.
 */
function withoutFiller(gap: Uint8Array, wide: boolean): Uint8Array {
  return gap.filter((byte) => byte > 32 && byte < 127 && byte !== 92 && !(wide && WIDE_FILLER.has(byte)));
}

const WIDE_FILLER: ReadonlySet<number> = new Set(new TextEncoder().encode('"\'`+.,&|/#*>;-()[]_'));

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/**
 * Decodes bytes in one pass: `%41`, `\x41`, `\u0041`, `\u{41}`, `\101`, `&#65;`, `&#x41;`, `&amp;` and `0x41` become
 * the character that they represent.
 */
function canonicalOf(bytes: Uint8Array): Canonical {
  const decoded = new Uint8Array(bytes.length);
  const letters = new Uint8Array(bytes.length);
  let length = 0;
  let count = 0;
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0;
    let value = first;
    let used = 1;
    if (first === 37 || first === 92 || first === 38 || first === 48) {
      const escape = escapeAt(bytes, at);
      value = escape === 0 ? first : escape & 255;
      used = escape === 0 ? 1 : escape >> 8;
    }
    decoded[length] = value;
    length += 1;
    const letter = letterOf(value);
    if (letter !== 0) {
      letters[count] = letter;
      count += 1;
    }
    at += used;
  }
  return { decoded: decoded.subarray(0, length), letters: letters.subarray(0, count) };
}

/** Returns a letter or digit in lower case; 0 for any other byte. */
function letterOf(byte: number): number {
  if (byte >= 97 && byte <= 122) return byte;
  if (byte >= 65 && byte <= 90) return byte + 32;
  return byte >= 48 && byte <= 57 ? byte : 0;
}

/**
 * Returns the escape at `at` with its value in the low 8 bits and its length above them; 0 if none. It creates
 * no object, because it is called for every other byte of some files.
 */
function escapeAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  const second = bytes[at + 1] ?? 0;
  if (first === 37) return escape(hexValue(bytes, at + 1, 2), 3);
  if (first === 48) {
    const isWord = letterOf(bytes[at - 1] ?? 0) !== 0 || hexDigit(bytes[at + 4] ?? 0) >= 0;
    return (second === 120 || second === 88) && !isWord ? escape(hexValue(bytes, at + 2, 2), 4) : 0;
  }
  if (first === 38) return entityAt(bytes, at);
  // This is \n, \r or \t.
  if (second === 110 || second === 114 || second === 116) return escape(SPACE, 2);
  if (second === 120) return escape(hexValue(bytes, at + 2, 2), 4);
  if (second === 117 && bytes[at + 2] === 123) {
    const end = closing(bytes, at + 3, 125);
    return end === -1 ? 0 : escape(hexValue(bytes, at + 3, end - at - 3), end + 1 - at);
  }
  if (second === 117) return escape(hexValue(bytes, at + 2, 4), 6);
  return escape(digits(bytes, { from: at + 1, count: 3, base: 8 }), 4);
}

function entityAt(bytes: Uint8Array, at: number): number {
  const end = closing(bytes, at + 1, 59);
  if (end === -1 || end === at + 1) return 0;
  if (bytes[at + 1] !== 35)
    return isWord(bytes, at + 1, end) ? escape(decodeEntity(bytes, at + 1, end), end + 1 - at) : 0;
  const isHex = bytes[at + 2] === 120 || bytes[at + 2] === 88;
  const from = isHex ? at + 3 : at + 2;
  const value = isHex ? hexValue(bytes, from, end - from) : digits(bytes, { from, count: end - from, base: 10 });
  return escape(value, end + 1 - at);
}

function decodeEntity(bytes: Uint8Array, from: number, to: number): number {
  return ENTITIES.get(String.fromCharCode(...bytes.subarray(from, to))) ?? FOREIGN;
}

function escape(value: number, length: number): number {
  if (value < 0) return 0;
  return ((length & 0xff) << 8) | (value < 128 ? value : FOREIGN);
}

/** Returns the position of `end` within the next 24 bytes; -1 if it is not there. */
function closing(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < from + 24; at += 1) if (bytes[at] === end) return at;
  return -1;
}

function isWord(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (letterOf(bytes[at] ?? 0) === 0) return false;
  return true;
}

function hexValue(bytes: Uint8Array, from: number, count: number): number {
  return digits(bytes, { from, count, base: 16 });
}

/** Parses a number of exactly `count` digits; returns -1 for anything else. */
function digits(
  bytes: Uint8Array,
  { from, count, base }: { readonly from: number; readonly count: number; readonly base: number },
): number {
  if (count < 1) return -1;
  let value = 0;
  for (let at = from; at < from + count; at += 1) {
    const digit = hexDigit(bytes[at] ?? 0);
    if (digit < 0 || digit >= base) return -1;
    value = Math.min(value * base + digit, 0x110000);
  }
  return value;
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
