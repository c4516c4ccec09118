import { readdirSync, readFileSync } from 'node:fs';
import { oneLine } from '../../core/text/one-line.ts';

/** A process of a user; `name` is what it calls itself. */
export interface UserProcess {
  readonly pid: number;
  readonly name: string;
}

/** The processes of a user, in whatever namespace below ours. Those that have ended and wait to be collected are none. */
export function processesOf(uid: number): readonly UserProcess[] {
  const seen = lookFor(uid);
  // A single look may miss a child whose parent ended while we looked.
  return seen.length > 0 ? seen : lookFor(uid);
}

function lookFor(uid: number): readonly UserProcess[] {
  return readdirSync('/proc').flatMap((pid) => {
    const status = /^\d+$/.test(pid) ? readStatus(pid) : '';
    const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, state = 'Z'] = /^State:\t(\w)/m.exec(status) ?? [];
    // Real, effective, saved and of the file system: the owner of the folder would be root's where a process hides its memory.
    const [, uids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
    const isOurs = uids.split('\t').includes(String(uid)) && !/[ZX]/.test(state);
    return isOurs ? [{ pid: Number(pid), name: oneLine(name, 30) }] : [];
  });
}

function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // It has ended in the meantime.
    return '';
  }
}
