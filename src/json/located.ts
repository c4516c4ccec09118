import {
  listArrayItems,
  listMembers,
  parseJson,
  indexLines,
  convertNode,
  type JsonNode,
  type JsonPosition,
} from './parse.ts';

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
