import { grouped } from '../grouped.ts';
import { z } from 'zod';
import type { Folder } from '../folder.ts';
import { count } from '../numbers.ts';
import { capped } from '../text/cut.ts';
import { flatten } from '../text/one-line.ts';
import { lookAtKinds, type Finding, type LookAtKind } from './kinds.ts';
import { manifestFindings } from './manifest.ts';
import { kindsByPath } from './path-rules.ts';
import { countInTests, isTestFile, mayHoldTests } from './test-files.ts';
import { changesTestSettings } from './test-settings.ts';
import { embeddedRepositories } from './embedded-repositories.ts';
import { lockFileFindings } from './lock-changes.ts';
import { isLockFile } from './lock-files.ts';
import { isManifest, readsTexts } from './texts.ts';
import { untestedFiles } from './untested.ts';

/** Published files of one kind. However many there are, they are one line to read, so that none of another kind is lost among them. */
export interface LookAt {
  readonly kind: LookAtKind;
  /** How many files it was found in. */
  readonly fileCount: number;
  /** Some of them: those nearest to the root. */
  readonly files: readonly LookAtFile[];
}

/** `what`: short words on what it is there; null: the kind says all. */
interface LookAtFile {
  readonly path: string;
  readonly what: string | null;
}

/** A changed file; `before` and `after` are its texts where the rules read them, and null where there is none. */
export interface ReviewedChange {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly binary: boolean;
  readonly insertions: number;
  /** Size of what is there now; null: nothing is. */
  readonly bytes: number | null;
  /** Whether its texts were left unread, because there is more to read than a run can. */
  readonly unread: boolean;
  readonly before: string | null;
  readonly after: string | null;
}

/** More files of a kind are counted and not named. */
export const MAX_NAMED_FILES = 10;
const MAX_WHAT_CHARS = 120;

/** What a reviewer looks at first: every kind that there is, the gravest first. */
export function lookAtFirst(changes: readonly ReviewedChange[]): readonly LookAt[] {
  const untested = untestedFiles(changes);
  const embedded = embeddedRepositories(changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path));
  const found = changes.flatMap((change) =>
    [
      ...findingsIn(change),
      ...(embedded.has(change.path) ? [{ kind: 'embedded-repository', what: null } as const] : []),
      ...(untested.has(change.path) ? [{ kind: 'untested', what: null } as const] : []),
    ].map(({ kind, what }) => ({ kind, path: change.path, what })),
  );
  const byKind = grouped(found, ({ kind }) => kind);
  return lookAtKinds.flatMap((kind) => {
    const files = [...(byKind.get(kind) ?? [])].sort((a, b) => depthOf(a.path) - depthOf(b.path));
    return files.length === 0 ? [] : [{ kind, fileCount: files.length, files: named(files) }];
  });
}

/** Changed files outside of the folder that the run works in. */
export function changedOutside(folder: Folder, paths: readonly string[]): readonly LookAt[] {
  if (paths.length === 0) return [];
  const files = paths
    .map((path) => ({ path, what: `outside of ${folder}` }))
    .sort((a, b) => depthOf(a.path) - depthOf(b.path));
  return [{ kind: 'outside', fileCount: files.length, files: named(files) }];
}

/** Both together. A file that both count and neither names counts twice. */
export function moreToLookAt(known: readonly LookAt[], found: readonly LookAt[]): readonly LookAt[] {
  return lookAtKinds.flatMap((kind) => {
    const both = [...known, ...found].filter((one) => one.kind === kind);
    const files = [...new Map(both.flatMap((one) => one.files).map((file) => [file.path, file])).values()];
    const unnamed = both.reduce((sum, one) => sum + one.fileCount - one.files.length, 0);
    return both.length === 0 ? [] : [{ kind, fileCount: files.length + unnamed, files: named(files) }];
  });
}

const recordedSchema = z
  .array(
    z.object({
      kind: z.enum(lookAtKinds),
      fileCount: count,
      files: z.array(z.object({ path: z.string() })).max(MAX_NAMED_FILES),
    }),
  )
  .max(lookAtKinds.length)
  .catch([]);

/** What a record says, whoever wrote it: kinds, numbers and paths, but none of its words. */
export function recordedLookAt(recorded: unknown): readonly LookAt[] {
  return recordedSchema
    .parse(recorded)
    .map(({ kind, fileCount, files }) => ({ kind, fileCount, files: files.map(({ path }) => ({ path, what: null })) }));
}

function named(files: readonly LookAtFile[]): readonly LookAtFile[] {
  return files
    .slice(0, MAX_NAMED_FILES)
    .map(({ path, what }) => ({ path, what: what === null ? null : capped(flatten(what), MAX_WHAT_CHARS) }));
}

function depthOf(path: string): number {
  return path.split('/').length;
}

const LARGE_BYTES = 256 * 1024;

/** Pictures and fonts change often and run nowhere. */
function isPicture(path: string): boolean {
  return /\.(?:png|jpe?g|gif|webp|avif|ico|bmp|tiff?|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav|pdf)$/i.test(path);
}

/** At most one of a kind. What the name of a file says needs no text. */
function findingsIn(change: ReviewedChange): readonly Finding[] {
  const { path, kind, binary, bytes } = change;
  return [
    ...(isTestFile(path) && kind === 'deleted' ? [{ kind: 'deleted-test', what: null } as const] : []),
    ...textFindings(change),
    ...kindsByPath(path).map((found) => ({ kind: found, what: null })),
    ...(binary && kind === 'added' ? [{ kind: 'new-binary', what: null } as const] : []),
    ...(binary && kind === 'changed' && !isPicture(path) ? [{ kind: 'changed-binary', what: null } as const] : []),
    ...(bytes !== null && bytes >= LARGE_BYTES
      ? [{ kind: 'large-file', what: `${Math.round(bytes / 1024)} KiB` } as const]
      : []),
  ];
}

function textFindings(change: ReviewedChange): readonly Finding[] {
  const { path, unread, before, after } = change;
  if (!readsTexts(change)) return [];
  if (unread && isLockFile(path)) return [{ kind: 'lock-file', what: 'too large to be read' }];
  if (unread)
    return [{ kind: isTestFile(path) && !isManifest(path) ? 'test-not-read' : 'manifest-not-read', what: null }];
  if (isManifest(path)) return manifestFindings(before, after);
  if (isLockFile(path)) return lockFileFindings(path, before, after);
  return [...testFindings(change), ...settingsFindings(change)];
}

function settingsFindings({ path, before, after }: ReviewedChange): readonly Finding[] {
  return changesTestSettings(path, before, after) ? [{ kind: 'test-settings', what: null }] : [];
}

function testFindings({ path, before, after }: ReviewedChange): readonly Finding[] {
  if (!mayHoldTests(path)) return [];
  const [old, now] = [countInTests(path, before ?? ''), countInTests(path, after ?? '')];
  const skips = now.skips - old.skips;
  const gone = [goneWords(old.tests - now.tests, 'test'), goneWords(old.checks - now.checks, 'check')].filter(
    (words) => words !== '',
  );
  return [
    ...(skips > 0 ? [{ kind: 'skipped-test', what: skips === 1 ? null : `in ${skips} places` } as const] : []),
    ...(gone.length > 0 ? [{ kind: 'weaker-test', what: gone.join('; ') } as const] : []),
  ];
}

function goneWords(lost: number, one: string): string {
  return lost <= 0 ? '' : lost === 1 ? `1 ${one} is gone` : `${lost} ${one}s are gone`;
}
