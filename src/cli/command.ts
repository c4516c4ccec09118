import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';

export interface ListedCommand {
  readonly name: string;
  readonly summary: string;
  /** The section of the list: `daily` work, or a look `inside` a run. */
  readonly use: 'daily' | 'inside';
}

/** All commands in the order of the list, without their code, so that the list can be printed without loading it. */
export const COMMAND_LIST = {
  init: { name: 'init', summary: 'sets a repository up: workflow, commands, issue form', use: 'daily' },
  status: {
    name: 'status',
    summary: 'shows the state of the queue or an issue, with --all of all branches',
    use: 'daily',
  },
  history: { name: 'history', summary: 'shows what became of pull requests, and what their tasks cost', use: 'daily' },
  monitor: { name: 'monitor', summary: 'follows the local run, or all branches, on the whole screen', use: 'daily' },
  doctor: { name: 'doctor', summary: 'lists what would stop a run, and says how to fix it', use: 'daily' },
  sandbox: {
    name: 'sandbox',
    summary: 'tries your workflow on this machine: no account, no key, no cost',
    use: 'daily',
  },
  run: { name: 'run', summary: 'works on the tasks of a checkout on this machine, within limits', use: 'daily' },
  tasks: { name: 'tasks', summary: 'lists the tasks of a checkout, and with a token those on GitHub', use: 'daily' },
  add: { name: 'add', summary: 'adds a task to the plan or to prd.json', use: 'daily' },
  import: {
    name: 'import',
    summary: 'adds tasks from a document, or issues, to the plan or to prd.json',
    use: 'daily',
  },
  pause: { name: 'pause', summary: 'pauses the queue, or an issue, until it is resumed', use: 'daily' },
  resume: { name: 'resume', summary: 'ends the pause', use: 'daily' },
  stop: { name: 'stop', summary: 'pauses, and ends a run of one job after its current iteration', use: 'daily' },
  retry: { name: 'retry', summary: 'gives failed and blocked tasks all their attempts again', use: 'daily' },
  reset: { name: 'reset', summary: 'closes the circuit, or starts a new conversation with the agent', use: 'daily' },
  receipt: { name: 'receipt', summary: 'prints what is recorded of a run or of a pull request', use: 'inside' },
  verify: { name: 'verify', summary: 'checks a pull request against its receipts, offline in a clone', use: 'inside' },
  replay: { name: 'replay', summary: 'repeats the decisions of a recorded run', use: 'inside' },
  tune: { name: 'tune', summary: 'says what other limits would have saved or lost', use: 'inside' },
  analyze: { name: 'analyze', summary: 'shows what the loop reads from one output of an agent', use: 'inside' },
  clean: { name: 'clean', summary: 'shows the text of a task as the prompt contains it', use: 'inside' },
} as const satisfies Readonly<Record<string, ListedCommand>>;

/** A command's access to its terminal. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  out(text: string): void;
  error(text: string): void;
  now(): number;
}

/**
 * The end of a command. `different`: it did its work and found differences or problems. `failed`: it could not do its
 * work. `partly`: it could do only part of its work, and found no differences or problems there.
 */
export type CommandEnd = 'done' | 'different' | 'failed' | 'partly';

export interface CliCommand extends ListedCommand {
  /** The whole text of `--help`. */
  readonly help: string;
  /** Runs the command; throws a UsageError for wrong arguments. */
  run(args: readonly string[], terminal: Terminal): Promise<CommandEnd>;
}

/** An error that lists all problems of the arguments. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly problems: readonly string[];
  /** The hint that is printed after the problems; `none` if the help would not explain more. */
  readonly hint: 'help' | 'none';

  constructor(problems: readonly string[], hint: 'help' | 'none' = 'help') {
    super(problems.join('\n'));
    this.problems = problems;
    this.hint = hint;
  }
}

const CHUNK_BYTES = 1024 * 1024;

/** The bytes of an input, or the reason why it cannot be read. */
type Input =
  | { readonly kind: 'bytes'; readonly bytes: AsyncIterable<Uint8Array> }
  | { readonly kind: 'missing'; readonly why: string };

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no space left',
};

/** A text file of a checkout; `realPath` contains no links. */
export type CheckoutFile =
  | { readonly kind: 'text'; readonly text: string; readonly realPath: string }
  | { readonly kind: 'absent'; readonly realPath: string }
  | RefusedFile;

/**
 * A file that was refused. `why` continues a sentence that begins with the file's name: `is not a file`. `line` starts
 * at 1; a null `line` means the whole file.
 */
interface RefusedFile {
  readonly kind: 'refused';
  readonly line: number | null;
  readonly why: string;
}

/** Maximum size of a file; a run does not read longer ones either. */
const MAX_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;

/** Opens a named file, or stdin for `-`. */
export async function openInput(name: string, terminal: Terminal): Promise<Input> {
  if (name === '-') return { kind: 'bytes', bytes: terminal.stdin };
  try {
    const file = await open(name);
    if ((await file.stat()).isDirectory()) {
      await file.close();
      return { kind: 'missing', why: `${JSON.stringify(name)} is a folder, not a file.` };
    }
    return { kind: 'bytes', bytes: file.createReadStream({ highWaterMark: CHUNK_BYTES }) };
  } catch (error) {
    return { kind: 'missing', why: `${JSON.stringify(name)} cannot be read: ${describeSystemError(error)}.` };
  }
}

/** Reads a whole input as UTF-8. `why` continues a sentence that begins with the input's name: `is not UTF-8 text`. */
export async function readWholeText(
  input: AsyncIterable<Uint8Array>,
): Promise<{ readonly kind: 'text'; readonly text: string } | { readonly kind: 'unusable'; readonly why: string }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return { kind: 'unusable', why: 'is larger than 1 MiB: split it' };
  }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)) };
  } catch {
    return { kind: 'unusable', why: 'is not UTF-8 text' };
  }
}

/** Returns the reason why the system refused a file, as a part of a sentence. */
export function describeSystemError(error: unknown): string {
  return reasons[(error as NodeJS.ErrnoException | null)?.code ?? ''] ?? String(error);
}

/**
 * Reads a file below `folder`. Refuses a link that leads outside, and a file that is not text, because writing it back
 * would damage it.
 */
export async function readCheckoutFile(folder: string, path: string): Promise<CheckoutFile> {
  try {
    const root = await realpath(folder);
    const realPath = await realPathOf(join(root, path));
    if (!isInside(root, realPath)) return refused(`leads out of the checkout, to ${JSON.stringify(realPath)}`);
    const stats = await stat(realPath).catch(nullIfMissing);
    if (stats === null) return { kind: 'absent', realPath };
    if (!stats.isFile()) return refused('is not a file');
    if (stats.size > MAX_BYTES) return refused('is larger than 1 MiB, so no run reads it');
    return decodeFile(await readFile(realPath), realPath);
  } catch (error) {
    return refused(`cannot be read: ${describeSystemError(error)}`);
  }
}

/**
 * Writes a file that was read before, completely or not at all, and keeps its mode. Returns null, or the reason why it
 * was not written. A file that has been changed since is not overwritten.
 */
export async function writeCheckoutFile(
  file: Exclude<CheckoutFile, { kind: 'refused' }>,
  text: string,
): Promise<string | null> {
  const beside = join(dirname(file.realPath), `.${basename(file.realPath)}.${randomUUID()}.new`);
  try {
    await mkdir(dirname(file.realPath), { recursive: true });
    const mode = (await stat(file.realPath).catch(nullIfMissing))?.mode;
    const handle = await open(beside, 'wx', mode === undefined ? 0o644 : mode & 0o777);
    try {
      // The umask has reduced the mode that was given on opening, so set it again.
      if (mode !== undefined) await handle.chmod(mode & 0o777);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const now = await readFile(file.realPath, 'utf8').catch(nullIfMissing);
    if (now !== (file.kind === 'text' ? file.text : null)) return 'it was changed in the meantime: try again';
    await rename(beside, file.realPath);
    return null;
  } catch (error) {
    return describeSystemError(error);
  } finally {
    await rm(beside, { force: true });
  }
}

/** Returns the real path of a file whose last folders may not exist yet; throws for a link to a missing target. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    nullIfMissing(error);
    if ((await lstat(path).catch(nullIfMissing)) !== null) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}

function isInside(root: string, realPath: string): boolean {
  const path = relative(root, realPath);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** Returns null if the error means that the file does not exist; throws any other error. */
function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return null;
}

/**
 * Decodes the bytes of a file. Refuses NUL bytes, even in decodable text (UTF-16), because no run reads such a file.
 */
function decodeFile(bytes: Uint8Array, realPath: string): CheckoutFile {
  const nul = bytes.indexOf(0);
  if (nul !== -1)
    return refused(
      'contains NUL bytes, so no run reads it: remove them, or save it as UTF-8',
      bytes.subarray(0, nul).filter((byte) => byte === LINE_FEED).length + 1,
    );
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), realPath };
  } catch {
    return refused('is not UTF-8 text: save it as UTF-8');
  }
}

function refused(why: string, line: number | null = null): RefusedFile {
  return { kind: 'refused', line, why };
}
