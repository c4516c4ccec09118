import type { JsonNode } from './parse.ts';

/** How the children of an object or array are laid out. */
export interface JsonLayout {
  /** `\r\n` or `\n`. */
  readonly lineEnd: string;
  /** One step of indentation; null: it stands on one line. */
  readonly indent: string | null;
  /** Whether blanks follow the colons of what stands on one line. */
  readonly spaced: boolean;
}

/** One place of a text that is to be replaced. */
export interface Edit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** The text with the edits made; they must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const inOrder = edits.toSorted((a, b) => b.offset - a.offset);
  return inOrder.reduce(
    (edited, { offset, length, text: piece }) => edited.slice(0, offset) + piece + edited.slice(offset + length),
    text,
  );
}

/** Leaves only those children of an object or array that `keep` accepts; everything else stays as it was written. */
export function keepChildren(text: string, container: JsonNode, keep: (child: JsonNode) => boolean): Edit {
  const children = container.children ?? [];
  const kept = children.filter(keep);
  const offset = container.offset + 1;
  const end = endOf(container) - 1;
  const [first] = children;
  const last = children.at(-1);
  if (first === undefined || last === undefined || kept.length === children.length)
    return { offset, length: 0, text: '' };
  if (kept.length === 0) return { offset, length: end - offset, text: '' };
  // Each child brings the comma before it, with its white space; the first and the last that are kept stand where the first and the last stood.
  const before = new Map(
    children.slice(1).map((child, index) => [child, text.slice(endOf(children[index] ?? first), child.offset)]),
  );
  const pieces = kept.map(
    (child, index) => (index === 0 ? leadOf(text, first) : (before.get(child) ?? '')) + rawOf(text, child),
  );
  return { offset, length: end - offset, text: pieces.join('') + text.slice(endOf(last), end) };
}

/** Puts children behind those that an object or array has, laid out as these are; `layout` is that of an object or array around it, for one that is empty. */
export function appendChildren(text: string, container: JsonNode, pieces: readonly string[], layout: JsonLayout): Edit {
  const last = container.children?.at(-1);
  if (last !== undefined) {
    const lead = leadOf(text, last);
    // `[a]` becomes `[a, b]`.
    const between = lead === '' && layoutOfJson(text, container).spaced ? ' ' : lead;
    return { offset: endOf(last), length: 0, text: pieces.map((piece) => `,${between}${piece}`).join('') };
  }
  const offset = container.offset + 1;
  const length = container.length - 2;
  if (layout.indent === null) return { offset, length, text: pieces.join(layout.spaced ? ', ' : ',') };
  const outer = `${layout.lineEnd}${indentAt(text, container.offset)}`;
  return {
    offset,
    length,
    text: `${pieces.map((piece) => `${outer}${layout.indent ?? ''}${piece}`).join(',')}${outer}`,
  };
}

/** Indentation of the line on which a child that is appended to `container` begins. */
export function childIndent(text: string, container: JsonNode, layout: JsonLayout): string {
  const last = container.children?.at(-1);
  return last === undefined ? indentAt(text, container.offset) + (layout.indent ?? '') : indentAt(text, last.offset);
}

/** Layout of an object or array that has children; two blanks a step where nothing shows it. */
export function layoutOfJson(text: string, container: JsonNode): JsonLayout {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const [first] = container.children ?? [];
  if (first === undefined) return { lineEnd, indent: '  ', spaced: true };
  const spaced = /":[ \t]|,[ \t]/.test(rawOf(text, container));
  if (!/[\r\n]/.test(leadOf(text, first))) return { lineEnd, indent: null, spaced };
  const outer = indentAt(text, container.offset);
  const inner = indentAt(text, first.offset);
  return {
    lineEnd,
    indent: inner.startsWith(outer) && inner.length > outer.length ? inner.slice(outer.length) : '',
    spaced,
  };
}

/** Writes a value that begins on a line with the indentation `outer`. */
export function renderJsonValue(value: unknown, layout: JsonLayout, outer: string): string {
  if (layout.indent === null && !layout.spaced) return JSON.stringify(value);
  // Inside its texts JSON has no line ends, so that these are all between them.
  const lines = JSON.stringify(value, null, layout.indent || '  ').split('\n');
  return layout.indent === null ? lines.map((line) => line.trim()).join(' ') : lines.join(`${layout.lineEnd}${outer}`);
}

/** What is written in one text, as it is to stand in another: line ends and outer indentation are the other's, all else is as it was. */
export function transplant(
  piece: string,
  from: { readonly indent: string },
  to: { readonly indent: string; readonly lineEnd: string },
): string {
  const [first = '', ...rest] = piece.split(/\r\n?|\n/);
  return [
    first,
    ...rest.map((line) => (line.startsWith(from.indent) ? to.indent + line.slice(from.indent.length) : line)),
  ].join(to.lineEnd);
}

/** A node as it is written. */
export function rawOf(text: string, node: JsonNode): string {
  return text.slice(node.offset, endOf(node));
}

/** Blanks and tabs at the beginning of the line of `offset`. */
export function indentAt(text: string, offset: number): string {
  const start = Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

/** White space between what stands before a child (a comma, a bracket) and it. */
function leadOf(text: string, child: JsonNode): string {
  let start = child.offset;
  while (/[ \t\r\n]/.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start, child.offset);
}

function endOf(node: JsonNode): number {
  return node.offset + node.length;
}
