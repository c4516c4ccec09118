import { grouped } from '../../core/grouped.ts';
import type { ObjectId } from '../../core/evidence.ts';
import { LEFT_OUT } from '../../core/review/left-out.ts';
import { keysByPattern } from '../../core/secrets/key-patterns.ts';
import type { Git } from '../git.ts';
import { createSecretSearch } from './known-secrets.ts';
import type { Change, Objects } from '../objects.ts';
import { isLoopState, isProtected, leadsOut, matcher } from './protected-paths.ts';

/** What may be published (spec §10). */
export interface PublishingRules {
  /** Globs. */
  readonly allowProtectedPaths: readonly string[];
  readonly maxPatchFiles: number;
  readonly maxPatchKib: number;
  /** Values that no commit may hold, as far as they are known now: credentials may be found during the run. */
  readonly secretValues: () => readonly string[];
  /** Names of the key patterns found in a text, one per place. */
  readonly scanner: { scan(text: string): Promise<readonly string[]> };
}

/** Judges changes: answers with the paths that must not be published, and why. `standIns`: paths whose tree entry is not their content. */
type Inspect = (
  objects: Objects,
  changes: readonly Change[],
  standIns: ReadonlyMap<string, string>,
) => Promise<ReadonlyMap<string, string>>;

export interface Inspection {
  readonly inspect: Inspect;
  /** The same by names and modes alone, whatever they hold. */
  inspectPaths(changes: readonly Change[]): ReadonlyMap<string, string>;
  /** Why a commit's own text must not be published; null when it may. */
  inspectText(text: string): Promise<string | null>;
}

/** Larger files are not searched for secrets, and what was not searched is not published. */
const LARGEST_SEARCHED_BYTES = 32 * 1024 * 1024;

/** Larger binaries are searched for the job's own secrets only: a pattern finds nothing but chance in them. */
const LARGEST_BINARY_BYTES = 1024 * 1024;

/** `workTree`: git over the work tree whose attributes say which content filters apply; null: there is none. */
export function createInspection(workTree: Git | null, rules: PublishingRules): Inspection {
  const isAllowed = matcher(rules.allowProtectedPaths);
  const findsSecret = (content: Buffer): boolean => createSecretSearch(rules.secretValues())(content);

  async function keysIn(content: Buffer): Promise<readonly string[]> {
    if (!content.subarray(0, 8000).includes(0)) return await rules.scanner.scan(content.toString());
    // UTF-16, as some shells write it, or a binary: what is text in it has its letters in a row then.
    return content.length > LARGEST_BINARY_BYTES
      ? []
      : await rules.scanner.scan(content.toString('latin1').replaceAll('\0', ''));
  }

  async function inspectText(text: string): Promise<string | null> {
    const content = Buffer.from(text);
    if (findsSecret(content)) return LEFT_OUT.secret;
    const keys = await keysIn(content);
    return keys.length > 0 ? `${LEFT_OUT.key} (${[...new Set(keys)].join(', ')})` : null;
  }

  async function inspect(
    objects: Objects,
    changes: readonly Change[],
    standIns: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const withheld = new Map<string, string>();
    const filtered = workTree === null ? new Set() : await filteredPaths(workTree, changes);
    for (const change of changes) {
      const why =
        judgePath(change) ?? standIns.get(change.path) ?? (filtered.has(change.path) ? LEFT_OUT.filter : null);
      if (why) withheld.set(change.path, why);
    }
    const rest = changes.filter((change) => !withheld.has(change.path));
    const weights = await judgeContents(objects, rest, withheld);
    judgeAmount(weights, withheld);
    keepNeighbours(changes, withheld);
    return withheld;
  }

  function judgePath({ path, oldMode, newMode }: Change): string | null {
    if (!path.isWellFormed()) return 'its name is not valid UTF-8';
    // A value that is cut over folders as well.
    if ([path, path.replaceAll('/', '')].some((name) => findsSecret(Buffer.from(name)))) return LEFT_OUT.secretName;
    const keys = keysByPattern(path);
    if (keys.length > 0) return `${LEFT_OUT.keyName} (${[...new Set(keys)].join(', ')})`;
    if (isLoopState(path)) return LEFT_OUT.state;
    if (isAllowed(path)) return null;
    if (isProtected(path)) return LEFT_OUT.protected;
    if (newMode === '160000' || oldMode === '160000') return 'it is a submodule or a repository inside the repository';
    return null;
  }

  /** Searches every new content, and returns the share of the patch in bytes of those that passed. */
  async function judgeContents(
    objects: Objects,
    changes: readonly Change[],
    withheld: Map<string, string>,
  ): Promise<ReadonlyMap<string, number>> {
    const weights = new Map(changes.map((change) => [change.path, 0]));
    const withContent = changes.filter((change) => change.newId !== null && change.newMode !== '160000');
    const byId = grouped(withContent, (change) => change.newId);
    const searched = await searchable(
      objects,
      withContent.map((change) => change.newId),
    );
    const keys = new Map<ObjectId | null, readonly string[]>();
    await objects.each(searched, async (id, content) => {
      keys.set(id, await keysIn(content));
      for (const change of byId.get(id) ?? []) {
        if (findsSecret(content)) withheld.set(change.path, LEFT_OUT.secret);
        if (change.newMode === '120000' && !isAllowed(change.path) && leadsOut(change.path, content.toString()))
          withheld.set(change.path, 'it is a link that could lead out of the repository');
        weights.set(change.path, (weights.get(change.path) ?? 0) + weightOf(change, content));
      }
    });
    for (const { path, newId } of withContent) {
      if (newId !== null && !searched.has(newId))
        withheld.set(path, `it is too large to be searched for secrets (over ${LARGEST_SEARCHED_BYTES / 2 ** 20} MiB)`);
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
      if (added.length > 0 && !withheld.has(path)) withheld.set(path, `${LEFT_OUT.key} (${added.join(', ')})`);
    }
    return new Map([...weights].filter(([path]) => !withheld.has(path)));
  }

  /** Sizes of those that are small enough to be searched. */
  async function searchable(
    objects: Objects,
    ids: readonly (ObjectId | null)[],
  ): Promise<ReadonlyMap<ObjectId, number>> {
    const sizes = await objects.sizesOf([...new Set(ids.filter((id) => id !== null))]);
    return new Map([...sizes].filter(([, size]) => size <= LARGEST_SEARCHED_BYTES));
  }

  /** Beyond the limits, the folder with most changed files goes first (that is where generated files are), then the largest file. */
  function judgeAmount(weights: ReadonlyMap<string, number>, withheld: Map<string, string>): void {
    let left = [...weights.keys()];
    while (left.length > rules.maxPatchFiles) {
      const folders = [...grouped(left, (path) => path.split('/', 1)[0] ?? '').values()].sort(
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
      withheld.set(path, `${LEFT_OUT.patch} (${rules.maxPatchKib}) allows: it adds ${Math.ceil(bytes / 1024)} KiB`);
      total -= bytes;
    }
  }

  function inspectPaths(changes: readonly Change[]): ReadonlyMap<string, string> {
    return new Map(
      changes.flatMap((change) => {
        const why = judgePath(change);
        return why === null ? [] : [[change.path, why] as const];
      }),
    );
  }

  return { inspect, inspectPaths, inspectText };
}

/** Paths that a content filter applies to. */
async function filteredPaths(git: Git, changes: readonly Change[]): Promise<ReadonlySet<string>> {
  if (changes.length === 0) return new Set();
  const answers = await git.names(['check-attr', '-z', '--stdin', 'filter'], {
    input: changes.map((change) => `${change.path}\0`).join(''),
  });
  const paths = new Set<string>();
  for (let i = 0; i + 2 < answers.length; i += 3)
    if (!['unspecified', 'unset'].includes(answers[i + 2] ?? '')) paths.add(answers[i] ?? '');
  return paths;
}

/** New and binary files weigh what they hold, changed texts the share of their lines that is new. */
function weightOf(change: Change, content: Buffer): number {
  if (change.oldId === null || change.insertions === null) return content.length;
  let lines = 1;
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines++;
  return Math.ceil(content.length * Math.min(1, change.insertions / lines));
}

/** Names that occur more often than before: a key that the file held already (in a test, say) does not lock the file. */
function newSince(before: readonly string[], after: readonly string[]): readonly string[] {
  const count = (names: readonly string[], name: string): number => names.filter((other) => other === name).length;
  return [...new Set(after)].filter((name) => count(after, name) > count(before, name));
}

/** Where a withheld change leaves an old entry in place, nothing can be put above or below that path. */
function keepNeighbours(changes: readonly Change[], withheld: Map<string, string>): void {
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
