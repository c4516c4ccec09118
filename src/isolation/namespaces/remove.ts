import { existsSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toOneLine } from '../../core/text/phrase.ts';
import {
  isAbandoned,
  isSandboxGone,
  NO_REMAINS,
  type AgentSandboxRecord,
  type SandboxRemains,
} from '../../core/isolation/sandbox-record.ts';
import { getErrorMessage } from '../../errors.ts';
import { startOfProcess } from '../probe-attempts.ts';
import { removeClosedFolder } from '../rootless/remove.ts';
import {
  hasSandboxRecord,
  placeOfProcesses,
  readAgentSandboxRecord,
  removeAgentSandboxRecord,
  listAgentSandboxes,
} from './record.ts';
import {
  endUserProcesses,
  giveFilesBack,
  listKeptPatterns,
  restoreClosedFolders,
  type AgentSandboxOptions,
} from './sandbox-of.ts';
import { findRoot, type RootAccess } from './root.ts';
import { REVOKE_PASSAGE_SCRIPT, REMOVE_SANDBOX_SCRIPT, RESERVATION_PREFIX, RESERVE_AGAIN_SCRIPT } from './scripts.ts';

/** Folder of the session in the folder of a run that no longer has a sandbox. */
const SESSION = 'agent';
/** Time from SIGTERM to SIGKILL for processes that nobody waits for. */
const GRACE_MS = 500;

type Places = AgentSandboxOptions['places'];

/**
 * Ends every process of a run's sandbox, gives its user's files back, and removes the sandbox. Returns the remains,
 * which then stay on record. Does nothing if the run has no sandbox. Safe to repeat, even after a kill halfway.
 */
export async function removeAgentSandbox(
  runFolder: string,
  { environment, places }: Pick<AgentSandboxOptions, 'environment' | 'places'>,
): Promise<SandboxRemains> {
  const record = readAgentSandboxRecord({ runFolder });
  if (record === null) return NO_REMAINS;
  const root = await findRoot(environment);
  const remains = await removeRecorded(record, { root, places, session: join(runFolder, SESSION) });
  // Remove the record last, because later calls do nothing without it.
  if (isSandboxGone(remains)) removeAgentSandboxRecord({ runFolder });
  return remains;
}

/**
 * Removes sandboxes that killed runs of this user left on this machine; the next run tries again to remove any that
 * remain. Calls `rootFor` only if a sandbox needs root.
 */
export async function removeAbandoned(
  rootFor: () => Promise<RootAccess>,
  { places }: Pick<AgentSandboxOptions, 'places'>,
): Promise<void> {
  const here = placeOfProcesses();
  if (here === null) return;
  for (const { record, changedAt } of listAgentSandboxes(
    realpathSync(places.agentSandboxes),
    process.getuid?.() ?? 0,
  )) {
    const { run, folder } = record;
    const seen = {
      ...here,
      started: startOfProcess,
      hasRecord: run !== null && hasSandboxRecord({ runFolder: run.folder }),
      ageMs: Date.now() - changedAt,
    };
    if (!isAbandoned(record, seen)) continue;
    const isOurs = (record.uid ?? idTakenFor(folder, places)) === null;
    await (
      isOurs
        ? removeClosedFolder(folder)
        : rootFor().then((root) => removeRecorded(record, { root, places, session: '' }))
    )
      // Ignore errors, because the next run tries again.
      .catch(() => undefined);
  }
}

async function removeRecorded(
  record: AgentSandboxRecord,
  { root, places, session }: { readonly root: RootAccess; readonly places: Places; readonly session: string },
): Promise<SandboxRemains> {
  const { folder, given, opened, userName } = record;
  const uid = record.uid ?? idTakenFor(folder, places);
  if (uid === null) {
    // No root is needed: without a user id, only the runner's user can have been in the sandbox.
    rmSync(folder, { recursive: true, force: true });
    return NO_REMAINS;
  }
  const holder = holderOf(uid, places);
  if (record.run !== null && holder !== folder) {
    // The folder is removed last, so nothing remains without it; the id may already belong to another sandbox.
    if (!existsSync(folder)) return NO_REMAINS;
    if (holder !== null)
      return {
        processes: [],
        leftovers: [`the folder ${folder}, whose user id ${uid} now belongs to another sandbox`],
      };
    await root.run(RESERVE_AGAIN_SCRIPT, [String(uid), folder, places.reservations]);
  }
  const processes = await endUserProcesses(root, uid, GRACE_MS);
  // Remove nothing while a process survives, because it must not find files of the runner.
  if (processes.length > 0) return { processes, leftovers: [] };
  const leftovers: string[] = [];
  const attempt = async (what: string, act: () => string | Promise<string>): Promise<void> => {
    try {
      leftovers.push(...(await act()).split('\n').filter((line) => line !== ''));
    } catch (error) {
      leftovers.push(`${what} (${toOneLine(getErrorMessage(error), 200)})`);
    }
  };
  for (const known of given)
    await attempt(`user ${uid} as the owner of files in ${known.path}`, () => giveFilesBack(root, uid, known));
  if (record.closed.length > 0)
    await attempt(`the permissions of ${record.closed.map(({ path }) => path).join(', ')}`, () => {
      restoreClosedFolders({ root, record }, places);
      return '';
    });
  const ways = opened.flatMap(({ path, isPlain }) => [isPlain ? 'plain' : 'listed', path]);
  if (ways.length > 0)
    await attempt(`user ${uid} in the access lists of the folders above the checkout`, () =>
      root.run(REVOKE_PASSAGE_SCRIPT, [String(uid), ...ways]),
    );
  const ids = [String(uid), userName, leftovers.length > 0 ? 'kept' : ''];
  await attempt(`the folder ${folder}`, () =>
    root.run(REMOVE_SANDBOX_SCRIPT, [places.reservations, ...ids, folder, session, ...listKeptPatterns(record)]),
  );
  return { processes, leftovers };
}

/**
 * Returns the folder of the sandbox that has a user id. Returns null if there is no such sandbox, or if an earlier
 * version reserved the id with a folder instead of a link.
 */
function holderOf(uid: number, { reservations }: Places): string | null {
  return linkAt(join(reservations, `${RESERVATION_PREFIX}${uid}`));
}

/** Returns the user id that was reserved for a sandbox, or null. */
function idTakenFor(folder: string, { reservations }: Places): number | null {
  const name = readdirSync(reservations).find(
    (entry) => entry.startsWith(RESERVATION_PREFIX) && linkAt(join(reservations, entry)) === folder,
  );
  const uid = name?.slice(RESERVATION_PREFIX.length) ?? '';
  return /^\d+$/.test(uid) ? Number(uid) : null;
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
