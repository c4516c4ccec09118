/** Bytes without the ways in which programs write a character otherwise. */
export interface Canonical {
  /** Escapes are decoded; what stands for no ASCII character is 255. */
  readonly decoded: Uint8Array;
  /** Letters and digits of `decoded` alone, in lower case: spaces, line ends, zero bytes, quotes and other separators are gone. */
  readonly letters: Uint8Array;
}

const SPACE = 32;
const FOREIGN = 255;

/** Reads bytes once: `%41`, `\x41`, `\u0041`, `\u{41}`, `\101`, `&#65;`, `&#x41;`, `&amp;` and `0x41` become what they stand for. */
export function canonicalOf(bytes: Uint8Array): Canonical {
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

/** A letter or digit in lower case; 0: it is neither. */
export function letterOf(byte: number): number {
  if (byte >= 97 && byte <= 122) return byte;
  if (byte >= 65 && byte <= 90) return byte + 32;
  return byte >= 48 && byte <= 57 ? byte : 0;
}

/** Value of the escape at `at` in the low 8 bits, its length above them; 0: there is none. No object is made: this is called for every other byte of some files. */
function escapeAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  const second = bytes[at + 1] ?? 0;
  if (first === 37) return escape(hexValue(bytes, at + 1, 2), 3);
  if (first === 48) {
    const isWord = letterOf(bytes[at - 1] ?? 0) !== 0 || hexDigit(bytes[at + 4] ?? 0) >= 0;
    return (second === 120 || second === 88) && !isWord ? escape(hexValue(bytes, at + 2, 2), 4) : 0;
  }
  if (first === 38) return entityAt(bytes, at);
  // \n, \r, \t
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
  if (bytes[at + 1] !== 35) return isWord(bytes, at + 1, end) ? escape(named(bytes, at + 1, end), end + 1 - at) : 0;
  const isHex = bytes[at + 2] === 120 || bytes[at + 2] === 88;
  const from = isHex ? at + 3 : at + 2;
  const value = isHex ? hexValue(bytes, from, end - from) : digits(bytes, { from, count: end - from, base: 10 });
  return escape(value, end + 1 - at);
}

/** The names that every program writes; of the others it is known that they stand for no letter of ASCII. */
const ENTITIES: ReadonlyMap<string, number> = new Map([
  ['amp', 38],
  ['lt', 60],
  ['gt', 62],
  ['quot', 34],
  ['apos', 39],
]);

function named(bytes: Uint8Array, from: number, to: number): number {
  return ENTITIES.get(String.fromCharCode(...bytes.subarray(from, to))) ?? FOREIGN;
}

function escape(value: number, length: number): number {
  if (value < 0) return 0;
  return ((length & 0xff) << 8) | (value < 128 ? value : FOREIGN);
}

/** Where `end` stands, at most 24 bytes on; -1: nowhere. */
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

/** A number of that many digits; -1: something else stands there. */
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
