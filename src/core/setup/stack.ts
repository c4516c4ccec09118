import { parseJsonManifest } from './manifests.ts';
import { findProjectFile, buildUsesStep, type ProjectFolder, type Stack } from './project.ts';

/**
 * A value of the table: a text, the first of several texts that is not empty, or a function.
 *
 * `CONDITION ? TEXT` is empty unless the condition holds. In a text, `{word}` is replaced by a word of the row (if that
 * is empty, so is the whole text), and `$1` by what the condition captured. Every row has the words `tool`, `folder`
 * (empty at the root) and `at`, the prefix of paths in the folder.
 *
 * The terms of a condition are joined by `,` (or) and `&` (and, which binds closer); `!` negates a term:
 * - `name`: a file of the folder; `*.x`: any file with this ending; `^name`: an executable file
 * - `@fact`: a fact of the row that matches; `{word}`: a word that is not empty
 * - `#package`: a package that a JSON manifest depends on
 * - `$a.b`: a key of the manifest; `$a.b=x`: a key whose text starts with `x`
 * - `~input`: an input with which another workflow sets up a version
 */
type Cell = string | readonly string[] | CellFunction;

/** Computes a value that a text cannot express; `all` are the folders with the language. */
type CellFunction = (given: {
  readonly place: ProjectFolder;
  readonly all: readonly ProjectFolder[];
  readonly tool: string;
  readonly holds: (condition: string) => boolean;
}) => string;

/** A pattern that the manifest, the file `in`, or the text at a key of the manifest may match. */
type Fact = RegExp | { readonly in: string; readonly says: RegExp } | { readonly key: string; readonly says: RegExp };

/** A row of the table: the commands that install, build and test a language. A missing column is empty. */
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
  /** Steps of a workflow: an action (`name@version`) with its inputs, or a literal line without inputs. */
  readonly setup?: Readonly<Record<string, Readonly<Record<string, Cell>>>>;
  /** Programs that the commands start; the tool if missing. */
  readonly programs?: readonly string[];
  /** Hosts that the commands download from, besides the registries that runs allow. */
  readonly hosts?: readonly string[];
  /** Files that installing and building leave in the folder. */
  readonly leaves?: readonly string[];
}

/** A language of the table. */
export interface Language extends Row {
  /** Names of the files that identify the language; the first that exists is its manifest. */
  readonly by: readonly string[];
  /** Files that are read together as the manifest. */
  readonly reads?: readonly string[];
  /** Variants; the first one whose condition `when` holds is used. If none holds, there is no stack. */
  readonly tools?: readonly (Row & { readonly when?: string })[];
}

/**
 * Returns the stack of a language in a folder, or null if the folder has none. `all` are the folders with the language.
 */
export function detectStack(language: Language, place: ProjectFolder, all: readonly ProjectFolder[]): Stack | null {
  const [manifest] = language.by.flatMap((name) => findProjectFile(place, name) ?? []);
  if (manifest === undefined) return null;
  const manifestText = (language.reads ?? [manifest]).map((name) => place.text(name)).join('\n');
  const json = parseJsonManifest(manifest, manifestText);
  let row: Row = language;
  const tool = (language.tools ?? [{}]).find(({ when }) => when === undefined || holds(when));
  if (tool === undefined) return null;
  row = { ...language, ...tool, words: { ...language.words, ...tool.words } };
  const setup = Object.entries({ ...tool.setup, ...language.setup });
  const commandOf = (cell: Cell | undefined): string | null => resolveCell(cell) || null;
  return {
    language: resolveCell(row.language),
    folder: place.folder,
    packageManager: row.tool ?? '',
    frameworks: listOf(row.frameworks),
    install: commandOf(row.install),
    build: commandOf(row.build),
    test: commandOf(row.test),
    lint: commandOf(row.lint),
    setup: setup.flatMap(([cell, inputs]) => {
      const step = resolveCell(cell);
      if (!step.includes('@')) return listOf([step]);
      return buildUsesStep(
        step,
        Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, resolveCell(input)])),
      );
    }),
    programs: listOf(row.programs ?? ['{tool}']),
    hosts: row.hosts ?? [],
    leaves: listOf(row.leaves),
  };

  function listOf(cells: readonly string[] = []): readonly string[] {
    return cells.map(resolveCell).filter((text) => text !== '');
  }

  function resolveCell(cell: Cell = ''): string {
    if (typeof cell === 'function') return cell({ place, all, tool: row.tool ?? '', holds });
    if (typeof cell !== 'string') return cell.map(resolveCell).find((text) => text !== '') ?? '';
    const [, condition = '', then = cell] = /^(.+?) \? (.*)$/s.exec(cell) ?? [];
    const match = condition === '' ? [] : matchOf(condition);
    const words = [...then.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => resolveWord(name));
    if (match === null || words.includes(null)) return '';
    return then.replaceAll(/\{\w+\}/g, () => words.shift() ?? '').replace('$1', match[1] ?? '');
  }

  /** Returns a word of the row, or null if it is empty. */
  function resolveWord(name: string): string | null {
    if (name === 'at') return place.folder === '' ? '' : `${place.folder}/`;
    return resolveCell({ folder: place.folder, tool: row.tool ?? '', ...row.words }[name]) || null;
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
    if (kind === '{') return captured(resolveWord(name.slice(0, -1)));
    if (kind === '$') return matchKey(name);
    if (kind === '#') return PACKAGES.some((key) => valueAt(json, [key, name]) !== undefined) ? [] : null;
    return captured(findProjectFile(place, term));
  }

  function matchKey(named: string): readonly string[] | null {
    const [, key = '', start] = /^([^=]+)(?:=(.*))?$/.exec(named) ?? [];
    const value = valueAt(json, key.split('.'));
    const isSo = start === undefined ? value !== undefined : typeof value === 'string' && value.startsWith(start);
    return isSo ? [] : null;
  }

  function factOf(fact: Fact | undefined): readonly string[] | null {
    if (fact === undefined || fact instanceof RegExp) return fact?.exec(manifestText) ?? null;
    if ('in' in fact) return fact.says.exec(place.text(fact.in));
    const value = valueAt(json, fact.key.split('.'));
    return typeof value === 'string' ? fact.says.exec(value) : null;
  }
}

/** The keys of npm's and Composer's manifests that list packages. */
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
