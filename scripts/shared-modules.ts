/**
 * Minimum size of a shared file, in characters of the bundler's output: smaller groups stay in each chunk, because
 * loading another file costs more.
 */
const WORTH_A_FILE = 2500;

/** A chunk of the bundler: the text before its modules, and each module's id with its code. */
interface Chunk {
  readonly head: string;
  readonly modules: ReadonlyMap<string, string>;
}

/**
 * Moves each module that the bundler has copied into several chunks to one shared file, except for small groups. There
 * is one such file for each set of chunks, so no chunk loads a module that it does not use. All of main's chunks become
 * one, with one shared file: every event loads them, and a file costs as much as 15 kB of code.
 */
export function withoutCopies(bundled: ReadonlyMap<string, string>): Map<string, string> {
  const { files, main } = withMainInOneChunk(bundled);
  const chunks = new Map(
    [...files].flatMap(([name, text]) => (CHUNK_NAME.test(name) ? [[name, chunkIn(name, text)] as const] : [])),
  );
  const holders = new Map<string, string[]>();
  for (const [name, { modules }] of chunks)
    for (const id of modules.keys()) holders.set(id, [...(holders.get(id) ?? []), name]);
  const codeOf = (id: string, [name = '']: readonly string[]): string => chunks.get(name)?.modules.get(id) ?? '';
  const groups = Map.groupBy(
    [...holders].filter(([id, names]) => names.length > 1 && !needsHead(codeOf(id, names))),
    ([, names]) => (names.includes(main) ? main : names.join(' ')),
  );
  const result = new Map(files);
  const shared = new Map<string, string>();
  for (const members of groups.values()) {
    const code = new Map(members.map(([id, names]) => [id, codeOf(id, names)]));
    if (sizeOf(code) < WORTH_A_FILE) continue;
    const file = `${members[0]?.[0] ?? ''}.shared.js`;
    result.set(file, `export const modules = {${listOf(code)}};\n`);
    for (const id of code.keys()) shared.set(id, file);
  }
  for (const [name, { head, modules }] of chunks) {
    const own = new Map([...modules].filter(([id]) => !shared.has(id)));
    const imported = [...new Set([...modules.keys()].flatMap((id) => shared.get(id) ?? []))];
    const imports = imported.map((file, nth) => `import { modules as shared${String(nth)} } from './${file}';\n`);
    const spread = imported.map((_, nth) => `...shared${String(nth)},`);
    result.set(name, `${imports.join('')}${head}export const modules = {${spread.join('')}${listOf(own)}};\n`);
  }
  for (const [name, text] of result)
    for (const [, id = ''] of text.matchAll(LOADED))
      if (!result.has(`${id}.index.js`))
        throw new Error(`${name} loads chunk ${id}, which is not a file of the bundle.`);
  return result;
}

const CHUNK_NAME = /^\d+\.index\.js$/;

/** Puts all chunks that main begins with into the first of them, also for all others who load one. */
function withMainInOneChunk(bundled: ReadonlyMap<string, string>): {
  readonly files: Map<string, string>;
  readonly main: string;
} {
  const begin = bundled
    .get('index.js')
    ?.split('\n')
    .find((line) => line.includes('{ runMain } ='));
  const [first = '', ...others] = [...(begin ?? '').matchAll(LOADED)].map(([, id = '']) => id);
  const main = `${first}.index.js`;
  if (!bundled.has(main)) throw new Error('The bundler no longer writes how main is loaded as it used to.');
  const parts = [first, ...others].map((id) => chunkIn(id, bundled.get(`${id}.index.js`) ?? ''));
  const imports = parts.flatMap(({ head }) => head.split('\n').filter((line) => line.startsWith('import ')));
  const head = [
    ...new Set(imports),
    `export const id = ${first};`,
    `export const ids = [${[first, ...others].join()}];`,
  ];
  const all = parts.flatMap(({ modules }) => [...modules].map(([id, code]) => `/***/ ${id}:\n${code}`));
  const files = new Map(bundled).set(
    main,
    `${head.join('\n')}\nexport const modules = {\n\n${[...new Set(all)].join(',\n')}\n};\n`,
  );
  for (const id of others) files.delete(`${id}.index.js`);
  for (const [name, text] of files)
    files.set(
      name,
      text.replace(LOADED, (call, id: string) => (others.includes(id) ? call.replace(id, first) : call)),
    );
  return { files, main };
}

/** Matches the loading of a chunk, in the bundler's main file and in a chunk. */
const LOADED = /__(?:nccwpck|webpack)_require__\.e\((\d+)\)/g;

function chunkIn(name: string, text: string): Chunk {
  // A chunk with a module that calls `require` by itself begins with an import.
  const found = /^((?:(?:import|export const \w+ =) [^\n]*;\n)+)export const modules = \{\n([^]*)\n\};\n?$/.exec(text);
  const [before, ...parts] = found?.[2]?.split(/^\/\*\*\*\/ (\d+):$/m) ?? [];
  if (before?.trim() !== '') throw new Error(`${name} is not a chunk as the bundler used to write them.`);
  const modules = new Map<string, string>();
  for (let at = 0; at < parts.length; at += 2)
    modules.set(parts[at] ?? '', (parts[at + 1] ?? '').trim().replace(/,$/, ''));
  return { head: found?.[1] ?? '', modules };
}

/** True if a module refers to the imports of its chunk. */
const needsHead = (code: string): boolean => code.includes('__WEBPACK_EXTERNAL_');

const listOf = (modules: ReadonlyMap<string, string>): string =>
  [...modules].map(([id, code]) => `\n${id}: ${code}`).join(',');

const sizeOf = (modules: ReadonlyMap<string, string>): number =>
  [...modules.values()].reduce((sum, code) => sum + code.length, 0);
