import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

/** A value of a JSON text, with its position from `offset` to `offset + length`, in UTF-16 units. */
export type JsonNode = Node;

/** A problem of a JSON text, for people; the first line and the first column are 1. */
interface JsonProblem extends JsonPosition {
  readonly message: string;
}

export interface JsonPosition {
  readonly line: number;
  readonly column: number;
}

export type ParsedJson =
  | { readonly kind: 'json'; readonly root: JsonNode }
  | { readonly kind: 'malformed'; readonly problems: readonly JsonProblem[] };

/** Maximum number of problems that are listed; most of them follow from the first. */
const MAX_PROBLEMS = 10;
/** Maximum depth of nesting; beyond it the parser would run out of stack. */
const MAX_DEPTH = 500;

/** Parses plain JSON: comments and trailing commas are problems, but a byte order mark is fine. Never throws. */
export function parseJson(text: string): ParsedJson {
  // A blank in place of the byte order mark keeps every offset.
  const plain = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  const tooDeep = offsetOfDepth(plain, MAX_DEPTH + 1);
  if (tooDeep !== null)
    return {
      kind: 'malformed',
      problems: [{ ...indexLines(text)(tooDeep), message: `nested more than ${MAX_DEPTH} deep` }],
    };
  const errors: ParseError[] = [];
  const root = parseTree(plain, errors, { disallowComments: true, allowTrailingComma: false });
  if (errors.length > 0 || root === undefined) return { kind: 'malformed', problems: problemsOf(text, errors) };
  return { kind: 'json', root };
}

/**
 * Returns the value of a member, or null if the node is not an object or has no such member. If a name occurs several
 * times, the last one is used, as in JSON parsers.
 */
export function findMember(node: JsonNode, name: string): JsonNode | null {
  const found = listMembers(node).findLast((property) => property.children?.[0]?.value === name);
  return found?.children?.[1] ?? null;
}

/**
 * Returns the members of an object (`"name": value`), each as a node with the name and the value as children; empty for
 * anything else.
 */
export function listMembers(node: JsonNode): readonly JsonNode[] {
  return node.type === 'object' ? (node.children ?? []) : [];
}

/** Returns the items of an array; empty for anything else. */
export function listArrayItems(node: JsonNode): readonly JsonNode[] {
  return node.type === 'array' ? (node.children ?? []) : [];
}

/** Returns the value as JavaScript data. */
export function convertNode(node: JsonNode): unknown {
  if (node.type === 'array') return listArrayItems(node).map(convertNode);
  // Make all names own members: `__proto__` is a name like any other.
  if (node.type === 'object')
    return Object.fromEntries(
      listMembers(node).flatMap(({ children: [name, value] = [] }) =>
        value === undefined ? [] : [[String(name?.value), convertNode(value)]],
      ),
    );
  return node.value as unknown;
}

/** Returns a function that finds line and column of an offset in a text; CR LF, LF and a lone CR end a line. */
export function indexLines(text: string): (offset: number) => JsonPosition {
  const bom = text.startsWith('\uFEFF') ? 1 : 0;
  const starts = [bom, ...[...text.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: Math.max(line, 0) + 1, column: offset - (starts[line] ?? offset) + 1 };
  };
}

/** Returns the first problem of each line, because later ones on the same line mostly result from it. */
function problemsOf(text: string, errors: readonly ParseError[]): readonly JsonProblem[] {
  const at = indexLines(text);
  const end = text.trimEnd().length;
  const problems = errors.map(({ error, offset, length }) => {
    const code = printParseErrorCode(error);
    const isCut = offset >= end || (code === 'UnexpectedEndOfString' && offset + length >= end);
    return {
      ...at(Math.min(offset, end)),
      message: isCut ? 'the file ends in the middle of a value' : parseErrorMessage(code),
    };
  });
  return problems
    .filter(({ line }, index) => problems.findIndex((other) => other.line === line) === index)
    .slice(0, MAX_PROBLEMS);
}

function parseErrorMessage(code: string): string {
  return Object.hasOwn(messages, code) ? (messages[code] ?? code) : code;
}

const messages: Readonly<Record<string, string>> = {
  InvalidSymbol: 'something that is not a JSON value',
  InvalidNumberFormat: 'a number in a form that JSON does not allow',
  PropertyNameExpected: 'expected a name in double quotes (and no comma before `}`)',
  ValueExpected: 'expected a value (and no comma before `]`)',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected `}`',
  CloseBracketExpected: 'expected `]`',
  EndOfFileExpected: 'expected the end of the file',
  InvalidCommentToken: 'a comment, which JSON does not allow',
  UnexpectedEndOfString: 'a string without its closing quote',
  UnexpectedEndOfNumber: 'a number that is cut off',
  InvalidUnicode: 'a `\\u` without four hex digits',
  InvalidEscapeCharacter: 'an escape that JSON does not allow',
  InvalidCharacter: 'a control character inside a string',
};

/** Returns the offset at which the nesting reaches a depth, or null if it does not. Brackets in strings are ignored. */
function offsetOfDepth(text: string, depth: number): number | null {
  let open = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\r\n]+|\\.)*"?|[[\]{}]/g)) {
    if (token === '[' || token === '{') open += 1;
    if (token === ']' || token === '}') open -= 1;
    if (open >= depth) return index;
  }
  return null;
}

/** JSON as plain data with the positions of its values in the text, or all problems that keep it from being read. */
export type LocatedJson =
  | {
      readonly kind: 'data';
      readonly data: unknown;
      /**
       * Returns the position of the value at a path, or of the key that leads to it; for a missing value, the nearest
       * position.
       */
      readonly at: (path: readonly PropertyKey[], of: 'key' | 'value') => JsonPosition;
      /** Names that an object has more than once, with the positions of the repetitions. */
      readonly repeated: readonly (JsonPosition & { readonly name: string })[];
    }
  | { readonly kind: 'malformed'; readonly problems: readonly (JsonPosition & { readonly message: string })[] };

/** Parses plain JSON; never throws. `texts` are the values that replace the strings at these offsets. */
export function parseLocatedJson(text: string, texts: ReadonlyMap<number, string>): LocatedJson {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return parsed;
  const position = indexLines(text);
  const names = locateNames(parsed.root);
  const notNames = names.filter(({ offset }) => texts.has(offset));
  if (notNames.length > 0)
    return {
      kind: 'malformed',
      problems: notNames.map(({ offset }) => ({
        ...position(offset),
        message: `${texts.get(offset) ?? ''} stands for a value and cannot be a name`,
      })),
    };
  return {
    kind: 'data',
    data: convertNode(withReplacedTexts(parsed.root, texts)),
    at: (path, of) => position(offsetOf(parsed.root, path, of)),
    repeated: names.filter(({ isRepeated }) => isRepeated).map(({ name, offset }) => ({ ...position(offset), name })),
  };
}

interface Name {
  readonly name: string;
  readonly offset: number;
  /** True if the same object already has the name. */
  readonly isRepeated: boolean;
}

function locateNames(node: JsonNode): readonly Name[] {
  const known = new Set<string>();
  const own = listMembers(node).flatMap(({ children: [key] = [] }): readonly Name[] => {
    if (key === undefined) return [];
    const name = String(key.value);
    const isRepeated = known.has(name);
    known.add(name);
    return [{ name, offset: key.offset, isRepeated }];
  });
  return [...own, ...(node.children ?? []).flatMap(locateNames)];
}

/** Returns the tree with the strings at the offsets in `texts` replaced. */
function withReplacedTexts(node: JsonNode, texts: ReadonlyMap<number, string>): JsonNode {
  const text = node.type === 'string' ? texts.get(node.offset) : undefined;
  if (text !== undefined) return { ...node, value: text };
  return node.children === undefined
    ? node
    : { ...node, children: node.children.map((child) => withReplacedTexts(child, texts)) };
}

function offsetOf(root: JsonNode, path: readonly PropertyKey[], of: 'key' | 'value'): number {
  let node = root;
  for (const [index, part] of path.entries()) {
    if (node.type === 'array') {
      const item = typeof part === 'number' ? listArrayItems(node)[part] : undefined;
      if (item === undefined) return node.offset;
      node = item;
      continue;
    }
    // If an object has a name several times, use the last one, as JSON parsers do.
    const property = listMembers(node).findLast(({ children: [key] = [] }) => key?.value === part);
    const [key, value] = property?.children ?? [];
    if (key === undefined || value === undefined) return node.offset;
    if (of === 'key' && index === path.length - 1) return key.offset;
    node = value;
  }
  return node.offset;
}
