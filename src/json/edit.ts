import type { JsonNode } from './parse.ts';

/** The layout of the children of an object or array. */
export interface JsonLayout {
  /** The line end: `\r\n` or `\n`. */
  readonly lineEnd: string;
  /** One step of indentation, or null if the children are on one line. */
  readonly indent: string | null;
  /** True if blanks follow the colons and commas of children that are on one line. */
  readonly spaced: boolean;
}

/** The replacement of one part of a text. */
export interface JsonEdit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** Returns the text with the edits applied, which must not overlap. */
export function applyEdits(text: string, edits: readonly JsonEdit[]): string {
  const inOrder = edits.toSorted((a, b) => b.offset - a.offset);
  return inOrder.reduce(
    (edited, { offset, length, text: piece }) => edited.slice(0, offset) + piece + edited.slice(offset + length),
    text,
  );
}

/**
 * Returns the edit that keeps only those children of an object or array that `keep` accepts; everything else stays as
 * it was written.
 */
export function keepChildren(text: string, container: JsonNode, keep: (child: JsonNode) => boolean): JsonEdit {
  const children = container.children ?? [];
  const kept = children.filter(keep);
  const offset = container.offset + 1;
  const end = endOf(container) - 1;
  const [first] = children;
  const last = children.at(-1);
  if (first === undefined || last === undefined || kept.length === children.length)
    return { offset, length: 0, text: '' };
  if (kept.length === 0) return { offset, length: end - offset, text: '' };
  // Each child brings the comma and the white space before it; the first and the last kept child take the places of the
  // original first and last.
  const before = new Map(
    children.slice(1).map((child, index) => [child, text.slice(endOf(children[index] ?? first), child.offset)]),
  );
  const pieces = kept.map(
    (child, index) => (index === 0 ? leadOf(text, first) : (before.get(child) ?? '')) + sliceNodeText(text, child),
  );
  return { offset, length: end - offset, text: pieces.join('') + text.slice(endOf(last), end) };
}

/**
 * Returns the edit that appends children to an object or array in the layout of its present children. If it is empty,
 * `layout` is used, the layout of an object or array around it.
 */
export function appendChildren(
  text: string,
  container: JsonNode,
  pieces: readonly string[],
  layout: JsonLayout,
): JsonEdit {
  const last = container.children?.at(-1);
  if (last !== undefined) {
    const lead = leadOf(text, last);
    // Add a blank between items on one line, so that `[a]` becomes `[a, b]`.
    const between = lead === '' && layoutOfJson(text, container).spaced ? ' ' : lead;
    return { offset: endOf(last), length: 0, text: pieces.map((piece) => `,${between}${piece}`).join('') };
  }
  const offset = container.offset + 1;
  const length = container.length - 2;
  if (layout.indent === null) return { offset, length, text: pieces.join(layout.spaced ? ', ' : ',') };
  const outer = `${layout.lineEnd}${sliceIndent(text, container.offset)}`;
  return {
    offset,
    length,
    text: `${pieces.map((piece) => `${outer}${layout.indent ?? ''}${piece}`).join(',')}${outer}`,
  };
}

/** Returns the indentation of the line on which a child that is appended to `container` begins. */
export function detectChildIndent(text: string, container: JsonNode, layout: JsonLayout): string {
  const last = container.children?.at(-1);
  return last === undefined
    ? sliceIndent(text, container.offset) + (layout.indent ?? '')
    : sliceIndent(text, last.offset);
}

/** Returns the layout of an object or array; without children, a step is two blanks. */
export function layoutOfJson(text: string, container: JsonNode): JsonLayout {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const [first] = container.children ?? [];
  if (first === undefined) return { lineEnd, indent: '  ', spaced: true };
  const spaced = /":[ \t]|,[ \t]/.test(sliceNodeText(text, container));
  if (!/[\r\n]/.test(leadOf(text, first))) return { lineEnd, indent: null, spaced };
  const outer = sliceIndent(text, container.offset);
  const inner = sliceIndent(text, first.offset);
  return {
    lineEnd,
    indent: inner.startsWith(outer) && inner.length > outer.length ? inner.slice(outer.length) : '',
    spaced,
  };
}

/** Renders a value that begins on a line with the indentation `outer`. */
export function renderJsonValue(value: unknown, layout: JsonLayout, outer: string): string {
  if (layout.indent === null && !layout.spaced) return JSON.stringify(value);
  // Indent at all line ends, which are between values because JSON strings have no line ends.
  const lines = JSON.stringify(value, null, layout.indent || '  ').split('\n');
  return layout.indent === null ? lines.map((line) => line.trim()).join(' ') : lines.join(`${layout.lineEnd}${outer}`);
}

/** Adapts a piece of one text to another text, whose line ends and outer indentation it gets. */
export function transplantText(
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

/** Returns a node as it is written. */
export function sliceNodeText(text: string, node: JsonNode): string {
  return text.slice(node.offset, endOf(node));
}

/** Returns the blanks and tabs at the beginning of the line of `offset`. */
export function sliceIndent(text: string, offset: number): string {
  const start = Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

/** Returns the white space between a child and the comma or bracket before it. */
function leadOf(text: string, child: JsonNode): string {
  let start = child.offset;
  while (/[ \t\r\n]/.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start, child.offset);
}

function endOf(node: JsonNode): number {
  return node.offset + node.length;
}
