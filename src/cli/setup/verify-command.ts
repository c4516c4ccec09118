const MAX_CHARS = 1000;

/** What keeps a command from standing in a workflow; null: nothing. */
export function verifyProblem(command: string): string | null {
  if (/\p{Cc}/u.test(command)) return 'it is more than one line, or contains control characters.';
  if (command.includes('${{')) return 'it contains ${{, which GitHub would evaluate.';
  return command.length > MAX_CHARS ? `it is longer than ${MAX_CHARS} characters.` : null;
}
