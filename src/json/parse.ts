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
