import { type Document, isMap, isScalar, type Pair, parseDocument, Scalar, type YAMLMap } from 'yaml';

/** A YAML text with changed values, or why it could not be changed, as a predicate. */
export type EditedYaml =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly why: string };

/** Numbers by their keys, as they are written. */
export type Numbers = Readonly<Record<string, string>>;

/** Values to set in the map at a path: numbers, and literal blocks that hold YAML themselves. */
export interface YamlChange {
  readonly path: readonly (string | number)[];
  readonly values: Readonly<Record<string, string | Numbers>>;
}

/**
 * Sets values in a map of a YAML text; all other characters stay, comments included. A missing map is added below the
 * key `after` of its parent.
 */
export function setYamlValues(text: string, { path, values }: YamlChange, after: string): EditedYaml {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) return { kind: 'refused', why: 'is not valid YAML' };
  const edited = editMap(text, { document, path, values }, after);
  return edited !== null && isOnlyChange(document, edited, { path, values })
    ? { kind: 'text', text: edited }
    : { kind: 'refused', why: 'is written in a form that only a person can change' };
}

function editMap(
  text: string,
  { document, path, values }: YamlChange & { readonly document: Document },
  after: string,
): string | null {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const parent = path.length === 0 ? null : document.getIn(path.slice(0, -1), true);
  const key = String(path.at(-1) ?? '');
  const pair = pairOf(parent, key);
  const map = path.length === 0 ? document.contents : pair?.value;
  if (isMap(map)) return setInMap(text, map, { values, eol });
  // Anything else in its place, such as an alias, is not replaced.
  if (map !== undefined && map !== null && !(isScalar(map) && map.value === null)) return null;
  if (path.length === 0) return `${text}${linesOf('', values, eol)}`;
  const place = pair ?? pairOf(parent, after);
  if (place === undefined) return null;
  const indent = indentOf(text, place);
  const lines = linesOf(`${indent}  `, values, eol);
  return insertBelow(text, place, { lines: pair === undefined ? `${indent}${key}:${eol}${lines}` : lines, eol });
}

function setInMap(
  text: string,
  map: YAMLMap,
  { values, eol }: Pick<YamlChange, 'values'> & { readonly eol: string },
): string | null {
  const last = map.items.at(-1);
  if (map.flow === true || last === undefined) return null;
  const isKnown = ([name]: readonly [string, unknown]): boolean => pairOf(map, name) !== undefined;
  const added = Object.fromEntries(Object.entries(values).filter((entry) => !isKnown(entry)));
  const lines = linesOf(indentOf(text, last), added, eol);
  const places = Object.entries(values)
    .filter(isKnown)
    .map(([name, value]) => replacementOf(text, pairOf(map, name), value))
    .toSorted((one, other) => (other?.from ?? 0) - (one?.from ?? 0));
  // The last place comes first, so that those of the others stay.
  return places.reduce<string | null>(
    (edited, place) =>
      edited === null || place === null
        ? null
        : `${edited.slice(0, place.from)}${place.value}${edited.slice(place.to)}`,
    insertBelow(text, last, { lines, eol }),
  );
}

interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

/** Returns the new text of a value in its place; null if the value has another form. */
function replacementOf(text: string, pair: Pair | undefined, value: string | Numbers): Replacement | null {
  const node = pair?.value;
  if (!isScalar(node) || node.range == null || node.anchor !== undefined) return null;
  const [from, to] = node.range;
  if (typeof value !== 'string') {
    const block = node.type === Scalar.BLOCK_LITERAL ? editedBlock(text.slice(from, to), value) : null;
    return block === null ? null : { from, to, value: block };
  }
  const isBlock = node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED;
  return to > from && !isBlock ? { from, to, value } : null;
}

/** Sets numbers in the YAML that a literal block holds. */
function editedBlock(block: string, values: Numbers): string | null {
  const [header = '', ...lines] = block.split('\n');
  const indent = /^ */.exec(lines.find((line) => line.trim() !== '') ?? '')?.[0] ?? '';
  const inner = setYamlValues(lines.map((line) => line.slice(indent.length)).join('\n'), { path: [], values }, '');
  if (inner.kind === 'refused') return null;
  const indented = inner.text.split('\n').map((line) => (line.trim() === '' ? line : `${indent}${line}`));
  return [header, ...indented].join('\n');
}

function pairOf(map: unknown, name: string): Pair | undefined {
  return isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
}

function indentOf(text: string, { key }: Pair): string {
  const from = (isScalar(key) ? key.range?.[0] : undefined) ?? 0;
  return ' '.repeat(from - (text.lastIndexOf('\n', from - 1) + 1));
}

function linesOf(indent: string, values: YamlChange['values'], eol: string): string {
  return Object.entries(values)
    .map(([name, value]) =>
      typeof value === 'string'
        ? `${indent}${name}: ${value}${eol}`
        : `${indent}${name}: |${eol}${linesOf(`${indent}  `, value, eol)}`,
    )
    .join('');
}

/** Inserts lines below the last line of a pair whose value is a scalar. */
function insertBelow(
  text: string,
  { key, value }: Pair,
  { lines, eol }: { readonly lines: string; readonly eol: string },
): string | null {
  if (lines === '') return text;
  const node = isScalar(value) && value.value !== null ? value : key;
  const end = isScalar(node) || isMap(node) ? node.range?.[1] : undefined;
  if (end === undefined) return null;
  const lineEnd = text[end - 1] === '\n' ? end : text.indexOf('\n', end) + 1;
  return lineEnd === 0 ? `${text}${eol}${lines}` : `${text.slice(0, lineEnd)}${lines}${text.slice(lineEnd)}`;
}

/** Returns true if the edited text differs from the document in these values only. */
function isOnlyChange(before: Document, edited: string, { path, values }: YamlChange): boolean {
  const after = parseDocument(edited, { prettyErrors: false });
  const numbers = Object.entries(values).filter(([, value]) => typeof value === 'string');
  const isSet =
    after.errors.length === 0 && numbers.every(([name, value]) => String(after.getIn([...path, name])) === value);
  return isSet && dataWithout(before, { path, values }) === dataWithout(after, { path, values });
}

/** Returns a document's data as JSON with sorted keys, without these values, and without a map that has no others. */
function dataWithout(document: Document, { path, values }: YamlChange): string {
  const rest = document.clone();
  for (const name of Object.keys(values)) if (rest.hasIn([...path, name])) rest.deleteIn([...path, name]);
  const map = path.length === 0 ? null : rest.getIn(path, true);
  const isEmpty = isScalar(map) ? map.value === null : isMap(map) && map.items.length === 0;
  if (isEmpty) rest.deleteIn(path);
  return JSON.stringify(rest.toJS(), (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
