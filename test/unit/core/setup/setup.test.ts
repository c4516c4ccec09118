import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { detectProject, selectFilesToRead } from '../../../../src/core/setup/detect.ts';
import { detectedLanguages } from '../../../../src/core/setup/languages.ts';
import { buildSetUpFiles, type SetupChoices, type WantedFile } from '../../../../src/core/setup/files.ts';
import { makeLanguage, rootBuilds } from '../../../../src/core/setup/root-builds.ts';
import { planFileRemoval, planFileWrite } from '../../../../src/core/setup/ownership.ts';
import { listDiffLines } from '../../../../src/cli/setup/setup-text.ts';
import { proposeVerify, computeScheduleMinute } from '../../../../src/core/setup/workflow.ts';
import { problemsOf, problemsOfAction } from '../../../workflow-lint.ts';

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const action = parse(read('action.yml')) as { readonly inputs: Readonly<Record<string, { default: string }>> };
const templates = {
  workflows: {
    single: read('templates/workflows/ralph.yml'),
    'three-jobs': read('templates/workflows/three-jobs.yml'),
  },
  prompt: read('templates/PROMPT.md'),
  allowedTools: action.inputs['allowed-tools']?.default ?? '',
  taskLabel: 'ralph',
};
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const OWN = '.github/workflows/ralph.yml';

type Files = Readonly<Record<string, string>>;

function projectOf(files: Files) {
  const texts = new Map(selectFilesToRead(Object.keys(files)).map((path) => [path, files[path] ?? '']));
  // A script with content begins with `#!`, and counts as executable here.
  const executable = Object.keys(files).filter((path) => files[path]?.startsWith('#!') === true);
  return detectProject({ paths: Object.keys(files), texts, executable });
}

function choicesFor(files: Files): SetupChoices {
  const verify = proposeVerify(projectOf(files));
  return {
    ...{ shape: 'single', verify, agent: 'claude', agentPath: '', key: 'api-key' },
    ...{ action: null, prompt: false, label: 'ralph', repository: null, leftTo: null },
  };
}

function workflowOf(files: Files, choices = choicesFor(files)): string {
  const [workflow] = buildSetUpFiles(projectOf(files), choices, templates);
  return workflow?.kind === 'whole' ? workflow.text : '';
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string>>;
}

function stepsOf(workflow: string): readonly Step[] {
  return (parse(workflow) as { jobs: { ralph: { steps: readonly Step[] } } }).jobs.ralph.steps;
}

const node = (more: object = {}): string => JSON.stringify({ scripts: { test: 'vitest' }, ...more });

const repositories: readonly [string, Files, readonly string[], readonly string[]][] = [
  [
    'Node with npm',
    { 'package.json': node(), 'package-lock.json': '', '.nvmrc': '22' },
    ['actions/setup-node@v5', 'npm ci'],
    ['npm ci && npm test'],
  ],
  [
    'Node without tests or a lock file',
    { 'package.json': '{}' },
    ['actions/setup-node@v5', 'npm install --no-package-lock'],
    [],
  ],
  [
    'Node with pnpm and workspaces',
    { 'package.json': node(), 'pnpm-lock.yaml': '', 'pnpm-workspace.yaml': '', 'packages/a/package.json': node() },
    ['pnpm/action-setup@v4', 'actions/setup-node@v5', 'pnpm install --frozen-lockfile'],
    ['pnpm install --frozen-lockfile && pnpm test'],
  ],
  [
    'Python with uv',
    { 'pyproject.toml': '[dependency-groups]\ndev = ["pytest"]', 'uv.lock': '' },
    ['astral-sh/setup-uv@v7', 'uv sync --locked'],
    ['uv sync --locked && uv run pytest'],
  ],
  [
    'Python with requirements',
    { 'requirements.txt': 'flask\npytest\n' },
    ['actions/setup-python@v6', 'pip install -r requirements.txt'],
    ['pip install -r requirements.txt && python -m pytest'],
  ],
  ['Go', { 'go.mod': 'module x\n\ngo 1.24\n', 'main.go': '' }, ['actions/setup-go@v6'], ['go test ./...']],
  [
    'Go with a workspace',
    { 'go.work': 'go 1.24\n\nuse (\n\t./api\n\t./web\n)\n', 'api/go.mod': '', 'web/go.mod': '' },
    ['actions/setup-go@v6'],
    ['go test ./api/... ./web/...'],
  ],
  [
    'Rust with a workspace',
    { 'Cargo.toml': '[workspace]\nmembers = ["a"]\n', 'a/Cargo.toml': '' },
    ['rustup update stable', 'Swatinem/rust-cache@v2'],
    ['cargo test --workspace'],
  ],
  [
    'Java with Maven',
    { 'pom.xml': '<java.version>17</java.version>', mvnw: '#!' },
    ['actions/setup-java@v5'],
    ['./mvnw -B test'],
  ],
  [
    'Java with Gradle',
    { 'build.gradle.kts': 'jvmToolchain(21)', gradlew: '#!' },
    ['actions/setup-java@v5'],
    ['./gradlew test'],
  ],
  [
    'Kotlin for several platforms',
    { 'build.gradle.kts': 'alias(libs.plugins.kotlin)', gradlew: '#!', 'src/commonMain/kotlin/a/b/c/d.kt': '' },
    ['actions/setup-java@v5'],
    ['./gradlew allTests'],
  ],
  [
    'Java whose wrapper is not executable',
    { 'build.gradle': '', gradlew: '' },
    ['actions/setup-java@v5'],
    ['sh ./gradlew test'],
  ],
  [
    'Node with pnpm that only the manifest names',
    { 'package.json': node({ packageManager: 'pnpm@10.1.0' }) },
    ['pnpm/action-setup@v4', 'actions/setup-node@v5', 'pnpm install --no-lockfile'],
    ['pnpm install --no-lockfile && pnpm test'],
  ],
  [
    'Node with a Yarn that only the manifest names',
    { 'package.json': node({ packageManager: 'yarn@4.5.0' }) },
    ['corepack enable', 'actions/setup-node@v5', 'yarn install --no-immutable'],
    ['yarn install --no-immutable && yarn test'],
  ],
  [
    'Node with Yarn 1 that only the manifest names',
    { 'package.json': node({ packageManager: 'yarn@1.22.22' }) },
    ['actions/setup-node@v5', 'yarn install --no-lockfile'],
    ['yarn install --no-lockfile && yarn test'],
  ],
  [
    'Deno',
    { 'deno.jsonc': '{\n  // tasks\n  "tasks": { "test": "deno test -R", },\n}', 'deno.lock': '' },
    ['denoland/setup-deno@v2', 'deno install --frozen'],
    ['deno install --frozen && deno task test'],
  ],
  [
    'Deno without tasks or a lock file',
    { 'deno.json': '{}', 'main.ts': '' },
    ['denoland/setup-deno@v2'],
    ['deno test --allow-all'],
  ],
  [
    'Node beside a file of Deno',
    { 'deno.json': '{}', 'package.json': node(), 'package-lock.json': '' },
    ['actions/setup-node@v5', 'npm ci'],
    ['npm ci && npm test'],
  ],
  [
    'Elixir with Phoenix',
    { 'mix.exs': 'defp deps, do: [{:phoenix, "~> 1.8"}]', 'mix.lock': '' },
    ['erlef/setup-beam@v1', 'mix deps.get --check-locked'],
    ['mix deps.get --check-locked && mix test'],
  ],
  [
    'Swift',
    { 'Package.swift': '// swift-tools-version:6.0\n', 'Tests/AppTests/AppTests.swift': '' },
    [],
    ['swift test'],
  ],
  [
    'C++ with CMake, and documents that Python makes, which need no set-up',
    { 'CMakeLists.txt': 'project(x LANGUAGES CXX)\nenable_testing()\n', 'docs/requirements.txt': 'sphinx' },
    [],
    ['cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure'],
  ],
  [
    'C with CMake and without tests, beside Rust',
    { 'CMakeLists.txt': 'project(x C)\n', 'rust/Cargo.toml': '' },
    ['rustup update stable', 'Swatinem/rust-cache@v2'],
    ['(cd rust && cargo test)'],
  ],
  [
    'C with Meson',
    { 'meson.build': "project('x', 'c')\nif get_option('tests')\n  subdir('tests')\nendif\n", build: '' },
    ['pipx install meson && pipx install ninja'],
    ['meson setup _build && meson test -C _build --print-errorlogs'],
  ],
  ['Bazel', { 'MODULE.bazel': '', 'tools/x/go.mod': '' }, ['bazel-contrib/setup-bazel@0.18.0'], ['bazel test //...']],
  [
    'Zig beside a Makefile',
    { 'build.zig': 'const t = b.step("test", "Run tests");', Makefile: 'test:\n' },
    ['mlugg/setup-zig@v2'],
    ['zig build test'],
  ],
  [
    'Haskell with Cabal',
    { 'x.cabal': '', 'stack.yaml': '', 'cabal.project': '' },
    ['haskell-actions/setup@v2', 'cabal update'],
    ['cabal update && cabal test all'],
  ],
  ['Haskell with Stack', { 'x.cabal': '', 'stack.yaml': '' }, ['haskell-actions/setup@v2'], ['stack test']],
  [
    'Flutter',
    { 'pubspec.yaml': 'dependencies:\n  flutter:\n    sdk: flutter\n', 'test/a_test.dart': '' },
    ['subosito/flutter-action@v2', 'flutter pub get'],
    ['flutter pub get && flutter test'],
  ],
  [
    'Dart',
    { 'pubspec.yaml': 'name: x\n', 'test/a_test.dart': '' },
    ['dart-lang/setup-dart@v1', 'dart pub get'],
    ['dart pub get && dart test'],
  ],
  ['C with CMake and without tests', { 'CMakeLists.txt': 'project(x C)\n', Makefile: 'test:\n' }, [], []],
  [
    'Ruby',
    { Gemfile: "gem 'rspec'\n", 'Gemfile.lock': '', '.ruby-version': '3.4' },
    ['ruby/setup-ruby@v1', 'bundle install'],
    ['bundle install && bundle exec rspec'],
  ],
  [
    'PHP with Laravel and Pest',
    { 'composer.json': '{"require":{"php":"^8.3","laravel/framework":"^12"},"require-dev":{"pestphp/pest":"^4"}}' },
    ['shivammathur/setup-php@v2', 'composer install --no-interaction'],
    ['composer install --no-interaction && vendor/bin/pest'],
  ],
  [
    'PHP with a script for tests',
    { 'composer.json': '{"scripts":{"test":"phpunit"}}' },
    ['shivammathur/setup-php@v2', 'composer install --no-interaction'],
    ['composer install --no-interaction && composer test'],
  ],
  [
    'a solution of .NET, whose projects are below it',
    { 'Shop.sln': '', 'src/Shop/Shop.csproj': '', 'test/Shop.Tests/Shop.Tests.csproj': '' },
    ['actions/setup-dotnet@v5'],
    ['dotnet test'],
  ],
  [
    'projects of .NET without a solution',
    { 'src/Shop/Shop.csproj': '<TargetFramework>net9.0</TargetFramework>' },
    ['actions/setup-dotnet@v5'],
    ['(cd src/Shop && dotnet test)'],
  ],
  [
    'several services',
    { 'web/package.json': node(), 'web/package-lock.json': '', 'api/go.mod': '', 'api/go.sum': '' },
    ['actions/setup-node@v5', 'actions/setup-go@v6', 'npm ci'],
    ['(cd web && npm ci && npm test)', '(cd api && go test ./...)'],
  ],
  ['a Makefile', { Makefile: 'test: build\n\t./run\n' }, [], ['make test']],
  ['documents', { 'README.md': '# Hello', 'docs/a.md': '' }, [], []],
];

describe.each(repositories)('%s', (_, files, steps, verify) => {
  test('gets its own steps and checks', () => {
    const found = stepsOf(workflowOf(files));
    expect(found.slice(1, -1).map(({ uses, run }) => uses ?? run)).toEqual(steps);
    expect((found.at(-1)?.with?.['verify'] ?? '').split('\n').filter((line) => line !== '')).toEqual(verify);
  });

  test('gets a workflow that GitHub takes and that names only inputs of the action', async () => {
    const text = workflowOf(files);
    expect(await problemsOf({ where: 'ralph.yml', text })).toEqual([]);
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(stepsOf(text).at(-1)?.with ?? {})));
  });

  test('gets the workflow of three jobs and its set-up steps in a form that GitHub takes', async () => {
    const [workflow, setUp] = buildSetUpFiles(
      projectOf(files),
      { ...choicesFor(files), shape: 'three-jobs' },
      templates,
    );
    const textOf = (file: WantedFile | undefined): string => (file?.kind === 'whole' ? file.text : '');
    expect(await problemsOf({ where: 'ralph.yml', text: textOf(workflow) })).toEqual([]);
    const { with: inputs = {} } = (
      parse(textOf(workflow)) as { jobs: { ralph: { with?: Readonly<Record<string, string>> } } }
    ).jobs.ralph;
    expect((inputs['verify'] ?? '').split('\n').filter((line) => line !== '')).toEqual(verify);
    if (steps.length === 0) {
      expect(setUp?.path).not.toContain('ralph-setup');
      return;
    }
    expect(setUp?.path).toBe('.github/actions/ralph-setup/action.yml');
    expect(await problemsOfAction(textOf(setUp))).toEqual([]);
    const { runs } = parse(textOf(setUp)) as { runs: { steps: readonly (Step & { shell?: string })[] } };
    expect(runs.steps.map(({ uses, run }) => uses ?? run)).toEqual(steps);
    // A step of a composite action needs `shell` with `run`.
    expect(runs.steps.every(({ run, shell }) => (run === undefined) === (shell === undefined))).toBe(true);
  });

  test('is set up once: a second run changes nothing, and remove takes everything back', () => {
    for (const wanted of buildSetUpFiles(projectOf(files), choicesFor(files), templates)) {
      const first = planFileWrite(wanted, null, digest);
      const after = 'after' in first ? first.after : '';
      expect(planFileWrite(wanted, after, digest).kind).toBe('same');
      expect(planFileRemoval(wanted, after.replaceAll('\n', '\r\n'), digest).kind).toBe('delete');
      const changed = planFileRemoval(wanted, `${after}x\n`, digest);
      expect(changed.kind).toBe(wanted.kind === 'whole' ? 'left' : 'shorten');
    }
  });
});

test.each<[string, string, Files, string]>([
  ['an extra', '[project.optional-dependencies]\ntest = ["cov[toml]", "pytest>=8"]', {}, "pip install '.[test]'"],
  ['a group', '[dependency-groups]\ndev = [\n  "pytest",\n]\n[tool.x]', {}, 'pip install . --group dev'],
  ['the package', '[project]\ndependencies = ["pytest"]', {}, 'pip install .'],
  ['nothing', '[tool.pytest.ini_options]', {}, 'pip install . pytest'],
  [
    'nothing, beside requirements',
    '[tool.pytest]',
    { 'requirements.txt': 'a' },
    'pip install -r requirements.txt pytest',
  ],
  [
    'an extra of uv',
    '[project.optional-dependencies]\ndev = ["pytest"]',
    { 'uv.lock': '' },
    'uv sync --locked --extra dev',
  ],
  ['a group of uv', '[dependency-groups]\ntest = ["pytest"]', { 'uv.lock': '' }, 'uv sync --locked --group test'],
  [
    "the default group of uv's workspace",
    '[dependency-groups]\ndev = ["pytest"]\n[tool.uv.workspace]\nmembers = ["packages/*"]',
    { 'uv.lock': '', 'packages/a/pyproject.toml': '' },
    'uv sync --locked --all-packages',
  ],
  ["uv's own group", '[tool.uv]\ndev-dependencies = ["pytest"]', { 'uv.lock': '' }, 'uv sync --locked'],
  [
    'Poetry without a lock file',
    '[tool.poetry]\n[tool.poetry.group.dev.dependencies]\npytest = "*"',
    {},
    'poetry install',
  ],
  [
    "Poetry's extra",
    '[project.optional-dependencies]\nt = ["pytest"]',
    { 'poetry.lock': '' },
    'poetry install --extras t',
  ],
])('pytest is installed from %s', async (_, manifest, more, install) => {
  const files = { 'pyproject.toml': manifest, ...more };
  const text = workflowOf(files);
  expect(projectOf(files).stacks.map((stack) => stack.install)).toEqual([install]);
  expect(stepsOf(text).map(({ run }) => run)).toContain(install);
  expect(await problemsOf({ where: 'ralph.yml', text })).toEqual([]);
});

test.each<[string, Files, object]>([
  ['none to cache', { 'package.json': node({ packageManager: 'pnpm@10.1.0' }) }, { 'package-manager-cache': false }],
  ['npm', { 'package.json': node({ packageManager: 'npm@11.1.0' }), 'package-lock.json': '' }, { cache: 'npm' }],
])('setup-node caches only what has a lock file: %s', (_, files, given) => {
  const found = stepsOf(workflowOf(files)).find(({ uses }) => uses?.startsWith('actions/setup-node@'));
  expect(found?.with).toEqual({ 'node-version': 'lts/*', ...given });
});

test.each<[string, Files, string, string]>([
  ['a version file', { 'package.json': node(), '.nvmrc': '' }, 'node-version-file', '.nvmrc'],
  ['engines', { 'package.json': node({ engines: { node: '22' } }) }, 'node-version-file', 'package.json'],
  [
    'another workflow',
    { 'package.json': node(), '.github/workflows/ci.yml': '  node-version: 20\n' },
    'node-version',
    '20',
  ],
  [
    'nothing: an expression of another workflow is not a version',
    { 'package.json': node(), '.github/workflows/ci.yml': '  node-version: ${{ matrix.node }}\n' },
    'node-version',
    'lts/*',
  ],
  [
    'requires-python',
    { 'pyproject.toml': '[project]\nrequires-python = ">=3.9,<3.13"\n' },
    'python-version-file',
    'pyproject.toml',
  ],
])('the version comes from %s', (_, files, input, value) => {
  expect(stepsOf(workflowOf(files))[1]?.with?.[input]).toBe(value);
});

const CI = '.github/workflows/ci.yml';
const ciWith = (run: string): string =>
  `on: pull_request\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ${run}\n`;

test.each<[string, Files, string | undefined]>([
  ['npm needs none', { 'package.json': node() }, undefined],
  ['cargo', { 'Cargo.toml': '' }, 'Bash(cargo:*)'],
  ['a program that CI starts for its tests', { [CI]: ciWith('make check') }, 'Bash(make:*)'],
  [
    'no program of a project in a folder that CI does not test',
    { [CI]: ciWith('make check'), 'msvc/x.sln': '' },
    'Bash(make:*)',
  ],
  [
    'those of a folder whose tests CI starts at the root',
    { [CI]: ciWith('dotnet test all.proj'), 'lib/x.sln': '' },
    'Bash(dotnet:*)',
  ],
  [
    'one of its own for a program with variables before it',
    { [CI]: ciWith('A=1 make test') },
    'Bash(make:*),+Bash(A=1 make:*)',
  ],
  ['none for variables that a rule cannot contain', { [CI]: ciWith("A='b, c' make test") }, 'Bash(make:*)'],
])('rules for tools, beyond the default ones: %s', (_, files, rule) => {
  const rules = stepsOf(workflowOf(files)).at(-1)?.with?.['allowed-tools'];
  if (rule === undefined) expect(rules).toBeUndefined();
  else expect(rules?.trim().split('\n')).toEqual([`+${rule}`]);
});

test.each<[string, string]>([
  ['scripts/ralph/prd.json', 'snarktank/ralph'],
  ['.ralphrc', 'ralph-claude-code'],
  ['.ralph/@AGENT.md', 'bmalph'],
  ['.ralph/config.json', 'wiggum'],
])('%s is a file of %s', (path, name) => {
  expect(projectOf({ [path]: '' }).otherRalphs.map((other) => other.name)).toEqual([name]);
});

const LOOP = `PRD_FILE="$SCRIPT_DIR/prd.json"
claude --dangerously-skip-permissions < "$SCRIPT_DIR/CLAUDE.md" | grep -q "<promise>COMPLETE</promise>"
`;

test.each<[string, Files, readonly string[]]>([
  ['beside its tasks', { 'scripts/ralph/ralph.sh': LOOP, 'scripts/ralph/prd.json': '{}' }, ['prd.json', 'ralph.sh']],
  ['alone', { 'scripts/ralph/ralph.sh': LOOP }, ['ralph.sh']],
  ['at the root', { 'ralph.sh': LOOP }, ['ralph.sh']],
  ['that does something else', { 'ralph.sh': 'echo "hello, Ralph"\n' }, []],
  ['in a folder of examples', { 'examples/ralph.sh': LOOP }, []],
])('the script of snarktank/ralph %s', (_, files, named) => {
  expect(projectOf(files).otherRalphs.map(({ path }) => path.split('/').at(-1))).toEqual(named);
});

test('a fix_plan.md is that of another Ralph beside its prompt, and nobody knows whose elsewhere', () => {
  const { otherRalphs, taskFiles } = projectOf({ 'fix_plan.md': '', 'PROMPT.md': 'Go.' });
  expect(otherRalphs.map(({ name, path }) => [name, path])).toEqual([
    ['the first Ralph in bash', 'fix_plan.md'],
    ['the first Ralph in bash', 'PROMPT.md'],
  ]);
  expect(taskFiles).toEqual(['fix_plan.md']);
  expect(projectOf({ 'fix_plan.md': '' })).toMatchObject({ otherRalphs: [], taskFiles: [] });
});

const USES = 'jobs:\n  a:\n    steps:\n      - uses: acme/ralph-action@v1\n';

test.each<[string, Files, string]>([
  ['nowhere', { '.github/workflows/ci.yml': 'jobs: {}' }, 'ralph.yml'],
  ['in a file of another name', { '.github/workflows/agent.yml': USES }, 'agent.yml'],
  ['beside a ralph.yml of something else', { '.github/workflows/agent.yml': USES, [OWN]: 'jobs: {}' }, 'agent.yml'],
  ['in two files', { '.github/workflows/agent.yml': USES, [OWN]: USES }, 'ralph.yml'],
])('the action is used %s', (_, files, name) => {
  expect(projectOf(files).ralphWorkflow).toBe(`.github/workflows/${name}`);
  const written = buildSetUpFiles(projectOf(files), choicesFor(files), templates).map(({ path }) => path);
  expect(written.includes(OWN)).toBe(name === 'ralph.yml');
});

const OLD_PROMPT = '# Ralph\n\nPick a task.\n';

test.each<[string, Files, readonly string[]]>([
  ['of another Ralph', { '.ralphrc': '', '.ralph/PROMPT.md': OLD_PROMPT }, ['.ralphrc', '.ralph/PROMPT.md']],
  ['at the root', { '.ralphrc': '', 'PROMPT.md': OLD_PROMPT }, ['.ralphrc', 'PROMPT.md']],
  ['where there is no other Ralph', { '.ralph/PROMPT.md': OLD_PROMPT }, []],
  ['that init wrote', { '.ralphrc': '', '.ralph/PROMPT.md': ownPrompt() }, ['.ralphrc']],
])('a prompt %s', (_, files, named) => {
  expect(projectOf(files).otherRalphs.map(({ path }) => path)).toEqual(named);
});

function ownPrompt(): string {
  const wanted: WantedFile = { kind: 'whole', path: '.ralph/PROMPT.md', comment: 'markdown', text: templates.prompt };
  const written = planFileWrite(wanted, null, digest);
  return 'after' in written ? written.after : '';
}

test('several modules of Go are set up once, with the newest version that one of them asks for', () => {
  const files = {
    'a/go.mod': 'module a\n\ngo 1.23.4\n',
    'a/go.sum': '',
    'b/go.mod': 'module b\n\ngo 1.24\n',
    'b/go.sum': '',
    'c/go.mod': 'module c\n',
  };
  expect(stepsOf(workflowOf(files)).slice(1, -1)).toEqual([
    { uses: 'actions/setup-go@v6', with: { 'go-version-file': 'b/go.mod', 'cache-dependency-path': '**/go.sum' } },
  ]);
});

test.each<[string, Files, object]>([
  ['a recent one', { 'go.mod': 'module x\n\ngo 1.24\n' }, { 'go-version-file': 'go.mod' }],
  ['one that fetches no newer tools', { 'go.mod': 'module x\n\ngo 1.15\n' }, { 'go-version': 'stable' }],
  [
    'an older one than another workflow',
    { 'go.mod': 'module x\n\ngo 1.22\n', '.github/workflows/ci.yml': 'go-version: "1.25"\n' },
    { 'go-version': '1.25' },
  ],
  [
    'a newer one than another workflow',
    { 'go.mod': 'module x\n\ngo 1.25\n', '.github/workflows/ci.yml': 'go-version: "1.22"\n' },
    { 'go-version-file': 'go.mod' },
  ],
])('the Go of go.mod is %s', (_, files, given) => {
  expect(stepsOf(workflowOf(files))[1]?.with).toEqual(given);
});

const WITH_SERVICES = `on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: { matrix: { db: [17, 18] } }
    services:
      db:
        image: postgres:\${{ matrix.db }}
        env: { POSTGRES_PASSWORD: local }
        options: >-
          --health-cmd pg_isready
          --health-retries 5
        ports: ['5432:5432', 80:80]
    steps:
      - uses: actions/checkout@v5
        with: { submodules: true }
      - uses: actions/setup-node@v5
        with: { node-version: 24 }
      - run: npm ci
      - run: "npm test -- '#1: of them'"
`;

test('a variable that a step of the set-up sets reaches the agent and verify', async () => {
  const ci = WITH_SERVICES.replace('- run: npm ci', '- run: npm ci --cpu=$CPU');
  const text = workflowOf({ 'package.json': node(), '.github/workflows/ci.yml': ci });
  expect(await problemsOf({ where: 'ralph.yml', text })).toEqual([]);
  expect(stepsOf(text).at(-1)?.with).toMatchObject({ 'agent-env': 'CPU' });
});

test('what CI starts, checks out and runs is in the workflow, in a form that GitHub takes', async () => {
  const files = { 'package.json': node(), '.gitmodules': '', '.github/workflows/ci.yml': WITH_SERVICES };
  const text = workflowOf(files);
  expect(await problemsOf({ where: 'ralph.yml', text })).toEqual([]);
  const { services } = (parse(text) as { jobs: { ralph: { services: object } } }).jobs.ralph;
  expect(services).toEqual({
    db: {
      image: 'postgres:18',
      env: { POSTGRES_PASSWORD: 'local' },
      options: '--health-cmd pg_isready --health-retries 5',
      ports: ['5432:5432', '80:80'],
    },
  });
  const steps = stepsOf(text);
  expect(steps[0]?.with).toMatchObject({ submodules: true });
  expect(steps.slice(1, -1)).toEqual([
    { uses: 'actions/setup-node@v5', with: { 'node-version': '24' } },
    { run: 'npm ci' },
  ]);
  expect(steps.at(-1)?.with).toMatchObject({
    verify: "npm ci\nnpm test -- '#1: of them'\n",
    'allowed-hosts': 'localhost:5432',
  });
  const [, setUp] = buildSetUpFiles(projectOf(files), { ...choicesFor(files), shape: 'three-jobs' }, templates);
  const action = setUp?.kind === 'whole' ? setUp.text : '';
  expect(await problemsOfAction(action)).toEqual([]);
  expect(action).toContain('- run: git submodule update --init\n');
  // In three jobs, steps start the same services.
  const { runs } = parse(action) as { runs: { steps: readonly Step[] } };
  expect(runs.steps.slice(0, 2).map(({ run }) => run)).toEqual([
    'docker run --detach --name db --publish 5432:5432 --publish 80:80 --env POSTGRES_PASSWORD=local --health-cmd pg_isready --health-retries 5 postgres:18',
    `timeout 120 sh -c 'until docker inspect --format "{{.State.Health.Status}}" db | grep --quiet ^healthy; do sleep 1; done'`,
  ]);
  const three = workflowOf(files, { ...choicesFor(files), shape: 'three-jobs' });
  expect(await problemsOf({ where: 'ralph.yml', text: three })).toEqual([]);
  expect(three).toMatch(/^ +allowed-hosts: localhost:5432$/m);
});

test.each([
  ['credentials of a registry', 'image: postgres:18', 'image: postgres:18\n        credentials: { username: a }'],
  ['options that a shell would obey', '--health-retries 5', '--health-cmd "a; $(b)"'],
  ['a name that Docker refuses', '      db:\n', '      d:\n'],
])('%s: the services are left to one job', (_, before, after) => {
  const ci = WITH_SERVICES.replace('${{ matrix.db }}', '18').replace(before, after);
  const files = { 'package.json': node(), '.github/workflows/ci.yml': ci };
  const [workflow, setUp] = buildSetUpFiles(projectOf(files), { ...choicesFor(files), shape: 'three-jobs' }, templates);
  const texts = [workflow, setUp].map((file) => (file?.kind === 'whole' ? file.text : ''));
  expect(texts.join('\n')).not.toMatch(/docker|allowed-hosts/);
});

test('the schedule has a minute of its own in each repository, never the full hour', () => {
  const minutes = Array.from({ length: 50 }, (_, at) => computeScheduleMinute(`acme/service-${String(at)}`));
  expect(Math.min(...minutes)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...minutes)).toBeLessThanOrEqual(59);
  expect(new Set(minutes).size).toBeGreaterThan(25);
  expect(computeScheduleMinute('Acme/Shop')).toBe(computeScheduleMinute('acme/shop'));
  for (const shape of ['single', 'three-jobs'] as const) {
    const text = workflowOf({}, { ...choicesFor({}), shape, repository: 'acme/shop' });
    expect(text).toContain(`cron: '${String(computeScheduleMinute('acme/shop'))} * * * *'`);
  }
});

test('services that only CI can start are left to a person', () => {
  const text = WITH_SERVICES.replace('matrix.db }}', 'needs.plan.outputs.db }}');
  const written = workflowOf({ 'package.json': node(), '.github/workflows/ci.yml': text });
  expect(written).not.toMatch(/services:|allowed-hosts/);
});

test.each<[SetupChoices['agent'], SetupChoices['key'], string]>([
  ['claude', 'api-key', 'anthropic-api-key: ${{ secrets.ANTHROPIC_API_KEY }}'],
  ['claude', 'subscription', 'claude-code-oauth-token: ${{ secrets.CLAUDE_CODE_OAUTH_TOKEN }}'],
  ['codex', 'subscription', 'openai-api-key: ${{ secrets.OPENAI_API_KEY }}'],
  ['copilot', 'api-key', 'copilot-github-token: ${{ secrets.COPILOT_GITHUB_TOKEN }}'],
])('the agent %s with %s needs %s', (agent, key, line) => {
  for (const shape of ['single', 'three-jobs'] as const) {
    const text = workflowOf({}, { ...choicesFor({}), agent, key, shape });
    const [input = '', secret = ''] = line.split(': ');
    expect(text).toContain(shape === 'single' ? `${line}\n` : `    secrets: { ${input}: '${secret}' }\n`);
    expect(/^ +agent: (\S+)$/m.exec(text)?.[1]).toBe(agent === 'claude' ? undefined : agent);
  }
});

test.each<[SetupChoices['key'], string]>([
  ['aws', "aws-role: ''\n      aws-region: ''"],
  ['google', "google-workload-identity-provider: ''\n      google-service-account: ''"],
  ['anthropic', "anthropic-federation-rule: ''\n      anthropic-organization: ''"],
])('without a stored key, %s is logged in to', async (key, inputs) => {
  const text = workflowOf({}, { ...choicesFor({}), key, shape: 'three-jobs', action: 'acme/ralph-action@v1' });
  expect(text).toContain('permissions:\n  id-token: write #');
  expect(text).toContain('    uses: acme/ralph-action/.github/workflows/ralph-keyless.yml@v1\n');
  expect(text).toContain(`    with:\n      # verify: npm ci && npm test\n      ${inputs}\n`);
  expect(text).not.toMatch(/secrets|api-key/);
  expect(await problemsOf({ where: OWN, text })).toEqual([]);
});

test.each(['acp', 'command'] as const)('the agent %s is a program that needs no key here', async (agent) => {
  for (const shape of ['single', 'three-jobs'] as const) {
    const text = workflowOf({}, { ...choicesFor({}), agent, agentPath: './bin/agent', shape });
    expect(text).toMatch(new RegExp(`^ +agent: ${agent}\n +agent-path: "\\./bin/agent"$`, 'm'));
    expect(text).not.toMatch(/secrets\.|api-key/);
    expect(await problemsOf({ where: OWN, text })).toEqual([]);
  }
});

test('the packages of a workspace are in AGENT.md, but no folder whose tools nothing installs', () => {
  const files = {
    [CI]: ciWith('npm test'),
    'msvc/x.sln': '',
    'package.json': node({ workspaces: ['packages/*'] }),
    'packages/a/package.json': '{"name":"@x/a","scripts":{"test":"x"}}',
  };
  const notes = buildSetUpFiles(projectOf(files), choicesFor(files), templates).find(
    ({ path }) => path === '.ralph/AGENT.md',
  );
  const text = notes?.kind === 'whole' ? notes.text : '';
  expect(text).toContain('- `packages/a/` (`@x/a`): test `npm run test -w @x/a`\n');
  expect(text).not.toContain('msvc');
});

test("pnpm's version is in the manifest of its folder", () => {
  const files = { 'web/package.json': node({ packageManager: 'pnpm@10.20.0' }), 'web/pnpm-lock.yaml': '' };
  expect(stepsOf(workflowOf(files))[1]?.with).toEqual({ package_json_file: 'web/package.json' });
});

test.each<[string, Files, object]>([
  ['the project', { 'A.csproj': '<TargetFramework>net8.0</TargetFramework>' }, { 'dotnet-version': '8.0.x' }],
  ['global.json', { 'A.sln': '', 'global.json': '{}' }, { 'global-json-file': 'global.json' }],
  ['nowhere', { 'A.sln': '' }, { 'dotnet-version': '10.0.x' }],
  ['composer.json', { 'composer.json': '{"require":{"php":">=8.2"}}' }, { 'php-version': '8.2' }],
  [
    'a file with Elixir and Erlang',
    { 'mix.exs': '', '.tool-versions': 'erlang 27.2\nelixir 1.18.1-otp-27\n' },
    { 'version-file': '.tool-versions', 'version-type': 'strict' },
  ],
  ['nowhere, for Elixir', { 'mix.exs': '' }, { 'elixir-version': '1.18', 'otp-version': '27' }],
  ['a file for Deno', { 'deno.json': '{}', '.dvmrc': '2.1.0' }, { 'deno-version-file': '.dvmrc' }],
])('the version of .NET, PHP, Elixir or Deno comes from %s', (_, files, given) => {
  expect(stepsOf(workflowOf(files))[1]?.with).toEqual(given);
});

test('the hosts that a build downloads from are allowed, unless a settings file names hosts', () => {
  const files = { 'MODULE.bazel': '' };
  const line = 'allowed-hosts: bcr.bazel.build, releases.bazel.build, github.com, *.githubusercontent.com\n';
  expect(workflowOf(files)).toContain(line);
  const leftTo = { path: '.ralphrc', inputs: ['allowed-hosts'] };
  expect(workflowOf(files, { ...choicesFor(files), leftTo })).not.toContain('allowed-hosts');
});

test.each(
  [...detectedLanguages, ...rootBuilds, makeLanguage].map((language) => [language.by[0] ?? '', language] as const),
)('the row of %s names only facts and words that it has', (_, language) => {
  for (const tool of language.tools ?? [{}]) {
    const row = { ...language, ...tool, tools: [], words: { ...language.words, ...tool.words } };
    const texts = JSON.stringify({ ...row, setup: { ...language.setup, ...tool.setup }, facts: {} });
    // A fact begins a term of a condition; elsewhere, `@` begins a scope of packages or a version.
    const facts = [...texts.matchAll(/["\s!]@([a-z]+)\b(?=[^"]* \? )/gi)].map(([, name]) => name);
    const words = [...texts.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(language.facts ?? {})).toEqual(expect.arrayContaining(facts));
    expect(['tool', 'folder', 'at', ...Object.keys(row.words)]).toEqual(expect.arrayContaining(words));
  }
});

test('what others named is never a command or a line of the workflow', async () => {
  const files = {
    'a b; $(id)/package.json': node(),
    '-x/go.mod': '',
    'ok/package.json': '{"scripts":{"test":"x\\n- run: id"},"packageManager":"pnpm@9\\n- run: id"}',
    'node_modules/x/go.mod': '',
    'b/package.json': '[1',
  };
  const text = workflowOf(files);
  expect(text).not.toMatch(/\bid\b(?!-)/);
  expect(projectOf(files).stacks.map(({ folder }) => folder)).toEqual(['b', 'ok']);
  expect(await problemsOf({ where: 'ralph.yml', text })).toEqual([]);
});

test('a command with quotes, colons and comments is in the workflow unchanged', () => {
  const verify = ['make test: "a" # b', "echo 'x' | grep -c x"];
  const text = workflowOf({}, { ...choicesFor({}), verify });
  expect(stepsOf(text).at(-1)?.with?.['verify']?.trim().split('\n')).toEqual(verify);
});

test.each(['agent', 'needs: ralph', "it's mine", 'a #1', 'a"b', 'on'])('the label %j of a settings file', (label) => {
  const choices: SetupChoices = {
    ...choicesFor({ 'go.mod': '' }),
    label,
    leftTo: { path: '.ralphrc', inputs: ['verify', 'allowed-tools', 'task-label'] },
  };
  const single = parse(workflowOf({ 'go.mod': '' }, choices)) as { jobs: { ralph: { if: string } } };
  expect(single.jobs.ralph.if).toContain(`label.name == '${label.replace("'", "''")}' ||`);
  const { with: inputs } = stepsOf(workflowOf({ 'go.mod': '' }, choices)).at(-1) ?? {};
  expect(Object.keys(inputs ?? {})).toEqual(['anthropic-api-key']);
  const three = parse(workflowOf({ 'go.mod': '' }, { ...choices, shape: 'three-jobs' })) as {
    jobs: { ralph: { with: object } };
  };
  expect(three.jobs.ralph.with).toEqual({ 'task-label': label });
  const form = buildSetUpFiles(projectOf({}), choices, templates).find(({ path }) => path.includes('ISSUE_TEMPLATE'));
  expect(parse(form?.kind === 'whole' ? form.text : '')).toMatchObject({ labels: [label] });
});

test('a subscription brings its own secret, and a named action is used', () => {
  const last = stepsOf(workflowOf({}, { ...choicesFor({}), key: 'subscription', action: 'acme/ralph-action@v1' })).at(
    -1,
  );
  expect(last?.uses).toBe('acme/ralph-action@v1');
  expect(last?.with).toEqual({ 'claude-code-oauth-token': '${{ secrets.CLAUDE_CODE_OAUTH_TOKEN }}' });
});

const ignore: Extract<WantedFile, { kind: 'lines' }> = {
  kind: 'lines',
  path: '.gitignore',
  lines: ['.ralph/state/', 'node_modules/'],
};

test('lines are added once, and taken back exactly, whatever the file holds', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '/node_modules', '# x', '', 'dist/')), fc.boolean(), (lines, ends) => {
      const before = lines.join('\n') + (ends ? '\n' : '');
      const added = planFileWrite(ignore, before, digest);
      const after = 'after' in added ? added.after : before;
      expect(planFileWrite(ignore, after, digest).kind).toBe('same');
      const back = planFileRemoval(ignore, after, digest);
      expect('after' in back ? back.after : '').toBe(before);
    }),
  );
});

test('lines are taken back from a file with the line ends of Windows, which keeps them', () => {
  const added = planFileWrite(ignore, 'a\r\n', digest);
  const after = 'after' in added ? added.after : '';
  expect(planFileRemoval(ignore, after, digest)).toMatchObject({ after: 'a\r\n' });
  expect(planFileRemoval(ignore, after.replace(/\r?\n/g, '\r\n'), digest)).toMatchObject({ after: 'a\r\n' });
});

test.each<[string, string, (written: string) => string, string]>([
  ['below the lines', 'a\n', (text) => `${text}mine/\n`, 'a\nmine/\n'],
  ['below the lines, without an end', '', (text) => `${text}mine/`, 'mine/'],
  ['below a file without an end', 'a', (text) => `${text}mine/\n`, 'a\nmine/\n'],
  ['between the lines', 'a\n', (text) => text.replace('node_modules/', 'mine/\nnode_modules/'), 'a\nmine/\n'],
  ['in place of a line', 'a\n', (text) => text.replace('node_modules/', '/node_modules'), 'a\n/node_modules\n'],
  ['in paragraphs of its own', 'a\n', (text) => `${text}\n# mine\nb\n`, 'a\n\n# mine\nb\n'],
  ['the same, in the line ends of Windows', 'a\n', (text) => `${text}\nb\n`.replaceAll('\n', '\r\n'), 'a\r\n\r\nb\r\n'],
  ['by a later init with one more line', 'a\n', (text) => withLater(text), 'a\n'],
])('what somebody added to the ignored files stays: %s', (_, before, change, left) => {
  const added = planFileWrite(ignore, before, digest);
  const back = planFileRemoval(ignore, change('after' in added ? added.after : ''), digest);
  expect(back).toMatchObject({ after: left });
});

function withLater(text: string): string {
  const added = planFileWrite({ ...ignore, lines: [...ignore.lines, 'dist/'] }, text, digest);
  return 'after' in added ? added.after : '';
}

test('a block that no longer contains anything init wrote stays', () => {
  const added = planFileWrite(ignore, 'a\n', digest);
  const changed = ('after' in added ? added.after : '').replace(/\.ralph[^]*/, 'b\n');
  expect(planFileRemoval(ignore, changed, digest)).toEqual({ kind: 'left', path: '.gitignore', wanted: null });
});

test('a file that is there stays as it is', () => {
  const wanted: WantedFile = { kind: 'whole', path: 'a.yml', comment: 'yaml', text: 'a: 1\n' };
  expect(planFileWrite(wanted, 'mine\n', digest)).toMatchObject({ kind: 'left' });
  expect(planFileRemoval(wanted, 'mine\n', digest)).toMatchObject({ kind: 'left' });
});

test('the preview is a unified diff', () => {
  expect(listDiffLines({ kind: 'extend', path: 'x', before: '1\n2\n3\n4\n', after: '1\n2\n3\n4\n\n5\n' })).toEqual([
    '--- a/x',
    '+++ b/x',
    '@@ -2,3 +2,5 @@',
    ' 2',
    ' 3',
    ' 4',
    '+',
    '+5',
  ]);
  expect(listDiffLines({ kind: 'create', path: 'x', before: null, after: 'a\n' })).toEqual([
    '--- /dev/null',
    '+++ b/x',
    '@@ -0,0 +1,1 @@',
    '+a',
  ]);
});

test('the workflow starts when one of the checks of the project fails, by the names that GitHub knows', () => {
  const files = {
    'package.json': node(),
    '.github/workflows/ci.yml': 'name: "Build: all"\non: [push, pull_request]\n',
    '.github/workflows/lint.yaml': 'on:\n  pull_request:\n',
    '.github/workflows/nightly.yml': 'name: Nightly\non:\n  schedule:\n    - cron: "1 * * * *"\n',
  };
  const written = parse(workflowOf(files, { ...choicesFor(files), shape: 'single' })) as {
    readonly on: { readonly workflow_run: object };
  };
  expect(written.on.workflow_run).toEqual({
    workflows: ['Build: all', '.github/workflows/lint.yaml'],
    types: ['completed'],
  });
  const ralph = 'name: other\non: push\njobs:\n  x:\n    steps:\n      - uses: acme/ralph-action@v1\n';
  expect(projectOf({ '.github/workflows/other.yml': ralph, [OWN]: ralph }).ci).toEqual([]);
});
