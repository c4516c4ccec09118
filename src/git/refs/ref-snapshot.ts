import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DAY_MS } from '../../core/countdown.ts';
import type { ObjectId } from '../../core/evidence.ts';
import { isStale, isTransient } from '../../core/refusals/refusal.ts';
import { isEarlierName, migrateSnapshot } from '../../core/snapshot/migration.ts';
import { emptySnapshot, isSnapshotFile, type Snapshot, unreadableSnapshot } from '../../core/snapshot/snapshot.ts';
import { isLaneId, type LaneId } from '../../core/tasks/ids.ts';
import type { Head, PlacedSnapshot, SnapshotPlace, SnapshotSwap, Unavailable, WriteResult } from '../../ports/state.ts';
import { lastLinesOfError } from '../git.ts';
import { parseRefs, extractServerWords } from '../remote/ask-remote.ts';
import { type Connection, createRefNetwork, fetchRefs, type RefNetworkOptions } from './ref-network.ts';
import { hasObject, readCommit, writeTreeCommit } from './stored-tree.ts';

/**
 * The ref whose newest commit is the state. git does not allow a ref together with refs below its name, and earlier
 * versions used refs below refs/ralph/state.
 */
export const STATE_REF = 'refs/ralph/v2/state';

/** The prefix of the refs that earlier versions kept for each lane. */
const EARLIER = 'refs/ralph/state/';

/** Maximum number of commits of a history; a longer or older one starts over with the last state. */
const MAX_HISTORY_COMMITS = 5_000;

const OLDEST_HISTORY_MS = 90 * DAY_MS;

/** The length of a history, and its beginning. */
interface History {
  readonly depth: number;
  readonly since: number;
}

/**
 * Stores the snapshot on one ref of a repository, as a tree with one commit for each update. The ref's log says who
 * changed what, and why.
 */
export function createRefSnapshot(options: RefNetworkOptions): SnapshotPlace {
  const { url, now } = options;
  const network = createRefNetwork(options);
  /** Histories of the heads that this process has read or written. */
  const histories = new Map<Head, History>();
  /** Refs of earlier versions that were part of the last reading. */
  let earlier: ReadonlyMap<string, Head> = new Map();
  return { name: 'ref', read, write, carry, settle };

  async function read(known: Head | null): ReturnType<SnapshotPlace['read']> {
    return network.operation(async (remote) => {
      if (known !== null) {
        const there = await readRefHead(remote);
        if (there.kind === 'unavailable') return there;
        if (there.head === known) return { kind: 'known' };
        await remember(remote, known);
      }
      const fetched = await fetchRefs(remote, url, [STATE_REF]);
      // An empty answer is not enough to conclude that the ref does not exist, so list the refs.
      if (fetched.exitCode === 1 && fetched.stderr.trim() === '') return await readEarlier(remote);
      if (fetched.exitCode !== 0) return network.unavailable(lastLinesOfError(fetched.stderr));
      return await readHead(remote);
    });
  }

  /** Keeps the known head, so that git fetches only later changes. */
  async function remember({ gitFolder }: Connection, known: Head): Promise<void> {
    if (!(await hasObject(network.objectsFolder, known))) return;
    await writeFile(join(gitFolder, 'shallow'), `${known}\n`);
    await writeFile(join(gitFolder, 'refs', 'known'), `${known}\n`);
  }

  async function readHead(remote: Connection): Promise<PlacedSnapshot | Unavailable> {
    const found = await readFile(join(remote.gitFolder, STATE_REF), 'utf8').catch(() => null);
    // The pattern matched a ref of another name, so this one does not exist.
    if (found === null) return readEarlier(remote);
    const head = found.trim();
    try {
      const { message, files } = await readCommit(network.objectsFolder, head, isSnapshotFile);
      histories.set(head, historyOf(message, now()));
      return { kind: 'snapshot', head, snapshot: textsOf(files) };
    } catch {
      // A commit that a person put there is not a state and is replaced by one.
      return { kind: 'snapshot', head, snapshot: unreadableSnapshot };
    }
  }

  /** Reads the refs of earlier versions as a snapshot that is not written yet. */
  async function readEarlier(remote: Connection): Promise<PlacedSnapshot | Unavailable> {
    const listed = await list(remote, [STATE_REF, `${EARLIER}*`]);
    if (!(listed instanceof Map)) return listed;
    if (listed.has(STATE_REF)) return network.unavailable('git fetch failed without a message');
    earlier = listed;
    const names = [...listed.keys()].map((ref) => ref.slice(EARLIER.length)).filter(isEarlierName);
    if (names.length === 0) return { kind: 'snapshot', head: null, snapshot: emptySnapshot };
    const fetched = await fetchRefs(
      remote,
      url,
      names.map((name) => EARLIER + name),
    );
    if (fetched.exitCode !== 0) return network.unavailable(lastLinesOfError(fetched.stderr));
    const texts = new Map<string, string>();
    for (const name of names) {
      const head = (await readFile(join(remote.gitFolder, EARLIER + name), 'utf8')).trim();
      const isText = (path: string): boolean => path === 'state.json';
      const commit = await readCommit(network.objectsFolder, head, isText).catch(() => null);
      texts.set(name, commit?.files.get('state.json')?.toString() ?? '{}');
    }
    return { kind: 'snapshot', head: null, snapshot: migrateSnapshot(texts, now()) };
  }

  async function write(swap: SnapshotSwap): Promise<WriteResult> {
    return network.operation(async (remote) => {
      const { commit, parent } = await commitSwap(swap);
      // The parent was fetched without its own past, so mark it as shallow.
      if (parent !== null) await writeFile(join(remote.gitFolder, 'shallow'), `${parent}\n`);
      return push(remote, { expected: swap.from.head, commit });
    });
  }

  function carry(swap: SnapshotSwap): ReturnType<SnapshotPlace['carry']> {
    return {
      ref: STATE_REF,
      expected: swap.from.head,
      writeTarget: async ({ gitFolder }) => {
        const { commit, parent } = await commitSwap(swap);
        const alternates = join(gitFolder, 'objects', 'info', 'alternates');
        await mkdir(dirname(alternates), { recursive: true });
        await appendFile(alternates, `${network.objectsFolder}\n`);
        if (parent !== null) await appendFile(join(gitFolder, 'shallow'), `${parent}\n`);
        return commit;
      },
    };
  }

  /** Makes the commit of a new snapshot; `parent` has no past here. */
  async function commitSwap(
    swap: SnapshotSwap,
  ): Promise<{ readonly commit: ObjectId; readonly parent: ObjectId | null }> {
    const { from, snapshot, message } = swap;
    const { head } = from;
    const at = now();
    const past = head === null ? undefined : histories.get(head);
    // Start the history over if its parent is unknown or no longer here.
    const continues =
      past !== undefined &&
      head !== null &&
      past.depth < MAX_HISTORY_COMMITS &&
      at - past.since < OLDEST_HISTORY_MS &&
      (await hasObject(network.objectsFolder, head));
    const history = continues ? { ...past, depth: past.depth + 1 } : { depth: 1, since: at };
    const parent = continues ? head : null;
    const commit = await writeTreeCommit(network.objectsFolder, {
      files: new Map([...snapshot].map(([path, text]) => [path, Buffer.from(text)])),
      subject: message,
      trailers: [
        `${DEPTH_TRAILER}: ${String(history.depth)}`,
        `${SINCE_TRAILER}: ${new Date(history.since).toISOString()}`,
      ],
      parent,
      now: at,
    });
    histories.set(commit, history);
    return { commit, parent };
  }

  async function push(
    remote: Connection,
    { expected, commit }: { readonly expected: Head | null; readonly commit: ObjectId },
  ): Promise<WriteResult> {
    const lease = `--force-with-lease=${STATE_REF}:${expected ?? ''}`;
    const once = () =>
      remote.askOnce('push', ['--porcelain', '--no-verify', '--no-follow-tags', lease, url, `${commit}:${STATE_REF}`]);
    let pushed = await once();
    for (let tries = 1; pushed.exitCode !== 0; tries += 1, pushed = await once()) {
      const words = extractServerWords(pushed);
      // git itself found the lease stale and sent nothing, so the ref was moved.
      if (words.includes('stale info')) return { kind: 'conflict' };
      // The push may have been accepted although its answer was lost, so the current position of the ref decides.
      const there = await readRefHead(remote);
      if (there.kind === 'head' && there.head === commit) break;
      if (isStale(words) || (there.kind === 'head' && there.head !== expected)) return { kind: 'conflict' };
      if (tries > 1 || there.kind === 'unavailable' || !isTransient(words)) return network.notWritten(words);
    }
    return { kind: 'written', head: commit };
  }

  /**
   * Deletes the refs of earlier versions, each only if it has not moved since it was read. A conversation stays until a
   * newer one is kept.
   */
  async function settle(): Promise<void> {
    const gone = [...earlier].filter(([ref]) => isEarlierName(ref.slice(EARLIER.length)));
    earlier = new Map();
    if (gone.length === 0) return;
    const leases = gone.map(([ref, head]) => `--force-with-lease=${ref}:${head}`);
    const refs = gone.map(([ref]) => `:${ref}`);
    await network.operation((remote) =>
      remote.ask('push', ['--porcelain', '--no-verify', '--no-follow-tags', ...leases, url, ...refs]),
    );
  }

  async function readRefHead(
    remote: Connection,
  ): Promise<{ readonly kind: 'head'; readonly head: Head | null } | Unavailable> {
    const listed = await list(remote, [STATE_REF]);
    return listed instanceof Map ? { kind: 'head', head: listed.get(STATE_REF) ?? null } : listed;
  }

  /** Returns the commits to which the existing refs of these patterns point. */
  async function list(remote: Connection, patterns: readonly string[]): Promise<Map<string, Head> | Unavailable> {
    const listed = await remote.ask('ls-remote', ['--quiet', url, ...patterns]);
    if (listed.exitCode !== 0) return network.unavailable(lastLinesOfError(listed.stderr));
    // git also matches a name with the end of a longer ref name, so filter.
    return new Map(
      parseRefs(listed.stdout)
        .filter(({ name }) => name === STATE_REF || name.startsWith(EARLIER))
        .map(({ name, value }) => [name, value]),
    );
  }
}

const DEPTH_TRAILER = 'Ralph-Depth';

const SINCE_TRAILER = 'Ralph-Since';

/**
 * Returns the history that its newest commit describes. A person's commit does not describe any, so the next commit
 * starts a new history.
 */
function historyOf(message: string, now: number): History {
  const depth = new RegExp(`^${DEPTH_TRAILER}: ([1-9]\\d{0,5})$`, 'm').exec(message)?.[1];
  const since = Date.parse(new RegExp(`^${SINCE_TRAILER}: (\\S+)$`, 'm').exec(message)?.[1] ?? '');
  return depth === undefined || Number.isNaN(since)
    ? { depth: MAX_HISTORY_COMMITS, since: now }
    : { depth: Number(depth), since };
}

/** Maximum size of a file that is read, in bytes; every file that this program writes is smaller. */
const MAX_FILE_BYTES = 1024 * 1024;

function textsOf(files: ReadonlyMap<string, Buffer>): Snapshot {
  return new Map(
    [...files].map(([path, content]) => [path, content.length > MAX_FILE_BYTES ? '{}' : content.toString()]),
  );
}

/**
 * Lists the lanes that have a branch beginning with `branchPrefix`, and the commits of these branches and of the state,
 * in one request.
 */
export async function listBranches(
  options: RefNetworkOptions,
  branchPrefix: string,
): Promise<{ readonly kind: 'lanes'; readonly lanes: readonly LaneId[]; readonly trace: string } | Unavailable> {
  const network = createRefNetwork(options);
  const start = `refs/heads/${branchPrefix}`;
  return network.operation(async (remote) => {
    const listed = await remote.ask('ls-remote', ['--quiet', options.url, STATE_REF, `${start}*`]);
    if (listed.exitCode !== 0) return network.unavailable(lastLinesOfError(listed.stderr));
    const refs = parseRefs(listed.stdout);
    const names = refs.flatMap(({ name }) => (name.startsWith(start) ? [name.slice(start.length)] : []));
    const trace = refs.map(({ name, value }) => `${name} ${value}`).join('\n');
    return { kind: 'lanes', lanes: [...new Set(names.filter(isLaneId))], trace };
  });
}
