import { expect, test } from 'vitest';
import { listLookAtFirst, type ReviewedChange } from '../../../../src/core/review/look-at.ts';

function change(path: string, changed: Partial<ReviewedChange> = {}): ReviewedChange {
  const base = {
    kind: 'changed',
    binary: false,
    insertions: 1,
    bytes: 10,
    unread: false,
    before: '',
    after: '',
  } as const;
  return { ...base, ...changed, path };
}

function kindsOf(...changes: readonly ReviewedChange[]): readonly string[] {
  return listLookAtFirst(changes)
    .filter(({ kind }) => kind !== 'untested')
    .map(({ kind, files }) => `${kind}${files[0]?.what == null ? '' : `: ${files[0].what}`}`);
}

const lock = (resolved: string, more = ''): string => `{"a": {"resolved": "${resolved}/a.tgz"${more}}}`;

test.each<[string, readonly ReviewedChange[], readonly string[]]>([
  ['notes that later runs read', [change('.ralph/learnings.md'), change('progress.txt')], ['notes']],
  ['notes of an issue', [change('.ralph/learnings/issue-7.md')], ['notes']],
  ['instructions in AGENT.md', [change('AGENT.md')], ['agent-instructions']],
  ['settings of other agents', [change('.qwen/settings.json'), change('.copilot/mcp.json')], ['agent-instructions']],
  [
    'a repository inside of the repository',
    [change('fixtures/x/HEAD'), change('fixtures/x/config'), change('fixtures/x/objects/aa')],
    ['embedded-repository'],
  ],
  ['a file called HEAD does not count', [change('docs/HEAD'), change('config')], []],
  [
    'packages from another host',
    [change('package-lock.json', { before: lock('https://registry.npmjs.org'), after: lock('https://evil.test') })],
    ['lock-file: packages from evil.test'],
  ],
  [
    'a new lock file from another host',
    [change('package-lock.json', { kind: 'added', before: null, after: lock('https://evil.test') })],
    ['lock-file: packages from evil.test'],
  ],
  [
    'a new lock file from the usual registry',
    [change('package-lock.json', { kind: 'added', before: null, after: lock('https://registry.npmjs.org') })],
    [],
  ],
  [
    'a package that runs a script when installed',
    [
      change('package-lock.json', {
        before: lock('https://registry.npmjs.org'),
        after: lock('https://registry.npmjs.org', ', "hasInstallScript": true'),
      }),
    ],
    ['lock-file: 1 more package runs a script when installed'],
  ],
  [
    'a pnpm package that is built',
    [change('pnpm-lock.yaml', { before: 'a:\n', after: 'a:\n    requiresBuild: true\n' })],
    ['lock-file: 1 more package runs a script when installed'],
  ],
  ['a lock file that is too large', [change('yarn.lock', { unread: true })], ['lock-file: too large to be read']],
  [
    'another package manager',
    [change('package.json', { before: '{}', after: '{"packageManager": "pnpm@9.0.0+sha512.x"}' })],
    ['package-source: packageManager'],
  ],
  [
    'a script before a command of npm',
    [change('package.json', { before: '{}', after: '{"scripts": {"preci": "node x.js"}}' })],
    ['script-by-itself: preci'],
  ],
  [
    'a script before the tests, which is new',
    [change('package.json', { before: '{"scripts":{"test":"x"}}', after: '{"scripts":{"test":"x","pretest":"y"}}' })],
    ['script-by-itself: pretest'],
  ],
  [
    'packages that may run scripts',
    [change('package.json', { before: '{}', after: '{"trustedDependencies":["a"],"pnpm":{}}' })],
    ['script-by-itself: pnpm, trustedDependencies'],
  ],
  [
    'packages from a host that only a page about one was at',
    [
      change('package-lock.json', {
        before: lock('https://registry.npmjs.org', ', "funding": {"url": "https://github.com/sponsors/a"}'),
        after: lock('git+ssh://git@github.com/evil'),
      }),
    ],
    ['lock-file: packages from github.com'],
  ],
  [
    'packages from a host in escapes, and a script',
    [change('package-lock.json', { after: lock('https:\\u002f\\/evil.test', ', "hasInstall\\u0053cript": true') })],
    ['lock-file: packages from evil.test; 1 more package runs a script when installed'],
  ],
  [
    'packages from a git host without a scheme, and from an address',
    [change('yarn.lock', { after: 'resolved "git@evil.test:a/b.git#1"\nresolved "http://[2001:db8::1]/a.tgz"' })],
    ['lock-file: packages from evil.test, [2001:db8::1]'],
  ],
  [
    'packages from a host without slashes before it',
    [change('package-lock.json', { before: lock('https://registry.npmjs.org'), after: lock('https:evil.test') })],
    ['lock-file: packages from evil.test'],
  ],
  [
    "settings of later runs, of an agent's servers and of the tools' versions",
    [
      '.ralph/config.json',
      'config.yaml',
      'scripts/ralph/prompt.md',
      '@AGENT.md',
      'mcp.json',
      '.bazelversion',
      '.mise/config.toml',
    ].map((path) => change(path)),
    ['task-runner', 'shell', 'wrapper', 'agent-instructions'],
  ],
  ["a model's weights", [change('models/a.pth', { binary: true })], ['changed-binary']],
  [
    'files that run whenever a tool starts',
    [change('build.rs'), change('lib/sitecustomize.py'), change('src/a.pth'), change('.Rprofile'), change('.ghci')],
    ['script-by-itself'],
  ],
  [
    'other sources of packages',
    ['.pnpmfile.mjs', 'pip.ini', 'uv.toml', 'NuGet.Config', '.bundle/config'].map((path) => change(path)),
    ['package-source'],
  ],
  ['another workspace of Go', [change('go.work')], ['dependencies']],
  ['a changed program', [change('tools/run.bin', { binary: true })], ['changed-binary']],
  ['a changed picture', [change('docs/a.png', { binary: true })], []],
  [
    'a wrapper',
    [change('gradlew'), change('gradle/wrapper/gradle-wrapper.jar', { binary: true })],
    ['wrapper', 'changed-binary'],
  ],
])('%s', (_, changes, expected) => {
  expect(kindsOf(...changes)).toEqual(expected);
});

const npm = (name: string, more: string): string =>
  `{"packages": {"node_modules/${name}": {"version": "1.0.0", ${more}}}}`;
const SCRIPT = '"hasInstallScript": true';

test.each<[what: string, path: string, before: string, after: string, found: string | null]>([
  [
    'a host in percent signs',
    'package-lock.json',
    lock('https://a.test'),
    lock('https://%65vil.test'),
    'from evil.test',
  ],
  ['a host of other letters', 'package-lock.json', lock('https://a.test'), lock('https://évil.test'), 'from évil.test'],
  [
    'a host behind a known one',
    'package-lock.json',
    lock('https://a.test'),
    lock('https://a.test:x@evil.test'),
    'from evil.test',
  ],
  [
    'a short name of a repository',
    'package-lock.json',
    lock('https://a.test'),
    '{"a": {"version": "github:e/a#1"}}',
    'from github.com',
  ],
  [
    'another package with a script',
    'package-lock.json',
    npm('a', SCRIPT),
    npm('b', SCRIPT),
    '1 more package runs a script',
  ],
  ['the same package, newer', 'package-lock.json', npm('a', SCRIPT), npm('b/node_modules/a', SCRIPT), null],
  [
    'an address in an address',
    'yarn.lock',
    '',
    'resolution: "a@npm:1.0.0::__archiveUrl=https%3A%2F%2Fevil.test%2Fa.tgz"',
    'from evil.test',
  ],
  [
    'a registry in braces',
    'pnpm-lock.yaml',
    '',
    'resolution: {integrity: x, registry: https://evil.test}',
    'from evil.test',
  ],
  [
    'git as another user',
    'pnpm-lock.yaml',
    '',
    'resolution: {repo: deploy@evil.test:e/a.git, type: git}',
    'from evil.test',
  ],
  ['another version', 'pnpm-lock.yaml', '', "packages:\n  foo@1.0.0:\n  '@a/b@2.0.0-rc.1':\n", null],
  [
    'a newer package that is built',
    'pnpm-lock.yaml',
    '  /a@1.0.0:\n    requiresBuild: true\n',
    '  /a@1.1.0:\n    requiresBuild: true\n',
    null,
  ],
  ['a repository for Bun', 'bun.lock', '', '{"packages": {"a": ["a@github:e/a#1", {}, "e-a-1"]}}', 'from github.com'],
  [
    'a package that Bun trusts',
    'bun.lock',
    '{"trustedDependencies": ["a"]}',
    '{"trustedDependencies": ["a", "b"]}',
    '1 more package runs a script',
  ],
  [
    'another index',
    'uv.lock',
    'registry = "https://pypi.org/simple"',
    'registry = "https://evil.test/simple"',
    'from evil.test',
  ],
  [
    'a package that is built',
    'uv.lock',
    '',
    '[[package]]\nname = "a"\nsdist = { url = "a-1.tar.gz" }\n',
    '1 more package runs a script',
  ],
  [
    'a package that need not be built',
    'poetry.lock',
    '',
    '[[package]]\nname = "a"\nfiles = [\n  {file = "a.whl"},\n  {file = "a.tar.gz"}]',
    null,
  ],
  ['another way to a host', 'poetry.lock', '', 'url = "svn://evil.test/a"', 'from evil.test'],
  ['a lock file by its new name', 'pylock.dev.toml', '', 'url = "https://evil.test/a.whl"', 'from evil.test'],
  [
    'a repository beside the index',
    'Cargo.lock',
    '"registry+https://github.com/rust-lang/crates.io-index"',
    '"git+https://github.com/e/a#1"',
    'from github.com',
  ],
  [
    'a module of another host',
    'go.sum',
    'github.com/a/b v1.0.0 h1:x=\n',
    'github.com/a/c v1.0.0 h1:x=\nevil.test/b v1.0.0 h1:x=\n',
    'from evil.test',
  ],
  ['a provider of another host', '.terraform.lock.hcl', '', 'provider "evil.test/a/b" {', 'from evil.test'],
  [
    'a web page',
    'composer.lock',
    '{}',
    '{"packages": [{"homepage": "https://a.test", "funding": [{"url": "https://b.test"}]}]}',
    null,
  ],
  [
    'a host that only a page was at',
    'composer.lock',
    '{"homepage": "https://evil.test"}',
    '{"dist": {"url": "https://evil.test/a.zip"}}',
    'from evil.test',
  ],
  [
    'a plugin of Composer',
    'composer.lock',
    '{}',
    '{"packages": [{"name": "e/p", "type": "composer-plugin"}]}',
    '1 more package runs a script',
  ],
  ['a name in capitals', 'PACKAGE-LOCK.JSON', lock('https://a.test'), lock('https://evil.test'), 'from evil.test'],
])('a lock file that brings %s', (_, path, before, after, found) => {
  const kinds = kindsOf(change(path, { before, after }));
  expect(kinds).toEqual(found === null ? [] : [expect.stringContaining(found)]);
});

test.each([
  ['npm', 'package-lock.json', '{"a": {"version": {"toString": 1, "valueOf": 1}, "resolved": "https://evil.test/a"}}'],
  ['Composer', 'composer.lock', '{"a": {"type": {"toString": 1}, "name": {}, "dist": {"url": "https://evil.test/a"}}}'],
  [
    'deep lists',
    'package-lock.json',
    `{"version": ${'['.repeat(50_000)}{"resolved": "https://evil.test/a"}${']'.repeat(50_000)}}`,
  ],
])('a lock file of odd values is read: %s', (_, path, after) => {
  expect(kindsOf(change(path, { before: null, after }))).toEqual([expect.stringContaining('from evil.test')]);
});

test('a long name that many entries share takes no memory for each', () => {
  const after = `{"${'k'.repeat(1_000_000)}": [${'{"hasInstallScript": true},'.repeat(100_000)}{}]}`;
  expect(kindsOf(change('package-lock.json', { before: null, after }))).toEqual([
    expect.stringContaining('1 more package runs'),
  ]);
});
