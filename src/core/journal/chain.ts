import { z } from 'zod';
import { tryJson } from '../text/try-json.ts';

/** What the first line of a journal carries in place of a hash. */
export const CHAIN_START = '0'.repeat(64);

/** A serialized line that carries the SHA-256 (hex) of the bytes of the line before it. */
export function chainLine(line: string, prev: string): string {
  return `{"prev":${JSON.stringify(prev)},${line.slice(1)}`;
}

/** Whether each line of a journal carries the hash of the one before. `last`: hash of the last line, by which two copies compare; null: there is no line. */
export type ChainCheck =
  | { readonly kind: 'intact'; readonly last: string }
  /** An earlier version wrote it. */
  | { readonly kind: 'unchained'; readonly last: string | null }
  /** 1-based: this line does not carry the hash of the one before. */
  | { readonly kind: 'broken'; readonly line: number };

const linkSchema = z.object({ prev: z.string() });

/** Checks the text of a journal; answers any string. A last line that was cut off is left out. */
export function checkChain(text: string, sha256: (line: string) => string): ChainCheck {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const rest = lines.pop() ?? '';
  if (tryJson(rest) !== undefined) lines.push(rest);
  const links = lines.map((line) => linkSchema.safeParse(tryJson(line)).data?.prev ?? null);
  const hashes = lines.map((line) => sha256(line));
  const last = hashes.at(-1) ?? null;
  if (last === null || links.every((link) => link === null)) return { kind: 'unchained', last };
  const broken = links.findIndex((link, index) => link !== (hashes[index - 1] ?? CHAIN_START));
  return broken === -1 ? { kind: 'intact', last } : { kind: 'broken', line: broken + 1 };
}
