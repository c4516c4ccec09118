/** What a call prints, as far as it matters while it runs. `line`: for who follows the job; empty: nothing. */
export type CallEvent =
  | { readonly kind: 'work'; readonly line: string }
  /** The CLI's own account of how the call ended: nothing more has to come. */
  | { readonly kind: 'result'; readonly line: string }
  /** Tasks that go on behind a result: how many there are, or how many more (`running` null). */
  | { readonly kind: 'tasks'; readonly line: ''; readonly running: number | null; readonly more: number }
  /** MCP servers that the agent was given and cannot use. */
  | { readonly kind: 'servers'; readonly line: ''; readonly failed: readonly string[] }
  /** A try is on its way to the provider: who waited before it waits no more. */
  | { readonly kind: 'try'; readonly line: '' }
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
