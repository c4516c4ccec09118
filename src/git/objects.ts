import { createHash } from 'node:crypto';
import type { ObjectId } from '../core/evidence.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { UserError } from '../errors.ts';
import type { Conversation } from './conversation.ts';
import type { Git } from './git.ts';
import { decodeGitName } from './names.ts';
import { LOST_COMMITS } from './refusal.ts';

/**
 * One path that differs between two trees. Modes are octal texts. `000000` and a null id mean that the path is absent.
 * Line counts are null for binary files.
 */
export interface PathChange {
  readonly path: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: ObjectId | null;
  readonly newId: ObjectId | null;
  readonly insertions: number | null;
  readonly deletions: number | null;
}

/** Trees of known commits by repository: a commit's tree never changes. */
const knownTrees = new WeakMap<Git, Map<ObjectId, ObjectId>>();

/** Returns the tree of a commit, or null if the commit is missing. */
export async function readTreeId(git: Git, commit: ObjectId): Promise<ObjectId | null> {
  const known = knownTrees.get(git) ?? new Map<ObjectId, ObjectId>();
  const before = known.get(commit);
  if (before !== undefined) return before;
  const { exitCode, stdout } = await git.answer(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`]);
  if (exitCode !== 0) return null;
  const tree = stdout.toString().trim();
  knownTrees.set(git, known.set(commit, tree));
  return tree;
}

/** Maximum number of commits of a branch that are searched for tasks. */
const MAX_TASK_COMMITS = 1_000;

/**
 * Returns the newest commits of a branch, with the tasks that their messages name. A squashed commit may name several
 * tasks.
 */
export async function tasksOfCommits(
  git: Git,
  tip: ObjectId,
): Promise<readonly { readonly commit: ObjectId; readonly tasks: readonly TaskId[] }[]> {
  const newest = ['--first-parent', `--max-count=${String(MAX_TASK_COMMITS)}`];
  const log = await git.names(['log', '-z', ...newest, '--format=%H%n%B', tip]);
  return log.map((text) => ({
    commit: text.split('\n', 1)[0] ?? '',
    tasks: [...text.matchAll(/^Ralph-Task: ([\w.-]{1,80})$/gm)].map(([, task = '']) => task),
  }));
}

const diffOptions = [
  '-r',
  '-z',
  '--raw',
  '--numstat',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules=none',
];

/** Returns the differences between two trees, in the order of paths. */
export async function diffTrees(git: Git, before: ObjectId, after: ObjectId): Promise<readonly PathChange[]> {
  if (before === after) return [];
  return parseChanges(await git.names(['diff-tree', ...diffOptions, before, after]));
}

/** Returns the changes of each of `commits` against its parent, all in one list. */
export async function changesOfCommits(git: Git, commits: readonly ObjectId[]): Promise<readonly PathChange[]> {
  if (commits.length === 0) return [];
  return parseChanges(
    await git.names(['diff-tree', '--stdin', '--root', '--no-commit-id', ...diffOptions], {
      input: commits.join('\n') + '\n',
    }),
  );
}

/** Adds to `withheld` each deleted file that moved to a withheld path, because without both it would be lost. */
export async function withholdMovedFiles(
  git: Git,
  [before, after]: readonly [ObjectId, ObjectId],
  withheld: Map<string, string>,
): Promise<void> {
  const moves = ['diff-tree', '-r', '-z', '-M', '--diff-filter=R', '--name-status', before, after];
  const records = await git.names(moves);
  for (let i = 0; i + 2 < records.length; i += 3) {
    const [from = '', to = ''] = records.slice(i + 1, i + 3);
    if (withheld.has(to) && !withheld.has(from))
      withheld.set(from, `it moved to ${decodeGitName(to)}, which is left out`);
  }
}

/** Returns the changes of each of `commits` against its parent. */
export async function changesOfEach(
  git: Git,
  commits: readonly ObjectId[],
): Promise<ReadonlyMap<ObjectId, readonly PathChange[]>> {
  if (commits.length === 0) return new Map();
  const records = await git.names(['diff-tree', '--stdin', '--root', ...diffOptions], {
    input: commits.join('\n') + '\n',
  });
  const isCommit = new Set(commits);
  const found = new Map<ObjectId, string[]>();
  let current: string[] = [];
  for (const [i, record] of records.entries()) {
    // A path may look like a commit id, but it follows its raw line, so check the line before.
    const isPath = /^:\d+ \d+ [0-9a-f]+ [0-9a-f]+ [A-Z]/.test(records[i - 1] ?? '');
    if (!isPath && isCommit.has(record)) found.set(record, (current = []));
    else current.push(record);
  }
  return new Map([...found].map(([commit, own]) => [commit, parseChanges(own)]));
}

/**
 * Parses the raw lines of a commit, which precede its line counts. A path that several commits change has one of each
 * per commit.
 */
function parseChanges(records: readonly string[]): readonly PathChange[] {
  const changes: PathChange[] = [];
  let counted = 0;
  for (let i = 0; i < records.length; i++) {
    const record = records[i] ?? '';
    const raw = /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]/.exec(record);
    if (raw) {
      const [, oldMode = '', newMode = '', oldId = '', newId = ''] = raw;
      changes.push({
        path: records[++i] ?? '',
        oldMode,
        newMode,
        oldId: idOrNull(oldId),
        newId: idOrNull(newId),
        insertions: null,
        deletions: null,
      });
      continue;
    }
    const [, insertions = '', deletions = '', path = ''] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(record) ?? [];
    while (counted < changes.length && changes[counted]?.path !== path) counted++;
    const change = changes[counted];
    if (change)
      changes[counted++] = { ...change, insertions: numberOrNull(insertions), deletions: numberOrNull(deletions) };
  }
  return changes;
}

function idOrNull(id: string): ObjectId | null {
  return /^0+$/.test(id) ? null : id;
}

function numberOrNull(count: string): number | null {
  return count === '-' ? null : Number(count);
}

/** Reads objects through one git process that stays open. */
export interface ObjectReader {
  /** Returns sizes in bytes, without missing objects. */
  sizesOf(ids: readonly ObjectId[]): Promise<ReadonlyMap<ObjectId, number>>;
  /**
   * Calls `visit` with the content of each object, reading at most about 32 MiB at a time. Throws if a content does not
   * match its id, which git itself does not check.
   */
  each(
    sizes: ReadonlyMap<ObjectId, number>,
    visit: (id: ObjectId, content: Buffer) => Promise<void> | void,
  ): Promise<void>;
  /** Returns the tree of a commit, or null if the commit is missing. */
  treeOf(commit: ObjectId): Promise<ObjectId | null>;
  /** Works like `changesBetween`; each pair is compared once. */
  changesBetween(before: ObjectId, after: ObjectId): Promise<readonly PathChange[]>;
}

/** Runs `body` with the objects that `git` sees. */
export async function withObjects<T>(git: Git, body: (objects: ObjectReader) => Promise<T>): Promise<T> {
  let open: Conversation | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const compared = new Map<string, Promise<readonly PathChange[]>>();

  /** Asks one question at a time, because the answers come in order. */
  function ask<A>(questions: readonly string[], read: (answers: Conversation) => Promise<A>): Promise<A> {
    const answer = last.then(() => {
      open ??= git.open(['cat-file', '--batch-command', '--buffer']);
      open.ask([...questions, 'flush', ''].join('\n'));
      return read(open);
    });
    last = answer.catch(() => undefined);
    return answer;
  }

  const infoOf = (names: readonly string[]): Promise<readonly (Info | null)[]> =>
    ask(
      names.map((name) => `info ${name}`),
      async (answers) => {
        const infos: (Info | null)[] = [];
        while (infos.length < names.length) infos.push(infoIn(await answers.line()));
        return infos;
      },
    );

  const objects: ObjectReader = {
    async sizesOf(ids) {
      if (ids.length === 0) return new Map();
      const infos = await infoOf(ids);
      return new Map(infos.flatMap((info) => (info === null ? [] : [[info.id, info.size] as const])));
    },
    async each(sizes, visit) {
      for (const ids of inPortions(sizes, 32 * 1024 * 1024)) {
        const contents = await ask(
          ids.map((id) => `contents ${id}`),
          (answers) => readContents(answers, ids),
        );
        for (const [i, id] of ids.entries()) await visit(id, contents[i] ?? Buffer.alloc(0));
      }
    },
    treeOf: async (commit) => (await infoOf([`${commit}^{tree}`]))[0]?.id ?? null,
    changesBetween(before, after) {
      const pair = `${before} ${after}`;
      const changes = compared.get(pair) ?? diffTrees(git, before, after);
      compared.set(pair, changes);
      return changes;
    },
  };
  try {
    return await body(objects);
  } finally {
    await (open as Conversation | null)?.close();
  }
}

interface Info {
  readonly id: ObjectId;
  readonly type: string;
  readonly size: number;
}

/** Parses a line of sizes; returns null if git does not have the object. */
function infoIn(line: string | null): Info | null {
  if (line === null) throw unreadable();
  const [, id = '', type = '', size = ''] = /^([0-9a-f]+) ([a-z]+) (\d+)$/.exec(line) ?? [];
  return id === '' ? null : { id, type, size: Number(size) };
}

async function readContents(answers: Conversation, ids: readonly ObjectId[]): Promise<readonly Buffer[]> {
  const contents: Buffer[] = [];
  for (const id of ids) {
    const info = infoIn(await answers.line());
    // Read one more byte, which is the line feed after the content.
    const content = info === null ? null : (await answers.bytes(info.size + 1))?.subarray(0, info.size);
    if (info === null || content == null) throw unreadable();
    if (idOf(info.type, content, id.length) !== id) throw new UserError('infrastructure', LOST_COMMITS);
    contents.push(content);
  }
  return contents;
}

function unreadable(): UserError {
  return new UserError('infrastructure', 'git could not read objects from the repository; it may be damaged.');
}

/** A commit object. `text` is its header and message. */
export interface Commit {
  readonly id: ObjectId;
  readonly tree: ObjectId;
  readonly parents: readonly ObjectId[];
  readonly message: string;
  readonly text: string;
}

/** Reads commits in the given order; leaves out missing ones. */
export async function readCommits(objects: ObjectReader, ids: readonly ObjectId[]): Promise<readonly Commit[]> {
  const commits: Commit[] = [];
  await objects.each(await objects.sizesOf(ids), (id, content) => void commits.push(parseCommit(id, content)));
  return commits;
}

/** A chain of commits from `since` (exclusive) to `tip`, at most `most` of them. */
interface Chain {
  readonly since: ObjectId;
  readonly tip: ObjectId;
  readonly most: number;
  /** Returns true if a commit may have this one as its second parent. */
  readonly mayMerge: (merged: ObjectId) => boolean;
}

/**
 * Returns the commits of a chain, oldest first, if each is the only child of the one before. Returns null if they are
 * not a chain, or too many.
 */
export async function readCommitChain(
  objects: ObjectReader,
  { since, tip, most, mayMerge }: Chain,
): Promise<readonly Commit[] | null> {
  const chain: Commit[] = [];
  for (let at = tip; at !== since;) {
    const [commit] = chain.length < most ? await readCommits(objects, [at]) : [];
    const [parent, merged, ...more] = commit?.parents ?? [];
    if (commit === undefined || parent === undefined || more.length > 0) return null;
    if (merged !== undefined && !mayMerge(merged)) return null;
    chain.push(commit);
    at = parent;
  }
  return chain.reverse();
}

/**
 * Parses a commit like git: the tree, then the parents; later lines with these names are ignored. The message begins
 * after the first empty line.
 */
function parseCommit(id: ObjectId, content: Buffer): Commit {
  const text = content.toString();
  const [header = '', tree = '', parents = ''] = /^tree ([0-9a-f]+)\n((?:parent [0-9a-f]+\n)*)/.exec(text) ?? [];
  const end = text.indexOf('\n\n', Math.max(0, header.length - 1));
  return {
    id,
    tree,
    parents: [...parents.matchAll(/parent ([0-9a-f]+)\n/g)].map(([, parent = '']) => parent),
    message: end === -1 ? '' : text.slice(end + 2),
    text,
  };
}

/** Returns the id that git gives an object; 40 hex digits are SHA-1, 64 SHA-256. */
function idOf(type: string, content: Buffer, digits: number): ObjectId {
  return createHash(digits === 64 ? 'sha256' : 'sha1')
    .update(`${type} ${String(content.length)}\0`)
    .update(content)
    .digest('hex');
}

function inPortions(sizes: ReadonlyMap<ObjectId, number>, limit: number): readonly (readonly ObjectId[])[] {
  const portions: ObjectId[][] = [];
  let filled = Infinity;
  for (const [id, size] of sizes) {
    if (filled + size > limit) {
      portions.push([]);
      filled = 0;
    }
    portions.at(-1)?.push(id);
    filled += size;
  }
  return portions;
}

/**
 * Writes the tree of `base` with `changes` applied. Only listed paths change, regardless of the rest of the work tree.
 */
export async function writeTreeWith(
  git: Git,
  indexFile: string,
  tree: { readonly base: ObjectId; readonly changes: readonly PathChange[] },
): Promise<ObjectId> {
  const variables = { GIT_INDEX_FILE: indexFile };
  await git.text(['read-tree', tree.base], { variables });
  const gone = tree.changes
    .filter((change) => change.newId === null)
    .map((change) => formatIndexLine('0', '0'.repeat(change.oldId?.length ?? 40), change.path));
  const there = tree.changes.flatMap((change) =>
    change.newId === null ? [] : [formatIndexLine(change.newMode, change.newId, change.path)],
  );
  // Remove first, because a file may make room for a folder of the same name.
  await git.text(['update-index', '-z', '--add', '--index-info'], { input: [...gone, ...there].join(''), variables });
  return await git.text(['write-tree'], { variables });
}

/** Returns one record for `update-index -z --index-info`; mode `0` removes the path. */
export function formatIndexLine(mode: string, id: ObjectId, path: string): string {
  return `${mode} ${id}\t${path}\0`;
}

/** Returns true if the header of a commit has a signature, whether valid or not. */
export function isSigned(text: string): boolean {
  return /^gpgsig(-sha256)? /m.test(text.split('\n\n')[0] ?? '');
}
