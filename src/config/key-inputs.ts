/** Inputs that hold the key of an agent's provider. Each is another way to set the environment variable of the same name. */
export const KEY_INPUTS = [
  'anthropic-api-key',
  'claude-code-oauth-token',
  'openai-api-key',
  'gemini-api-key',
  'copilot-github-token',
] as const;

/** Those variables. */
export const KEY_VARIABLES: readonly string[] = KEY_INPUTS.map(variableOf);

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment with the keys that were given as inputs; an input beats the variable. */
export function withKeyInputs(environment: Environment): Environment {
  const given: Record<string, string> = {};
  for (const name of KEY_INPUTS) {
    const key = (environment[`INPUT_${name.toUpperCase()}`] ?? '').trim();
    if (key !== '') given[variableOf(name)] = key;
  }
  return { ...environment, ...given };
}

/** `anthropic-api-key` → `ANTHROPIC_API_KEY`. */
function variableOf(input: string): string {
  return input.toUpperCase().replaceAll('-', '_');
}
