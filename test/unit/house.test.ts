import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the number of source files directly in each folder below `folder`, by its path. */
function folders(folder: string): Map<string, number> {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.ts'),
  );
  const counted = new Map<string, number>();
  for (const { parentPath } of files) counted.set(parentPath, (counted.get(parentPath) ?? 0) + 1);
  return counted;
}

test.each(['src', 'test', 'testbed', 'bench', 'scripts'])(
  'no folder of %s/ holds more than 16 source files',
  (folder) => {
    const crowded = [...folders(folder)].filter(([, count]) => count > 16).map(([path]) => path.slice(root.length));
    expect(crowded.filter((path) => !path.includes('node_modules'))).toEqual([]);
  },
);

test.each(['utils', 'helpers', 'common', 'manager', 'service'])('nothing in src/ is called %s', (word) => {
  const paths = readdirSync(join(root, 'src'), { recursive: true }).map(String);
  expect(paths.length).toBeGreaterThan(200);
  expect(paths.filter((path) => path.split(/[/.]/).includes(word))).toEqual([]);
});

test('every folder of src/ is in the table of layers, or wires the others', () => {
  const table = readFileSync(join(root, '.dependency-cruiser.cjs'), 'utf8');
  const listed = [...table.matchAll(/^ {2}(\w+): \{ may: /gm)].map(([, folder]) => folder);
  const found = readdirSync(join(root, 'src')).map((name) => name.replace(/\.ts$/, ''));
  expect(found.filter((folder) => !['entries', 'wiring'].includes(folder)).sort()).toEqual(listed.sort());
});

interface Rule {
  readonly name: string;
  readonly from: { readonly path?: string };
  readonly to: { readonly path?: string; readonly pathNot?: readonly string[] };
}

/** Returns the names of the folder rules that an import breaks, according to dependency-cruiser's configuration. */
function brokenBy(from: string, to: string): readonly string[] {
  const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    readonly forbidden: readonly Rule[];
  };
  return forbidden
    .filter(({ name }) => name.endsWith('-knows-only'))
    .filter((rule) => {
      const found = new RegExp(rule.from.path ?? '').exec(from);
      const reaches = (path: string) => new RegExp(path.replace('$1', found?.[1] ?? '')).test(to);
      return found !== null && reaches(rule.to.path ?? '') && rule.to.pathNot?.some(reaches) === false;
    })
    .map(({ name }) => name);
}

test.each<[string, string, readonly string[]]>([
  ['agents/another/events/a.ts', 'core/analysis/analysis.ts', []],
  ['agents/another/output/a.ts', 'agents/another/events/a.ts', []],
  ['agents/another/events/a.ts', 'agents/reading/reader.ts', []],
  ['agents/reading/reader.ts', 'agents/another/events/a.ts', ['agents/reading-knows-only']],
  ['agents/another/agent.ts', 'processes/run-program.ts', []],
  ['agents/another/events/a.ts', 'processes/output-tail.ts', ['agents/*/events-knows-only']],
  ['agents/another/events/a.ts', 'agents/another/agent.ts', ['agents/*/events-knows-only']],
  ['agents/another/output/a.ts', 'agents/another/agent.ts', ['agents/*/output-knows-only']],
  ['agents/another/output/a.ts', 'agents/claude/events/cli-event.ts', ['agents/*/output-knows-only']],
  ['core/lane/verdict/verdict.ts', 'agents/another/events/a.ts', ['core-knows-only']],
  ['core/agent-names.ts', 'agents/all.ts', []],
  ['core/agent-names.ts', 'agents/another/agent.ts', ['core-knows-only']],
  ['gate/gate.ts', 'loop/loop.ts', ['gate-knows-only']],
  ['github/forge.ts', 'git/git.ts', ['github-knows-only']],
])('that %s imports %s breaks %j', (from, to, rules) => {
  expect(brokenBy(`src/${from}`, `src/${to}`)).toEqual(rules);
});

/** Returns the text of each source file below a folder, by its path. */
function textsIn(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(join(root, folder), { recursive: true }).map(String);
  return new Map(
    files.filter((path) => path.endsWith('.ts')).map((path) => [path, readFileSync(join(root, folder, path), 'utf8')]),
  );
}

/** Returns the files of a folder by the name that they export; passing on another file's name does not count. */
function exportersIn(folder: string): ReadonlyMap<string, readonly string[]> {
  const exporters = new Map<string, ReadonlySet<string>>();
  for (const [file, text] of textsIn(folder))
    for (const [, name = ''] of text.matchAll(
      /^export (?:async |abstract )?(?:function\*?|const|let|class|type|interface|enum) (\w+)/gm,
    ))
      exporters.set(name, new Set([...(exporters.get(name) ?? []), file]));
  return new Map([...exporters].map(([name, files]) => [name, [...files]]));
}

test.each([
  ['src', 3000],
  ['testbed', 200],
  ['bench', 100],
  ['scripts', 30],
])('no two files of %s/ export one name', (folder, atLeast) => {
  const exporters = exportersIn(folder);
  expect(exporters.size).toBeGreaterThan(atLeast);
  expect([...exporters].filter(([, files]) => files.length > 1)).toEqual([]);
});

test('every exported name of src/ has two words or a capital, except those that the launchers of the bundle call', () => {
  const short = [...exportersIn('src')].filter(([name]) => /^[a-z][a-z0-9]*$/.test(name));
  expect(short).toEqual(['main', 'post', 'cli'].map((name) => [name, ['entries/action.ts']]));
});

test('every exported function of src/ begins with a verb: none is a noun that ends in Of', () => {
  const nouns = [...exportersIn('src')].filter(([name]) => /^[a-z]\w*Of$/.test(name));
  expect(nouns).toEqual([]);
});

test('no function of src/ that is not exported has the name that another file exports', () => {
  const exporters = exportersIn('src');
  const shared = [...textsIn('src')].flatMap(([file, text]) =>
    [...text.matchAll(/^(?:async )?(?:function\*? (\w+)|const (\w+)\b[^=]*= (?:async )?(?:\(|\w+ =>))/gm)].flatMap(
      ([, declared, assigned = '']) => {
        const name = declared ?? assigned;
        return (exporters.get(name) ?? []).some((exporter) => exporter !== file) ? [`${file}: ${name}`] : [];
      },
    ),
  );
  expect(shared).toEqual([]);
});

test('every exported function of src/ has a comment', () => {
  const silent = [...textsIn('src')].flatMap(([file, text]) =>
    [...text.matchAll(/(?<!\*\/\n)^export (?:async )?function\*? (\w+)/gm)].map(([, name]) => `${file}: ${name}`),
  );
  expect(silent).toEqual([]);
});

test.each(['core', 'config', 'report', 'markdown', 'json', 'yaml'])(
  'no function of src/%s/ is called read, load or save, because it does no I/O',
  (folder) => {
    const names = [...exportersIn(`src/${folder}`).keys()];
    expect(names.filter((name) => /^(?:read|load|save)[A-Z]/.test(name))).toEqual([]);
  },
);

test('every exported function of src/ that is called render returns a string', () => {
  const results = [...textsIn('src').values()].flatMap((text) =>
    [...text.matchAll(/^export (?:async )?function (render\w+)[^]*?\): ([^{}\n]+) \{$/gm)].map(
      ([, name = '', result = '']) => [name, result] as const,
    ),
  );
  expect(results.length).toBeGreaterThan(20);
  expect(results.filter(([, result]) => !['string', 'string | null'].includes(result))).toEqual([]);
});

test.each(['src', 'testbed', 'bench', 'scripts'])(
  'no comment of %s/ has a line of more than 120 characters, which the formatter leaves as it is',
  (folder) => {
    const long = [...textsIn(folder)].flatMap(([file, text]) =>
      text
        .split('\n')
        .filter((line) => line.length > 120 && /^\s*(?:\/\/|\/?\*)/.test(line))
        .map((line) => `${file}: ${line}`),
    );
    expect(long).toEqual([]);
  },
);

test('no file of src/ has more than 300 lines of code', () => {
  const long = [...textsIn('src')].flatMap(([file, text]) => {
    const code = text
      .replaceAll(/^\s*\/\*\*?[^]*?\*\/\s*$/gm, '')
      .split('\n')
      .filter((line) => !/^\s*(?:\/\/.*)?$/.test(line));
    return code.length > 300 ? [`${file}: ${String(code.length)}`] : [];
  });
  expect(long).toEqual([]);
});
