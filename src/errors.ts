/** A failure that a person can fix: `message` says what happened with which value, and what to do. */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly kind: 'configuration' | 'infrastructure';
  /** Reason that failed requests share, by which they are reported together, or null if none is known. */
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

/** `reason` of the UserError for a request that the token has no permission for. */
export const NOT_PERMITTED = 'not-permitted';

/** Returns the thrown value as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the text of a thrown value, without a stack. */
export function getErrorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message of an error on one line. */
export function getErrorMessage(error: unknown): string {
  return getErrorText(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}
