import { z } from 'zod';
import { DAY_MS } from '../countdown.ts';
import { listFirstNames } from '../text/phrase.ts';

/** A record of a sandbox created without root. The process that ends the run must end and remove everything in it. */
export const rootlessRecord = z.strictObject({
  version: z.literal(1),
  /** The id that marks the processes that keep the sandbox alive, see isolation/rootless/remove.ts. */
  id: z.uuid(),
  /** Folder of the sandbox. This program chose its name; earlier versions called a sandbox a room. */
  folder: z
    .string()
    .regex(/^(?:\/(?!\.\.?\/)[^/\0]+)+\/ralph-(?:sandbox|room)-[\da-f]{8}$/)
    .max(4096),
});

/** The type of `rootlessRecord`. */
export type RootlessRecord = z.infer<typeof rootlessRecord>;

/** Remains of a sandbox that could not be removed, in words for people. */
export interface SandboxRemains {
  readonly processes: readonly string[];
  /** Files and settings that remain, each with the command that removes it. */
  readonly leftovers: readonly string[];
}

/** Remains of a sandbox that was removed completely. */
export const NO_REMAINS: SandboxRemains = { processes: [], leftovers: [] };

const id = z.number().int().nonnegative();

const path = z.string().startsWith('/').max(4096);

const word = z.string().min(1).max(100);

/** User ids that systemd's assignment of user and group ids leaves free. */
export const SANDBOX_UIDS = { first: 60_706, last: 61_183 } as const;

const sandboxUid = id.min(SANDBOX_UIDS.first).max(SANDBOX_UIDS.last);

/** Identifies the process of a run uniquely, even after this machine restarts. */
const runProcess = z.strictObject({
  pid: id,
  /** Start time in clock ticks since the machine started. */
  started: word,
  /** The PID namespace of the process. */
  namespace: word,
  /** Id of the machine's boot. */
  boot: word,
  /** The process that started the run and continues with its post step; null if not known. */
  parent: z.strictObject({ pid: id, started: word }).nullable().default(null),
});

const parts = {
  /** Folder of the sandbox, which is removed with everything in it. */
  folder: path.regex(/\/ralph-(?:sandbox|room)-[A-Za-z0-9]{8}$/),
  /** The sandbox user's name in the machine's user list; empty if the user has no entry. */
  userName: z.string().regex(/^(ralph-\d+)?$/),
  /**
   * Paths that belong, or may belong, to the sandbox's user, with their former owner (on some runners not the current
   * user). `all`: everything inside had the same owner.
   */
  given: z.array(z.strictObject({ path, uid: id, gid: id, all: z.literal(true).optional() })).max(20),
  /** Folders of the runner that were open to others, with their former permissions. */
  closed: z.array(z.strictObject({ path, mode: z.number().int().min(0).max(0o7777) })).max(10),
};

const current = z.strictObject({
  version: z.literal(2),
  ...parts,
  /** The sandbox's user id, reserved against other sandboxes; null if none was reserved or it is unknown. */
  uid: sandboxUid.nullable(),
  /** Folders that were opened to the sandbox's user; `isPlain`: the folder had no access list before. */
  opened: z.array(z.strictObject({ path, isPlain: z.boolean() })).max(100),
  /** The run's folder and process; null if not known. */
  run: z.strictObject({ folder: path, process: runProcess }).nullable(),
  /** True while `closed` folders are being opened again. */
  isLeaving: z.boolean(),
});

/** A record in version 1, whose user id is reserved without a link. */
const first = z
  .strictObject({ version: z.literal(1), ...parts, uid: sandboxUid, opened: z.array(path).max(100) })
  .transform(({ opened, ...record }): z.infer<typeof current> => ({
    ...record,
    version: 2,
    opened: opened.map((folder) => ({ path: folder, isPlain: false })),
    run: null,
    isLeaving: false,
  }));

/** A record of a sandbox. The process that ends the run must remove and give back everything in it. */
export const agentSandboxRecord = z.union([current, first]);

/** The type of `agentSandboxRecord`. */
export type AgentSandboxRecord = z.infer<typeof agentSandboxRecord>;

export type RunProcess = z.infer<typeof runProcess>;

/** Maximum age of a sandbox, longer than any job whose post step can still clean up. */
const KEPT_MS = DAY_MS;

/**
 * Returns true if nobody will remove a sandbox: its run and the process that started the run are gone, the machine
 * restarted, or its record is too old or gone with the run's folder. `started` returns the start time of a process, or
 * null if none; `boot` and `namespace` belong to the current process.
 */
export function isAbandoned(
  { run }: AgentSandboxRecord,
  seen: Pick<RunProcess, 'namespace' | 'boot'> & {
    readonly started: (pid: number) => string | null;
    readonly hasRecord: boolean;
    readonly ageMs: number;
  },
): boolean {
  if (run === null) return false;
  const { boot, namespace, pid, started, parent } = run.process;
  if (boot !== seen.boot) return true;
  // Processes of another namespace are invisible here and may be alive, so the sandbox is not abandoned.
  if (namespace !== seen.namespace || started === seen.started(pid)) return false;
  const isAlone = parent !== null && parent.started !== seen.started(parent.pid);
  return isAlone || !seen.hasRecord || seen.ageMs > KEPT_MS;
}

/** Returns the permissions of a folder before the first of these sandboxes closed it; null if none closed it. */
export function findModeBefore(folder: string, agentSandboxes: readonly AgentSandboxRecord[]): number | null {
  return agentSandboxes.flatMap(({ closed }) => closed).find((known) => known.path === folder)?.mode ?? null;
}

/** Returns true if one of these sandboxes still needs the folder closed. */
export function isKeptClosed(folder: string, agentSandboxes: readonly AgentSandboxRecord[]): boolean {
  return (
    findModeBefore(
      folder,
      agentSandboxes.filter(({ isLeaving }) => !isLeaving),
    ) !== null
  );
}

/** Returns true if nothing of the sandbox remains. */
export function isSandboxGone({ processes, leftovers }: SandboxRemains): boolean {
  return processes.length + leftovers.length === 0;
}

/** Returns a sentence that tells people what to remove; null if nothing is left. */
export function describeRemains({ processes, leftovers }: SandboxRemains): string | null {
  if (processes.length > 0)
    return `Processes of the agent are still there: ${listFirstNames(processes)}. Restart the runner.`;
  if (leftovers.length === 0) return null;
  return `The agent's sandbox could not be removed completely. As root, remove the rest on this machine: ${leftovers.join('; ')}.`;
}
