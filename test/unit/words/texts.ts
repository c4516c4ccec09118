import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { filesIn, PAGES, read } from '../documents/pages.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A text with its place, such as `src/errors.ts:12`. */
export type Text = readonly [where: string, text: string];

/** Returns the lines of the documents that people read. */
export function documents(): readonly Text[] {
  return ['action.yml', ...PAGES, ...filesIn('templates'), ...filesIn('.github')].flatMap((path) =>
    read(path)
      .split('\n')
      .map((line, index) => [`${path}:${String(index + 1)}`, line] as const),
  );
}

/** Returns the source files of the project by path, parsed. Samples belong to other projects. */
export function sources(): readonly ts.SourceFile[] {
  return ['src', 'testbed', 'test', 'bench', 'scripts']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${String(name)}`),
    )
    .concat(readdirSync(root))
    .filter((path) => /\.(?:ts|mts|mjs|cjs|js)$/.test(path) && !/^test\/samples\/|node_modules/.test(path))
    .map((path) => ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest));
}

/**
 * Returns the literals with several words of a program, which include all texts for people. `…` replaces inserted
 * values.
 */
export function messages(source: ts.SourceFile): readonly Text[] {
  if (source.fileName.startsWith('test/')) return [];
  return nodesOf(source)
    .filter((node) => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node))
    .map((node) => [placeOf(source, node.end), textOf(node)] as const)
    .filter(([, text]) => text.length > 12 && text.includes(' '));
}

/** Returns the titles of tests and of their groups, and the texts of rows that a title of `each` shows. */
export function titles(source: ts.SourceFile): readonly Text[] {
  const nodes = nodesOf(source);
  return nodes.flatMap((node) => {
    if (!ts.isCallExpression(node)) return [];
    const [title] = node.arguments;
    const isTest = /^(?:test|it|describe)\b/.test(source.text.slice(node.getStart(source), node.expression.end));
    if (!isTest || title === undefined || !isText(title)) return [];
    return [title, ...rowTexts(node.expression, textOf(title), nodes)].map(
      (text) => [placeOf(source, text.getStart(source)), textOf(text)] as const,
    );
  });
}

type TextNode = ts.StringLiteralLike | ts.TemplateExpression;

function isText(node: ts.Node): node is TextNode {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** Returns the texts that `each(rows)` puts in place of `%s` and `$key` in a title; rows may be a constant. */
function rowTexts(each: ts.Expression, title: string, nodes: readonly ts.Node[]): readonly TextNode[] {
  if (!ts.isCallExpression(each)) return [];
  const shown = title.match(/%[sjop]/g)?.length ?? 0;
  const keys = [...title.matchAll(/\$(\w+)/g)].map(([, key]) => key);
  return each.arguments
    .flatMap((rows) => elementsOf(rows, nodes))
    .flatMap((row) => {
      if (ts.isArrayLiteralExpression(row)) return row.elements.slice(0, shown).filter(isText);
      if (!ts.isObjectLiteralExpression(row)) return shown > 0 && isText(row) ? [row] : [];
      return row.properties.flatMap((property) =>
        ts.isPropertyAssignment(property) &&
        ts.isIdentifier(property.name) &&
        keys.includes(property.name.text) &&
        isText(property.initializer)
          ? [property.initializer]
          : [],
      );
    });
}

/** Returns the elements of an array that is written here, or in a constant of the file, also within other arrays. */
function elementsOf(array: ts.Node, nodes: readonly ts.Node[]): readonly ts.Node[] {
  if (ts.isArrayLiteralExpression(array))
    return array.elements.flatMap((element) =>
      ts.isSpreadElement(element) ? elementsOf(element.expression, nodes) : [element],
    );
  if (ts.isAsExpression(array) || ts.isSatisfiesExpression(array)) return elementsOf(array.expression, nodes);
  // Rows may be filtered or mapped.
  if (ts.isCallExpression(array) && ts.isPropertyAccessExpression(array.expression))
    return elementsOf(array.expression.expression, nodes);
  if (!ts.isIdentifier(array)) return [];
  const constant = nodes.find(
    (node) => ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.name.text === array.text,
  ) as ts.VariableDeclaration | undefined;
  return constant?.initializer === undefined ? [] : elementsOf(constant.initializer, nodes);
}

/** Returns the comments, each as one line that begins with its mark. Line comments below each other are one. */
export function comments(source: ts.SourceFile): readonly Text[] {
  return [...withoutLiterals(source).matchAll(/\/\*[^]*?\*\/|(?:^ *\/\/.*\n)+|\/\/.*/gm)].map(
    ({ 0: { length }, index }) => [
      placeOf(source, index),
      source.text
        .slice(index, index + length)
        .trim()
        .replaceAll(/\n *(?:\/\/|\*(?!\/))? */g, ' ')
        .replace(/ ?\*\/$/, ''),
    ],
  );
}

/** Returns the code with a placeholder of the same length for each literal, because a text may look like a comment. */
function withoutLiterals(source: ts.SourceFile): string {
  const parts: string[] = [];
  let end = 0;
  for (const node of nodesOf(source))
    if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const start = node.getStart(source);
      parts.push(source.text.slice(end, start), '_'.repeat(node.end - start));
      end = node.end;
    }
  return parts.join('') + source.text.slice(end);
}

function nodesOf(source: ts.SourceFile): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function textOf(node: TextNode): string {
  if (!ts.isTemplateExpression(node)) return node.text;
  return [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('…');
}

function placeOf(source: ts.SourceFile, position: number): string {
  return `${source.fileName}:${String(source.getLineAndCharacterOfPosition(position).line + 1)}`;
}
