import { parsedManifest } from './manifests.ts';
import { fileIn, uses, type Place, type Stack } from './project.ts';

/**
 * A text, or the first of several that is not empty. `CONDITION ? TEXT` is empty if the condition does not hold. The
 * terms of a condition are joined by `,` (any) and `&` (all, which binds closer), and `!` negates one. A term is a file
 * of the folder (`*.x` is any with this ending, `^x` an executable one), `@fact` of the row, `#package` that a manifest
 * in JSON names, `$a.b` a key of the manifest, `$a.b=x` a key whose text starts with `x`, `~input` by which another
 * workflow sets up a version, or `{word}` that is not empty. In a text, `$1` is what the condition captured, and
 * `{word}` is a word of the row, without which the whole text is empty. Every row has the words `tool`, `folder` (empty
 * at the root) and `at`, the start of a path in the folder.
 */
type Cell = string | readonly string[] | Reader;

/** A function for values that a text cannot express; `all` are the folders with the language. */
type Reader = (given: {
  readonly place: Place;
  readonly all: readonly Place[];
  readonly tool: string;
  readonly holds: (condition: string) => boolean;
}) => string;

/** A pattern in the manifest, in another file, or in the text at a key of the manifest. */
type Fact = RegExp | { readonly in: string; readonly says: RegExp } | { readonly key: string; readonly says: RegExp };

/** The commands that install, build and test a language. A missing column is empty. */
interface Row {
  readonly tool?: string;
  readonly language?: Cell;
  readonly facts?: Readonly<Record<string, Fact>>;
  readonly words?: Readonly<Record<string, Cell>>;
  readonly frameworks?: readonly string[];
  readonly install?: Cell;
  readonly build?: Cell;
  readonly test?: Cell;
  readonly lint?: Cell;
  /** Actions with their inputs, and lines of a workflow's steps, which have no inputs. */
  readonly setup?: Readonly<Record<string, Readonly<Record<string, Cell>>>>;
  /** Programs that the commands start; if missing, the tool. */
  readonly programs?: readonly string[];
  readonly leaves?: readonly string[];
}

/** A language, with the files that identify it: the first that exists is its manifest. */
export interface Language extends Row {
  readonly by: readonly string[];
  /** Files that are read together as the manifest. */
  readonly reads?: readonly string[];
  /** The variants by tool: the first whose condition holds counts, and if none holds there is no stack. */
  readonly tools?: readonly (Row & { readonly when?: string })[];
}

/**
 * Returns the stack of a language in a folder, or null if the folder has none. `all` are the folders with the language.
 */
export function stackOf(language: Language, place: Place, all: readonly Place[]): Stack | null {
  const [manifest] = language.by.flatMap((name) => fileIn(place, name) ?? []);
  if (manifest === undefined) return null;
  const said = (language.reads ?? [manifest]).map((name) => place.text(name)).join('\n');
  const json = parsedManifest(manifest, said);
  let row: Row = language;
  const tool = (language.tools ?? [{}]).find(({ when }) => when === undefined || holds(when));
  if (tool === undefined) return null;
  row = { ...language, ...tool, words: { ...language.words, ...tool.words } };
  const setup = Object.entries({ ...tool.setup, ...language.setup });
  const commandOf = (cell: Cell | undefined): string | null => textOf(cell) || null;
  return {
    language: textOf(row.language),
    folder: place.folder,
    packageManager: row.tool ?? '',
    frameworks: listOf(row.frameworks),
    install: commandOf(row.install),
    build: commandOf(row.build),
    test: commandOf(row.test),
    lint: commandOf(row.lint),
    setup: setup.flatMap(([cell, inputs]) => {
      const step = textOf(cell);
      if (!step.includes('@')) return listOf([step]);
      return uses(step, Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, textOf(input)])));
    }),
    programs: listOf(row.programs ?? ['{tool}']),
    leaves: listOf(row.leaves),
  };

  function listOf(cells: readonly string[] = []): readonly string[] {
    return cells.map(textOf).filter((text) => text !== '');
  }

  function textOf(cell: Cell = ''): string {
    if (typeof cell === 'function') return cell({ place, all, tool: row.tool ?? '', holds });
    if (typeof cell !== 'string') return cell.map(textOf).find((text) => text !== '') ?? '';
    const [, condition = '', then = cell] = /^(.+?) \? (.*)$/s.exec(cell) ?? [];
    const match = condition === '' ? [] : matchOf(condition);
    const words = [...then.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => wordOf(name));
    if (match === null || words.includes(null)) return '';
    return then.replaceAll(/\{\w+\}/g, () => words.shift() ?? '').replace('$1', match[1] ?? '');
  }

  /** Returns a word of the row, or null if it is empty. */
  function wordOf(name: string): string | null {
    if (name === 'at') return place.folder === '' ? '' : `${place.folder}/`;
    return textOf({ folder: place.folder, tool: row.tool ?? '', ...row.words }[name]) || null;
  }

  function holds(condition: string): boolean {
    return matchOf(condition) !== null;
  }

  /** Returns what a condition captured, or null if it does not hold. */
  function matchOf(condition: string): readonly string[] | null {
    for (const any of condition.split(', ')) {
      const terms = any.split(' & ').map(termOf);
      if (!terms.includes(null)) return terms.at(-1) ?? null;
    }
    return null;
  }

  function termOf(term: string): readonly string[] | null {
    const [kind, name] = [term[0], term.slice(1)];
    if (kind === '!') return termOf(name) === null ? [] : null;
    if (kind === '@') return factOf(row.facts?.[name]);
    if (kind === '^') return place.isExecutable(name) ? [] : null;
    if (kind === '~') return captured(place.versionInWorkflows(name));
    if (kind === '{') return captured(wordOf(name.slice(0, -1)));
    if (kind === '$') return keyOf(name);
    if (kind === '#') return PACKAGES.some((key) => valueAt(json, [key, name]) !== undefined) ? [] : null;
    return captured(fileIn(place, term));
  }

  function keyOf(named: string): readonly string[] | null {
    const [, key = '', start] = /^([^=]+)(?:=(.*))?$/.exec(named) ?? [];
    const value = valueAt(json, key.split('.'));
    const isSo = start === undefined ? value !== undefined : typeof value === 'string' && value.startsWith(start);
    return isSo ? [] : null;
  }

  function factOf(fact: Fact | undefined): readonly string[] | null {
    if (fact === undefined || fact instanceof RegExp) return fact?.exec(said) ?? null;
    if ('in' in fact) return fact.says.exec(place.text(fact.in));
    const value = valueAt(json, fact.key.split('.'));
    return typeof value === 'string' ? fact.says.exec(value) : null;
  }
}

/** The keys under which manifests of npm and Composer name packages. */
const PACKAGES: readonly string[] = ['dependencies', 'devDependencies', 'require', 'require-dev'];

function captured(text: string | null): readonly string[] | null {
  return text === null ? null : ['', text];
}

function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key))
    return undefined;
  return valueAt((value as Readonly<Record<string, unknown>>)[key], rest);
}
