import { buildTrustedPath } from '../processes/trusted-programs.ts';

/**
 * A request of the action's process to the cache worker. The `key` of a restore is a prefix; a `lookup` is a restore
 * that fetches nothing.
 */
export interface CacheRequest {
  readonly kind: 'restore' | 'lookup' | 'save';
  readonly key: string;
}

export type CacheAnswer =
  /** The entry was restored or, for a lookup, found. */
  | { readonly kind: 'restored'; readonly key: string }
  | { readonly kind: 'no-entry' }
  /** The entry was saved and read back. */
  | { readonly kind: 'saved' }
  /** The service refuses this token, and a retry would not change that. */
  | { readonly kind: 'denied'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** A line of JSON on the answer pipe: a step, or at the end the answer. */
export type WorkerLine =
  | { readonly kind: 'seen'; readonly what: string }
  | { readonly kind: 'answer'; readonly answer: CacheAnswer };

/** The file descriptor of the answer pipe; stdout belongs to the library's log lines. */
export const ANSWER_DESCRIPTOR = 3;

/**
 * The cached folder, relative to the worker's directory. An entry is found again only under the very same path, so the
 * path must not depend on the machine.
 */
export const STATE_FOLDER_NAME = 'ralph-state';

/** The environment of the run when the action started. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the reason, for people, why the cache cannot serve this run at all, or null if it can be tried. */
export function findCacheObstacle(kind: CacheRequest['kind'], environment: Environment): string | null {
  if (
    !environment['ACTIONS_RUNTIME_TOKEN'] ||
    !(environment['ACTIONS_RESULTS_URL'] || environment['ACTIONS_CACHE_URL'])
  ) {
    return 'there is no cache service here (ACTIONS_RESULTS_URL and ACTIONS_RUNTIME_TOKEN are set by GitHub inside an action)';
  }
  const mode = (environment['ACTIONS_CACHE_MODE'] ?? '').trim().toLowerCase();
  if (mode === 'read' && kind === 'save') return READ_ONLY_EVENT;
  if (mode === 'none' || mode === 'write-only')
    return `the workflow's cache-mode "${mode}" does not allow the state to be read; set \`cache-mode: write\``;
  return null;
}

export const READ_ONLY_EVENT =
  "this event's cache is read-only: events of issues, comments, reviews and checks may not write the default branch's cache unless the workflow says `cache-mode: write`";

/**
 * Returns the worker's environment: only the variables that the cache library needs. `workFolder` contains the cached
 * folder, `tempFolder` the library's archives.
 */
export function buildWorkerEnvironment(
  environment: Environment,
  folders: { readonly workFolder: string; readonly tempFolder: string },
): Record<string, string> {
  const kept = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && passedOn.has(entry[0].toUpperCase()),
  );
  return {
    ...Object.fromEntries(kept),
    PATH: buildTrustedPath(environment),
    // Both must be the same folder, because the library searches the path in its directory but packs it relative to the
    // workspace.
    GITHUB_WORKSPACE: folders.workFolder,
    RUNNER_TEMP: folders.tempFolder,
    TAR_OPTIONS: confinedUnpacking,
  };
}

const passedOn: ReadonlySet<string> = new Set([
  'ACTIONS_CACHE_MODE',
  'ACTIONS_CACHE_SERVICE_V2',
  'ACTIONS_CACHE_URL',
  'ACTIONS_RESULTS_URL',
  'ACTIONS_RUNTIME_TOKEN',
  'GITHUB_SERVER_URL',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]);

/**
 * Options of GNU tar that protect against a poisoned entry. The library unpacks with `tar -P`, which obeys absolute
 * names, `..` and links in the archive, so an entry could write anywhere before it is checked. These renamings come
 * first: every name stays below the folder, every link points at nothing, and renamed files are then refused as
 * unexpected. State files have no such names, so packing does not change.
 */
const confinedUnpacking = [
  '--transform=s,^/+,refused/,x',
  '--transform=s,[.][.],refused,g',
  '--transform=s,.*,refused,R',
].join(' ');
