import { tryJson } from '../text/try-json.ts';

/** The previous hash in the first line of a journal. */
export const CHAIN_START = '0'.repeat(64);

/**
 * The result of checking that each line carries the hash of the preceding line. `last` is the hash of the last line,
 * which identifies the copy; null if there is no line.
 */
type ChainCheck =
  | { readonly kind: 'intact'; readonly last: string }
  /** An earlier version wrote the journal. */
  | { readonly kind: 'unchained'; readonly last: string | null }
  /** `line` is the first line, 1-based, that does not carry the hash of the preceding line. */
  | { readonly kind: 'broken'; readonly line: number };

/** Adds the SHA-256 (hex) of the bytes of the previous line to a serialized line. */
export function chainJournalLine(line: string, prev: string): string {
  return `{"prev":${JSON.stringify(prev)},${line.slice(1)}`;
}

/** Returns the lines of a journal up to and including the one with this hash; null if no line has it. */
export function selectLinesUpTo(text: string, lastHash: string, sha256: (line: string) => string): string | null {
  const lines = text.split('\n');
  const last = lines.findIndex((line) => sha256(line) === lastHash);
  return last === -1 ? null : `${lines.slice(0, last + 1).join('\n')}\n`;
}

/** Checks the hash chain of a journal's text; accepts any string. A last line that was cut off is ignored. */
export function checkChain(text: string, sha256: (line: string) => string): ChainCheck {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const rest = lines.pop() ?? '';
  if (tryJson(rest) !== undefined) lines.push(rest);
  const links = lines.map(prevIn);
  const hashes = lines.map((line) => sha256(line));
  const last = hashes.at(-1) ?? null;
  if (last === null || links.every((link) => link === null)) return { kind: 'unchained', last };
  const broken = links.findIndex((link, index) => link !== (hashes[index - 1] ?? CHAIN_START));
  return broken === -1 ? { kind: 'intact', last } : { kind: 'broken', line: broken + 1 };
}

function prevIn(line: string): string | null {
  const found = tryJson(line);
  const isLinked = typeof found === 'object' && found !== null && 'prev' in found;
  return isLinked && typeof found.prev === 'string' ? found.prev : null;
}
