/** The files that define each symbol, found by searching for the usual keywords. */
export type Definitions = ReadonlyMap<string, readonly string[]>;

/** Maximum number of symbols searched for. */
const MAX_SYMBOLS = 300;

/** Keywords that precede a defined name in various languages. */
const KEYWORDS =
  'class|const|def|defmodule|enum|fn|fun|func|function|impl|interface|let|module|object|struct|trait|type|var';

/** Returns the identifiers of a text without words of its prose and without duplicates. */
export function findSymbols(text: string): readonly string[] {
  const inCode = findCodeSpans(text).flatMap(identifiersIn);
  const inProse = identifiersIn(text).filter((word) => /_|[a-z][A-Z]/.test(word));
  return [...new Set([...inCode, ...inProse])].slice(0, MAX_SYMBOLS);
}

/** Returns the contents of the code spans (between backticks) in a text. */
export function findCodeSpans(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]{1,300})`/g)].map(([, code = '']) => code);
}

/** Returns an extended regular expression that matches the definitions of these symbols. */
export function buildDefinitionPattern(symbols: readonly string[]): string {
  // The dollar sign is the only character of a symbol that is special in a pattern.
  return `(${KEYWORDS})[*]? +(${symbols.map((symbol) => symbol.replaceAll('$', '[$]')).join('|')})`;
}

/** Parses the output of `git grep -z -o` in a tree: lines of the tree's name, a colon, the path, NUL, and the match. */
export function parseDefinitions(found: string): Definitions {
  const definitions = new Map<string, string[]>();
  for (const line of found.split('\n')) {
    const [place = '', match = ''] = line.split('\0');
    const symbol = /\S+$/.exec(match)?.[0];
    if (symbol === undefined) continue;
    const path = place.slice(place.indexOf(':') + 1);
    const known = definitions.get(symbol) ?? [];
    if (!known.includes(path)) definitions.set(symbol, [...known, path]);
  }
  return definitions;
}

function identifiersIn(text: string): readonly string[] {
  return text.split(/[^\w$]+/).filter((word) => /^[A-Za-z_$][\w$]{3,60}$/.test(word));
}
