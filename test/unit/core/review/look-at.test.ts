import { describe, expect, test } from 'vitest';
import { lookAtKinds, type LookAtKind } from '../../../../src/core/review/manifest.ts';
import {
  listLookAtFirst,
  MAX_NAMED_FILES,
  combineLookAt,
  restoreLookAt,
  type FilesToLookAt,
  type ReviewedChange,
} from '../../../../src/core/review/look-at.ts';
import { isGenerated } from '../../../../src/core/review/test-files.ts';
import { cpuMs } from '../../../cpu.ts';

function change(path: string, more: Partial<ReviewedChange> = {}): ReviewedChange {
  return {
    path,
    kind: 'changed',
    binary: false,
    insertions: 0,
    bytes: 10,
    unread: false,
    before: null,
    after: null,
    ...more,
  };
}

/** Returns the reasons as `kind`, or `kind: what`. */
const whysFor = (path: string, more: Partial<ReviewedChange> = {}): readonly string[] =>
  listLookAtFirst([change(path, more)]).flatMap(({ kind, files }) =>
    files.map(({ what }) => (what === null ? kind : `${kind}: ${what}`)),
  );

describe('files are named by what they may do', () => {
  test.each<readonly [string, LookAtKind]>([
    ['tools/lint/action.yml', 'action'],
    ['packages/a/Action.YAML', 'action'],
    ...['AGENTS.md', 'docs/CLAUDE.md', 'CLAUDE.local.md', 'GEMINI.md', '.cursor/rules/a.mdc', '.cursorrules'].map(
      (path) => [path, 'agent-instructions'] as const,
    ),
    ...['copilot-instructions.md', 'prompts/system.txt', 'a/review.prompt.md', '.ralph/PROMPT.md', 'PROMPT.md'].map(
      (path) => [path, 'agent-instructions'] as const,
    ),
    ...['.vscode/tasks.json', 'a/.idea/workspace.xml', 'x.code-workspace'].map((path) => [path, 'editor'] as const),
    ['.devcontainer/devcontainer.json', 'machine'],
    ...['.husky/pre-commit', '.githooks/pre-push', 'lefthook.yml', '.pre-commit-config.yaml'].map(
      (path) => [path, 'git-hook'] as const,
    ),
    ...['.npmrc', 'packages/a/.yarnrc.yml', '.yarnrc', '.pypirc'].map((path) => [path, 'package-source'] as const),
    ['.envrc', 'shell'],
    ['.lfsconfig', 'large-file-source'],
    ...['.gitlab-ci.yml', '.circleci/config.yml', 'Jenkinsfile', 'azure-pipelines.yml', '.travis.yml'].map(
      (path) => [path, 'other-ci'] as const,
    ),
    ...['bitbucket-pipelines.yml', '.buildkite/pipeline.yml', '.drone.yml'].map((path) => [path, 'other-ci'] as const),
    ...['vitest.config.ts', 'jest.config.js', 'pytest.ini', 'tox.ini', 'a/playwright.config.ts', 'vite.config.mts'].map(
      (path) => [path, 'test-settings'] as const,
    ),
    ...['.mocharc.yml', '.nycrc', 'a/conftest.py', '.cargo/config.toml', '.config/nextest.toml', 'ci.runsettings'].map(
      (path) => [path, 'test-settings'] as const,
    ),
    ...[
      'Makefile',
      'a/GNUmakefile',
      'rules.mk',
      'justfile',
      '.justfile',
      'Taskfile.yml',
      'Rakefile',
      'lib/db.rake',
    ].map((path) => [path, 'task-runner'] as const),
    ...['test.sh', 'scripts/run-tests.sh', 'bin/check', 'scripts/ci.mjs', 'ci/verify', 'tools/test_all.py'].map(
      (path) => [path, 'task-runner'] as const,
    ),
    ...['.pytest.ini', 'pytest.toml', 'phpunit.dist.xml', 'jest.unit.config.js', 'vitest.unit.config.ts'].map(
      (path) => [path, 'test-settings'] as const,
    ),
    ...['test/jest-e2e.json', 'jest.preset.js', 'cypress.json', '.taprc', '.c8rc.json', 'testem.js'].map(
      (path) => [path, 'test-settings'] as const,
    ),
    ...[
      'web-test-runner.config.mjs',
      'dart_test.yaml',
      'codeception.yml',
      'xunit.runner.json',
      '.mvn/maven.config',
    ].map((path) => [path, 'test-settings'] as const),
    ...['a/junit-platform.properties', 'CTestCustom.cmake', 'Directory.Build.props'].map(
      (path) => [path, 'test-settings'] as const,
    ),
    ...['native/binding.gyp', 'package.json5', 'packages/a/package.yaml'].map(
      (path) => [path, 'script-by-itself'] as const,
    ),
    ...['.husky', '.simple-git-hooks.cjs', '.overcommit.yml'].map((path) => [path, 'git-hook'] as const),
    ...['a.sublime-project', '.exrc', '.nvim.lua'].map((path) => [path, 'editor'] as const),
    ...['.envrc.local', '.mise.toml'].map((path) => [path, 'shell'] as const),
    ...['.pnp.cjs', 'pnpm-workspace.yaml'].map((path) => [path, 'package-source'] as const),
    ...['opencode.json', '.opencode/agent.md', '.rules', '.trae/rules.md', '.augment-guidelines'].map(
      (path) => [path, 'agent-instructions'] as const,
    ),
    ...['.builds/a.yml', '.zuul.yaml', 'bamboo-specs/bamboo.yml'].map((path) => [path, 'other-ci'] as const),
  ])('%s: %s', (path, why) => {
    expect(whysFor(path)).toEqual([why]);
    expect(whysFor(path, { kind: 'deleted' })).toContain(why);
  });

  test.each([
    'src/action.ts',
    'README.md',
    'src/agents.ts',
    'src/prompt.ts',
    'vscode.md',
    'src/envrc.ts',
    'a.yml',
    'src/contest.sh',
    'bin/serve',
    'src/check.ts',
  ])('%s is one like any other', (path) => {
    expect(whysFor(path)).toEqual([]);
  });
});

test('a new binary is named, a changed one is not', () => {
  expect(whysFor('logo.png', { kind: 'added', binary: true })).toEqual(['new-binary']);
  expect(whysFor('logo.png', { binary: true })).toEqual([]);
});

test('a large file is named', () => {
  expect(whysFor('data.json', { bytes: 300 * 1024 })).toEqual(['large-file: 300 KiB']);
  expect(whysFor('data.json', { bytes: 200 * 1024 })).toEqual([]);
});

describe('what decides what is installed', () => {
  test.each(['pyproject.toml', 'requirements-dev.txt', 'Cargo.toml', 'a/go.mod', 'build.gradle.kts', 'Dockerfile'])(
    '%s',
    (path) => {
      expect(whysFor(path)).toEqual(['dependencies']);
    },
  );

  test.each<readonly [string, object, object, readonly string[]]>([
    ['a new one', {}, { dependencies: { lodash: '^4' } }, ['dependencies: adds lodash']],
    [
      'several',
      { dependencies: { a: '1' } },
      { dependencies: { a: '1' }, devDependencies: { b: '1', c: '1', d: '1', e: '1' } },
      ['dependencies: adds b, c, d and 1 more'],
    ],
    [
      'another version',
      { dependencies: { a: '1' } },
      { dependencies: { a: '2' } },
      ['dependencies: other versions of a'],
    ],
    ['a removed one', { dependencies: { a: '1' } }, {}, []],
    ['no object', {}, { dependencies: 'x' }, []],
  ])('package.json: %s', (_, before, after, expected) => {
    expect(whysFor('package.json', { before: JSON.stringify(before), after: JSON.stringify(after) })).toEqual(expected);
  });
});

describe('new code without a test', () => {
  const untested = (paths: Readonly<Record<string, string | null>>): readonly string[] =>
    listLookAtFirst(Object.entries(paths).map(([path, after]) => change(path, { insertions: 10, after })))
      .filter(({ kind }) => kind === 'untested')
      .flatMap(({ files }) => files.map(({ path }) => path));

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
    ['a.test.js', 'ok(a);\nequal(a, 1);', 'ok(a);', '1 check is gone'],
    ['a.test.ts', "test('a', f);\nit.each([1])('b', g);", '', '2 tests are gone'],
    ['a.test.ts', "it('a', () => { expect(a).toBe(1); });", '// later', '1 test is gone; 1 check is gone'],
    [
      'test_a.py',
      'def test_a():\n    run()\nasync def test_b():\n    run()',
      'def helper():\n    run()',
      '2 tests are gone',
    ],
    ['a_test.go', 'func TestA(t *testing.T) {}\nfunc FuzzB(f *testing.F) {}', 'package a', '2 tests are gone'],
    ['src/ATest.java', '@Test void a() {}\n@ParameterizedTest void b() {}', '', '2 tests are gone'],
    ['tests/a.rs', '#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}', 'fn a() {}', '2 tests are gone'],
    ['spec/a_spec.rb', "it 'adds' do\nend", '', '1 test is gone'],
    ['ATests.cs', '[Fact]\npublic void A() {}', 'public void A() {}', '1 test is gone'],
    ['a.test.js', "test('a', f);\ntest('b', g);", "// test('a', f);\n/* test('b', g);\n */", '2 tests are gone'],
    ['a.test.js', "it('a', () => { expect(1); });", "it('a', () => { /* expect(1); */ });", '1 check is gone'],
    ['a.test.js', "const all = 'dist/*';\ntest('a', f);", "const all = 'dist/*';", '1 test is gone'],
    ['test_a.py', 'def test_a():\n    run()', '# def test_a():\n#     run()', '1 test is gone'],
    ['test_a.py', 'def test_a():\n    run()', '"""\ndef test_a():\n    run()\n"""', '1 test is gone'],
    ['spec/a_spec.rb', "it 'adds' do\nend", "x = 1\n=begin\nit 'adds' do\nend\n=end", '1 test is gone'],
    ['src/lib.rs', '#[cfg(test)]\nmod tests {\n #[test]\n fn a() {}\n}', 'pub fn a() {}', '1 test is gone'],
    ['shop/tests.py', 'def test_a(self):\n    run()', '', '1 test is gone'],
    ['foo-test.js', "test('a', f);", '', '1 test is gone'],
    ['test.js', "test('a', f);", '', '1 test is gone'],
  ])('%s checks less', (path, before, after, gone) => {
    expect(whysFor(path, { before, after })).toEqual([`weaker-test: ${gone}`]);
    expect(whysFor(path, { before: after, after: before })).toEqual([]);
  });

  test.each([
    ...['test/a.test.ts', 'src/a.spec.js', 'a_test.go', 'tests/test_a.py', 'shop/tests.py', 'foo-test.js', 'test.js'],
    ...['CartTestCase.php', 'CartSpec.scala', 'CartSpec.hs', 'CartIT.java', 't/cart.t', 'foo_tests.rs'],
  ])('%s was deleted', (path) => {
    expect(whysFor(path, { kind: 'deleted' })).toEqual(['deleted-test']);
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
    ['a.test.js', "test('a', f);", "test('a', { skip: true }, f);"],
    ['a.test.js', "test('a', f);", "test('a', { todo: 'later' }, f);"],
    ['test_a.py', 'def test_a():', '@pytest.mark.skipif(True)\ndef test_a():'],
    ['a.test.js', "test('a', f);", "test('a', { timeout: 3, skip: true }, f);"],
    ['a.spec.ts', "test('a', f);", "test.fixme('a', f);"],
    ['a.test.ts', "it('a', f);", "it.runIf(false)('a', f);"],
    ['a.test.ts', "it('a', f);", "it.fails('a', f);"],
    ['spec/a_spec.rb', "it 'a' do", "it 'a' do\n  skip"],
    ['spec/a_spec.rb', "it 'a' do", "it 'a' do\n  pending 'later'"],
    ['spec/a_spec.rb', "describe 'a' do", "xdescribe 'a' do"],
    ['test/a_test.exs', 'test "a" do', '@tag :skip\ntest "a" do'],
    ['a_test.go', 'package a', '//go:build never\npackage a'],
    ['a_test.go', 'func TestMain(m *testing.M) {', 'func TestMain(m *testing.M) {\n\tos.Exit(0)'],
    ['tests/a.rs', 'mod a {', '#[cfg(any())]\nmod a {'],
    ['test_a.py', 'import x', 'x = pytest.importorskip("x")'],
    ['test_a.py', 'class TestA:', 'class TestA:\n    __test__ = False'],
  ])('a test is skipped in %s', (path, before, after) => {
    expect(whysFor(path, { before, after })).toEqual(['skipped-test']);
    expect(whysFor(path, { before: after, after: before })).toEqual([]);
    expect(whysFor(path, { before: after, after })).toEqual([]);
  });

  test('all others are counted', () => {
    expect(whysFor('a.test.ts', { kind: 'added', after: "it.skip('a');it.todo('b');" })).toEqual([
      'skipped-test: in 2 places',
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
      expect(reasons({ test: 'vitest' }, { test: script })).toEqual(['void-test-script: test always passes']);
    },
  );

  test.each<[string, object, object, readonly string[]]>([
    [
      'a script that the test script starts passes always',
      { test: 'npm run unit', unit: 'vitest' },
      { test: 'npm run unit', unit: 'true' },
      ['void-test-script: unit always passes'],
    ],
    ['a test script is gone', { test: 'vitest' }, {}, ['void-test-script: test was removed']],
    ['another one', { test: 'vitest' }, { test: 'vitest run unit' }, ['changed-test-script: test']],
    ['a new one', {}, { test: 'vitest', 'test:e2e': 'x' }, []],
    ['a lifecycle script', {}, { postinstall: 'node x.js' }, ['script-by-itself: postinstall']],
    ['a changed one', { prepare: 'husky' }, { prepare: 'node x.js' }, ['script-by-itself: prepare']],
    ['one before another', { build: 'tsc' }, { build: 'tsc', prebuild: 'x' }, ['script-by-itself: prebuild']],
    ['an ordinary one', {}, { build: 'tsc', preview: 'vite' }, []],
    ['one that stays', { postinstall: 'x', test: 'true' }, { postinstall: 'x', test: 'true' }, []],
  ])('%s', (_, before, after, expected) => {
    expect(reasons(before, after)).toEqual(expected);
  });

  test('that cannot be read', () => {
    expect(whysFor('package.json', { before: '{}', after: '{' })).toEqual(['unreadable-scripts']);
    expect(whysFor('package.json', { kind: 'deleted', before: '{}' })).toEqual([]);
  });
});

describe('lines of a file with many uses', () => {
  test.each<readonly [string, string, string]>([
    ['pyproject.toml', '[tool.pytest.ini_options]\naddopts = ""', '[tool.pytest.ini_options]\naddopts = "-k none"'],
    ['pyproject.toml', '[project]\nname = "a"', '[project]\nname = "a"\n[tool.coverage.run]\nomit = ["*"]'],
    ['setup.cfg', '[metadata]', '[metadata]\n[tool:pytest]\naddopts = --ignore=tests'],
    ['Cargo.toml', '[lib]\nname = "a"', '[lib]\nname = "a"\ntest = false'],
    ['Cargo.toml', '[[test]]\nname = "a"', '[[test]]\nname = "a"\npath = "none.rs"'],
    ['pyproject.toml', 'x = 1', 'x = 1\ntool.pytest.ini_options.addopts = "-k none"'],
    ['pyproject.toml', '[tool]', '[tool]\npytest.ini_options.addopts = "-k none"'],
    ['pyproject.toml', 'x = 1', 'x = 1\n["tool"."pytest".ini_options]\naddopts = "-k none"'],
    ['pom.xml', '<project/>', '<project><skipTests>true</skipTests></project>'],
    ['build.gradle.kts', 'plugins {}', 'plugins {}\ntasks.test { enabled = false }'],
  ])('%s', (path, before, after) => {
    expect(whysFor(path, { before, after })).toEqual(['test-settings', 'dependencies']);
    expect(whysFor(path, { before: `${before}\n# more`, after: before })).toEqual(['dependencies']);
  });

  test.each<readonly [string, string, string]>([
    ['composer.json', '{"scripts":{"test":"phpunit"}}', '{"scripts":{"test":"true"}}'],
    ['deno.json', '{"tasks":{"test":"deno test"}}', '{"tasks":{"test":"true"}}'],
    ['CMakeLists.txt', 'add_test(a a)', ''],
    ['gradle.properties', 'a=1', 'a=1\nskipTests=true'],
    ['build.sbt', 'name := "a"', 'name := "a"\nTest / test := {}'],
  ])('%s', (path, before, after) => {
    expect(whysFor(path, { before, after })).toContain('test-settings');
  });

  test.each<readonly [string, string, string]>([
    ['pyproject.toml', '[project]\nversion = "1"', '[project]\nversion = "2"'],
    ['Cargo.toml', '[dependencies]\na = "1"', '[dependencies]\na = "2"'],
  ])('others of %s decide nothing of the kind', (path, before, after) => {
    expect(whysFor(path, { before, after })).toEqual(['dependencies']);
  });

  test.each(['husky', 'simple-git-hooks', 'gitHooks', 'lint-staged'])('%s of a package.json', (name) => {
    const after = JSON.stringify({ [name]: { 'pre-push': 'x' } });
    expect(whysFor('package.json', { before: '{}', after })).toEqual([`git-hook: ${name}`]);
  });

  test.each(['jest', 'vitest', 'mocha', 'ava', 'nyc', 'c8', 'tap', 'workspaces'])('%s of a package.json', (name) => {
    const after = JSON.stringify({ [name]: { testMatch: [] } });
    expect(whysFor('package.json', { before: '{}', after })).toEqual([`test-settings: ${name}`]);
    expect(whysFor('package.json', { before: after, after })).toEqual([]);
  });
});

describe('a flood', () => {
  const flood = Array.from({ length: 500 }, (_, i) => change(`test/deep/a${i}.test.js`, { after: 'it.skip(f);' }));
  const one = (kind: LookAtKind, path: string): FilesToLookAt => ({
    kind,
    fileCount: 1,
    files: [{ path, what: null }],
  });

  test.each<readonly [LookAtKind, string, Partial<ReviewedChange>]>([
    [
      'void-test-script',
      'zz/package.json',
      { before: '{"scripts":{"test":"x"}}', after: '{"scripts":{"test":"true"}}' },
    ],
    ['deleted-test', 'zz/z.test.js', { kind: 'deleted' }],
    ['action', 'zz/action.yml', {}],
    ['agent-instructions', 'zz/AGENTS.md', {}],
    ['new-binary', 'zz/tool', { kind: 'added', binary: true }],
    ['untested', 'zz/new.js', { insertions: 10 }],
    ['manifest-not-read', 'zz/package.json', { unread: true }],
    ['test-not-read', 'zz/z.test.js', { unread: true }],
  ])('hides no %s', (kind, path, more) => {
    const found = listLookAtFirst([...flood, change(path, more)]);
    expect(found).toHaveLength(2);
    expect(found.find((each) => each.kind === kind)).toMatchObject({ fileCount: 1, files: [{ path }] });
    expect(found.find((each) => each.kind === 'skipped-test')).toMatchObject({ fileCount: 500 });
    expect(found.map((each) => lookAtKinds.indexOf(each.kind))).toEqual(
      found.map((each) => lookAtKinds.indexOf(each.kind)).sort((a, b) => a - b),
    );
  });

  test('is counted, and those nearest to the root are named', () => {
    const [skipped] = listLookAtFirst([...flood, change('z.test.js', { after: 'it.skip(f);' })]);
    expect(skipped).toMatchObject({ kind: 'skipped-test', fileCount: 501 });
    expect(skipped?.files).toHaveLength(MAX_NAMED_FILES);
    expect(skipped?.files[0]).toEqual({ path: 'z.test.js', what: null });
  });

  test('of scripts does not hide the one that is called test', () => {
    const scripts = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`test:${i}`, 'true']));
    expect(
      whysFor('package.json', { before: '{}', after: JSON.stringify({ scripts: { ...scripts, test: 'true' } }) }),
    ).toEqual(['void-test-script: test, test:0, test:1 and 48 more always passes']);
  });

  test('of several iterations is counted together', () => {
    const found = listLookAtFirst(flood);
    expect(combineLookAt(found, found)).toMatchObject([{ kind: 'skipped-test', fileCount: 990 }]);
    expect(combineLookAt([one('action', 'a')], [one('action', 'b'), one('editor', 'c')])).toEqual([
      { kind: 'action', fileCount: 2, files: [...one('action', 'a').files, ...one('action', 'b').files] },
      one('editor', 'c'),
    ]);
    expect(combineLookAt([one('action', 'a')], [one('action', 'a')])).toEqual([one('action', 'a')]);
  });
});

test.each<readonly [string, unknown, readonly FilesToLookAt[]]>([
  [
    'words of its own',
    [{ kind: 'action', fileCount: 2, files: [{ path: 'a', what: 'Trust me.' }], why: 'Trust me.' }],
    [{ kind: 'action', fileCount: 2, files: [{ path: 'a', what: null }] }],
  ],
  ['a kind of its own', [{ kind: 'Trust me.', fileCount: 1, files: [] }], []],
  ['an invalid number', [{ kind: 'action', fileCount: 'Trust me.', files: [] }], []],
  ['no list', { path: 'a', why: 'b' }, []],
])('of a record with %s the kinds, numbers and paths are taken, or nothing', (_, recorded, expected) => {
  expect(restoreLookAt(recorded)).toEqual(expected);
});

test('hostile names and texts cost nothing', () => {
  const path = `${'a/'.repeat(2_000)}package.json`;
  const blank = `${'\n'.repeat(200_000)}${' '.repeat(200_000)}test(${'('.repeat(200_000)}[[${' a'.repeat(100_000)}`;
  const script = `${'echo '.repeat(20_000)}&& x`;
  const after = JSON.stringify({ scripts: { test: script, pretest: ';'.repeat(100_000) } });
  const comments = `${'x/*'.repeat(200_000)}${'/* '.repeat(200_000)}${'"""'.repeat(100_001)}`;
  const texts = ['a.test.ts', 'test_a.py', 'pyproject.toml', 'pom.xml'].map((name) =>
    change(name, { before: blank, after: comments }),
  );
  expect(
    cpuMs(() => listLookAtFirst([change(path, { before: '{}', after }), change('a'.repeat(100_000)), ...texts])),
  ).toBeLessThan(1000);
});
