import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

/** A value of a JSON text, and where it stands: `offset` to `offset + length`, in UTF-16 units. */
export type JsonNode = Node;

/** What is wrong with a JSON text, for a person; line and column from 1. */
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

/** Problems beyond these are not listed: most follow from the first. */
const MAX_PROBLEMS = 10;
/** Deeper nesting is refused: the parser would run out of stack. */
const MAX_DEPTH = 500;

/** Reads plain JSON: comments and trailing commas are problems, a byte order mark is none. Never throws. */
export function parseJson(text: string): ParsedJson {
  // A blank in its place keeps every offset.
  const plain = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  const tooDeep = offsetOfDepth(plain, MAX_DEPTH + 1);
  if (tooDeep !== null)
    return {
      kind: 'malformed',
      problems: [{ ...positionsIn(text)(tooDeep), message: `nested more than ${MAX_DEPTH} deep` }],
    };
  const errors: ParseError[] = [];
  const root = parseTree(plain, errors, { disallowComments: true, allowTrailingComma: false });
  if (errors.length > 0 || root === undefined) return { kind: 'malformed', problems: problemsOf(text, errors) };
  return { kind: 'json', root };
}

/** The value of a member; null: it is no object, or has no such member. Of several of a name the last counts, as everywhere in JSON. */
export function member(node: JsonNode, name: string): JsonNode | null {
  const found = membersOf(node).findLast((property) => property.children?.[0]?.value === name);
  return found?.children?.[1] ?? null;
}

/** `"name": value` of an object, each as a node with the name and the value as children; empty for anything else. */
export function membersOf(node: JsonNode): readonly JsonNode[] {
  return node.type === 'object' ? (node.children ?? []) : [];
}

/** The items of an array; empty for anything else. */
export function itemsOf(node: JsonNode): readonly JsonNode[] {
  return node.type === 'array' ? (node.children ?? []) : [];
}

/** The value as JavaScript has it. */
export function valueOf(node: JsonNode): unknown {
  if (node.type === 'array') return itemsOf(node).map(valueOf);
  // As own members, whatever they are called: `__proto__` is a name like any other.
  if (node.type === 'object')
    return Object.fromEntries(
      membersOf(node).flatMap(({ children: [name, value] = [] }) =>
        value === undefined ? [] : [[String(name?.value), valueOf(value)]],
      ),
    );
  return node.value as unknown;
}

/** Finds line and column of offsets in a text; CR LF, LF and a lone CR end a line. */
export function positionsIn(text: string): (offset: number) => JsonPosition {
  const bom = text.startsWith('\uFEFF') ? 1 : 0;
  const starts = [bom, ...[...text.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: Math.max(line, 0) + 1, column: offset - (starts[line] ?? offset) + 1 };
  };
}

/** The first problem of each line: what follows on the same line is mostly its echo. */
function problemsOf(text: string, errors: readonly ParseError[]): readonly JsonProblem[] {
  const at = positionsIn(text);
  const end = text.trimEnd().length;
  const problems = errors.map(({ error, offset, length }) => {
    const code = printParseErrorCode(error);
    const isCut = offset >= end || (code === 'UnexpectedEndOfString' && offset + length >= end);
    return {
      ...at(Math.min(offset, end)),
      message: isCut ? 'the file ends in the middle of a value' : messageOf(code),
    };
  });
  return problems
    .filter(({ line }, index) => problems.findIndex((other) => other.line === line) === index)
    .slice(0, MAX_PROBLEMS);
}

function messageOf(code: string): string {
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

/** Where the nesting gets that deep; null: nowhere. Brackets in texts do not count. */
function offsetOfDepth(text: string, depth: number): number | null {
  let open = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\r\n]+|\\.)*"?|[[\]{}]/g)) {
    if (token === '[' || token === '{') open += 1;
    if (token === ']' || token === '}') open -= 1;
    if (open >= depth) return index;
  }
  return null;
}
