import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';

// GitHub documents both protocols ("Workflow commands for GitHub Actions"). They are written here because @actions/core
// brings an HTTP client along, for a service that we do not use, and loading it doubles the start of every run.

/** Tells the runner something on standard output: `::name::text`; the text is escaped. */
export function issueCommand(name: 'add-mask' | 'debug' | 'endgroup' | 'error' | 'group' | 'warning', text: string): void {
  print(`::${name}::${text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}`);
}

/** Prints one text to the job log as it is. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Adds a value to a file of the runner (GITHUB_OUTPUT, GITHUB_STATE); does nothing outside of a runner. */
export function appendValue(file: string | undefined, name: string, value: string): void {
  if (file === undefined || file === '' || !existsSync(file)) return;
  // A delimiter that nobody can know beforehand, so that no value can end early and set another one.
  const delimiter = `ralph_${randomUUID()}`;
  appendFileSync(file, `${name}<<${delimiter}\n${value}\n${delimiter}\n`);
}
