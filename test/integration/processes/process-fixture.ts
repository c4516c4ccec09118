import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parseStat } from '../../../src/processes/process-tree.ts';

/** Returns the ids of the running processes that carry `runTag`. */
export function processesWith(runTag: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isRunning(pid) && read(`/proc/${pid}/environ`).includes(runTag));
}

/** True if a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && parseStat(read(`/proc/${pid}/stat`)) !== null;
}

/** Returns the command line of a process with a space after each word, or an empty string if the process is gone. */
export function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
