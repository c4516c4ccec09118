import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toRootPath } from '../core/folder.ts';
import { selectFilesToDelete } from '../core/local/committed-files.ts';
import { formatLogInstant } from '../core/local/status-document.ts';
import { isLaneId } from '../core/tasks/ids.ts';
import { toTerminalLine } from '../core/text/phrase.ts';
import { getErrorMessage } from '../errors.ts';
import type { Log, Tone } from '../ports/machine.ts';
import { openOwnFolder, type OwnFolder, type WorkedFolder } from './own-folder.ts';

/** The log files in the folder that the run works for: `ralph.log` with all lines, and one file for each iteration. */
interface LogFiles {
  readonly line: (level: 'INFO' | 'WARN' | 'ERROR' | 'LOOP', text: string) => void;
  /** Begins a file for the iteration, to which lines are written in addition to `ralph.log`. */
  readonly iterationBegins: () => void;
  readonly iterationEnds: () => void;
}

const LOG = 'ralph.log';

const MAX_LOG_BYTES = 5 * 1024 * 1024;

/** Maximum size of an iteration's file; the agent's own transcript has the rest of its output. */
const MAX_ITERATION_BYTES = 2 * 1024 * 1024;

const KEPT = { most: 50, mostBytes: 20 * 1024 * 1024 };

/** Maximum number of folders that are kept; more than the number of lanes of a run. */
const MAX_LANE_FOLDERS = 20;

const ITERATION = /^iteration_\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}_\d{3}\.log$/;

/**
 * Creates the log files of the folder that the run works for. `warn` gets one line for each part that cannot be
 * written.
 */
export function createLogFiles(
  place: WorkedFolder,
  options: { readonly logs: readonly string[]; readonly now: () => number; readonly warn: (text: string) => void },
): LogFiles {
  const { logs, now, warn } = options;
  let folder: OwnFolder | null = null;
  /** The parts that can no longer be written. Each is reported once; the others are still written. */
  const unusable = new Set<'folder' | 'log' | 'iteration'>();
  let iteration: { readonly name: string; isFull: boolean } | null = null;
  let count = 0;

  function attempt(part: 'log' | 'iteration', act: (to: OwnFolder) => void): void {
    if (unusable.has('folder') || unusable.has(part)) return;
    try {
      folder ??= openOwnFolder(place, logs, { hides: true });
      act(folder);
    } catch (error) {
      unusable.add(folder === null ? 'folder' : part);
      warn(`The log is not kept in ${toRootPath(place.folder, logs.join('/'))}: ${getErrorMessage(error)}.`);
    }
  }

  return {
    line: (level, text) => {
      const lines = text
        .split('\n')
        .map((line) => `[${formatLogInstant(now())}] [${level}] ${line}\n`)
        .join('');
      attempt('log', (to) => {
        if (to.append(LOG, lines) > MAX_LOG_BYTES) to.rename(LOG, `${LOG}.1`);
      });
      attempt('iteration', (to) => {
        if (iteration === null || iteration.isFull) return;
        iteration.isFull = to.append(iteration.name, lines) > MAX_ITERATION_BYTES;
      });
    },
    iterationBegins: () => {
      count += 1;
      const stamp = formatLogInstant(now()).replace(' ', '_').replaceAll(':', '-');
      iteration = { name: `iteration_${stamp}_${String(count % 1000).padStart(3, '0')}.log`, isFull: false };
      attempt('iteration', deleteOldIterationFiles);
      attempt('iteration', deleteOldLaneFolders);
    },
    iterationEnds: () => {
      iteration = null;
    },
  };
}

/** Deletes the oldest iteration files; never deletes files with other names. */
function deleteOldIterationFiles({ path }: OwnFolder): void {
  const files = readdirSync(path).flatMap((name) => {
    const found = ITERATION.test(name) ? lstatSync(join(path, name), { throwIfNoEntry: false }) : undefined;
    return found?.isFile() === true ? [{ name, bytes: found.size }] : [];
  });
  for (const name of selectFilesToDelete(files, { ...KEPT, most: KEPT.most - 1 }))
    rmSync(join(path, name), { force: true });
}

/** Deletes the oldest folders of lanes that were worked on in parallel with another one. */
function deleteOldLaneFolders({ path }: OwnFolder): void {
  const folders = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isLaneId(entry.name))
    .map(({ name }) => ({ folder: join(path, name), at: lstatSync(join(path, name)).mtimeMs }))
    .toSorted((one, other) => other.at - one.at);
  for (const { folder } of folders.slice(MAX_LANE_FOLDERS)) rmSync(folder, { recursive: true, force: true });
}

/** Creates a log for a person's terminal, without workflow commands and without characters that control a terminal. */
export function createTerminalLog(options: {
  readonly redact: (text: string) => string;
  readonly print: (text: string) => void;
  readonly files: Pick<LogFiles, 'line' | 'iterationBegins' | 'iterationEnds'>;
  /** Receives each line that is logged within an iteration. */
  readonly lineLogged: (line: string) => void;
  readonly colours: boolean;
}): Log {
  const { redact, print, files, lineLogged, colours } = options;
  let isInGroup = false;
  const painted = (code: string, text: string): string => (colours ? `\u001B[${code}m${text}\u001B[0m` : text);
  const say = (level: Parameters<LogFiles['line']>[0], text: string, show: (line: string) => string): void => {
    const lines = redact(text)
      .split(/\r\n|[\r\n\u2028\u2029]/)
      .map((line) => `${/^ */.exec(line)?.[0] ?? ''}${toTerminalLine(line, MAX_LINE_CHARS)}`);
    for (const line of lines) print(`${isInGroup ? '  ' : ''}${show(line)}\n`);
    files.line(level, lines.join('\n'));
  };
  return {
    info: (text, tone) => {
      if (isInGroup) lineLogged(toTerminalLine(redact(text), 200));
      say('INFO', text, (line) => (tone === undefined ? line : painted(TONES[tone], line)));
    },
    warning: (text) => {
      say('WARN', text, (line) => painted('33', `! ${line}`));
    },
    error: (text) => {
      say('ERROR', text, (line) => painted('31', `✗ ${line}`));
    },
    group: async (title, body) => {
      if (isInGroup) return body();
      files.iterationBegins();
      print('\n');
      say('LOOP', title, (line) => painted('1', `▶ ${line}`));
      isInGroup = true;
      try {
        return await body();
      } finally {
        isInGroup = false;
        files.iterationEnds();
      }
    },
  };
}

const MAX_LINE_CHARS = 2_000;

/** SGR codes by tone: a verdict has a colour and is bold, an agent's words are dim. */
const TONES: Readonly<Record<Tone, string>> = { good: '1;32', bad: '1;31', heading: '1', words: '2' };
