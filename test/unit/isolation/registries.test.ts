import { expect, test } from 'vitest';
import { nameOfTarget } from '../../../src/core/isolation/hosts.ts';
import { detectRegistryHosts } from '../../../src/isolation/registries.ts';

/** Creates a machine with these programs; `answers` holds the output of some. */
function machine(programs: readonly string[], answers: Readonly<Record<string, string>> = {}) {
  const asked: string[] = [];
  const run = async (file: string, args: readonly string[]): Promise<string | null> => {
    asked.push([file, ...args].join(' '));
    if (file === 'sh') return args.filter((name) => programs.includes(name)).join('\n');
    return answers[file] ?? null;
  };
  return { asked, run };
}

const named = async (...[asking]: Parameters<typeof detectRegistryHosts>) =>
  (await detectRegistryHosts(asking)).map(nameOfTarget);

test('an empty machine names none', async () => {
  expect(await named({ run: machine([]).run, environment: {} })).toEqual([]);
});

test('answers, programs that are not asked, and variables come together, sorted, each once', async () => {
  const { asked, run } = machine(['npm', 'bun', 'cargo', 'go'], {
    npm: '{\n  "registry": "https://registry.npmjs.org/"\n}',
    go: 'https://go.example\noff\n',
  });
  expect(await named({ run, environment: { UV_INDEX_URL: 'https://uv.example' } })).toEqual([
    'go.example:443',
    'index.crates.io:443',
    'registry.npmjs.org:443',
    'static.crates.io:443',
    'uv.example:443',
  ]);
  expect(asked.filter((line) => !line.startsWith('sh ')).sort()).toEqual([
    'gem sources --list',
    'go env GOPROXY GOSUMDB',
    'npm config ls --json',
    'pip3 config list',
  ]);
});

test('a manager that is there and does not answer uses its usual ones', async () => {
  expect(await named({ run: machine(['pip3']).run, environment: {} })).toEqual([
    'files.pythonhosted.org:443',
    'pypi.org:443',
  ]);
});

test('never throws', async () => {
  const run = () => Promise.reject(new Error('no programs today'));
  expect(await named({ run, environment: {} })).toEqual([]);
});
