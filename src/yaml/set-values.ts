import { type Document, isMap, isScalar, type Pair, parseDocument, Scalar } from 'yaml';

type Path = readonly (string | number)[];

/** A number to set in a map of a YAML text, or in the YAML of the literal block at the map's key `block`. */
export interface YamlValue {
  readonly name: string;
  readonly number: string;
  readonly block: string | null;
}

/**
 * Sets numbers in the map at a path; all other characters stay, including comments. A missing map is added below the
 * key `after` of its parent. Returns null for a form that only a person can change.
 */
export function setYamlValues(text: string, path: Path, values: readonly YamlValue[], after: string): string | null {
  const edited = values.reduce<string | null>((now, { name, number, block }) => {
    if (now === null || block === null) return now === null ? null : setInMap(now, path, { name, text: number, after });
    const isThere = parse(now).hasIn([...path, block]);
    const withBlock = isThere ? now : setInMap(now, path, { name: block, text: '|', after });
    return withBlock === null ? null : setInBlock(withBlock, [...path, block], { name, text: number, after });
  }, text);
  return edited === null || !isOnlyChange(text, edited, { path, values }) ? null : edited;
}

interface Entry {
  readonly name: string;
  readonly text: string;
  readonly after: string;
}

function setInMap(text: string, path: Path, { name, text: value, after }: Entry): string | null {
  const document = parse(text);
  const map = path.length === 0 ? document.contents : document.getIn(path, true);
  const known = pairOf(map, name);
  if (known !== undefined) {
    const range = isScalar(known.value) && known.value.anchor === undefined ? known.value.range : null;
    return range == null ? null : `${text.slice(0, range[0])}${value}${text.slice(range[1])}`;
  }
  const last = isMap(map) ? map.items.at(-1) : undefined;
  if (last !== undefined) return insertBelow(text, last, [`${name}: ${value}`]);
  if (path.length === 0) return `${text}${name}: ${value}\n`;
  const parent = document.getIn(path.slice(0, -1), true);
  const key = String(path.at(-1));
  const own = pairOf(parent, key);
  const place = own ?? pairOf(parent, after);
  const line = `  ${name}: ${value}`;
  return place === undefined ? null : insertBelow(text, place, own === undefined ? [`${key}:`, line] : [line]);
}

function setInBlock(text: string, path: Path, entry: Entry): string | null {
  const pair = pairOf(parse(text).getIn(path.slice(0, -1), true), String(path.at(-1)));
  const node = pair?.value;
  if (pair === undefined || !isScalar(node) || node.type !== Scalar.BLOCK_LITERAL || node.range == null) return null;
  const [from, to] = node.range;
  const [header = '', ...lines] = text.slice(from, to).split('\n');
  const indent = /^ +(?=\S)/m.exec(lines.join('\n'))?.[0] ?? `${indentOf(text, pair)}  `;
  const inner = setInMap(lines.map((line) => line.slice(indent.length)).join('\n'), [], entry);
  const cr = header.endsWith('\r') ? '\r' : '';
  const block = inner?.split('\n').map((line) => (line.trim() === '' ? line : indent + line.replace(/\r?$/, cr)));
  return block === undefined ? null : text.slice(0, from) + [header, ...block].join('\n') + text.slice(to);
}

function parse(text: string): Document {
  return parseDocument(text, { prettyErrors: false });
}

function pairOf(map: unknown, name: string): Pair | undefined {
  return isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
}

function indentOf(text: string, { key }: Pair): string {
  const from = (isScalar(key) ? key.range?.[0] : undefined) ?? 0;
  return ' '.repeat(from - (text.lastIndexOf('\n', from - 1) + 1));
}

/** Inserts lines below the last line of a pair, with its indentation. */
function insertBelow(text: string, pair: Pair, lines: readonly string[]): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const node = isScalar(pair.value) && pair.value.value !== null ? pair.value : pair.key;
  const end = (isScalar(node) ? node.range?.[1] : undefined) ?? text.length;
  const lineEnd = text[end - 1] === '\n' ? end : text.indexOf('\n', end) + 1;
  const inserted = lines.map((line) => `${indentOf(text, pair)}${line}${eol}`).join('');
  return lineEnd === 0 ? text + eol + inserted : text.slice(0, lineEnd) + inserted + text.slice(lineEnd);
}

/**
 * Returns true if the edited text differs only in these values, because the edit of a flow map, for example, would
 * damage it.
 */
function isOnlyChange(
  text: string,
  edited: string,
  { path, values }: { readonly path: Path; readonly values: readonly YamlValue[] },
): boolean {
  const [before, after] = [parse(text), parse(edited)];
  if (before.getIn(path) === null) before.deleteIn(path);
  for (const { name, number, block } of values) {
    const at = [...path, block ?? name];
    const is = block === null ? after.getIn(at) : parse(String(after.getIn(at))).get(name);
    if (is !== Number(number)) return false;
    before.setIn(at, after.getIn(at));
  }
  return before.errors.length + after.errors.length === 0 && sortedJson(before) === sortedJson(after);
}

function sortedJson(document: Document): string {
  return JSON.stringify(document.toJS(), (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
