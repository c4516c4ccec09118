/** Values by the names of environment variables. */
export type Variables = Readonly<Record<string, string>>;

/** A text with its variables put in, and the names of those that had neither value nor default. */
export interface Expanded {
  readonly text: string;
  readonly missing: readonly string[];
}

/** Whether a text is one variable and nothing else. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$/.test(text.trim());
}

/** `${NAME}` and `${NAME:-default}`: what is not among `variables` becomes its default, or nothing. What a value holds is not looked at again. */
export function expandVariables(text: string, variables: Variables): Expanded {
  const missing: string[] = [];
  const expanded = text.replace(
    // A default ends where another reference begins: a text of many that are not closed is read once.
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}/g,
    (_all, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      // As in a shell: with a default an empty value counts as none.
      if (value !== undefined && (value !== '' || fallback === undefined)) return value;
      if (fallback === undefined) missing.push(name);
      return fallback ?? '';
    },
  );
  return { text: expanded, missing };
}
