const MAX_CHARS = 1000;

/** Returns the reason why a command cannot be written into a workflow, or null if it can be written. */
export function findVerifyProblem(command: string): string | null {
  if (/\p{Cc}/u.test(command)) return 'it is more than one line, or contains control characters.';
  if (command.includes('${{')) return 'it contains ${{, which GitHub would evaluate.';
  return command.length > MAX_CHARS ? `it is longer than ${MAX_CHARS} characters.` : null;
}
