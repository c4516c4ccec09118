import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { agentSandboxRecord, type AgentSandboxRecord, type RunProcess } from '../../core/isolation/sandbox-record.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { startOfProcess } from '../probe-attempts.ts';

const FILE = 'sandbox-record.json';
/** File names of the record; the last one is from earlier versions. */
const FILES = [FILE, 'room.json'] as const;

/** The place of a sandbox's record: the run's own folder, which the sandbox's user cannot reach. */
export interface RecordPlace {
  readonly runFolder: string;
}

/**
 * Writes the record before the things that it names are created, so that a kill at any instant leaves nothing
 * unrecorded. The sandbox gets a copy for other runs.
 */
export function writeAgentSandboxRecord({ runFolder }: RecordPlace, record: AgentSandboxRecord): void {
  writeRecordFile(runFolder, FILE, record);
  writeSandboxCopy(record);
}

/** Writes only the copy in the sandbox, for other runs. */
export function writeSandboxCopy(record: AgentSandboxRecord): void {
  if (existsSync(record.folder)) writeRecordFile(record.folder, FILE, record);
}

/** Writes a record whole or not at all. */
export function writeRecordFile(folder: string, name: string, record: object): void {
  const next = join(folder, `${name}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(folder, name));
}

/** Reads a record; returns null if none, or it is unreadable. */
export function readRecordFile<T>(
  path: string,
  schema: { readonly safeParse: (json: unknown) => { readonly data?: T | undefined } },
): T | null {
  try {
    return schema.safeParse(tryJson(readFileSync(path, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Returns the path of the record in a folder; if none, the path of a new one. */
function recordPathIn(folder: string): string {
  return FILES.map((name) => join(folder, name)).find((path) => existsSync(path)) ?? join(folder, FILE);
}

/** Reads the record of the run's sandbox; returns null if there is no sandbox or the record is unreadable. */
export function readAgentSandboxRecord({ runFolder }: RecordPlace): AgentSandboxRecord | null {
  return readRecordFile(recordPathIn(runFolder), agentSandboxRecord);
}

/** Deletes the record of the agent's sandbox, if there is one. */
export function removeAgentSandboxRecord({ runFolder }: RecordPlace): void {
  for (const name of FILES) rmSync(join(runFolder, name), { force: true });
}

/** Returns true if the run has a sandbox, including a sandbox made without root. */
export function hasSandboxRecord({ runFolder }: RecordPlace): boolean {
  return [...FILES, 'sandbox.json'].some((name) => existsSync(join(runFolder, name)));
}

/** A sandbox on this machine, according to its copy of the record; `changedAt` is in ms since 1970. */
export interface KnownSandbox {
  readonly record: AgentSandboxRecord;
  readonly changedAt: number;
}

/** Returns the sandboxes that runs of this user made; files of other users are ignored. */
export function listAgentSandboxes(agentSandboxes: string, owner: number): readonly KnownSandbox[] {
  return readdirSync(agentSandboxes, { withFileTypes: true }).flatMap((entry) => {
    const folder = join(agentSandboxes, entry.name);
    if (!entry.isDirectory() || lstatSync(folder, { throwIfNoEntry: false })?.uid !== owner) return [];
    try {
      const copy = lstatSync(recordPathIn(folder));
      const record = copy.isFile() && copy.uid === owner ? readAgentSandboxRecord({ runFolder: folder }) : null;
      return record?.folder === folder ? [{ record, changedAt: copy.mtimeMs }] : [];
    } catch {
      // Ignore a folder that is not a sandbox that a run left.
      return [];
    }
  });
}

/**
 * Returns the data by which other runs can check whether this process lives, or null if this machine does not show it.
 */
function thisProcess(): RunProcess | null {
  const started = startOfProcess('self');
  const place = placeOfProcesses();
  if (started === null || place === null) return null;
  const startedParent = startOfProcess(process.ppid);
  const parent = startedParent === null ? null : { pid: process.ppid, started: startedParent };
  return { pid: process.pid, started, ...place, parent };
}

/** Returns the record of a sandbox before anything but its folder is known. */
export function createPlannedRecord(runFolder: string, folder: string): AgentSandboxRecord {
  const own = thisProcess();
  return {
    ...{
      version: 2,
      uid: null,
      folder,
      run: own === null ? null : { folder: runFolder, process: own },
      isLeaving: false,
    },
    ...{ userName: '', given: [], opened: [], closed: [] },
  };
}

/** Returns the process namespace and the boot to which this process belongs, or null if they are unknown. */
export function placeOfProcesses(): Pick<RunProcess, 'namespace' | 'boot'> | null {
  try {
    return {
      namespace: readlinkSync('/proc/self/ns/pid'),
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    };
  } catch {
    return null;
  }
}
