import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromMarkdown } from 'mdast-util-from-markdown';
import type { Nodes } from 'mdast';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Documents for people who use the action. */
export const USER_PAGES = [
  'README.md',
  'SECURITY.md',
  ...markdownIn('docs').filter((path) => !/^docs\/(?:internals\.md|decisions\/)/.test(path)),
];

/** All documents, including those for contributors. */
export const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...markdownIn('docs')];

/** Returns a file of the repository as text. */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Returns the files of a folder and its subfolders, as paths from the root. */
export function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
    .sort();
}

function markdownIn(folder: string): readonly string[] {
  return filesIn(folder).filter((path) => path.endsWith('.md'));
}

/** Returns the nodes of one kind in a document, at any depth. */
export function nodesOf<Kind extends Nodes['type']>(
  path: string,
  kind: Kind,
): readonly Extract<Nodes, { type: Kind }>[] {
  const found: Extract<Nodes, { type: Kind }>[] = [];
  const visit = (node: Nodes): void => {
    if (node.type === kind) found.push(node as Extract<Nodes, { type: Kind }>);
    if ('children' in node) for (const child of node.children) visit(child);
  };
  visit(fromMarkdown(read(path)));
  return found;
}

/** Returns the lines of a document outside of fences. */
export function proseOf(path: string): readonly string[] {
  return read(path)
    .replace(/^ *```[^]*?^ *```$/gm, '')
    .split('\n');
}

/** Returns the cells of a table row as they are written. */
export function cellsOf(row: string): readonly string[] {
  return row
    .trim()
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Returns the rows of all tables below a heading of a document, without their heads. */
export function tableUnder(path: string, heading: string): readonly (readonly string[])[] {
  return tablesUnder(path, heading).flatMap(({ rows }) => rows);
}

/** Returns the tables below a heading of a document: the cells of the head, and those of the rows. */
export function tablesUnder(
  path: string,
  heading: string,
): readonly { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }[] {
  const text = read(path);
  const level = /^(#+) /.exec(heading)?.[1]?.length ?? 0;
  const start = `\n${text}`.indexOf(`\n${heading}\n`);
  if (start === -1) throw new Error(`${path} has no heading "${heading}"`);
  const lines = text.slice(start + heading.length).split('\n');
  const end = lines.findIndex((line) => new RegExp(`^#{1,${String(level)}} `).test(line));
  const within = lines.slice(0, end === -1 ? lines.length : end);
  return within.flatMap((line, at) => {
    if (!isRule(line)) return [];
    const rows = within.slice(at + 1);
    const after = rows.findIndex((row) => !row.startsWith('|'));
    return [
      { head: cellsOf(within[at - 1] ?? ''), rows: rows.slice(0, after === -1 ? rows.length : after).map(cellsOf) },
    ];
  });
}

function isRule(line: string): boolean {
  return /^\|[-| :]+\|$/.test(line);
}

/** Returns a cell without its code marks. */
export function plain(cell: string | undefined): string {
  return (cell ?? '').replace(/^`(.*)`$/, '$1');
}

/** Returns the names in action.yml, in order. */
export function namesIn(section: 'inputs' | 'outputs'): readonly string[] {
  const [, text = ''] = read('action.yml').split(new RegExp(`^${section}:\\n`, 'm'));
  return [...(text.split(/^\S/m)[0] ?? '').matchAll(/^ {2}([\w-]+):$/gm)].map(([, name = '']) => name);
}
