import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { OpenPlaces, StatePlace } from '../cli/lane/state-places.ts';
import { DEFAULT_BRANCH_PREFIX } from '../cli/defaults.ts';
import { isLaneId } from '../core/tasks/ids.ts';
import type { Lease } from '../core/sharing/lease.ts';
import { createGit, lastWords, type Git } from '../git/git.ts';
import { createRefCells } from '../git/refs/ref-cells.ts';
import { listLanes } from '../git/refs/ref-lanes.ts';
import { isLastRunOver } from '../home/run-claim.ts';
import type { CellStore, StateStore } from '../ports/state.ts';
import { createBudgetStore } from '../state/budget-store.ts';
import { directoryCellNames } from '../state/directory-cells.ts';
import { createGuardedStore } from '../state/guarded-store.ts';
import { createLayeredStore } from '../state/layered-store.ts';
import { batchReads } from '../state/batched-cells.ts';
import { textOf, UserError } from '../errors.ts';
import { checkoutCells, stateFolder } from './home/checkout-state.ts';

const now = (): number => Date.now();

/** The command line's places: the ref on the checkout's remote, reached as the person's own git reaches it, and `.ralph/state`. */
export const openPlaces: OpenPlaces = async ({ folder, remote }) => {
  if (!existsSync(folder)) return { kind: 'missing', folder: null, why: `${JSON.stringify(folder)} does not exist.` };
  try {
    const git = createGit({ folder, env: process.env, configuration: 'own' });
    const found = await git.answer(['rev-parse', '--show-toplevel']);
    if (found.exitCode !== 0)
      return {
        kind: 'missing',
        folder: null,
        why: `${JSON.stringify(folder)} is not in a git checkout. Go into one, or name it with --dir. (git says: ${lastWords(found.stderr)})`,
      };
    const top = found.stdout.toString().replace(/\n$/, '');
    const url = await firstLine(git, ['remote', 'get-url', '--push', remote ?? 'origin']);
    const hasFolder = existsSync(stateFolder(top).folder);
    if (url === null && (remote !== null || !hasFolder))
      return {
        kind: 'missing',
        folder: remote === null ? top : null,
        why: `the checkout ${JSON.stringify(top)} has no remote ${JSON.stringify(remote ?? 'origin')}${hasFolder ? '' : ', and no folder .ralph/state'}. Name a remote with --remote.`,
      };
    const places = [...(url === null ? [] : [await refPlace(top, url)]), ...(hasFolder ? [directoryPlace(top)] : [])];
    return {
      kind: 'open',
      folder: top,
      places,
      person: (await firstLine(git, ['config', 'user.name'])) ?? process.env.USER ?? 'someone',
    };
  } catch (error) {
    if (error instanceof UserError) return { kind: 'missing', folder: null, why: error.message };
    throw error;
  }
};

async function refPlace(top: string, url: string): Promise<StatePlace> {
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-'));
  process.on('exit', () => {
    rmSync(workFolder, { recursive: true, force: true });
  });
  const options = {
    url: isRelativePath(url) ? resolve(top, url) : url,
    access: { kind: 'own' } as const,
    workFolder,
    env: process.env,
    now,
  };
  // All lanes are asked for at the same moment: one request brings them.
  return placeOf(batchReads(createRefCells(options)), () => listLanes(options, DEFAULT_BRANCH_PREFIX));
}

function directoryPlace(top: string): StatePlace {
  const { folder, check } = stateFolder(top);
  const cells = checkoutCells(top);
  const place = placeOf(cells, async () => {
    try {
      check();
      // What is on this machine is watched by its files.
      return { kind: 'lanes', lanes: (await directoryCellNames(folder)).filter(isLaneId), trace: '' };
    } catch (error) {
      return { kind: 'unavailable', why: textOf(error) };
    }
  });
  const restore: StateStore['restore'] = async (lane) => {
    const restored = await place.store.restore(lane);
    if (!('lease' in restored) || restored.lease === null) return restored;
    // The lease of a run that was killed stands until the next run takes it.
    return (await isLastRunOver(cells)) ? { ...restored, lease: null } : restored;
  };
  return { ...place, store: { ...place.store, restore } };
}

function placeOf(cells: CellStore, lanes: StatePlace['lanes']): StatePlace {
  const store = createLayeredStore({
    guarded: createGuardedStore({ cells, carry: null, lease: nobodysLease, now }),
    copies: null,
    blobs: null,
    now,
  });
  return { name: cells.place, store, budget: createBudgetStore(cells, now), lanes };
}

/** The command line reads and orders; it never claims a lane. */
function nobodysLease(): Lease {
  return { runTag: randomUUID(), runId: 'local', runAttempt: 1, runUrl: '', acquiredAt: now(), durationMs: 0 };
}

/** A path, not `https://…` and not `host:path`. */
function isRelativePath(url: string): boolean {
  return !isAbsolute(url) && !/^[^/]+:/.test(url);
}

/** What git answers; null when it has no answer. */
async function firstLine(git: Git, args: readonly string[]): Promise<string | null> {
  const { exitCode, stdout } = await git.answer(args);
  const [line = ''] = stdout.toString().split('\n');
  return exitCode === 0 && line !== '' ? line : null;
}
