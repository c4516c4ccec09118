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
  ["a model's weights", [change('models/a.pth', { binary: true })], ['changed-binary']],
  [
    'files that run whenever a tool starts',
    [change('build.rs'), change('lib/sitecustomize.py'), change('src/a.pth')],
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
