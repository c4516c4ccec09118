import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, isAbsolute, sep } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createRedactor } from '../../../core/text/redact.ts';
import { cut } from '../../../core/text/cut.ts';

/** The end of a file that is written to; lines are clean: nothing in them steers a terminal. */
export interface LastLines {
  /** Its name. */
  readonly file: string;
  /** When it was written last, in ms. */
  readonly at: number;
  readonly lines: readonly string[];
}

const SHOWN_LINES = 20;
/** Read of the end; one line of an agent may be long. */
const MAX_BYTES = 64 * 1024;
const MAX_LINE_CHARS = 500;
/** Other Ralphs never remove a log: only the last names are looked at. */
const MAX_FILES = 300;
const TAB = '  ';

const redact = createRedactor([]);

/** The last lines of the newest file in a folder below `root`; null when there is none. Links are not followed, and pipes not waited for. */
export async function readLastLines(root: string, path: string): Promise<LastLines | null> {
  const folder = await folderInside(root, path);
  if (folder === null) return null;
  const names = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = names
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
  // The one log that another Ralph appends to comes last among its dated files.
  const found = await Promise.all(files.slice(-MAX_FILES).map((name) => ageOf(folder, name)));
  const [newest] = found.flatMap((file) => file ?? []).toSorted((a, b) => b.at - a.at);
  return newest === undefined ? null : readEnd(folder, newest.name);
}

async function ageOf(folder: string, name: string): Promise<{ readonly name: string; readonly at: number } | null> {
  const found = await stat(join(folder, name)).catch(() => null);
  return found === null ? null : { name, at: found.mtimeMs };
}

async function readEnd(folder: string, name: string): Promise<LastLines | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(folder, name), flags).catch(() => null);
  if (file === null) return null;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return null;
    const start = Math.max(0, stats.size - MAX_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(stats.size, MAX_BYTES)), 0, null, start);
    const text = buffer.toString('utf8', 0, bytesRead);
    // The first line may lack its beginning, unless it is all that there is.
    const whole = start === 0 || !text.includes('\n') ? text : text.slice(text.indexOf('\n') + 1);
    return { file: name, at: stats.mtimeMs, lines: cleanLines(whole) };
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** The last lines of an output, as a terminal may show them: what was overwritten in place, or says nothing, is left out. */
export function cleanLines(text: string): readonly string[] {
  return redact(stripVTControlCharacters(text))
    .split(/\r?\n/)
    .map(cleanLine)
    .filter((line) => line.trim() !== '')
    .slice(-SHOWN_LINES);
}

function cleanLine(line: string): string {
  const shown = line.slice(line.trimEnd().lastIndexOf('\r') + 1);
  return cut(
    shown
      .toWellFormed()
      .replaceAll('\t', TAB)
      .replace(/[\p{Zl}\p{Zp}]/gu, ' ')
      .replace(/[\p{Cc}\p{Cf}]/gu, ''),
    MAX_LINE_CHARS,
  ).trimEnd();
}

/** Where a folder really is; null when it is none, or leads out of `root`. */
async function folderInside(root: string, path: string): Promise<string | null> {
  try {
    const [from, to] = await Promise.all([realpath(root), realpath(join(root, path))]);
    const way = relative(from, to);
    return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? null : to;
  } catch {
    return null;
  }
}
