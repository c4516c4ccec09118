import { createHash } from 'node:crypto';
import { constants, inflateRawSync, inflateSync } from 'node:zlib';
import type { ObjectId } from '../../core/evidence.ts';
import { LEFT_OUT_CLAUSES } from '../../core/review/left-out.ts';
import { findKeyPatterns } from '../../core/text/redact.ts';
import { createSpellingSearch, listRevealingParts } from '../../core/secrets/spellings.ts';
import type { Git } from '../git.ts';
import type { PathChange, ObjectReader } from '../objects.ts';
import { createPathMatcher } from '../../core/folder.ts';
import { isLoopState, isProtected, leavesWorkTree } from './protected-paths.ts';

/** Maximum number of packed members that are tried in a file. */
const MAX_PACKED_MEMBERS = 64;

/** Maximum number of bytes that are unpacked from a file. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;

/** Maximum depth of packed content inside packed content. */
const DEEPEST = 2;

/** Minimum size of a member, in bytes: a smaller one has no room for a secret. */
const SMALLEST = 10;

interface Budget {
  members: number;
  bytes: number;
}

type Unpack = (packed: Buffer, options: { readonly finishFlush: number; readonly maxOutputLength: number }) => Buffer;

const GZIP = Buffer.from([0x1f, 0x8b, 8]);

const ZIP_ENTRY = Buffer.from('PK\u0003\u0004', 'latin1');

const ZLIB_LEVELS = [0x01, 0x5e, 0x9c, 0xda];

/** Unpacks gzip itself, because Node's zlib rejects a member that is followed by other bytes. */
const gunzip: Unpack = (packed, options) => {
  const flags = packed[3] ?? 0;
  let at = 10;
  if ((flags & 4) !== 0) at += 2 + packed.readUInt16LE(at);
  // Skip a name and a comment.
  for (const flag of [8, 16]) if ((flags & flag) !== 0) at = packed.indexOf(0, at) + 1;
  if ((flags & 2) !== 0) at += 2;
  return inflateRawSync(packed.subarray(at), options);
};

/** The magic bytes of gzip and zlib in base64 with the content behind them, across line ends. */
const PACKED_BASE64 = /(?<![\w+/-])(?:H4sI|eJ[wxyz]|eN[o-r])[\w+/-]{12,}(?:(?:\\n|\r?\n[ \t]*)[\w+/-]+)*/g;

type Search = (content: Buffer) => boolean;

/** Searches by their secret values, because commits and pushes are searched for the same values. */
const searches = new Map<string, Search>();

/** Maximum number of contents whose answer is cached. */
const MAX_CACHED_SEARCHES = 5_000;

/** The rules that decide what may be published (spec §10). */
export interface PublishingRules {
  /** Globs of protected paths that may be published. */
  readonly allowProtectedPaths: readonly string[];
  readonly maxPatchFiles: number;
  readonly maxPatchKib: number;
  /** Returns the values that no commit may contain, as known now, because credentials may be found during the run. */
  readonly secretValues: () => readonly string[];
  /** Finds key patterns. `scan` returns the names of the patterns in a text, one for each match. */
  readonly scanner: { scan(text: string): Promise<readonly string[]> };
}

/**
 * Judges changes: returns the paths that must not be published, with reasons. `substitutes` are paths whose tree entry
 * is not their content.
 */
type Inspect = (
  objects: ObjectReader,
  changes: readonly PathChange[],
  substitutes: ReadonlyMap<string, string>,
) => Promise<ReadonlyMap<string, string>>;

export interface Inspection {
  readonly inspect: Inspect;
  /** Judges changes by names and modes alone, regardless of their content. */
  inspectPaths(changes: readonly PathChange[]): ReadonlyMap<string, string>;
  /** Returns the reason why a text, such as a commit message, must not be published, or null if it may be. */
  inspectText(text: string): Promise<string | null>;
}

const PROTECTED_TOO = 'is a protected path as well';

/** Maximum size of a file that is searched for secrets, in bytes; a larger one is not published. */
const MAX_SEARCHED_BYTES = 32 * 1024 * 1024;

/**
 * Maximum size of a binary that is searched for key patterns, in bytes; in a larger one, any match is a coincidence.
 * The job's own secrets are searched for in any case.
 */
const MAX_BINARY_BYTES = 1024 * 1024;

/**
 * Creates an inspection. `workTree` is git over the work tree whose attributes name the content filters, or null if
 * there is no work tree.
 */
export function createInspection(workTree: Git | null, rules: PublishingRules): Inspection {
  const isAllowed = createPathMatcher(rules.allowProtectedPaths);
  const findsSecret = (content: Buffer): boolean => createSecretSearch(rules.secretValues())(content);

  async function keysIn(content: Buffer): Promise<readonly string[]> {
    if (!content.subarray(0, 8000).includes(0)) return await rules.scanner.scan(content.toString());
    // UTF-16, as some shells write it, or a binary: remove the NUL bytes, so that the letters of its texts are
    // adjacent.
    return content.length > MAX_BINARY_BYTES
      ? []
      : await rules.scanner.scan(content.toString('latin1').replaceAll('\0', ''));
  }

  async function inspectText(text: string): Promise<string | null> {
    const content = Buffer.from(text);
    if (findsSecret(content)) return LEFT_OUT_CLAUSES.secret;
    const keys = await keysIn(content);
    return keys.length > 0 ? `${LEFT_OUT_CLAUSES.key} (${[...new Set(keys)].join(', ')})` : null;
  }

  async function inspect(
    objects: ObjectReader,
    changes: readonly PathChange[],
    substitutes: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const withheld = new Map<string, string>();
    const filtered = workTree === null ? new Set() : await filteredPaths(workTree, changes);
    for (const change of changes) {
      const why =
        judgePath(change) ??
        substitutes.get(change.path) ??
        (filtered.has(change.path) ? LEFT_OUT_CLAUSES.filter : null);
      if (why) withheld.set(change.path, why);
    }
    const isProtectedAlone = ({ path }: PathChange): boolean => withheld.get(path) === LEFT_OUT_CLAUSES.protected;
    const ofContent = new Map<string, string>();
    const read = changes.filter((change) => !withheld.has(change.path) || isProtectedAlone(change));
    const weights = await judgeContents(objects, read, ofContent);
    judgeAmount(new Map([...weights].filter(([path]) => !withheld.has(path))), ofContent);
    // A person who allows the path would otherwise meet the other reason next.
    for (const [path, why] of ofContent) withheld.set(path, withheld.has(path) ? `${why}, and ${PROTECTED_TOO}` : why);
    withholdNeighbours(changes, withheld);
    return withheld;
  }

  function judgePath({ path, oldMode, newMode }: PathChange): string | null {
    if (!path.isWellFormed()) return 'its name is not valid UTF-8';
    // A secret may also be split across folder names, so join them.
    if ([path, path.replaceAll('/', '')].some((name) => findsSecret(Buffer.from(name))))
      return LEFT_OUT_CLAUSES.secretName;
    const keys = findKeyPatterns(path);
    if (keys.length > 0) return `${LEFT_OUT_CLAUSES.keyName} (${[...new Set(keys)].join(', ')})`;
    if (isLoopState(path)) return LEFT_OUT_CLAUSES.state;
    if (isAllowed(path)) return null;
    if (isProtected(path)) return LEFT_OUT_CLAUSES.protected;
    if (newMode === '160000' || oldMode === '160000') return 'it is a submodule or a repository inside the repository';
    return null;
  }

  /** Searches every new content. Returns each one that passed, with its share of the patch in bytes. */
  async function judgeContents(
    objects: ObjectReader,
    changes: readonly PathChange[],
    withheld: Map<string, string>,
  ): Promise<ReadonlyMap<string, number>> {
    const weights = new Map(changes.map((change) => [change.path, 0]));
    const withContent = changes.filter((change) => change.newId !== null && change.newMode !== '160000');
    const byId = Map.groupBy(withContent, (change) => change.newId);
    const searched = await searchable(
      objects,
      withContent.map((change) => change.newId),
    );
    const keys = new Map<ObjectId | null, readonly string[]>();
    await objects.each(searched, async (id, content) => {
      keys.set(id, await keysIn(content));
      for (const change of byId.get(id) ?? []) {
        if (findsSecret(content)) withheld.set(change.path, LEFT_OUT_CLAUSES.secret);
        if (change.newMode === '120000' && !isAllowed(change.path) && leavesWorkTree(change.path, content.toString()))
          withheld.set(change.path, 'it is a link that could lead out of the repository');
        weights.set(change.path, (weights.get(change.path) ?? 0) + weightOf(change, content));
      }
    });
    for (const { path, newId } of withContent) {
      if (newId !== null && !searched.has(newId))
        withheld.set(path, `it is too large to be searched for secrets (over ${MAX_SEARCHED_BYTES / 2 ** 20} MiB)`);
    }

    const suspects = withContent.filter((change) => (keys.get(change.newId) ?? []).length > 0);
    await objects.each(
      await searchable(
        objects,
        suspects.map((change) => change.oldId),
      ),
      async (id, content) => void keys.set(id, await keysIn(content)),
    );
    for (const { path, oldId, newId } of suspects) {
      const added = newSince(keys.get(oldId) ?? [], keys.get(newId) ?? []);
      if (added.length > 0 && !withheld.has(path)) withheld.set(path, `${LEFT_OUT_CLAUSES.key} (${added.join(', ')})`);
    }
    return new Map([...weights].filter(([path]) => !withheld.has(path)));
  }

  /** Returns the sizes of the objects that are small enough to be searched. */
  async function searchable(
    objects: ObjectReader,
    ids: readonly (ObjectId | null)[],
  ): Promise<ReadonlyMap<ObjectId, number>> {
    const sizes = await objects.sizesOf([...new Set(ids.filter((id) => id !== null))]);
    return new Map([...sizes].filter(([, size]) => size <= MAX_SEARCHED_BYTES));
  }

  /**
   * Withholds changes beyond the limits: first the folder with the most changed files (typically generated), then the
   * largest file.
   */
  function judgeAmount(weights: ReadonlyMap<string, number>, withheld: Map<string, string>): void {
    let left = [...weights.keys()];
    while (left.length > rules.maxPatchFiles) {
      const folders = [...Map.groupBy(left, (path) => path.split('/', 1)[0] ?? '').values()].sort(
        (a, b) => b.length - a.length,
      );
      const largest = folders[0] ?? [];
      const out = new Set(largest.length > 1 ? largest : left.slice(rules.maxPatchFiles));
      for (const path of out)
        withheld.set(
          path,
          `${weights.size} changed files are more than max-patch-files (${rules.maxPatchFiles}) allows`,
        );
      left = left.filter((path) => !out.has(path));
    }
    const heaviest = left.map((path) => ({ path, bytes: weights.get(path) ?? 0 })).sort((a, b) => b.bytes - a.bytes);
    let total = heaviest.reduce((sum, file) => sum + file.bytes, 0);
    for (const { path, bytes } of heaviest) {
      if (total <= rules.maxPatchKib * 1024) break;
      withheld.set(
        path,
        `${LEFT_OUT_CLAUSES.patch} (${rules.maxPatchKib}) allows: it adds ${Math.ceil(bytes / 1024)} KiB`,
      );
      total -= bytes;
    }
  }

  function inspectPaths(changes: readonly PathChange[]): ReadonlyMap<string, string> {
    return new Map(
      changes.flatMap((change) => {
        const why = judgePath(change);
        return why === null ? [] : [[change.path, why] as const];
      }),
    );
  }

  return { inspect, inspectPaths, inspectText };
}

/** Returns the paths to which a content filter applies. */
async function filteredPaths(git: Git, changes: readonly PathChange[]): Promise<ReadonlySet<string>> {
  if (changes.length === 0) return new Set();
  const answers = await git.names(['check-attr', '-z', '--stdin', 'filter'], {
    input: changes.map((change) => `${change.path}\0`).join(''),
  });
  const paths = new Set<string>();
  for (let i = 0; i + 2 < answers.length; i += 3)
    if (!['unspecified', 'unset'].includes(answers[i + 2] ?? '')) paths.add(answers[i] ?? '');
  return paths;
}

/**
 * Returns the weight of a change in bytes: the size of a new or binary file, otherwise the share of lines that are new.
 */
function weightOf(change: PathChange, content: Buffer): number {
  if (change.oldId === null || change.insertions === null) return content.length;
  let lines = 1;
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines++;
  return Math.ceil(content.length * Math.min(1, change.insertions / lines));
}

/**
 * Returns names that occur more often than before, so that a key that was already in the file (in a test, for example)
 * does not block the file.
 */
function newSince(before: readonly string[], after: readonly string[]): readonly string[] {
  const count = (names: readonly string[], name: string): number => names.filter((other) => other === name).length;
  return [...new Set(after)].filter((name) => count(after, name) > count(before, name));
}

/** Also withholds changes at paths above or below a withheld one, whose old entry stays and would be in their way. */
function withholdNeighbours(changes: readonly PathChange[], withheld: Map<string, string>): void {
  const kept = changes
    .filter((change) => change.oldId !== null && withheld.has(change.path))
    .map((change) => change.path);
  if (kept.length === 0) return;
  for (const { path, newId } of changes) {
    const blocked =
      newId !== null && kept.find((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
    if (blocked && !withheld.has(path)) withheld.set(path, `it would replace ${blocked}, which must not change`);
  }
}

/**
 * Creates a search for the values in bytes: as they are, in a common encoding, or in either form inside packed content.
 * It searches each content once.
 */
export function createSecretSearch(values: readonly string[]): Search {
  const parts = [...new Set(values.flatMap(listRevealingParts))].sort();
  if (parts.length === 0) return () => false;
  const name = JSON.stringify(parts);
  const search = searches.get(name) ?? remembering(searchFor(values));
  searches.set(name, search);
  return search;
}

function searchFor(values: readonly string[]): Search {
  const needles = values.flatMap(listRevealingParts).map((part) => Buffer.from(part));
  const isSpelled = createSpellingSearch(values);
  const holds: Search = (content) => needles.some((needle) => content.includes(needle)) || isSpelled(content);
  return (content) => holds(content) || unpackedParts(content).some(holds);
}

/** Caches by a hash of the content instead of its id in git, because SHA-1 collisions can be made. */
function remembering(search: Search): Search {
  const known = new Map<string, boolean>();
  return (content) => {
    const hash = createHash('sha256').update(content).digest('base64');
    const found = known.get(hash) ?? search(content);
    if (known.size >= MAX_CACHED_SEARCHES) known.clear();
    known.set(hash, found);
    return found;
  };
}

/**
 * Returns the unpacked gzip, zlib and ZIP members of `content`, also those in base64. Leaves out content beyond the
 * limits.
 */
function unpackedParts(content: Buffer): readonly Buffer[] {
  const budget: Budget = { members: MAX_PACKED_MEMBERS, bytes: MAX_UNPACKED_BYTES };
  return partsWithin(content, budget, DEEPEST);
}

function partsWithin(content: Buffer, budget: Budget, depth: number): readonly Buffer[] {
  if (depth === 0 || content.length < SMALLEST) return [];
  const parts = [...unpackMembers(content, budget), ...inBase64(content, budget)];
  return [...parts, ...parts.flatMap((part) => partsWithin(part, budget, depth - 1))];
}

function unpackMembers(content: Buffer, budget: Budget): readonly Buffer[] {
  const parts: Buffer[] = [];
  const take = (start: number, unpack: Unpack): void => {
    const part = tryUnpack(content.subarray(start), unpack, budget);
    if (part !== null) parts.push(part);
  };
  for (const at of indexesOf(content, GZIP, budget)) take(at, gunzip);
  for (const at of indexesOf(content, ZIP_ENTRY, budget)) {
    if (at + 30 <= content.length && content.readUInt16LE(at + 8) === 8)
      take(at + 30 + content.readUInt16LE(at + 26) + content.readUInt16LE(at + 28), inflateRawSync);
  }
  for (const level of ZLIB_LEVELS)
    for (const at of indexesOf(content, Buffer.from([0x78, level]), budget)) take(at, inflateSync);
  // Raw deflate has no magic bytes, so try it only on the whole content.
  if (parts.length === 0 && !isText(content)) take(0, inflateRawSync);
  return parts;
}

function* indexesOf(content: Buffer, mark: Buffer, budget: Budget): Iterable<number> {
  for (let at = content.indexOf(mark); at !== -1 && budget.members > 0; at = content.indexOf(mark, at + 1)) yield at;
}

function tryUnpack(packed: Buffer, unpack: Unpack, budget: Budget): Buffer | null {
  if (budget.members <= 0 || budget.bytes <= 0 || packed.length < SMALLEST) return null;
  budget.members -= 1;
  try {
    // Search a truncated member as far as it can be unpacked.
    const part = unpack(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: budget.bytes });
    budget.bytes -= part.length;
    return part.length === 0 ? null : part;
  } catch {
    return null;
  }
}

function inBase64(content: Buffer, budget: Budget): readonly Buffer[] {
  if (!['H4sI', 'eJ', 'eN'].some((mark) => content.includes(mark))) return [];
  const parts: Buffer[] = [];
  for (const [found] of content.toString('latin1').matchAll(PACKED_BASE64)) {
    if (budget.members <= 0) break;
    const packed = Buffer.from(found.replaceAll('\\n', ''), 'base64');
    const part = tryUnpack(packed, found.startsWith('H4sI') ? gunzip : inflateSync, budget);
    if (part !== null) parts.push(part);
  }
  return parts;
}

function isText(content: Buffer): boolean {
  return !content.subarray(0, 512).some((byte) => byte < 9 || byte > 126);
}
