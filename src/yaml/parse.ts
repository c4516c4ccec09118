import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';

/** A position in a text; the first line and the first column are 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

/** YAML as plain data with the positions of its values in the text, or all problems that keep it from being read. */
export type LocatedYaml =
  | {
      readonly kind: 'data';
      readonly data: unknown;
      /**
       * Returns the position of the value at a path, or of the key that leads to it; for a missing value, the nearest
       * position.
       */
      readonly at: (path: readonly PropertyKey[], of: 'key' | 'value') => Position;
      /** Always empty, because a repeated name keeps a file from being read. */
      readonly repeated: readonly never[];
    }
  | { readonly kind: 'malformed'; readonly problems: readonly (Position & { readonly message: string })[] };

/** Maximum number of problems that are listed; most of them follow from the first. */
const MAX_PROBLEMS = 10;

/** Parses one YAML document of a bounded length; never throws. */
export function parseLocatedYaml(text: string): LocatedYaml {
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const malformed = (message: string, offset: number): LocatedYaml => ({
    kind: 'malformed',
    problems: [{ ...positionAt(offset), message }],
  });
  try {
    const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
    if (document.errors.length > 0)
      return {
        kind: 'malformed',
        problems: document.errors
          .slice(0, MAX_PROBLEMS)
          .map(({ pos: [offset], message }) => ({ ...positionAt(offset), message })),
      };
    const data = document.toJS({ maxAliasCount: 100 }) as unknown;
    return { kind: 'data', data, at: (path, of) => positionAt(offsetOf(document, path, of)), repeated: [] };
  } catch (error) {
    // Report an error of the library, which throws for aliases that multiply without end.
    return malformed(error instanceof Error ? error.message : 'it is not YAML', 0);
  }
}

function offsetOf(document: Document, path: readonly PropertyKey[], of: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offset = rangeOf(node) ?? 0;
  for (const [index, part] of path.entries()) {
    const isLast = index === path.length - 1;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? key.value : key) === part);
      if (pair === undefined) return offset;
      const keyAt = rangeOf(pair.key) ?? offset;
      node = pair.value;
      offset = isLast && of === 'key' ? keyAt : (rangeOf(node) ?? keyAt);
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = rangeOf(node) ?? offset;
    } else return offset;
  }
  return offset;
}

function rangeOf(node: unknown): number | null {
  return (node as Partial<Node> | null)?.range?.[0] ?? null;
}

/** YAML as plain data, or the place and the reason for which it cannot be read, as a sentence. */
type ParsedYaml =
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Maximum length of a document; GitHub accepts workflow files of up to 500 KB. */
const MAX_CHARS = 512 * 1024;

/** Parses one YAML document; never throws. */
export function parseYaml(text: string): ParsedYaml {
  return parseAs(text, { schema: 'core', maxAliasCount: 100 });
}

/** Parses one YAML document without aliases and returns every scalar as it is written, such as `1.10`; never throws. */
export function parseYamlTexts(text: string): ParsedYaml {
  return parseAs(text, { schema: 'failsafe', maxAliasCount: 0 });
}

function parseAs(
  text: string,
  { schema, maxAliasCount }: { readonly schema: 'core' | 'failsafe'; readonly maxAliasCount: number },
): ParsedYaml {
  if (text.length > MAX_CHARS) return { kind: 'unreadable', why: 'it is longer than GitHub allows.' };
  try {
    const document = parseDocument(text, { prettyErrors: false, schema });
    const [error] = document.errors;
    if (error === undefined) return { kind: 'data', data: document.toJS({ maxAliasCount }) as unknown };
    const line = text.slice(0, error.pos[0]).split('\n').length;
    const why = error.code === 'MULTIPLE_DOCS' ? 'a second document begins: write one only.' : error.message;
    return { kind: 'unreadable', why: `line ${String(line)}: ${why}` };
  } catch (error) {
    // The library throws for aliases: for every alias if `maxAliasCount` is 0, otherwise for those that multiply
    // without end.
    if (maxAliasCount === 0) return { kind: 'unreadable', why: 'put a value that begins with `*` in quotes.' };
    return { kind: 'unreadable', why: error instanceof Error ? error.message : 'it is not YAML.' };
  }
}
