import { isLockFile } from './lock-files.ts';
import { mayHoldTests } from './test-files.ts';
import { mayHaveTestSettings } from './test-settings.ts';

/** What there is to know of a changed file without reading it. Bytes of its texts: null where there is none. */
export interface UnreadChange {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly bytesBefore: number | null;
  readonly bytesAfter: number | null;
}

const LONGEST_TEXT = 1024 * 1024;
/** Lock files of large projects have tens of thousands of lines. */
const LONGEST_LOCK_FILE = 8 * 1024 * 1024;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_FILES = 4000;

/** Beside tests lie their data, which nobody runs. */
const DATA =
  /\.(?:jsonl?|ya?ml|toml|csv|tsv|txt|md|snap|xml|html?|css|svg|log|sql|patch|diff|png|jpe?g|gif|webp|ico|pdf|woff2?|ttf|wasm|zip|gz|tgz|tar|bin|dat|mp[34]|wav)$/i;

/** Whether it says which scripts there are. */
export function isManifest(path: string): boolean {
  return /(?:^|\/)package\.json$/i.test(path);
}

/** Whether the rules read a file's texts, and not only its name. */
export function readsTexts({ path, kind }: Pick<UnreadChange, 'path' | 'kind'>): boolean {
  return (
    kind !== 'deleted' &&
    (isManifest(path) || isLockFile(path) || mayHaveTestSettings(path) || (mayHoldTests(path) && !DATA.test(path)))
  );
}

/** Which texts are read of those that the rules ask for: as many as bounds on bytes and files allow, manifests before tests, those nearest to the root first. */
export function toRead<C extends UnreadChange>(changes: readonly C[]): readonly C[] {
  const wanted = changes
    .filter(readsTexts)
    .map((change) => ({ change, order: (isManifest(change.path) ? 0 : 1_000_000) + change.path.split('/').length }))
    .sort((a, b) => a.order - b.order)
    .map(({ change }) => change);
  const read: C[] = [];
  let bytes = 0;
  for (const change of wanted) {
    const [before, after] = [change.bytesBefore ?? 0, change.bytesAfter ?? 0];
    const longest = isLockFile(change.path) ? LONGEST_LOCK_FILE : LONGEST_TEXT;
    if (Math.max(before, after) > longest || bytes + before + after > MOST_BYTES) continue;
    if (read.length === MOST_FILES) break;
    bytes += before + after;
    read.push(change);
  }
  return read;
}
