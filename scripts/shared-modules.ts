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
 * is one such file for each set of chunks, so no chunk loads a module that it does not use.
 */
export function withoutCopies(files: ReadonlyMap<string, string>): Map<string, string> {
  const chunks = new Map(
    [...files].flatMap(([name, text]) => (/^\d+\.index\.js$/.test(name) ? [[name, chunkIn(name, text)] as const] : [])),
  );
  const holders = new Map<string, string[]>();
  for (const [name, { modules }] of chunks)
    for (const id of modules.keys()) holders.set(id, [...(holders.get(id) ?? []), name]);
  const groups = Map.groupBy(
    [...holders].filter(([, names]) => names.length > 1),
    ([, names]) => names.join(' '),
  );
  const result = new Map(files);
  const shared = new Map<string, string>();
  for (const members of groups.values()) {
    const [first, names] = members[0] ?? ['', []];
    const code = new Map(members.map(([id]) => [id, chunks.get(names[0] ?? '')?.modules.get(id) ?? '']));
    if (sizeOf(code) < WORTH_A_FILE || [...code.values()].some(needsHead)) continue;
    const file = `${first}.shared.js`;
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
  return result;
}

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
