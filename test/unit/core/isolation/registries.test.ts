import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nameOfTarget } from '../../../../src/core/isolation/hosts.ts';
import { packageManagers, parseRegistryHosts } from '../../../../src/core/isolation/registries.ts';
import { runs } from '../../../runs.ts';

const of = (program: string) => {
  const manager = packageManagers.find(({ programs }) => programs.includes(program));
  if (manager === undefined) throw new Error(program);
  return manager;
};
const hosts = (program: string, answer: string | null, environment: Readonly<Record<string, string>> = {}) =>
  parseRegistryHosts(of(program), { isThere: true, answer }, environment)
    .map(nameOfTarget)
    .map((name) => name.replace(/:443$/, ''));

describe('answers', () => {
  test.each<[string, string, string, readonly string[]]>([
    ['npm', 'the usual', '{\n  "registry": "https://registry.npmjs.org/",\n}', ['registry.npmjs.org']],
    [
      'npm',
      'a registry of its own, and of a scope; other URLs do not count',
      '{\n  "@corp:registry": "https://npm.pkg.github.com",\n  "https-proxy": "http://proxy.example",\n  "registry": "https://u:p@npm.example:8443/a/"\n}',
      ['npm.example:8443', 'npm.pkg.github.com'],
    ],
    [
      'npm',
      'only a scope',
      '{\n  "@corp:registry": "https://npm.pkg.github.com"\n}',
      ['npm.pkg.github.com', 'registry.npmjs.org'],
    ],
    ['npm', 'nonsense', 'Error: cannot find module', ['registry.npmjs.org']],
    ['pip', 'nothing', '', ['files.pythonhosted.org', 'pypi.org']],
    ['pip', 'an index', "global.index-url='https://u:p@pip.example/simple'\n", ['pip.example']],
    [
      'pip',
      'more indexes, and files',
      ":env:.extra-index-url='https://a.example/x https://b.example'\nglobal.find-links='/opt/wheels'\nglobal.cert='https://c.example'",
      ['a.example', 'b.example', 'files.pythonhosted.org', 'pypi.org'],
    ],
    ['pip', 'PyPI by name', "user.index-url='https://pypi.org/simple'", ['files.pythonhosted.org', 'pypi.org']],
    ['go', 'the usual', 'https://proxy.golang.org,direct\nsum.golang.org\n', ['proxy.golang.org', 'sum.golang.org']],
    ['go', 'proxies', 'https://a.example|http://b.example,direct\noff\n', ['a.example', 'b.example:80']],
    [
      'go',
      'a data base',
      'https://a.example\nsum.example+1234+AbC/d https://mirror.example/sum\n',
      ['a.example', 'mirror.example'],
    ],
    ['go', 'a data base with its key', 'https://a.example\nsum.example+1234+AbC=\n', ['a.example', 'sum.example']],
    ['gem', 'the usual', '*** CURRENT SOURCES ***\n\nhttps://rubygems.org/\n', ['index.rubygems.org', 'rubygems.org']],
    ['gem', 'another', '*** CURRENT SOURCES ***\n\nhttps://u:p@gems.example/\n', ['gems.example']],
  ])('%s: %s', (program, _, answer, expected) => {
    expect(hosts(program, answer)).toEqual(expected);
  });
});

describe('a manager that is there and is not asked', () => {
  test.each<[string, readonly string[]]>([
    ['yarn', ['registry.npmjs.org', 'registry.yarnpkg.com', 'repo.yarnpkg.com']],
    ['cargo', ['index.crates.io', 'static.crates.io']],
    ['mvn', ['repo.maven.apache.org', 'repo1.maven.org']],
    ['dotnet', ['api.nuget.org']],
    ['composer', ['repo.packagist.org']],
    ['mix', ['builds.hex.pm', 'hex.pm', 'repo.hex.pm']],
    ['dart', ['pub.dev']],
    ['cabal', ['hackage.haskell.org']],
    ['stack', ['casa.stackage.org', 'hackage.haskell.org', 'www.stackage.org']],
    ['deno', ['deno.land', 'jsr.io', 'registry.npmjs.org']],
  ])('%s', (program, expected) => {
    expect(hosts(program, null)).toEqual(expected);
  });
});

describe('variables', () => {
  test.each<[string, string, Readonly<Record<string, string>>, readonly string[]]>([
    ['npm', 'another registry', { NPM_CONFIG_REGISTRY: 'https://npm.example/' }, ['npm.example']],
    ['npm', 'a scope', { 'npm_config_@corp:registry': 'https://npm.example/' }, ['npm.example', 'registry.npmjs.org']],
    ['pip', 'an index', { PIP_INDEX_URL: 'https://u:p@pip.example/simple' }, ['pip.example']],
    ['uv', 'an index', { UV_INDEX_URL: 'https://uv.example' }, ['uv.example']],
    [
      'uv',
      'named ones',
      { UV_INDEX: 'a=https://a.example/simple b=https://b.example' },
      ['a.example', 'b.example', 'files.pythonhosted.org', 'pypi.org'],
    ],
    ['go', 'proxies', { GOPROXY: 'https://a.example,direct' }, ['a.example']],
    [
      'cargo',
      'a registry',
      { CARGO_REGISTRIES_CORP_INDEX: 'sparse+https://crates.example/index/' },
      ['crates.example', 'index.crates.io', 'static.crates.io'],
    ],
    ['pip', 'of another manager', { UV_INDEX_URL: 'https://uv.example' }, ['files.pythonhosted.org', 'pypi.org']],
    ['pip', 'with nothing', { PIP_INDEX_URL: '' }, ['files.pythonhosted.org', 'pypi.org']],
  ])('of %s: %s', (program, _, environment, expected) => {
    expect(hosts(program, null, environment)).toEqual(expected);
  });

  test('count where the manager is missing, and then nothing else does', () => {
    const found = { isThere: false, answer: null };
    expect(parseRegistryHosts(of('pip'), found, { PIP_INDEX_URL: 'https://pip.example' })).toEqual([
      { host: 'pip.example', port: 443 },
    ]);
    expect(parseRegistryHosts(of('pip'), found, {})).toEqual([]);
  });
});

test.each([
  'http://localhost:4873/',
  'http://127.0.0.1:4873/',
  'https://10.0.0.5/',
  'https://169.254.169.254/',
  'https://[::1]/',
  'https://nexus/',
  'https://2130706433/',
  'https://*.example.com/',
  'file:///opt/simple',
])('%s is not a public registry', (url) => {
  expect(hosts('cargo', null, { CARGO_REGISTRIES_X_INDEX: url })).toEqual(['index.crates.io', 'static.crates.io']);
});

test('no user name or password stays', () => {
  const userInfo = fc.string({ unit: fc.constantFrom(...Array.from('abc123:@%!-_.')), minLength: 1 });
  fc.assert(
    fc.property(userInfo, (user) => {
      expect(hosts('pip', null, { PIP_INDEX_URL: `https://${user}@pip.example/simple` })).toEqual(['pip.example']);
    }),
    { numRuns: runs(200) },
  );
});

test('no answer makes it throw, or gives without bound', () => {
  const url = fc.string({ unit: fc.constantFrom(...Array.from('ab.1-:/@?#%[]\\*')) }).map((text) => `https://${text}`);
  const line = fc.oneof(
    fc.string({ unit: fc.nat(0x24f).map((code) => String.fromCharCode(code)) }),
    url,
    url.map((text) => `  "registry": "${text}",`),
    url.map((text) => `global.index-url='${text}'`),
  );
  fc.assert(
    fc.property(fc.constantFrom(...packageManagers), fc.array(line), (manager, lines) => {
      for (const { host, port } of parseRegistryHosts(manager, { isThere: true, answer: lines.join('\n') }, {})) {
        expect(`${host}:${String(port)}`).toMatch(/^[a-z\d.:_-]+$/);
      }
    }),
    { numRuns: runs(300) },
  );
  const many = Array.from({ length: 9_000 }, (_, at) => `https://h${String(at)}.example`).join('\n');
  expect(hosts('gem', many)).toHaveLength(50);
  for (const { parse } of packageManagers) parse('\n \t'.repeat(30_000));
});
