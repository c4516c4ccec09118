import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { OpenPlaces, StatePlace } from '../cli/lane/read-lane.ts';
import { DEFAULT_BRANCH_PREFIX } from '../cli/defaults.ts';
import { findCheckout, readFirstLine } from '../git/home/person-checkout.ts';
import { withoutLeases } from '../core/snapshot/changes.ts';
import { listLanes } from '../core/snapshot/snapshot.ts';
import { createRefSnapshot, listBranches } from '../git/refs/ref-snapshot.ts';
import { isLastRunOver } from '../home/own-folder.ts';
import type { SnapshotPlace, StateStore } from '../ports/state.ts';
import { createDirectorySnapshot } from '../state/directory-snapshot.ts';
import { createSnapshotStore } from '../state/snapshot-store.ts';
import { UserError } from '../errors.ts';
import { createCheckoutFiles, locateStateFolder } from './home/checkout-state.ts';
import { realPace } from './state.ts';

const now = (): number => Date.now();

/**
 * Opens the command line's places: the ref on the checkout's remote, reached as the person's own git reaches it, and
 * `.ralph/state`.
 */
export const openPlaces: OpenPlaces = async ({ folder, remote }) => {
  try {
    const { top, git } = await findCheckout(folder, process.env);
    const url = await readFirstLine(git, ['remote', 'get-url', '--push', remote ?? 'origin']);
    const hasFolder = existsSync(locateStateFolder(top).folder);
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
      person: (await readFirstLine(git, ['config', 'user.name'])) ?? process.env.USER ?? 'someone',
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
  const store = storeAt(createRefSnapshot(options));
  const lanes: StatePlace['lanes'] = async () => {
    const listed = await listBranches(options, DEFAULT_BRANCH_PREFIX);
    return listed.kind === 'lanes' ? withStored(store, listed) : listed;
  };
  return { name: 'ref', store, lanes };
}

function directoryPlace(top: string): StatePlace {
  const files = createCheckoutFiles(top);
  const kept = storeAt(createDirectorySnapshot(files, now));
  const read: StateStore['read'] = async () => {
    const found = await kept.read();
    // The lease of a killed run stays until the next run takes it.
    return found.kind === 'snapshot' && (await isLastRunOver(files))
      ? { ...found, snapshot: withoutLeases(found.snapshot) }
      : found;
  };
  const store = { ...kept, read };
  // No trace: watchers of a place on this machine look at its files.
  return { name: 'directory', store, lanes: () => withStored(store, { kind: 'lanes', lanes: [], trace: '' }) };
}

/** Adds the lanes that have a state. */
async function withStored(
  { read }: Pick<StateStore, 'read'>,
  { lanes, trace }: Extract<Awaited<ReturnType<StatePlace['lanes']>>, { kind: 'lanes' }>,
): ReturnType<StatePlace['lanes']> {
  const found = await read();
  if (found.kind === 'unavailable') return found;
  const stored = found.kind === 'snapshot' ? listLanes(found.snapshot) : [];
  return { kind: 'lanes', lanes: [...new Set([...stored, ...lanes])], trace };
}

/** Creates a store for the command line, which reads and orders but never claims a lane. */
function storeAt(place: SnapshotPlace): StateStore {
  return createSnapshotStore({ place, copies: null, conversations: null, now, pace: realPace });
}

/** Returns true if a URL is a relative path, and neither `https://…` nor `host:path`. */
function isRelativePath(url: string): boolean {
  return !isAbsolute(url) && !/^[^/]+:/.test(url);
}
