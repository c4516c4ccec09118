import { readdirSync, readFileSync } from 'node:fs';

/** One line of the process table. `startedAt` (clock ticks since boot) tells a process from a later one with its id. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
  readonly tagged: boolean;
}

/** What one look at the process table saw. */
export interface ProcessTable {
  readonly entries: readonly ProcessEntry[];
  /** A process is between two programs: for a moment its environment, and so its tag, cannot be read. */
  readonly isUnsure: boolean;
}

/** PF_KTHREAD of Linux: the kernel's own, without an environment. */
const KERNEL_THREAD = 0x0020_0000;

/** Reads Linux's process table; `tag` (`NAME=value`) marks whoever has it in its environment. */
export function readProcessTable(tag: string | null): ProcessTable {
  const wanted = Buffer.from(`${tag}\0`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const seen = pids.flatMap((pid) => {
    const stat = parseStat(read(pid, 'stat'));
    if (stat === null) return [];
    const environment = tag === null ? null : read(pid, 'environ');
    return [
      {
        entry: { ...stat, tagged: environment?.includes(wanted) === true },
        // Its line is read once more: what was another program's would answer for the one that begins.
        isUnsure: environment?.length === 0 && isBetweenPrograms(String(read(pid, 'stat') ?? '')),
      },
    ];
  });
  return { entries: seen.map(({ entry }) => entry), isUnsure: seen.some(({ isUnsure }) => isUnsure) };
}

/** Reads `/proc/<pid>/stat`; null for a process that is gone or a zombie, which nothing can end. */
export function parseStat(line: Buffer | string | null): Omit<ProcessEntry, 'tagged'> | null {
  const [pid, fields] = fieldsOf(line);
  const [state, parent, group] = fields;
  const startedAt = fields[19];
  if (
    state === undefined ||
    parent === undefined ||
    group === undefined ||
    startedAt === undefined ||
    /^[ZX]$/.test(state)
  )
    return null;
  return { pid, parent: Number(parent), group: Number(group), startedAt };
}

/** Whether a process whose environment is read as empty has one that is not there yet, by its `/proc/<pid>/stat`. */
export function isBetweenPrograms(line: string): boolean {
  const [, fields] = fieldsOf(line);
  const [flags, begin, end] = [fields[6], fields[47], fields[48]];
  if (parseStat(line) === null || flags === undefined || end === undefined) return false;
  // One that was started with none (`env -i`) has a place for it, of no length.
  return (Number(flags) & KERNEL_THREAD) === 0 && (end === '0' || begin !== end);
}

/** The second field is the program's name in brackets; it may hold brackets and blanks itself. */
function fieldsOf(line: Buffer | string | null): [pid: number, fieldsFromState: readonly string[]] {
  const text = String(line ?? '');
  return [Number.parseInt(text, 10), text.slice(text.lastIndexOf(')') + 2).split(' ')];
}

/** null for a process that is gone or belongs to somebody else. */
function read(pid: string, file: 'stat' | 'environ'): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return null;
  }
}
