/** What a call prints, as far as it matters while it runs. `line`: for who follows the job; empty: nothing. */
export type CallEvent =
  | { readonly kind: 'work'; readonly line: string }
  | { readonly kind: 'retry'; readonly line: string; readonly retry: Retry };

/** The CLI tries its provider again. */
interface Retry {
  /** HTTP status of the provider's last answer; null: there was none, or it is unknown. */
  readonly status: number | null;
  /** A name for it, or words; null: none are known. */
  readonly cause: string | null;
  /** How long it waits before its next try, in ms; null: it does not say. */
  readonly waitMs: number | null;
}
