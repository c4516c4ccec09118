import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parseStat } from '../../../src/processes/process-tree.ts';

/** Ids of the running processes that carry `runTag`. */
export function processesWith(runTag: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isRunning(pid) && read(`/proc/${pid}/environ`).includes(runTag));
}

/** Zombies do not run. */
export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && parseStat(read(`/proc/${pid}/stat`)) !== null;
}

/** The command line of a process with a blank behind each word; empty for one that is gone. */
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
