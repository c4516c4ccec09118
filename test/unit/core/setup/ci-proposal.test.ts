import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../cpu.ts';
import { parse } from 'yaml';
import { classifyCommand, commandsOfScript, listPrograms } from '../../../../src/core/setup/ci/commands.ts';
import { conditionMayHold, resolveText } from '../../../../src/core/setup/ci/expressions.ts';
import { chooseCombination } from '../../../../src/core/setup/ci/matrix.ts';
import { detectProject } from '../../../../src/core/setup/detect.ts';
import type { Project } from '../../../../src/core/setup/project.ts';

const CI = '.github/workflows/ci.yml';

type Files = Readonly<Record<string, string>>;

const NODE: Files = { 'package.json': '{"scripts":{"test":"x"}}', 'package-lock.json': '' };

/** Returns what init learns about a repository with this workflow and these other files. */
function learn(workflow: string, files: Files = {}, root = NODE): Project {
  const all = { ...root, [CI]: workflow, ...files };
  return detectProject({ paths: Object.keys(all), texts: new Map(Object.entries(all)), executable: [] });
}

/** A workflow for pull requests with one job; `more` stands beside its steps. */
const oneJob = (steps: string, more = ''): string =>
  `on: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n${more}    steps:\n${steps}`;

const stepsIn = (project: Project): unknown => parse((project.learned?.setup ?? []).join('\n')) as unknown;

describe('a job that tests', () => {
  test('says what verify is: install, what tests need, and the tests; the rest is offered or left out', () => {
    const { learned, stacks } = learn(
      oneJob(`      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with: { node-version: 24, cache: npm, token: x }
      - run: npm ci
      - run: npm run lint
      - run: npm run generate
      - run: npm test
      - run: npm run e2e
      - uses: codecov/codecov-action@v5
      - run: npx semantic-release publish
`),
    );
    expect(learned).toMatchObject({
      from: [`${CI} (test)`],
      verify: ['npm ci', 'npm run generate', 'npm test'],
      offered: ['npm run lint', 'npm run e2e'],
    });
    expect(parse((learned?.setup ?? []).join('\n'))).toEqual([
      { uses: 'actions/setup-node@v5', with: { 'node-version': '24', cache: 'npm' } },
      { run: 'npm ci' },
    ]);
    expect(stacks[0]).toMatchObject({
      install: 'npm ci',
      build: 'npm run generate',
      test: 'npm test',
      lint: 'npm run lint',
    });
  });

  test('is the one for Linux with the newest versions, whatever the order of the matrix', () => {
    const more = `    strategy:
      matrix:
        os: [windows-latest, ubuntu-latest]
        node: [20.x, 24.x, 22.x]
        include:
          - { os: ubuntu-latest, node: 26.x, experimental: true }
          - { os: macos-latest, node: 26.x }
`;
    const steps =
      '      - uses: actions/setup-node@v5\n        with:\n          node-version: ${{ matrix.node }}\n      - run: npm test\n';
    const workflow = oneJob(steps, more).replace('runs-on: ubuntu-latest', 'runs-on: ${{ matrix.os }}');
    expect(stepsIn(learn(workflow))).toMatchObject([{ with: { 'node-version': '24.x' } }, { run: 'npm ci' }]);
  });

  test('takes the conditions of its steps into account', () => {
    const steps = `      - run: npm run a-test
        if: matrix.coverage
      - run: npm run b-test
        if: \${{ !matrix.coverage }}
      - run: npm run c-test
        if: failure()
      - run: npm run d-test
        if: github.event_name == 'push' && github.ref == 'refs/heads/main'
      - run: npm ci
        if: steps.cache.outputs.cache-hit != 'true'
      - run: npm run f-test
        if: needs.changes.outputs.code == 'true'
`;
    expect(learn(oneJob(steps)).learned?.verify).toEqual(['npm run b-test', 'npm ci', 'npm run f-test']);
  });

  test('downloads a program in the step that installs it', () => {
    const script = [
      'wget https://x.org/a/llvm.sh',
      'chmod +x ./llvm.sh',
      'sudo ./llvm.sh 20',
      'wget https://x.org/data.json',
    ];
    const lines = script.map((line) => `          ${line}\n`).join('');
    const { learned } = learn(oneJob(`      - run: |\n${lines}      - run: npm test\n`));
    expect(learned?.setup).toContain(
      '- run: "wget https://x.org/a/llvm.sh && chmod +x ./llvm.sh && sudo ./llvm.sh 20"',
    );
    expect(learned?.verify).toEqual(['npm ci', 'wget https://x.org/data.json', 'npm test']);
  });

  test('is the newest, also if only its row has a flag for more steps', () => {
    const more = '    strategy: { matrix: { include: [{ elixir: 1.12 }, { elixir: 1.18, lint: lint }] } }\n';
    const use = '      - uses: erlef/setup-beam@v1\n        with: { elixir-version: "${{ matrix.elixir }}" }\n';
    const { learned } = learn(oneJob(`${use}      - run: mix test\n`, more), {}, { 'mix.exs': '' });
    expect(learned?.setup.join('\n')).toContain('elixir-version: "1.18"');
  });

  test('installs the tool of its language once', () => {
    const steps = ['sudo pip3 install meson==1.0.0', 'meson setup b', 'meson test -C b'];
    const runs = steps.map((line) => `      - run: ${line}\n`).join('');
    expect(learn(oneJob(runs), {}, { 'meson.build': '' }).learned?.setup).toEqual([
      '- run: sudo pip3 install meson==1.0.0',
    ]);
    const without = learn(oneJob(runs.replace(/.*\n/, '')), {}, { 'meson.build': '' }).learned?.setup;
    expect(without).toEqual(['- run: pipx install meson && pipx install ninja']);
  });

  test('sets up by actions whose names do not say so', () => {
    const uses = ['subosito/flutter-action@v2', 'jdx/mise-action@v3', 'awalsh128/cache-apt-pkgs-action@v1'];
    const steps = [...uses, 'cachix/cachix-action@v16'].map((action) => `      - uses: ${action}\n`).join('');
    const { learned } = learn(oneJob(`${steps}      - run: npm test\n`));
    expect(learned).toMatchObject({
      setup: [...uses.map((action) => `- uses: ${action}`), '- run: npm ci'],
      unread: [],
    });
  });

  test('changes the folder for each of its lines alone', () => {
    const { learned, stacks } = learn(
      oneJob('      - run: npm ci\n      - run: |\n          cd a\n          npm test\n      - run: npm run test:b\n'),
    );
    expect(learned?.verify).toEqual(['npm ci', 'cd a && npm test', 'npm run test:b']);
    expect(stacks[0]?.test).toBe('(cd a && npm test) && npm run test:b');
  });

  test('runs where and as it says: folder, variables and shell', () => {
    const steps = `      - run: npm test
        env: { LABEL: "it's me" }
      - run: npm run test:shape
        shell: pwsh
`;
    const more = '    env: { DB: sqlite, FORCE_COLOR: 1 }\n    defaults: { run: { working-directory: ./web } }\n';
    const project = learn(oneJob(steps, more), { 'web/package.json': '{}' });
    expect(project.learned?.verify).toEqual([`(cd web && DB=sqlite LABEL='it'\\''s me' npm test)`]);
    expect(project.unread).toEqual([{ what: 'npm run test:shape', why: 'its shell is pwsh' }]);
  });

  test('whose values only CI knows is not proposed, and init says so', () => {
    const steps = `      - run: npm test
        env: { KEY: "\${{ secrets.KEY }}" }
      - run: npm run live-test -- $KEY
        env: { KEY: "\${{ secrets.KEY }}" }
      - run: npm run tests -- \${{ needs.plan.outputs.shard }}
      - run: |
          # Only where there is one.
          if [ -f x ]; then
            npm test
          fi
`;
    const { learned, unread } = learn(oneJob(steps));
    expect(learned?.verify).toEqual(['npm ci', 'npm test']);
    expect(unread).toEqual([
      { what: 'npm run live-test -- $KEY', why: 'the variable KEY: it needs a secret' },
      {
        what: 'npm run tests -- ${{ needs.plan.outputs.shard }}',
        why: 'only a run of CI knows needs.plan.outputs.shard',
      },
      { what: 'npm test', why: 'it is a script, not a command' },
    ]);
  });

  test.each([
    ['on Windows', 'runs-on: windows-latest'],
    ['on a schedule alone', 'runs-on: ubuntu-latest', 'on: { schedule: [{ cron: "1 * * * *" }] }'],
    ['for tags alone', 'runs-on: ubuntu-latest', 'on: { push: { tags: [v*] } }'],
  ])('%s says nothing', (_, machine, on = 'on: pull_request') => {
    const workflow = `${on}\njobs:\n  test:\n    ${machine}\n    steps:\n      - run: npm run special-test\n`;
    expect(learn(workflow).learned).toBeNull();
  });

  test('builds what it takes from another job as an artifact', () => {
    const workflow = `on: pull_request
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{ run: npm ci }, { run: npm run build }, { uses: actions/upload-artifact@v5 }]
  test:
    needs: build
    runs-on: ubuntu-latest
    steps: [{ uses: actions/download-artifact@v5 }, { run: npm ci }, { run: npm test }]
  lint:
    runs-on: ubuntu-latest
    steps: [{ run: npm ci }, { run: npm run lint }]
`;
    expect(learn(workflow).learned).toMatchObject({
      verify: ['npm ci', 'npm run build', 'npm test'],
      offered: ['npm run lint'],
    });
  });

  test('of a whole service in its folder is proposed beside the others, and its packages are installed', () => {
    const job = (name: string, run: string): string =>
      `  ${name}:\n    runs-on: ubuntu-latest\n    defaults: { run: { working-directory: ${name} } }\n    steps: [{ run: ${run} }]\n`;
    const files = { 'web/package.json': '{}', 'web/package-lock.json': '', 'api/go.mod': '' };
    const project = learn(
      `on: pull_request\njobs:\n${job('web', 'npm test')}${job('api', 'go test ./...')}`,
      files,
      {},
    );
    expect(project.learned?.verify).toEqual(
      expect.arrayContaining(['(cd web && npm ci)', '(cd web && npm test)', '(cd api && go test ./...)']),
    );
  });

  test('installs in the set-up only what needs no build', () => {
    const steps = ['./autogen.sh', './configure', 'make', 'make install', 'sudo make install', 'make check'];
    const learned = learn(oneJob(steps.map((run) => `      - run: ${run}\n`).join('')), {}, {}).learned;
    expect(learned?.setup).toEqual([]);
    expect(learned?.verify).toEqual(steps.filter((run) => !run.startsWith('sudo')));
  });

  test('offers the tests of another job together with its builds', () => {
    const job = (name: string, ...runs: readonly string[]): string =>
      `  ${name}:\n    runs-on: ubuntu-latest\n    steps: [${runs.map((run) => `{ run: "${run}" }`).join(', ')}]\n`;
    const workflow = `on: push\njobs:\n${job('test', 'cmake .', 'make', 'ctest')}${job('slow', 'cmake -DSLOW=ON .', 'make', 'ctest -j2')}${job('more', 'cmake .', 'make', 'make lint', 'ctest -N')}`;
    expect(learn(workflow, {}, {}).learned).toMatchObject({
      verify: ['cmake .', 'make', 'ctest'],
      offered: ['cmake -DSLOW=ON . && make && ctest -j2', 'make lint', 'ctest -N'],
    });
  });

  test('in a container runs on the runner in its place, and init says so', () => {
    const steps = `      - run: apt-get update && apt-get install -y libfoo-dev
      - run: apk add foo
      - run: make test
`;
    const { learned } = learn(oneJob(steps, '    container: { image: "perl:5.42" }\n'), {}, {});
    expect(stepsIn({ learned } as Project)).toEqual([
      { run: 'sudo apt-get update && sudo apt-get install -y libfoo-dev' },
    ]);
    expect(learned).toMatchObject({
      verify: ['make test'],
      unread: [
        { what: 'container: perl:5.42', why: expect.stringContaining('install what the image has') as string },
        { what: 'apk add foo', why: "it is for the container's system" },
      ],
    });
    expect(learn(oneJob(steps, '    container: perl:5.42\n'), {}, {}).learned?.unread).toHaveLength(2);
  });

  test('is the one with the newest settled version, also if that has a name', () => {
    const versionOf = (values: string): unknown => {
      const more = `    strategy: { matrix: { v: [${values}] } }\n`;
      const steps =
        '      - uses: a/setup-x@v1\n        with: { version: "${{ matrix.v }}" }\n      - run: make test\n';
      return stepsIn(learn(oneJob(steps, more), {}, {}));
    };
    expect(versionOf('1.0.0, latest, nightly')).toMatchObject([{ with: { version: 'latest' } }]);
    expect(versionOf('1.85.0, stable, beta')).toMatchObject([{ with: { version: 'stable' } }]);
    expect(versionOf('dmd-2.103.1, ldc-latest, head')).toMatchObject([{ with: { version: 'ldc-latest' } }]);
  });

  test.each([
    ['the one before the newest where a step allows prereleases', 'true', '3.13, 3.15, 3.14', '3.14'],
    ['the newest where the step allows none', 'false', '3.13, 3.15, 3.14', '3.15'],
    ['the only one', 'true', '3.15', '3.15'],
  ])('takes of Python %s', (_title, allowed, values, chosen) => {
    const quoted = values.replaceAll(/[\d.]+/g, "'$&'");
    const more = `    strategy: { matrix: { python: [${quoted}] } }\n`;
    const steps = `      - uses: actions/setup-python@v6
        with: { python-version: "\${{ matrix.python }}", allow-prereleases: ${allowed} }
      - run: make test
`;
    expect(stepsIn(learn(oneJob(steps, more), {}, {}))).toMatchObject([{ with: { 'python-version': chosen } }]);
  });

  test.each([
    ['whose newest plain version is settled, because a prerelease is marked', "'3.13', '3.14', 3.15-dev", '3.14'],
    ['inside of other values', '{ os: linux, v: "3.12" }, { os: linux, v: "3.14" }, { os: linux, v: "3.13" }', '3.13'],
  ])('has the version %s', (_title, values, chosen) => {
    const more = `    strategy: { matrix: { python: [${values}] } }\n`;
    const steps = `      - uses: actions/setup-python@v6
        with: { python-version: "\${{ matrix.python${values.includes('{') ? '.v' : ''} }}", allow-prereleases: true }
      - run: make test
`;
    expect(stepsIn(learn(oneJob(steps, more), {}, {}))).toMatchObject([{ with: { 'python-version': chosen } }]);
  });

  test('is the one whose own name says so, also in a file tests.yml', () => {
    const job = (name: string): string =>
      `  ${name}:\n    name: ${name === 'test' ? 'py' : 'Build the manual'}\n    runs-on: ubuntu-latest\n    steps: [{ run: tox -e ${name} }]\n`;
    const path = '.github/workflows/tests.yml';
    const { learned } = learn('', { [path]: `on: push\njobs:\n${job('test')}${job('man')}` }, {});
    expect(learned?.from).toEqual([`${path} (test)`]);
  });

  test('names what it leaves out: unknown actions before the tests, and jobs with other tests and tools', () => {
    const other = `  deno:\n    runs-on: ubuntu-latest\n    steps: [{ uses: denoland/setup-deno@v2 }, { run: deno test }]\n`;
    const steps = `      - uses: ankane/start-x@v1
      - uses: step-security/harden-runner@v2
      - run: npm test
      - uses: acme/report@v1
`;
    expect(learn(`${oneJob(steps)}${other}`).unread).toEqual([
      { what: 'ankane/start-x@v1', why: 'init does not know this action' },
      { what: `${CI} (deno)`, why: 'its tests also need denoland/setup-deno' },
    ]);
  });

  test('keeps its own set-up of a language where another action of it cannot be copied', () => {
    const steps = `      - uses: actions/setup-go@v6
        with: { go-version: "1.24" }
      - uses: hashicorp/setup-terraform@v4
        with: { terraform_version: "\${{ vars.T }}" }
      - run: go test ./...
`;
    expect(stepsIn(learn(oneJob(steps), {}, { 'go.mod': 'module x\ngo 1.24\n' }))).toEqual([
      { uses: 'actions/setup-go@v6', with: { 'go-version': '1.24' } },
    ]);
  });

  test('of an R package is the check that the action runs', () => {
    const steps = `      - uses: r-lib/actions/setup-r@v2
      - uses: r-lib/actions/check-r-package@v2
        with: { build_args: 'c("--no-manual")' }
`;
    expect(learn(oneJob(steps), {}, {}).learned?.verify).toEqual([
      `Rscript -e 'rcmdcheck::rcmdcheck(args = c("--no-manual", "--as-cran"), build_args = c("--no-manual"), error_on = "warning")'`,
    ]);
  });

  test('is the ordinary one for the root, of those that run the same command', () => {
    const job = (name: string, more: string): string =>
      `  ${name}:\n    runs-on: ubuntu-latest\n    steps: [${more}{ run: make test }]\n`;
    const chosen = (name: string, more = ''): readonly string[] | undefined =>
      learn(`on: push\njobs:\n${job(name, more)}${job('all', '')}`, { 'go.mod': '' }, {}).learned?.from;
    const all = [`${CI} (all)`];
    expect(chosen('first')).toEqual([`${CI} (first)`]);
    expect(chosen('lowest-versions')).toEqual(all);
    expect(chosen('first', "{ run: 'cd ../other && make test' }, ")).toEqual(all);
    expect(chosen('first', "{ run: npm pack }, { run: 'npm install -g ./x.tgz' }, ")).toEqual(all);
    const inFolder = job('first', '').replace('{ run: make', '{ working-directory: x, run: make');
    expect(learn(`on: push\njobs:\n${inFolder}${job('all', '')}`, { 'go.mod': '' }, {}).learned?.from).toEqual(all);
  });

  test('leaves the paths of the job to the set-up, and starts programs of the work tree from it', () => {
    const steps = `      - run: echo "$HOME/.local/bin" >> $GITHUB_PATH
      - run: $GITHUB_WORKSPACE/test.sh
      - run: bin/run test
        shell: 'script -q -e -c "bash {0}"'
`;
    const { learned } = learn(oneJob(steps), {}, {});
    expect(learned).toMatchObject({
      verify: ['./test.sh', "script -qec 'bin/run test' /dev/null"],
      programs: ['./test.sh'],
    });
    expect(stepsIn({ learned } as Project)).toEqual([{ run: 'echo "$HOME/.local/bin" >> $GITHUB_PATH' }]);
  });

  test('has variables in common: one line names them once', () => {
    const more = '    env: { A: 1, B: two words, C: 3 }\n';
    expect(learn(oneJob('      - run: npm ci\n      - run: npm test\n', more)).learned?.verify).toEqual([
      "export A=1 B='two words' C=3 && npm ci && npm test",
    ]);
  });
});

test('a command with an alternative stays whole in a line with others, so that no failure before it is hidden', () => {
  const env = '    env: { A: 1, B: 2, C: 3 }\n';
  const { learned, stacks } = learn(oneJob('      - run: npm ci\n      - run: npm test || npm test\n', env));
  expect(learned?.verify).toEqual(['export A=1 B=2 C=3 && npm ci && { npm test || npm test; }']);
  expect(stacks[0]?.test).toBe('export A=1 B=2 C=3 && { npm test || npm test; }');
});

test('a step runs where an earlier one passed, and not where it failed', () => {
  const steps = `      - run: make prepare
        id: first
      - run: make a-test
        if: always() && steps.first.outcome == 'success'
      - run: make b-test
        if: steps.first.conclusion == 'failure'
`;
  expect(learn(oneJob(steps), {}, {}).learned?.verify).toEqual(['make prepare', 'make a-test']);
});

test('scripts of the project that CI runs after the tests are offered', () => {
  const steps =
    '      - run: npm test\n      - run: npm run size\n      - run: node x\n      - run: scripts/coverage\n';
  expect(learn(oneJob(steps)).learned?.offered).toEqual(['npm run size', 'scripts/coverage']);
});

test.each([
  ['nick-fields/retry@v3', '{ command: npm test, timeout_minutes: 5 }', 'npm test'],
  ['coactions/setup-xvfb@v1', '{ run: npm test }', 'xvfb-run --auto-servernum npm test'],
  ['actions-rs/cargo@v1', '{ command: test, args: --all }', 'cargo test --all'],
  ['gradle/gradle-build-action@v2', '{ arguments: check }', './gradlew check'],
  ['julia-actions/julia-runtest@v1', '{}', `julia --project -e 'using Pkg; Pkg.test()'`],
])('the action %s with %s tests with %s', (action, given, command) => {
  expect(learn(oneJob(`      - uses: ${action}\n        with: ${given}\n`), {}, {}).learned?.verify).toEqual([command]);
});

test('each language at the root adds the job that tests it, and each job installs only its own packages', () => {
  const files: Files = { ...NODE, 'mix.exs': '', 'mix.lock': '' };
  const job = (name: string, command: string): string =>
    `  ${name}:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ${command}\n`;
  const workflow = `on: pull_request\njobs:\n${job('npm_test', 'npm test')}${job('mix_test', 'mix test')}`;
  const { learned } = learn(workflow, {}, files);
  expect(learned?.from).toEqual([`${CI} (npm_test)`, `${CI} (mix_test)`]);
  expect(learned?.verify).toEqual(['npm ci', 'npm test', 'mix deps.get --check-locked', 'mix test']);
});

test.each([
  ['another system', '', 'macos-14', `it runs on macos-14, and Ralph's job on Linux`],
  [
    'a folder beside the root',
    '      - uses: actions/checkout@v5\n        with: { path: source }\n',
    'ubuntu-latest',
    'its commands run outside of a plain checkout of the repository',
  ],
])('tests in %s are not proposed, and init says so', (_, steps, machine, why) => {
  const workflow = oneJob(`${steps}      - run: npm test\n`).replace('ubuntu-latest', machine);
  const { learned, unread } = learn(workflow);
  expect(learned).toBeNull();
  expect(unread).toEqual([{ what: `${CI} (test)`, why }]);
});

test('a second checkout in a folder, for example of the base, leaves the commands at the root', () => {
  const steps = `      - uses: actions/checkout@v5
      - uses: actions/checkout@v5
        with: { ref: main, path: base }
      - run: npm test
`;
  expect(learn(oneJob(steps), {}, {}).learned?.verify).toEqual(['npm test']);
});

test('a matrix that another job computes has no known values', () => {
  const more = '    strategy: { matrix: { include: "${{ fromJSON(needs.a.outputs.versions) }}" } }\n';
  const steps = `      - uses: actions/setup-go@v6
        with: { go-version: "\${{ matrix.go }}" }
      - run: go test ./...
`;
  const { unread } = learn(oneJob(steps, more), {}, { 'go.mod': 'module a\n\ngo 1.24\n' });
  expect(unread).toEqual([{ what: 'actions/setup-go@v6', why: 'only a run of CI knows matrix.go' }]);
});

test('checks of another job that need its own toolchain are not offered', () => {
  const workflow = `${oneJob('      - run: cargo test\n')}  other:
    runs-on: ubuntu-latest
    steps:
      - run: cargo +nightly test --doc
      - run: cargo check --target wasm32-unknown-unknown
      - run: cargo check
`;
  expect(learn(workflow, {}, { 'Cargo.toml': '' }).learned?.offered).toEqual(['cargo check']);
});

describe('actions and workflows of the repository', () => {
  const composite = (steps: string): string =>
    `inputs: { version: { default: 22 } }\nruns:\n  using: composite\n  steps:\n${steps}`;
  const uses = oneJob(
    '      - uses: actions/checkout@v5\n      - uses: ./.github/actions/prepare\n        with: { version: 24 }\n      - run: npm test\n',
  );
  const node =
    '    - uses: actions/setup-node@v5\n      with: { node-version: "${{ inputs.version }}" }\n    - run: npm ci\n      shell: bash\n';

  test('that set up stay as they are', () => {
    const project = learn(uses, { '.github/actions/prepare/action.yml': composite(node) });
    expect(stepsIn(project)).toEqual([{ uses: './.github/actions/prepare', with: { version: '24' } }]);
    expect(project.learned?.verify).toEqual(['npm ci', 'npm test']);
  });

  test('that only print are left out of the set-up', () => {
    const report = 'runs:\n  using: composite\n  steps: [{ run: "./x >> $GITHUB_STEP_SUMMARY", shell: bash }]\n';
    const steps = '      - run: npm test\n      - uses: ./.github/actions/report\n';
    const project = learn(oneJob(steps), { '.github/actions/report/action.yml': report });
    expect(stepsIn(project)).toMatchObject([
      { uses: expect.stringContaining('setup-node') as string },
      { run: 'npm ci' },
    ]);
  });

  test('that check out are taken apart', () => {
    const steps = `    - uses: actions/checkout@v5\n${node}    - run: npm run build\n      shell: bash\n`;
    const project = learn(uses, { '.github/actions/prepare/action.yaml': composite(steps) });
    expect(stepsIn(project)).toEqual([
      { uses: 'actions/setup-node@v5', with: { 'node-version': '24' } },
      { run: 'npm ci' },
    ]);
    expect(project.learned?.verify).toEqual(['npm ci', 'npm run build', 'npm test']);
  });

  test('that are called are read, with their inputs; those of others are not', () => {
    const caller =
      'on: pull_request\njobs:\n  unit:\n    uses: ./.github/workflows/unit.yml\n    with: { script: "test:unit" }\n';
    const called = oneJob('      - run: npm run ${{ inputs.script }}\n').replace(
      'on: [push, pull_request]',
      'on:\n  workflow_call:\n    inputs: { script: { type: string } }',
    );
    expect(learn(caller, { '.github/workflows/unit.yml': called }).learned?.verify).toEqual([
      'npm ci',
      'npm run test:unit',
    ]);
    const foreign = learn(caller.replace('./.github', 'acme/ci/.github').replace('unit.yml', 'run_tests.yml@v1'));
    expect(foreign).toMatchObject({ learned: null, unread: [{ what: 'acme/ci/.github/workflows/run_tests.yml@v1' }] });
  });

  test('with an input that only CI knows are replaced by the set-up of the language', () => {
    const steps =
      '      - uses: actions/setup-node@v5\n        with: { node-version: "${{ vars.NODE }}" }\n      - run: npm test\n';
    const project = learn(oneJob(steps));
    expect(stepsIn(project)).toMatchObject([{ with: { 'node-version': 'lts/*' } }, { run: 'npm ci' }]);
    expect(project.unread).toEqual([{ what: 'actions/setup-node@v5', why: 'only a run of CI knows vars.NODE' }]);
  });
});

test.each<[string, string, Files, string | null]>([
  [
    'CI takes them',
    '      - uses: actions/checkout@v5\n        with: { submodules: recursive }\n      - run: npm test\n',
    { '.gitmodules': '' },
    'recursive',
  ],
  ['CI leaves them out', '      - uses: actions/checkout@v5\n      - run: npm test\n', { '.gitmodules': '' }, null],
  ['CI says nothing', '      - run: make deploy\n', { '.gitmodules': '' }, 'recursive'],
  ['no submodule exists', '      - run: npm test\n', {}, null],
])('submodules where %s', (_, steps, files, submodules) => {
  expect(learn(oneJob(steps), files).submodules).toBe(submodules);
});

test('packages of a workspace are named with the commands of their own', () => {
  const files = {
    'package.json': '{"workspaces":["packages/*"],"scripts":{"test":"x"}}',
    'packages/a/package.json': '{"name":"@x/a","scripts":{"test":"x","build":"y"}}',
    'packages/b/package.json': '{"name":"b; id"}',
    'packages/c/package.json': '{"name":"c"}',
  };
  expect(learn('', files).packages).toEqual([
    {
      folder: 'packages/a',
      name: '@x/a',
      commands: [
        ['Build', 'npm run build -w @x/a'],
        ['Test', 'npm run test -w @x/a'],
      ],
    },
    { folder: 'packages/c', name: 'c', commands: [] },
  ]);
});

test.each([
  ['npm ci', 'install'],
  ['python -m pip install -e .[dev]', 'install'],
  ['pip install tox', 'tool'],
  ['sudo apt-get install -y libpq-dev', 'tool'],
  ['composer remove phpstan/phpstan --dev', 'change'],
  ['yarn lint:fix', 'change'],
  ['mix format --check-formatted', 'check'],
  ['mix deps.unlock --check-unused', 'check'],
  ['tox run -e typing', 'check'],
  ['cargo clippy --all-targets', 'check'],
  ['mvn -B verify -Dcheckstyle.skip', 'test'],
  ['./gradlew build -x checkstyleMain', 'test'],
  ['RICHGO_FORCE_COLOR=1 PATH=$HOME/go/bin:$PATH make richtest', 'test'],
  ['cd build && ctest', 'test'],
  ['bundle exec rake', 'test'],
  ['npm run e2e', 'slow'],
  ['yarn test:perf', 'slow'],
  ["yarn list --pattern 'react'", 'aside'],
  ['pnpm -r build', 'build'],
  ['node scripts/set-version.mjs 1', 'aside'],
  ['make docs', 'aside'],
  ['echo "npm test"', 'aside'],
  ['go install example.org/x@latest', 'tool'],
  ['node scripts/seed.js', 'before'],
  ['if [ "$CC" = gcc ]; then make test; fi', 'test'],
  ['if [ -n "$X" ]; then git commit -am x; fi', 'change'],
  ['curl -sSL https://install.python-poetry.org | python - -y', 'tool'],
  ['echo "deb https://example.org /" | sudo tee /etc/apt/sources.list.d/x.list', 'tool'],
  ['echo "TOKEN=x" > .env', 'before'],
  ['git clone https://github.com/rubocop/rubocop.git x', 'before'],
  ['pipx run nox -s tests', 'test'],
  ['pipx install nox', 'tool'],
  ['make check VERBOSE=yes', 'test'],
  ['./configure --disable-docs', 'build'],
  ['! bin/bats test/failing.bats', 'check'],
  ['rpmbuild -bb x.spec', 'before'],
  ['cp .github/check/* config/', 'before'],
  ['bundle exec rake TESTOPT=-vdc', 'test'],
  ['make ci', 'test'],
  ['coverage run -m pytest && coverage report', 'test'],
  ['npm test && npm publish', 'aside'],
  ['VERSION="$(npm ls x | jq .version)" && make test', 'test'],
  ['mvn -B install -DskipTests', 'build'],
  ['cargo test --no-run', 'build'],
  ['cabal build --disable-tests all', 'build'],
  ['npm config set loglevel error', 'tool'],
  ['npx nx-cloud start-ci-run', 'aside'],
  ['dart test --platform chrome', 'slow'],
  ['dart pub get', 'install'],
  ['bundle exec brakeman', 'check'],
  ['cargo test --release', 'test'],
  ['swift test -c release', 'test'],
  ['opam exec -- dune runtest --profile=release', 'test'],
  ['make release', 'aside'],
  ['busted --coverage', 'test'],
  ['rebar3 eunit', 'test'],
  ['./run_tests.sh', 'test'],
  ['npx tap', 'test'],
  ['luarocks install luacov-coveralls', 'install'],
  ['opam install . --deps-only', 'install'],
  ['coveralls', 'aside'],
  ['./rebar3 ct', 'test'],
  ['curl -LO https://example.org/actionlint-matcher.json', 'before'],
])('%s is for: %s', (command, purpose) => {
  expect(classifyCommand(command)).toBe(purpose);
});

test.each<[string, readonly string[] | null]>([
  ['a\n# b\n\nset -ex\nmkdir out \\\n  -p\n', ['a', 'mkdir -p out -p']],
  ['cd x\nmake test\n', ['cd x && make test']],
  ['sudo apt-get update\ncd x\nmake test\n', ['sudo apt-get update', 'cd x && make test']],
  ['for f in *; do\n  x\ndone\n', null],
  ['if [ -f x ]; then make test; fi\n', ['if [ -f x ]; then make test; fi']],
  ["make test # it's slow\n", ['make test']],
  ["prove -e '# x' t#1\n", ["prove -e '# x' t#1"]],
  ['cd x\npython --version\nmake test\ncoverage xml\n', ['cd x && make test']],
  ['cat <<E\nx\nE\n', null],
  ["echo 'a\nb'\n", null],
  ['V="$(a | b .version)"\nmake V=$V\n', ['V="$(a | b .version)" && make V=$V']],
  ['cd x\nmake test || make again\n', ['cd x && { make test || make again; }']],
  ['cd x;\nmake test || make again;\n', ['cd x && { make test || make again; }']],
  ['find . -exec x {} \\;\n', ['find . -exec x {} \\;']],
  ['case $x in\n  a) y ;;\nesac\n', null],
])('the script %j is the commands %j', (script, commands) => {
  expect(commandsOfScript(script)).toEqual(commands);
});

test('an assignment of many parts is read at once', () => {
  const line = `A=${'"$(x)"'.repeat(40)} y`;
  const spent = cpuMs(() => expect(commandsOfScript(`${line}\nz`)).toEqual([line, 'z']));
  expect(spent).toBeLessThan(1_000);
});

test('programs are what starts, without variables, shells and what is not a program', () => {
  expect(listPrograms(['A=1 uv run x && cd y && make test', 'sudo rm x', 'export B=2 && ./build'])).toEqual([
    'uv',
    'make',
    './build',
  ]);
  expect(listPrograms([`if [ -f x ]; then python -c 'import a; run b'; fi`, 'ctest || (cat log; false)'])).toEqual([
    'python',
    'ctest',
  ]);
});

test('variables that a step of the set-up sets are named for the agent and verify', () => {
  const steps = `      - uses: a/setup-d@v1
      - run: make test CC=$CC D=\${DC} HOME=$HOME A=$A B=\${B:-x} 'C=$C' T=$NPM_TOKEN
        env: { A: 1 }
`;
  expect(learn(oneJob(steps), {}, {}).learned?.variables).toEqual(['DC']);
  const given = `      - run: |
          echo "BROWSERS=$HOME/x" >> $GITHUB_ENV
          echo "MY_TOKEN=x" >> "$GITHUB_ENV"
      - run: make test
`;
  expect(learn(oneJob(given), {}, {}).learned?.variables).toEqual(['BROWSERS']);
});

test.each<[string, string | null]>([
  ['${{ matrix.a }}-x', '1-x'],
  ["${{ matrix.none || format('py{0}', matrix.a) }}", 'py1'],
  ["${{ matrix.b.c == 'D' && 'yes' || 'no' }}", 'yes'],
  ["${{ contains(fromJSON('[\"a\"]'), 'A') }}", 'true'],
  ['${{ secrets.X }}', null],
  ['${{ matrix.a', null],
  ['${{ 1 + 1 }}', null],
])('the text %j is %j', (text, resolved) => {
  const found = resolveText(text, { matrix: { a: 1, b: { c: 'd' } } });
  expect(found.kind === 'text' ? found.text : null).toBe(resolved);
});

test('no text makes an expression or a workflow throw, and nothing of it becomes more than one line or an expression', () => {
  const word = fc.constantFrom(
    '${{',
    '}}',
    'matrix',
    '.',
    "'",
    '(',
    ')',
    '&&',
    '||',
    '!',
    '==',
    'a',
    '[',
    ']',
    '\n',
    'npm test',
    '"',
    '`$(id)`',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(word).map((words) => words.join(' ')),
      ),
      (text) => {
        conditionMayHold(text, { matrix: {} });
        resolveText(text, { matrix: {} });
        chooseCombination(text, {}, ['a']);
        const steps = [
          { run: `npm test ${text}` },
          { uses: `a/setup-x@${text}`, with: { x: text } },
          { run: 'npm ci', env: { A: text } },
        ];
        const { learned } = learn(JSON.stringify({ on: 'push', jobs: { test: { steps } } }));
        for (const line of [...(learned?.verify ?? []), ...(learned?.setup ?? [])])
          expect(line).not.toMatch(/\p{Cc}|\$\{\{/u);
        const parsed = parse((learned?.setup ?? []).join('\n')) as readonly object[] | null;
        for (const step of parsed ?? [])
          expect(['uses', 'with', 'run', 'env']).toEqual(expect.arrayContaining(Object.keys(step)));
      },
    ),
  );
});
