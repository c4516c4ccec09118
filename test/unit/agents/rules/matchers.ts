// The matchers below apply each CLI's own rules to one simple command, according to its documentation and to tests with
// the real CLI.

/** Returns the entries of a policy file. It is strict: it throws for anything but one value per line. */
export function policyEntries(policy: string): readonly Readonly<Record<string, unknown>>[] {
  return policy.split('[[rule]]\n').flatMap((text, index) => {
    if (index === 0 && text === '') return [];
    return [
      Object.fromEntries(
        text
          .trim()
          .split('\n')
          .map((line) => {
            const [, key, value] = /^([A-Za-z]+) = ([^\u0000-\u001f\u007f]+)$/.exec(line) ?? [];
            if (key === undefined || value === undefined) throw new Error(`not an entry: ${line}`);
            return [key, JSON.parse(value) as unknown];
          }),
      ),
    ];
  });
}

const TWO_WORDS = ['git', 'gh', 'npm', 'npx', 'pnpm', 'yarn', 'go', 'cargo', 'poetry', 'pip', 'dotnet', 'mvn', 'mix'];

/**
 * True if Copilot CLI runs a command, which is its name and for some programs the subcommand. Commands allowed
 * without a rule are not covered.
 */
export function copilotAllows(flags: readonly string[], command: string): boolean {
  const [name = '', first = '-'] = command.split(/\s+/);
  const stem = TWO_WORDS.includes(name) && !first.startsWith('-') ? `${name} ${first}` : name;
  return flags.some((flag) => {
    if (flag === '--allow-tool=shell') return true;
    const [, inner = ''] = /^--allow-tool=shell\((.+):\*\)$/.exec(flag) ?? [];
    return inner !== '' && (stem === inner || stem.startsWith(`${inner} `));
  });
}
