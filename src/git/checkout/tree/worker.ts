import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { MINUTE_MS } from '../../../core/countdown.ts';
import type { ObjectId } from '../../../core/evidence.ts';
import {
  CHUNK_BYTES,
  MAX_TREE_ANSWER_BYTES,
  MAX_PACK_BYTES,
  MAX_ANSWER_PATHS,
  MAX_WORKER_WORDS_CHARS,
  renderTreeAnswer,
  type TreeAnswer,
} from '../../../core/work-tree/answers.ts';
import { getErrorMessage, UserError } from '../../../errors.ts';
import type { WorkTreeFiles } from '../../../ports/repository.ts';
import { lastLinesOfError } from '../../git.ts';
import { readTreeId } from '../../objects.ts';
import {
  createOwnRepository,
  createUncheckedRepository,
  type OwnRepository,
  type PrivateRepository,
} from '../private-repository.ts';
import { copyIndex, type Workspace, createWorkspaceAt } from '../workspace.ts';
import { INBOX, type TreeRequest, type TreeRequestOf, type TreeSetup } from './inbox.ts';
import {
  createExchange,
  createLocalAccess,
  createWorkspaceRestorer,
  type Exchange,
  type WorkTreeAccess,
} from './work-tree-access.ts';

/** The worker's git directories, in a folder of the agent's user. */
interface Outbox {
  /** The repository over the work tree, with the lent objects and its own. */
  readonly own: OwnRepository;
  /** The repository over the work tree, with the objects of the checkout. */
  readonly checkout: PrivateRepository;
  readonly exchange: Exchange;
  /** Packs `wanted` without the objects of `known`; returns the size in bytes, or null if the pack would be empty. */
  pack(name: string, wanted: readonly ObjectId[], known: readonly string[]): Promise<number | null>;
  /** Returns a part of the pack with that name. */
  part(name: string, from: number): Promise<Buffer>;
}

/** Maximum time to read all files of the work tree, in ms. */
const REFRESH_MS = 5 * MINUTE_MS;

/** Maximum time to pack, in ms: enough for two gigabytes of new files. */
const PACK_MS = 3 * MINUTE_MS;

interface TreeWorkerOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** The environment of the worker's process; git gets PATH and HOME from it. */
  readonly env: NodeJS.ProcessEnv;
  /** Returns the text files below a folder. */
  readonly filesOf: (top: string) => WorkTreeFiles;
}

/**
 * Works in the work tree as its owner: answers questions until its input ends. The process should exit then, even if
 * work is pending.
 */
export async function serveWorkTree({ input, output, env, filesOf }: TreeWorkerOptions): Promise<void> {
  const warnings: string[] = [];
  const log = { warning: (text: string): void => void warnings.push(text) };
  let handle: RequestHandler | null = null;

  async function answer(request: TreeRequest): Promise<Answered> {
    if (request.kind === 'open') {
      handle = createRequestHandler(request, { env, filesOf, log });
      return { answer: { kind: 'open' } };
    }
    if (handle === null) throw new Error('the worker was not opened');
    return handle(request);
  }

  const lines = createInterface({ input, crlfDelay: Infinity });
  let last: Promise<void> = Promise.resolve();
  lines.on('line', (line) => {
    last = last.then(async () => {
      const { answer: found, bytes } = await answer(JSON.parse(line) as TreeRequest).catch(failedBy);
      const text = renderTreeAnswer(found, warnings.splice(0));
      await write(output, Buffer.byteLength(text) > MAX_TREE_ANSWER_BYTES ? renderTreeAnswer(TOO_LONG, []) : text);
      if (bytes !== undefined) await write(output, bytes);
    });
  });
  await once(lines, 'close');
}

/** An answer, and the bytes that follow it. */
interface Answered {
  readonly answer: Parameters<typeof renderTreeAnswer>[0];
  readonly bytes?: Buffer;
}

const TOO_LONG = { kind: 'failed', why: 'The work tree has too many changed files to list.' } as const;

function failedBy(error: unknown): Answered {
  return { answer: { kind: 'failed', why: getErrorMessage(error).slice(0, MAX_WORKER_WORDS_CHARS) } };
}

async function write(output: Writable, what: string | Buffer): Promise<void> {
  if (!output.write(what)) await once(output, 'drain');
}

/** Answers every question but the first. */
type RequestHandler = (request: Exclude<TreeRequest, { kind: 'open' }>) => Promise<Answered>;

function createRequestHandler(
  setup: TreeSetup,
  options: Pick<TreeWorkerOptions, 'env' | 'filesOf'> & {
    readonly log: Parameters<typeof createWorkspaceAt>[1]['log'];
  },
): RequestHandler {
  const { env, filesOf, log } = options;
  const workspace = createWorkspaceAt(setup.place, { env, log });
  const files = filesOf(workspace.top);
  const restore = createWorkspaceRestorer(workspace, Buffer.from(setup.config, 'base64'));
  let place: Place | null = null;

  async function opened(): Promise<Place> {
    if (place !== null) return place;
    const outbox = await openOutbox(workspace, setup, env);
    const { own, exchange } = outbox;
    const objects = [join(setup.inbox, INBOX.objects), join(own.folder, 'objects')];
    const besideWith = { own, objects: [...objects, join(workspace.commonFolder, 'objects')] };
    return (place = {
      outbox,
      access: createLocalAccess({ workspace, folder: '', own, exchange, restore, besideWith }),
    });
  }

  async function reset(): Promise<void> {
    place = null;
    await clearOutbox(setup);
  }

  /** Runs `body`, and once more with new files if it fails, because the agent may have broken the kept ones. */
  async function inPlace<T>(body: (place: Place) => Promise<T>): Promise<T> {
    try {
      return await body(await opened());
    } catch {
      await reset();
      return await body(await opened());
    }
  }

  return async (request) => {
    switch (request.kind) {
      case 'reset':
        await reset();
        return { answer: { kind: 'reset' } };
      case 'read':
        return { answer: await inPlace((at) => read(at, request)) };
      case 'pack': {
        const bytes = await (await opened()).outbox.part(request.of, request.from);
        return { answer: { kind: 'pack', bytes: bytes.length }, bytes };
      }
      case 'put-back':
        return { answer: { kind: 'put-back', ...(await inPlace((at) => putBack(at, request))) } };
      case 'patch-of':
        return { answer: { kind: 'patch-of', patch: await inPlace(({ access }) => access.patchOf(request)) } };
      case 'leave':
        await inPlace((at) => leave(at, request));
        return { answer: { kind: 'leave' } };
      case 'read-texts':
        return { answer: { kind: 'read-texts', texts: await files.read(request.paths) } };
      case 'read-end':
        return { answer: { kind: 'read-end', text: await files.readEnd(request.path, request.maxBytes) } };
      case 'replace':
        await files.replace(request);
        return { answer: { kind: 'replace' } };
      case 'remove':
        await files.remove(request.path);
        return { answer: { kind: 'remove' } };
    }
  };
}

interface Place {
  readonly outbox: Outbox;
  readonly access: WorkTreeAccess;
}

async function read(
  { outbox, access }: Place,
  { tip, has, tolerated, wanted }: TreeRequestOf<'read'>,
): Promise<TreeAnswer<'read'>> {
  outbox.exchange.know(tip);
  const { head, tree, substitutes, beside, ignored } = await access.read(tip, tolerated, wanted);
  if (substitutes.size > MAX_ANSWER_PATHS)
    throw new UserError(
      'infrastructure',
      `More than ${String(MAX_ANSWER_PATHS)} files cannot be read, or are too large.`,
    );
  const own = head === null || head === tip ? null : head;
  const known = [tip, `${tip}^{tree}`];
  const trees = await existing(outbox, has);
  const isKnown = trees.includes(tree) || (await readTreeId(outbox.own.git, tip)) === tree;
  return {
    kind: 'read',
    head,
    tree,
    substitutes: [...substitutes].map(([path, substitute]) => ({ path, substitute })),
    beside: [...beside],
    ignored: [...ignored],
    packs: {
      commits: own === null ? null : await outbox.pack('commits', [own], known),
      content: isKnown
        ? null
        : await outbox.pack('content', [tree], [...known, ...trees, ...(own === null ? [] : [`${own}^{tree}`])]),
    },
  };
}

async function putBack(
  { outbox, access }: Place,
  { wanted, tolerated }: TreeRequestOf<'put-back'>,
): Promise<Pick<TreeAnswer<'put-back'>, 'paths' | 'left'>> {
  const isHere = (await existing(outbox, [wanted])).length > 0;
  if (!isHere) return { paths: null, left: [] };
  const { paths, left } = await access.putBack(wanted, tolerated);
  return { paths: paths.slice(0, MAX_ANSWER_PATHS), left: left.slice(0, MAX_ANSWER_PATHS) };
}

async function leave({ outbox, access }: Place, { branch, tip, has }: TreeRequestOf<'leave'>): Promise<void> {
  // Pass only known commits: others cannot be left out.
  await access.leavePlainCheckout({ branch, tip, has: await existing(outbox, has), hasIndex: false });
}

/** Returns those ids that exist here. */
async function existing({ own }: Outbox, ids: readonly ObjectId[]): Promise<readonly ObjectId[]> {
  const found = await Promise.all(
    ids.map(async (id) => ((await own.git.answer(['cat-file', '-e', id])).exitCode === 0 ? [id] : [])),
  );
  return found.flat();
}

/** Opens the outbox as it was left, or creates a new one. */
async function openOutbox(workspace: Workspace, setup: TreeSetup, env: NodeJS.ProcessEnv): Promise<Outbox> {
  const { outbox, inbox, roots } = setup;
  const folder = join(outbox, 'own');
  const packs = join(outbox, 'packs');
  // The agent may have made its home inaccessible, so open it.
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
    borrowed: [join(inbox, INBOX.objects)],
    shallow: roots,
  });
  // Do not check the folder of objects: if the agent removed it, the first object that is needed shows that.
  const checkout = await createUncheckedRepository(workspace, {
    ...common,
    config: setup.own.config,
    folder: join(outbox, 'checkout'),
    objects: join(workspace.commonFolder, 'objects'),
    borrowed: [],
    shallow: [],
  });
  // Without an index, all files would be read, so use the lent one, which was right when the work tree was handed over.
  if ((await lstat(own.indexFile).catch(() => null)) === null) {
    await copyIndex(join(inbox, INBOX.index), own.indexFile);
    // Every file has changed its owner since, so read all files once; from then on, each change is visible.
    await own.git.answer(['update-index', '-q', '--refresh'], { timeoutMs: REFRESH_MS });
  }

  return {
    own,
    checkout,
    exchange: createExchange({ workspace, checkout, own, roots, heads: [] }),
    async pack(name, wanted, known) {
      const input = [...wanted, ...known.map((id) => `^${id}`), ''].join('\n');
      const base = join(packs, name);
      // Pack for speed instead of size, because the pack is only in transit.
      const packed = await own.git.answer(
        ['pack-objects', '--quiet', '--revs', '--window=0', '--compression=1', '--non-empty', base],
        { input, timeoutMs: PACK_MS },
      );
      if (packed.exitCode !== 0)
        throw new UserError('infrastructure', `The changes cannot be packed: ${lastLinesOfError(packed.stderr)}`);
      const hash = packed.stdout.toString().trim();
      if (hash === '') return null;
      await rename(`${base}-${hash}.pack`, base);
      await rm(`${base}-${hash}.idx`, { force: true });
      const { size } = await lstat(base);
      if (size > MAX_PACK_BYTES)
        throw new UserError(
          'infrastructure',
          'The changed files in the work tree exceed the 2 GiB that GitHub accepts. List files that should not be published in .gitignore, then re-run the workflow.',
        );
      return size;
    },
    part: (name, from) => withOpenFile(join(packs, name), (file) => readPart(file, from)),
  };
}

/** Removes all files kept between calls. Those that cannot be removed are moved out of the way. */
async function clearOutbox({ outbox }: Pick<TreeSetup, 'outbox'>): Promise<void> {
  await rm(outbox, { recursive: true, force: true }).catch(() => rename(outbox, `${outbox}.${randomUUID()}`));
}

/** Creates the folder, and removes anything else at its path. */
async function makeFolder(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats !== null && !stats.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

async function withOpenFile<T>(path: string, body: (file: FileHandle) => Promise<T>): Promise<T> {
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
