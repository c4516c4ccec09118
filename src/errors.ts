/** A failure that a person can fix: `message` says what happened with which value, and what to do. */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly kind: 'configuration' | 'infrastructure';
  /** What failed requests for different things have in common, by which they are reported together; null: nothing is known to be. */
  readonly reason: string | null;

  constructor(
    kind: 'configuration' | 'infrastructure',
    message: string,
    { reason = null, ...options }: { readonly cause?: unknown; readonly reason?: string | null } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.reason = reason;
  }
}

/** `reason` of the UserError for a repository whose issues are switched off. */
export const ISSUES_SWITCHED_OFF = 'issues-switched-off';

/** What is thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What is thrown, as text for a sentence. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What an error says, on one line. */
export function messageOf(error: unknown): string {
  return textOf(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}
