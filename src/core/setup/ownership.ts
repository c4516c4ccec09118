import type { WantedFile } from './files.ts';

/** A function that returns the hash of a text as hexadecimal digits. */
export type HashText = (text: string) => string;

/** The change of one file; `before` is its present text, or null if it does not exist. */
export type FileChange =
  | {
      readonly kind: 'create' | 'extend' | 'shorten';
      readonly path: string;
      readonly before: string | null;
      readonly after: string;
    }
  | { readonly kind: 'delete'; readonly path: string; readonly before: string }
  | { readonly kind: 'same' | 'absent'; readonly path: string }
  /**
   * The file is left alone because it is not as init wrote it. `wanted` is init's text, or null if init would remove
   * the file.
   */
  | { readonly kind: 'left'; readonly path: string; readonly wanted: string | null };

const DIGITS = 16;
const MARK = /^(?:# |<!-- )Written by ralph init \(([0-9a-f]{16})\)[^\n]*\n?$/;
const BLOCK = /(?:^|\n)# Added by ralph init \([0-9a-f]{16}\)\r?\n/;
const BLOCKS = /(?:^|\r?\n)# Added by ralph init \(([0-9a-f]{16})\)\r?\n((?:[^\r\n#][^\n#]*\n)*)/g;

/** Returns the change that creates a file or appends missing lines to it; a `whole` file that exists is not changed. */
export function planFileWrite(wanted: WantedFile, before: string | null, digest: HashText): FileChange {
  const { path } = wanted;
  if (wanted.kind === 'lines') {
    const missing = missingLines(wanted.lines, before ?? '');
    if (missing.length === 0) return { kind: 'same', path };
    const after = withBlock(before ?? '', missing, digest);
    return { kind: before === null ? 'create' : 'extend', path, before, after };
  }
  const text = marked(wanted, digest);
  if (before === null) return { kind: 'create', path, before, after: text };
  return plain(before) === text ? { kind: 'same', path } : { kind: 'left', path, wanted: text };
}

/** Returns the change that removes what init wrote and nobody has changed. */
export function planFileRemoval(wanted: WantedFile, before: string | null, digest: HashText): FileChange {
  const { path } = wanted;
  if (before === null) return { kind: 'absent', path };
  if (wanted.kind === 'whole')
    return isAsWritten(before, digest) ? { kind: 'delete', path, before } : { kind: 'left', path, wanted: null };
  if (!BLOCK.test(before)) return { kind: 'absent', path };
  const after = before.replaceAll(BLOCKS, (block, hash: string, lines: string, at: number) => {
    const others = othersOf(lines, { hash, wanted: wanted.lines, digest });
    if (others === null) return block;
    // The line above the block may lack a line end, so one is added before the rest.
    return others !== '' && at > 0 && before[at - 1] !== '\n' ? `\n${others}` : others;
  });
  if (after === before) return { kind: 'left', path, wanted: null };
  return after === '' ? { kind: 'delete', path, before } : { kind: 'shorten', path, before, after };
}

/** Returns the lines of a block that init did not write, or null if people changed all of init's lines. */
function othersOf(
  block: string,
  { hash, wanted, digest }: { readonly hash: string; readonly wanted: readonly string[]; readonly digest: HashText },
): string | null {
  const lines = block.split(/(?<=\n)/);
  // People appended the lines after init's own. If they inserted lines, only lines that init would write now are
  // treated as its own.
  for (let own = lines.length; own > 0; own -= 1)
    if (digest(plain(lines.slice(0, own).join(''))).slice(0, DIGITS) === hash) return lines.slice(own).join('');
  const others = lines.filter((line) => !wanted.includes(line.trim()));
  return others.length === lines.length ? null : others.join('');
}

/** Returns true if a file ends with the mark of its own content. */
function isAsWritten(text: string, digest: HashText): boolean {
  const lines = plain(text);
  const start = lines.lastIndexOf('\n', lines.length - 2) + 1;
  const hash = MARK.exec(lines.slice(start))?.[1];
  return hash !== undefined && digest(lines.slice(0, start)).slice(0, DIGITS) === hash;
}

/** Returns true if a file ends with a mark of init, even if a person changed the text above it. */
export function hasInitMark(text: string): boolean {
  const lines = plain(text);
  return MARK.test(lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1));
}

function marked({ text, comment }: Extract<WantedFile, { kind: 'whole' }>, digest: HashText): string {
  const whole = text.endsWith('\n') ? text : `${text}\n`;
  const mark = `Written by ralph init (${digest(whole).slice(0, DIGITS)}); ralph init --remove deletes this file unless it was edited`;
  return `${whole}${comment === 'yaml' ? `# ${mark}` : `<!-- ${mark.replace('ralph init --remove', 'its option remove')} -->`}\n`;
}

/** Returns the lines that a file does not have yet, with or without slashes at their ends. */
function missingLines(lines: readonly string[], before: string): readonly string[] {
  const bare = (line: string): string => line.trim().replace(/^\/|\/$/g, '');
  const there = new Set(before.split('\n').map(bare));
  return lines.filter((line) => !there.has(bare(line)));
}

function withBlock(before: string, lines: readonly string[], digest: HashText): string {
  const body = lines.map((line) => `${line}\n`).join('');
  const block = `# Added by ralph init (${digest(body).slice(0, DIGITS)})\n${body}`;
  return before === '' ? block : `${before}\n${block}`;
}

/** Returns the text as git stores it, regardless of the line ends of the checkout. */
function plain(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
