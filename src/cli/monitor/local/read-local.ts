import { constants } from 'node:fs';
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { parseFoundStatus, parseOtherCircuit, parseProgress } from '../../../core/local/status-document.ts';
import { cut } from '../../../core/text/phrase.ts';
import { createRedactor, mapTexts } from '../../../core/text/redact.ts';
import { plainLine } from '../../arguments.ts';
import { readLane, type StatePlace } from '../../lane/read-lane.ts';
import { readCheckoutFile } from '../../command.ts';
import { laneOfLocalRun, type LocalPicture } from '../monitor-schema.ts';
import type { LastRun } from '../terminal-world.ts';

/** Where a local run leaves its files: in `.ralph/`, or, as the first Ralphs did, beside the prompt. */
export interface LocalFolder {
  /** Absolute. */
  readonly folder: string;
  /** `.ralph/`, or nothing. */
  readonly prefix: string;
  /** Whether what `.ralph/state` at the top keeps may be this run's; `readLocal` looks closer. */
  readonly isLast: boolean;
}

/** The end of a file that is written to; lines are clean: nothing in them steers a terminal. */
interface LastLines {
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

const MAX_TEXT_CHARS = 300;

/** What a look needs. `last`: the checkout's last run; `place`: the directory that keeps the lanes, if there is one. */
interface LocalWorld {
  readonly where: LocalFolder;
  readonly last: LastRun | null;
  readonly place: StatePlace | null;
  readonly isAlive: (pid: number) => boolean;
}

/** The local run as its files tell it. Every text in it is one clean line. Never throws on what the files contain. */
export async function readLocal({ where, last, place, isAlive }: LocalWorld, now: number): Promise<LocalPicture> {
  const { folder, prefix } = where;
  const [run, progress, output] = await Promise.all([
    readRun(where, isAlive),
    readCheckoutFile(folder, `${prefix}progress.json`),
    readLastLines(folder, `${prefix}logs`),
  ]);
  const lane = laneOfLocalRun(run);
  const state = place === null || !keepsStateOf(run, where, last) ? null : await readLane(lane, [place], now);
  const picture: LocalPicture = {
    folder,
    run,
    agent: progress.kind === 'text' ? parseProgress(progress.text) : null,
    output: null,
    state,
  };
  return {
    ...mapTexts(picture, (text) => plainLine(text, MAX_TEXT_CHARS)),
    output:
      output === null
        ? null
        : { file: plainLine(output.file), at: new Date(output.at).toISOString(), lines: output.lines },
  };
}

/** Whether the state of the checkout is that of the run whose files are shown: it has one, which is its last run's. */
function keepsStateOf(run: LocalPicture['run'], { isLast }: LocalFolder, last: LastRun | null): boolean {
  switch (run.kind) {
    case 'ours':
      return last === null
        ? isLast
        : last.pid === run.status.pid && last.startedAt === Date.parse(run.status.startedAt);
    case 'other':
      return false;
    default:
      return isLast;
  }
}

async function readRun({ folder, prefix }: LocalFolder, isAlive: LocalWorld['isAlive']): Promise<LocalPicture['run']> {
  const name = `${prefix}status.json`;
  const file = await readCheckoutFile(folder, name);
  if (file.kind === 'absent') return { kind: 'none' };
  if (file.kind === 'refused') return { kind: 'unreadable', why: `\`${name}\` ${file.why}.` };
  const found = parseFoundStatus(file.text);
  switch (found.kind) {
    case 'ours':
      return { kind: 'ours', status: found.run, isAlive: isAlive(found.run.pid) };
    case 'other': {
      const circuit = await readCheckoutFile(folder, `${prefix}.circuit_breaker_state`);
      return {
        kind: 'other',
        status: found.run,
        circuit: circuit.kind === 'text' ? parseOtherCircuit(circuit.text) : null,
      };
    }
    case 'unreadable':
      return { kind: 'unreadable', why: `\`${name}\` ${found.why}.` };
  }
}

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

/**
 * The one folder whose run is watched from `folder`: the nearest one, up to `top`, in which a run has left its files. What
 * reaches the top finds the checkout's last run, which may work for any folder, or the run of another Ralph at the top:
 * the one that wrote its status last. All paths are absolute, and without links.
 */
export async function findLocalFolder(
  folder: string,
  { top, last }: { readonly top: string; readonly last: LastRun | null },
): Promise<LocalFolder> {
  const lastFolder = last === null ? null : await realFolder(top, last.folder);
  const isLast = (at: string): boolean => (lastFolder ?? top) === at;
  let withRalph: string | null = null;
  for (let at = folder; ; at = dirname(at)) {
    const isTop = at === top || dirname(at) === at;
    const prefix = await prefixIn(at);
    const here = prefix === null ? [] : [{ folder: at, prefix, isLast: isLast(at) }];
    if (!isTop && here[0] !== undefined) return here[0];
    if (await isFolder(join(at, '.ralph'))) withRalph ??= at;
    if (!isTop) continue;
    const elsewhere =
      lastFolder === null || lastFolder === at || (await prefixIn(lastFolder)) !== '.ralph/'
        ? []
        : [{ folder: lastFolder, prefix: '.ralph/', isLast: true }];
    // Where no run has left anything, the state is all there is.
    return (await newest([...elsewhere, ...here])) ?? { folder: withRalph ?? folder, prefix: '.ralph/', isLast: true };
  }
}

/** Where in a folder a run has left its files; null: none has. */
async function prefixIn(folder: string): Promise<string | null> {
  for (const name of ['status.json', 'progress.json', 'logs'])
    if ((await lstat(join(folder, '.ralph', name)).catch(() => null)) !== null) return '.ralph/';
  return (await saysLoop(folder)) ? '' : null;
}

/** Whether a `status.json` that could be anybody's is that of a Ralph. */
async function saysLoop(folder: string): Promise<boolean> {
  const file = await readCheckoutFile(folder, 'status.json');
  if (file.kind !== 'text') return false;
  const found = parseFoundStatus(file.text);
  return found.kind === 'other' && found.run.iteration !== null;
}

/** The first of those that were written at the same time. */
async function newest(places: readonly LocalFolder[]): Promise<LocalFolder | null> {
  const written = places.map(async (place) => ({
    place,
    at: (await lstat(join(place.folder, `${place.prefix}status.json`)).catch(() => null))?.mtimeMs ?? 0,
  }));
  return (await Promise.all(written)).toSorted((a, b) => b.at - a.at)[0]?.place ?? null;
}

/** A folder of the checkout by a path that a file gives; null: there is none, or a link is on the way. */
async function realFolder(top: string, path: string): Promise<string | null> {
  const wanted = join(top, path);
  const real = await realpath(wanted).catch(() => null);
  return real === wanted && `${wanted}/`.startsWith(`${top}/`) && (await isFolder(wanted)) ? wanted : null;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
