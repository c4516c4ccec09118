/** A failure that a person can fix: `message` says what happened with which value, and what to do. */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly kind: 'configuration' | 'infrastructure';

  constructor(kind: 'configuration' | 'infrastructure', message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.kind = kind;
  }
}

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
