import type { McpServer } from './server.ts';

/** A value is made of these. `fallback`: what stands in the place of a variable that is not set; null: nothing does. */
export type ValuePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly fallback: string | null };

/** A variable, or a `$` that one agent takes for the beginning of one and another does not. */
const REFERENCE = /\$\{([A-Za-z_]\w*)(?::-((?:(?!:-)[^${}])*))?\}|\$(?=[\w{])/g;

/** What a value with `${NAME}` and `${NAME:-default}` is made of; null: it has a `$` that is neither. */
export function valueParts(value: string): readonly ValuePart[] | null {
  const parts: ValuePart[] = [];
  let end = 0;
  for (const { 0: whole, 1: name, 2: fallback, index } of value.matchAll(REFERENCE)) {
    if (name === undefined) return null;
    if (index > end) parts.push({ kind: 'text', text: value.slice(end, index) });
    parts.push({ kind: 'variable', name, fallback: fallback ?? null });
    end = index + whole.length;
  }
  return end < value.length ? [...parts, { kind: 'text', text: value.slice(end) }] : parts;
}

/** The variables that a value names. */
export function variablesIn(value: string): readonly Extract<ValuePart, { readonly kind: 'variable' }>[] {
  return (valueParts(value) ?? []).flatMap((part) => (part.kind === 'variable' ? [part] : []));
}

/** The variable that a value is and nothing else, without a default; null: it is something else. */
export function soleVariable(value: string): string | null {
  const [first, ...others] = valueParts(value) ?? [];
  return first?.kind === 'variable' && first.fallback === null && others.length === 0 ? first.name : null;
}

/** All values of a server that may name variables. */
export function valuesOf(server: McpServer): readonly string[] {
  return server.kind === 'command'
    ? [server.command, ...server.args, ...Object.values(server.env)]
    : Object.values(server.headers);
}

/** What keeps servers from starting with these variables, as sentences. `shown`: those that a server may get; `others`: those that the agent has beside them, such as its keys. */
export function variableProblems(
  servers: readonly McpServer[],
  shown: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): readonly string[] {
  const problems = servers.flatMap((server) =>
    valuesOf(server)
      .flatMap(variablesIn)
      .filter(({ name }) => !Object.hasOwn(shown, name))
      .flatMap(({ name, fallback }) => {
        if (Object.hasOwn(others, name))
          return [
            `The server ${server.name} names \`${name}\`, which belongs to the agent's login: no server gets that.`,
          ];
        return fallback === null
          ? [
              `The server ${server.name} names \`${name}\`, which is not set in this job. Set it in the step's \`env\`, or give a default: \`\${${name}:-default}\`.`,
            ]
          : [];
      }),
  );
  return [...new Set(problems)];
}
