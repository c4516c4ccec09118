/** What the action's process asks of the cache worker; `key` of a restore is a prefix. `lookup`: a restore that fetches nothing. */
export interface CacheRequest {
  readonly kind: 'restore' | 'lookup' | 'save';
  readonly key: string;
}

export type CacheAnswer =
  /** For a lookup: found. */
  | { readonly kind: 'restored'; readonly key: string }
  | { readonly kind: 'no-entry' }
  /** Saved and read back. */
  | { readonly kind: 'saved' }
  /** The service refuses this token: no fault that passes. */
  | { readonly kind: 'denied'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** One line of JSON on the answer pipe: what was seen on the way, then the answer. */
export type WorkerLine =
  | { readonly kind: 'seen'; readonly what: string }
  | { readonly kind: 'answer'; readonly answer: CacheAnswer };

/** File descriptor of the answer pipe; stdout belongs to the library's log lines. */
export const ANSWER_DESCRIPTOR = 3;

/**
 * The folder that is cached, relative to the worker's directory: an entry is found again only under the
 * very same path, so it must not depend on the machine.
 */
export const STATE_FOLDER_NAME = 'ralph-state';
