import { getFileName } from '../text/glob.ts';

/**
 * The files of a repository, the files that each of its newest commits changed, and the definitions of symbols. Paths
 * are relative to the root.
 */
export interface FileHistory {
  readonly files: readonly string[];
  readonly commits: readonly (readonly string[])[];
  readonly definitions: Definitions;
}

/** The files that a task probably touches; null if unknown. */
export type PredictedFiles = ReadonlySet<string> | null;

/** A repository's history, indexed for predictions. */
export interface FileIndex extends Pick<FileHistory, 'definitions'> {
  readonly paths: ReadonlySet<string>;
  /** All paths in sorted order, so that the paths of a folder are adjacent. */
  readonly sorted: readonly string[];
  readonly byName: ReadonlyMap<string, readonly string[]>;
  readonly byStem: ReadonlyMap<string, readonly string[]>;
  /** The commits that changed each file, each with all of its files. */
  readonly commitsOf: ReadonlyMap<string, readonly { readonly paths: readonly string[] }[]>;
}

/** Maximum number of files with a mentioned name; a more common name, such as `index.ts`, is ignored. */
const MAX_NAMESAKES = 5;

/** Maximum number of files that define a mentioned symbol; a symbol with more definitions is ignored. */
const MAX_DEFINITIONS = 3;

/** Maximum number of files in a commit that is examined; a larger commit does not show which files belong together. */
const MAX_FILES_OF_COMMIT = 50;

/** Minimum number of commits that change two related files. */
const MIN_COMMON_COMMITS = 3;
/** Minimum share of these commits in all commits of one of the files. */
const MIN_CONFIDENCE = 0.5;

/**
 * Maximum number of leading folders of a mentioned path that the repository lacks, such as those of a machine or a URL.
 */
const MAX_FOREIGN_FOLDERS = 12;

/** Indexes a history. */
export function indexHistory({ files, commits, definitions }: FileHistory): FileIndex {
  const known = new Set(files);
  const changed = commits
    .filter((paths) => paths.length <= MAX_FILES_OF_COMMIT)
    .flatMap((paths) => paths.filter((path) => known.has(path)).map((path) => ({ path, paths })));
  return {
    definitions,
    paths: known,
    sorted: files.toSorted((one, other) => (one < other ? -1 : 1)),
    byName: Map.groupBy(files, getFileName),
    byStem: Map.groupBy(files, (path) => normalizedStem(getFileName(path))),
    commitsOf: Map.groupBy(changed, ({ path }) => path),
  };
}

/**
 * Predicts the files of a task without a model: files that its text names by path, folder, file name or symbol, files
 * that were `touched` for it before, and files that often change together with these.
 */
export function predictFiles(
  index: FileIndex,
  { text, touched }: { readonly text: string; readonly touched: readonly string[] },
): PredictedFiles {
  const named = [...new Set(mentionedNames(text))].flatMap((name) => filesNamed(index, name));
  const defined = findSymbols(text).flatMap((symbol) =>
    unlessAmbiguous(index.definitions.get(symbol) ?? [], MAX_DEFINITIONS),
  );
  const seeds = new Set([...named, ...defined, ...touched]);
  if (seeds.size === 0) return null;
  return new Set([...seeds, ...[...seeds].flatMap((path) => companionsOf(index, path))]);
}

/** Returns a file that is in both sets; null if none. */
export function findSharedFile(one: ReadonlySet<string>, other: ReadonlySet<string>): string | null {
  const [few, many] = one.size < other.size ? [one, other] : [other, one];
  for (const path of few) if (many.has(path)) return path;
  return null;
}

/** Returns the words of a text that look like names of files or symbols. */
function mentionedNames(text: string): readonly string[] {
  return [...findCodeSpans(text).flatMap(splitWords), ...splitWords(text).filter(isNameLike)];
}

function splitWords(text: string): readonly string[] {
  return [...text.matchAll(/[\p{L}\p{N}_$@./-]+/gu)]
    .map(([word]) => word.replace(/^[./]+|[./-]+$/g, ''))
    .filter((word) => word.length > 2 && word.length < 300);
}

/** Returns true for words that do not occur in prose: paths, names with an extension, and compound identifiers. */
function isNameLike(word: string): boolean {
  return /[/_]|\p{L}\.\p{L}|\p{Ll}\p{Lu}|\p{L}-\p{L}|^\p{Lu}{4,}$/u.test(word);
}

function filesNamed({ paths, sorted, byName, byStem }: FileIndex, word: string): readonly string[] {
  const parts = word.split('/');
  if (parts.length > 1) {
    for (let at = 0; at < Math.min(parts.length - 1, MAX_FOREIGN_FOLDERS); at += 1) {
      const path = parts.slice(at).join('/');
      if (paths.has(path)) return [path];
      const inFolder = filesBelow(sorted, `${path}/`);
      if (inFolder.length > 0) return inFolder;
    }
    return unlessAmbiguous(
      (byName.get(getFileName(word)) ?? []).filter((path) => path.endsWith(`/${word}`)),
      MAX_NAMESAKES,
    );
  }
  // A word with a dot that matches no file is a property or a host, so it is not compared with file names without their
  // ending.
  return unlessAmbiguous(
    byName.get(word) ?? (word.includes('.') ? [] : (byStem.get(normalizedStem(word)) ?? [])),
    MAX_NAMESAKES,
  );
}

function unlessAmbiguous(found: readonly string[], most: number): readonly string[] {
  return found.length <= most ? found : [];
}

/** Returns the files that most commits of this file changed as well. */
function companionsOf({ paths, commitsOf }: FileIndex, path: string): readonly string[] {
  const commits = commitsOf.get(path) ?? [];
  const common = new Map<string, number>();
  for (const other of commits.flatMap(({ paths: all }) => all)) common.set(other, (common.get(other) ?? 0) + 1);
  const least = Math.max(MIN_COMMON_COMMITS, commits.length * MIN_CONFIDENCE);
  return [...common].flatMap(([other, count]) => (count >= least && paths.has(other) ? [other] : []));
}

/**
 * Returns a file name up to its first dot in a normalized spelling: `waiting-pulls.test.ts` and `WaitingPulls` are
 * equal.
 */
function normalizedStem(name: string): string {
  return name.replace(/^\./, '').split('.', 1)[0]?.replace(/[-_]/g, '').toLowerCase() ?? '';
}

/** Returns the paths that begin with a prefix, from a sorted list. */
function filesBelow(sorted: readonly string[], prefix: string): readonly string[] {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < prefix) from = middle + 1;
    else to = middle;
  }
  let end = from;
  while (sorted[end]?.startsWith(prefix) === true) end += 1;
  return sorted.slice(from, end);
}

/** The files that define each symbol, found by searching for the usual keywords. */
export type Definitions = ReadonlyMap<string, readonly string[]>;

/** Maximum number of symbols searched for. */
const MAX_SYMBOLS = 300;

/** Keywords that precede a defined name in various languages. */
const KEYWORDS =
  'class|const|def|defmodule|enum|fn|fun|func|function|impl|interface|let|module|object|struct|trait|type|var';

/** Returns the identifiers of a text without words of its prose and without duplicates. */
export function findSymbols(text: string): readonly string[] {
  const inCode = findCodeSpans(text).flatMap(identifiersIn);
  const inProse = identifiersIn(text).filter((word) => /_|[a-z][A-Z]/.test(word));
  return [...new Set([...inCode, ...inProse])].slice(0, MAX_SYMBOLS);
}

/** Returns the contents of the code spans (between backticks) in a text. */
function findCodeSpans(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]{1,300})`/g)].map(([, code = '']) => code);
}

/** Returns an extended regular expression that matches the definitions of these symbols. */
export function buildDefinitionPattern(symbols: readonly string[]): string {
  // The dollar sign is the only character of a symbol that is special in a pattern.
  return `(${KEYWORDS})[*]? +(${symbols.map((symbol) => symbol.replaceAll('$', '[$]')).join('|')})`;
}

/** Parses the output of `git grep -z -o` in a tree: lines of the tree's name, a colon, the path, NUL, and the match. */
export function parseDefinitions(found: string): Definitions {
  const definitions = new Map<string, string[]>();
  for (const line of found.split('\n')) {
    const [place = '', match = ''] = line.split('\0');
    const symbol = /\S+$/.exec(match)?.[0];
    if (symbol === undefined) continue;
    const path = place.slice(place.indexOf(':') + 1);
    const known = definitions.get(symbol) ?? [];
    if (!known.includes(path)) definitions.set(symbol, [...known, path]);
  }
  return definitions;
}

function identifiersIn(text: string): readonly string[] {
  return text.split(/[^\w$]+/).filter((word) => /^[A-Za-z_$][\w$]{3,60}$/.test(word));
}
