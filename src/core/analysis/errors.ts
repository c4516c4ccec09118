import type { FingerprintedError } from './analysis.ts';
import { capped } from './json.ts';

const MAX_ERRORS = 20;
const MAX_LINE_CHARS = 1_000;
const MAX_TEXT_CHARS = 300;

/** The real error forms in a text without code, one entry per fingerprint, in order. */
export function findErrors(prose: string): readonly FingerprintedError[] {
  const found = new Map<string, FingerprintedError>();
  for (const line of prose.split('\n')) {
    const text = errorIn(line.slice(0, MAX_LINE_CHARS).replaceAll('**', ''));
    if (text === null) continue;
    const fingerprint = fingerprintOf(text);
    if (!found.has(fingerprint)) found.set(fingerprint, { text: capped(text, MAX_TEXT_CHARS), fingerprint });
    if (found.size === MAX_ERRORS) break;
  }
  return [...found.values()];
}

/** Where an error starts: each form is a report of a program, not a word of a sentence or the name of a field. */
const FORMS: readonly RegExp[] = [
  // `Error: …`, `TypeError: …`, `java.io.IOException: …`, `FATAL: …`, also behind a few words of prose.
  /(?:^|[\s("'[*])((?:(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)|(?:API )?Error|ERROR|FATAL|Fatal error|PANIC)(?:\s?\[?[A-Z_]{0,20}\d{1,6}\]?)?:\s.*)/,
  // `error: …`, `error[E0308]: …`, `error TS2322: …`, `fatal: …`, `panic: …` at the start of a line or behind a position in a file.
  /(?:^[\s*_+-]*|[\])\d]:\s?)((?:fatal error|error|fatal|panic)(?:\s?\[?[A-Za-z]{1,10}\d{1,6}\]?)?:\s.*)/i,
  /^[\s*_+-]*((?:npm (?:ERR!|error)|\[(?:ERROR|FATAL)\]) .*)/i,
  /\b((?:failed with error|error occurred)\b.*)/i,
];

/** `Error: none` reports that there is nothing to report; `error: Error` declares a field. */
const NO_REPORT = /:\s*(?:none|no|nil|null|false|n\/a|0|true|undefined|error|string|unknown|any|boolean)\b\W*$/i;
const WORTH_A_LOOK = /error|exception|fatal|panic|ERR!/i;

function errorIn(line: string): string | null {
  if (!WORTH_A_LOOK.test(line)) return null;
  for (const form of FORMS) {
    const text = form.exec(line)?.[1]?.replace(/[\s*_]+$/, '');
    if (text !== undefined && !NO_REPORT.test(text)) return text;
  }
  return null;
}

/** What is the same when an error comes again: times, addresses, paths, hex and numbers are taken out. A hash, so that no agent prose gets into the state. */
export function fingerprintOf(text: string): string {
  const essence = text
    .slice(0, MAX_LINE_CHARS)
    .toLowerCase()
    .replace(/\b[a-z][a-z+.-]{1,15}:\/\/[^\s"'`)\]>,]+/g, '<path>')
    .replace(/(?:\b[a-z]:)?[\w.@~-]{0,200}(?:[\\/][\w.@~+-]{1,200})+[\\/]?/g, '<path>')
    .replace(/(?<=[a-z>)]):\d{1,9}(?::\d{1,9})?\b/g, '')
    .replace(/\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:z|[+-]\d\d:?\d\d)?)?/g, '<time>')
    .replace(/\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\s?(?:am|pm)?\b/g, '<time>')
    .replace(/\b(?:0x[\da-f]+|[\da-f]{8}-[\da-f-]{9,27}|(?=[a-f]{0,40}\d)[\da-f]{7,64})\b/g, '<hex>')
    .replace(/\b\d[\d.,]*(?:[a-z]{1,2}\b|%)?/g, '<n>')
    .replace(/\s+/g, ' ')
    .trim();
  return hash(essence, 0x811c9dc5) + hash(essence, 0x9747b28c);
}

/** FNV-1a over UTF-16 units, 32 bits, as eight hex digits. */
function hash(text: string, seed: number): string {
  let value = seed;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, '0');
}
