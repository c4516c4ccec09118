import { itemsOf, membersOf, parseJson, positionsIn, valueOf, type JsonNode, type JsonPosition } from './parse.ts';

/** JSON as plain data, and where in the text its values stand; or all that keeps it from being read. */
export type LocatedJson =
  | {
      readonly kind: 'data';
      readonly data: unknown;
      /** Where the value at a path stands, or the key that leads to it; of one that is not there, what is nearest. */
      readonly at: (path: readonly PropertyKey[], of: 'key' | 'value') => JsonPosition;
    }
  | { readonly kind: 'malformed'; readonly problems: readonly (JsonPosition & { readonly message: string })[] };

/** Reads plain JSON; never throws. */
export function parseLocatedJson(text: string): LocatedJson {
  const parsed = parseJson(text);
  if (parsed.kind === 'malformed') return parsed;
  const position = positionsIn(text);
  return { kind: 'data', data: valueOf(parsed.root), at: (path, of) => position(offsetOf(parsed.root, path, of)) };
}

function offsetOf(root: JsonNode, path: readonly PropertyKey[], of: 'key' | 'value'): number {
  let node = root;
  for (const [index, part] of path.entries()) {
    if (node.type === 'array') {
      const item = typeof part === 'number' ? itemsOf(node)[part] : undefined;
      if (item === undefined) return node.offset;
      node = item;
      continue;
    }
    // Of several of a name the last counts, as everywhere in JSON.
    const property = membersOf(node).findLast(({ children: [key] = [] }) => key?.value === part);
    const [key, value] = property?.children ?? [];
    if (key === undefined || value === undefined) return node.offset;
    if (of === 'key' && index === path.length - 1) return key.offset;
    node = value;
  }
  return node.offset;
}
