/** What an input is called now, as a predicate; null: it never had another name. Inputs of the circuit had shorter names before the first release. */
export function renamedTo(name: string): string | null {
  return OLD_CIRCUIT_INPUT.test(name) ? `is now called ${name.replace(/^cb-/, 'circuit-')}` : null;
}

const OLD_CIRCUIT_INPUT = /^cb-(no-progress|same-error|permission-denials|output-decline|cooldown-minutes|auto-reset)$/;
