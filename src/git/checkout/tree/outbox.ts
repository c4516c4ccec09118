import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { MINUTE_MS } from '../../../core/time.ts';
import { CHUNK_BYTES, LARGEST_PACK_BYTES } from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import { lastWords } from '../../git.ts';
import {
  createOwnRepository,
  layOwnRepository,
  type OwnRepository,
  type PrivateRepository,
} from '../private-repository.ts';
import { copyIndex, type Workspace } from '../workspace.ts';
import { createExchange, type Exchange } from './exchange.ts';
import { INBOX, type TreeSetup } from './requests.ts';

/** The worker's git directories, in a folder of the agent's user. */
export interface Outbox {
  /** Over the work tree, with what is lent and objects of its own. */
  readonly own: OwnRepository;
  /** Over the work tree, with the objects of the checkout. */
  readonly checkout: PrivateRepository;
  readonly exchange: Exchange;
  /** Packs `wanted` without what is known; returns the size of the pack, null: it would be empty. */
  pack(name: string, wanted: readonly ObjectId[], known: readonly string[]): Promise<number | null>;
  /** A part of what was packed under that name. */
  part(name: string, from: number): Promise<Buffer>;
}

/** Reads all files of the work tree. */
const REFRESH_MS = 5 * MINUTE_MS;
/** Two gigabytes of new files. */
const PACK_MS = 3 * MINUTE_MS;

/** Opens the outbox, as it was left or as a new one. */
export async function openOutbox(workspace: Workspace, setup: TreeSetup, env: NodeJS.ProcessEnv): Promise<Outbox> {
  const { outbox, inbox, roots } = setup;
  const folder = join(outbox, 'own');
  const packs = join(outbox, 'packs');
  // The agent may have closed its home.
  await chmod(dirname(outbox), 0o700).catch(() => undefined);
  for (const place of [outbox, folder, packs]) await makeFolder(place);
  await Promise.all((await readdir(packs)).map((name) => rm(join(packs, name), { recursive: true, force: true })));
  await mkdir(join(folder, 'objects', 'pack'), { recursive: true });
  const common = { env, hide: [], excludes: setup.own.excludes, sparse: setup.own.sparse };
  const own = await createOwnRepository(workspace, {
    ...common,
    config: setup.own.config,
    folder,
    objects: join(folder, 'objects'),
    borrowed: join(inbox, INBOX.objects),
    shallow: roots,
  });
  // Whether the agent left any objects there is seen when they are wanted.
  const checkout = await layOwnRepository(workspace, {
    ...common,
    config: setup.own.config,
    folder: join(outbox, 'checkout'),
    objects: join(workspace.commonFolder, 'objects'),
    borrowed: null,
    shallow: [],
  });
  // Without one all files are read; it was right when the work tree was handed over.
  if ((await lstat(own.indexFile).catch(() => null)) === null) {
    await copyIndex(join(inbox, INBOX.index), own.indexFile);
    // Every file has had another owner since, so all are read once; from then on each change of one shows.
    await own.git.answer(['update-index', '-q', '--refresh'], { timeoutMs: REFRESH_MS });
  }

  return {
    own,
    checkout,
    exchange: createExchange({ workspace, checkout, own, roots, heads: [] }),
    async pack(name, wanted, known) {
      const input = [...wanted, ...known.map((id) => `^${id}`), ''].join('\n');
      const base = join(packs, name);
      // On its way it need not be small.
      const packed = await own.git.answer(
        ['pack-objects', '--quiet', '--revs', '--window=0', '--compression=1', '--non-empty', base],
        { input, timeoutMs: PACK_MS },
      );
      if (packed.exitCode !== 0)
        throw new UserError('infrastructure', `What changed cannot be packed: ${lastWords(packed.stderr)}`);
      const hash = packed.stdout.toString().trim();
      if (hash === '') return null;
      await rename(`${base}-${hash}.pack`, base);
      await rm(`${base}-${hash}.idx`, { force: true });
      const { size } = await lstat(base);
      if (size > LARGEST_PACK_BYTES)
        throw new UserError(
          'infrastructure',
          'The files that changed in the work tree are larger than the 2 GiB that GitHub takes. List those that are not to be published in .gitignore, then re-run the workflow.',
        );
      return size;
    },
    part: (name, from) => withFile(join(packs, name), (file) => readPart(file, from)),
  };
}

/** Removes all that was kept from one time to the next. What cannot be removed is moved out of the way. */
export async function clearOutbox({ outbox }: Pick<TreeSetup, 'outbox'>): Promise<void> {
  await rm(outbox, { recursive: true, force: true }).catch(() => rename(outbox, `${outbox}.${randomUUID()}`));
}

/** Whatever else stands at its place goes. */
async function makeFolder(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

async function withFile<T>(path: string, body: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await body(file);
  } finally {
    await file.close();
  }
}

async function readPart(file: FileHandle, from: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, from);
  return buffer.subarray(0, bytesRead);
}
