import { describe, expect, test } from 'vitest';
import { lookAtFirst, MAX_LOOK_AT, moreToLookAt, type ReviewedChange } from '../../../../src/core/review/look-at.ts';
import { isGenerated } from '../../../../src/core/review/generated.ts';
import { cpuMs } from '../../../cpu.ts';

function change(path: string, more: Partial<ReviewedChange> = {}): ReviewedChange {
  return { path, kind: 'changed', binary: false, insertions: 0, bytes: 10, before: null, after: null, ...more };
}

const whysFor = (path: string, more: Partial<ReviewedChange> = {}): readonly string[] =>
  lookAtFirst([change(path, more)]).map(({ why }) => why);

describe('files are named by what they may do', () => {
  test.each<readonly [string, string]>([
    ['tools/lint/action.yml', 'workflows may run it as an action'],
    ['packages/a/Action.YAML', 'workflows may run it as an action'],
    ...['AGENTS.md', 'docs/CLAUDE.md', 'CLAUDE.local.md', 'GEMINI.md', '.cursor/rules/a.mdc', '.cursorrules'].map(
      (path) => [path, 'it instructs agents'] as const,
    ),
    ...['copilot-instructions.md', 'prompts/system.txt', 'a/review.prompt.md', '.ralph/PROMPT.md', 'PROMPT.md'].map(
      (path) => [path, 'it instructs agents'] as const,
    ),
    ...['.vscode/tasks.json', 'a/.idea/workspace.xml', 'x.code-workspace'].map(
      (path) => [path, 'editors run what it says'] as const,
    ),
    ['.devcontainer/devcontainer.json', 'it sets up the machine of everyone who opens it'],
    ...['.husky/pre-commit', '.githooks/pre-push', 'lefthook.yml', '.pre-commit-config.yaml'].map(
      (path) => [path, "git runs it on people's machines"] as const,
    ),
    ...['.npmrc', 'packages/a/.yarnrc.yml', '.yarnrc', '.pypirc'].map(
      (path) => [path, 'it decides where packages come from'] as const,
    ),
    ['.envrc', 'a shell runs it in this folder'],
    ['.lfsconfig', 'it decides where large files come from'],
    ...['.gitlab-ci.yml', '.circleci/config.yml', 'Jenkinsfile', 'azure-pipelines.yml', '.travis.yml'].map(
      (path) => [path, 'another CI system runs it'] as const,
    ),
    ...['bitbucket-pipelines.yml', '.buildkite/pipeline.yml', '.drone.yml'].map(
      (path) => [path, 'another CI system runs it'] as const,
    ),
    ...['vitest.config.ts', 'jest.config.js', 'pytest.ini', 'tox.ini', 'a/playwright.config.ts'].map(
      (path) => [path, 'it decides what is tested'] as const,
    ),
  ])('%s: %s', (path, why) => {
    expect(whysFor(path)).toEqual([why]);
    expect(whysFor(path, { kind: 'deleted' })).toContain(why);
  });

  test.each(['src/action.ts', 'README.md', 'src/agents.ts', 'src/prompt.ts', 'vscode.md', 'src/envrc.ts', 'a.yml'])(
    '%s is one like any other',
    (path) => {
      expect(whysFor(path)).toEqual([]);
    },
  );
});

test('a new binary is named, a changed one is not', () => {
  expect(whysFor('logo.png', { kind: 'added', binary: true })).toEqual(['a new binary file']);
  expect(whysFor('logo.png', { binary: true })).toEqual([]);
});

test('a large file is named', () => {
  expect(whysFor('data.json', { bytes: 300 * 1024 })).toEqual(['a large file: 300 KiB']);
  expect(whysFor('data.json', { bytes: 200 * 1024 })).toEqual([]);
});

describe('what decides what is installed', () => {
  test.each(['pyproject.toml', 'requirements-dev.txt', 'Cargo.toml', 'a/go.mod', 'build.gradle.kts', 'Dockerfile'])(
    '%s',
    (path) => {
      expect(whysFor(path)).toEqual(['it decides what is installed']);
    },
  );

  test.each<readonly [string, object, object, readonly string[]]>([
    ['a new one', {}, { dependencies: { lodash: '^4' } }, ['it adds a dependency: lodash']],
    [
      'several',
      { dependencies: { a: '1' } },
      { dependencies: { a: '1' }, devDependencies: { b: '1', c: '1', d: '1', e: '1' } },
      ['it adds dependencies: b, c, d and 1 more'],
    ],
    ['another version', { dependencies: { a: '1' } }, { dependencies: { a: '2' } }, ['other versions of a']],
    ['a removed one', { dependencies: { a: '1' } }, {}, []],
    ['no object', {}, { dependencies: 'x' }, []],
  ])('package.json: %s', (_, before, after, expected) => {
    expect(whysFor('package.json', { before: JSON.stringify(before), after: JSON.stringify(after) })).toEqual(expected);
  });
});

describe('new code without a test', () => {
  const why = 'new code, and no changed test mentions it';
  const untested = (paths: Readonly<Record<string, string | null>>): readonly string[] =>
    lookAtFirst(Object.entries(paths).map(([path, after]) => change(path, { insertions: 10, after })))
      .filter((found) => found.why === why)
      .map(({ path }) => path);

  test.each<readonly [string, Readonly<Record<string, string | null>>, readonly string[]]>([
    ['none was changed', { 'src/cart.ts': null }, ['src/cart.ts']],
    ['one is called so', { 'src/cart.ts': null, 'test/cart.test.ts': null }, []],
    ['one is called so in Python', { 'shop/cart.py': null, 'tests/test_cart.py': null }, []],
    ['one is called so in Go', { 'cart.go': null, 'cart_test.go': null }, []],
    ['one is called so in Java', { 'src/Cart.java': null, 'src/CartTest.java': null }, []],
    ['one imports it', { 'src/add-up.ts': null, 'test/all.test.ts': "import '../src/add-up.ts';" }, []],
    ['another one was changed', { 'src/cart.ts': null, 'test/other.test.ts': "import 'x';" }, ['src/cart.ts']],
    ['an index goes by its folder', { 'src/cart/index.ts': null, 'test/cart.test.ts': null }, []],
    ['no code', { 'README.md': null, 'dist/a.js': null, 'vite.config.ts': null, 'a.d.ts': null }, []],
  ])('%s', (_, paths, expected) => {
    expect(untested(paths)).toEqual(expected);
  });

  test('a few lines need none', () => {
    expect(whysFor('src/cart.ts', { insertions: 9 })).toEqual([]);
  });
});

test.each([
  ['package-lock.json', true],
  ['a/yarn.lock', true],
  ['Cargo.lock', true],
  ['dist/index.js', true],
  ['web/vendor/x.go', true],
  ['a.min.js', true],
  ['src/lock.ts', false],
  ['package.json', false],
  ['src/distance.ts', false],
])('%s is generated: %s', (path, is) => {
  expect(isGenerated(path)).toBe(is);
});

describe('weaker tests', () => {
  test.each([
    ['a.test.ts', 'expect(a).toBe(1); expect(b).toBe(2);', 'expect(a).toBe(1);', '1 check is gone'],
    ['test_a.py', 'assert a\nassert b\nassert c', 'pass', '3 checks are gone'],
    ['a_test.go', 't.Errorf("x")\nt.Fatal("y")', '', '2 checks are gone'],
  ])('%s checks less', (path, before, after, gone) => {
    expect(whysFor(path, { before, after })).toEqual([`it checks less than before: ${gone}`]);
    expect(whysFor(path, { before: after, after: before })).toEqual([]);
  });

  test.each(['test/a.test.ts', 'src/a.spec.js', 'a_test.go', 'tests/test_a.py'])('%s was deleted', (path) => {
    expect(whysFor(path, { kind: 'deleted' })).toEqual(['a test file was deleted']);
  });

  test.each([
    ['a.test.ts', "test('a', f);", "test.skip('a', f);"],
    ['a.test.ts', "it('a', f);", "xit('a', f);"],
    ['a.test.ts', "it('a', f);", "it.only('a', f);"],
    ['a.test.ts', "describe('a', f);", "describe.skip('a', f);"],
    ['test_a.py', 'def test_a():', '@pytest.mark.skip\ndef test_a():'],
    ['test_a.py', 'def test_a():', '@unittest.skipIf(True, "")\ndef test_a():'],
    ['a_test.go', 'func TestA(t *testing.T) {', 'func TestA(t *testing.T) {\n\tt.Skip()'],
    ['tests/a.rs', '#[test]', '#[test]\n#[ignore]'],
    ['src/ATest.java', '@Test', '@Test @Disabled'],
  ])('a test is skipped in %s', (path, before, after) => {
    expect(whysFor(path, { before, after })).toEqual(['a test is skipped']);
    expect(whysFor(path, { before: after, after: before })).toEqual([]);
    expect(whysFor(path, { before: after, after })).toEqual([]);
  });

  test('all others are counted', () => {
    expect(whysFor('a.test.ts', { kind: 'added', after: "it.skip('a');it.todo('b');" })).toEqual([
      'tests are skipped in 2 places',
    ]);
  });
});

describe('package.json', () => {
  const reasons = (before: object, after: object) =>
    whysFor('packages/a/package.json', {
      before: JSON.stringify({ scripts: before }),
      after: JSON.stringify({ scripts: after }),
    });

  test.each(['true', 'exit 0', ':', '', 'echo ok', 'echo ok && exit 0', 'vitest || true', 'vitest; exit 0'])(
    'a test script that is %j',
    (script) => {
      expect(reasons({ test: 'vitest' }, { test: script })).toEqual(['script test always passes']);
    },
  );

  test.each<[string, object, object, readonly string[]]>([
    ['a test script is gone', { test: 'vitest' }, {}, ['script test was removed']],
    ['another one', { test: 'vitest' }, { test: 'vitest run unit' }, ['script test was changed']],
    ['a new one', {}, { test: 'vitest', 'test:e2e': 'x' }, []],
    ['a lifecycle script', {}, { postinstall: 'node x.js' }, ['script postinstall runs by itself']],
    ['a changed one', { prepare: 'husky' }, { prepare: 'node x.js' }, ['script prepare runs by itself']],
    ['one before another', { build: 'tsc' }, { build: 'tsc', prebuild: 'x' }, ['script prebuild runs by itself']],
    ['an ordinary one', {}, { build: 'tsc', preview: 'vite' }, []],
    ['one that stays', { postinstall: 'x', test: 'true' }, { postinstall: 'x', test: 'true' }, []],
  ])('%s', (_, before, after, expected) => {
    expect(reasons(before, after)).toEqual(expected);
  });

  test('that cannot be read', () => {
    expect(whysFor('package.json', { before: '{}', after: '{' })).toEqual(['its scripts cannot be read']);
    expect(whysFor('package.json', { kind: 'deleted', before: '{}' })).toEqual([]);
  });
});

test('the most important come first, each once, and only so many', () => {
  expect(
    lookAtFirst([
      change('logo.png', { kind: 'added', binary: true }),
      change('AGENTS.md'),
      change('.npmrc'),
      change('a.test.ts', { kind: 'deleted' }),
    ]).map(({ path }) => path),
  ).toEqual(['a.test.ts', '.npmrc', 'AGENTS.md', 'logo.png']);
  const many = Array.from({ length: 80 }, (_, i) => ({ path: `${i}/AGENTS.md`, why: 'it instructs agents' }));
  expect(lookAtFirst(many.map(({ path }) => change(path)))).toHaveLength(MAX_LOOK_AT);
  expect(moreToLookAt(many, many)).toHaveLength(MAX_LOOK_AT);
  expect(moreToLookAt(many.slice(0, 2), many.slice(1, 3))).toEqual(many.slice(0, 3));
});

test('hostile names and texts cost nothing', () => {
  const path = `${'a/'.repeat(2_000)}package.json`;
  const script = `${'echo '.repeat(20_000)}&& x`;
  const after = JSON.stringify({ scripts: { test: script, pretest: ';'.repeat(100_000) } });
  expect(cpuMs(() => lookAtFirst([change(path, { before: '{}', after }), change('a'.repeat(100_000))]))).toBeLessThan(
    500,
  );
});
