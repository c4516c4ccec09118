/** What is thrown, as text for a sentence. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
