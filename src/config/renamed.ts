/** What an input is called here, as a predicate; null: the name is no known one. Inputs of the circuit had shorter names before the first release. */
export function renamedTo(name: string): string | null {
  if (OLD_CIRCUIT_INPUT.test(name)) return `is now called ${name.replace(/^cb-/, 'circuit-')}`;
  const plain = name.replaceAll('_', '-');
  if (KEY_ELSEWHERE.test(plain)) return 'is called anthropic-api-key here';
  return TOKEN_ELSEWHERE.test(plain) ? 'is called claude-code-oauth-token here' : null;
}

const OLD_CIRCUIT_INPUT = /^cb-(no-progress|same-error|permission-denials|output-decline|cooldown-minutes|auto-reset)$/;

/** What other actions and tools call the agent's key. */
const KEY_ELSEWHERE = /^(?:(?:claude|anthropic)-)?(?:api-)?key$/;
const TOKEN_ELSEWHERE = /^(?:(?:claude|anthropic)-)?oauth-token$/;
