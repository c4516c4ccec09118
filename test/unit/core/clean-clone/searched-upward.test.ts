import { expect, test } from 'vitest';
import { isSearchedUpward, findSearchedNames } from '../../../../src/core/clean-clone/searched-upward.ts';

const words = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

test.each(
  words(
    'package.json package.json5 tsconfig.json tsconfig.base.json jest.config.ts babel.config.json vitest.workspace.ts',
    'eslint.config.mjs pnpm-workspace.yaml lerna.json nx.json deno.jsonc .mocharc.json .mocharc.cjs .babelrc .npmrc',
    '.eslintrc.js .yarnrc.yml .swcrc .nycrc.json .pnp.cjs yarn.lock',
    'pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg setup.py conftest.py noxfile.py __init__.py .coveragerc',
    'tasks.py Pipfile Pipfile.lock pyvenv.cfg uv.toml .python-version .pdm-python',
    'go.mod go.work go.work.sum Cargo.toml rust-toolchain rust-toolchain.toml .rustfmt.toml',
    'Gemfile gems.rb Rakefile .rspec .ruby-version composer.json phpunit.xml phpunit.xml.dist .php-cs-fixer.php.ini',
    'pom.xml build.gradle settings.gradle.kts gradle.properties build.sbt .sdkmanrc .scalafmt.conf',
    'Directory.Build.props Directory.Packages.props Directory.Build.targets Directory.Build.rsp NuGet.Config nuget.config',
    'global.json ci.runsettings App.sln .globalconfig',
    'WORKSPACE MODULE.bazel .bazelrc .bazelversion BUCK .buckconfig CMakeLists.txt compile_commands.json .clang-format',
    'Makefile GNUmakefile makefile Justfile justfile .justfile Taskfile.yml Taskfile.dist.yml Jakefile SConstruct wscript',
    'mix.exs rebar.config pubspec.yaml stack.yaml dune-project Package.swift build.zig flake.nix .envrc .env .env.test',
    'pylintrc .flake8 pyrightconfig.json phpstan.neon .php-cs-fixer.php .tflint.hcl truffle-config.js karma.conf.js',
    'staticcheck.conf .gn firebase.json Pulumi.yaml dbt_project.yml browserslist',
    '.tool-versions mise.toml .editorconfig .gitattributes .gitmodules compose.yaml docker-compose.yml lefthook.yml',
  ),
)('tools look upward for the file %s', (name) => {
  expect(isSearchedUpward(name, 'file')).toBe(true);
});

test.each(words('node_modules .git .hg .cargo .mvn .config .yarn .venv venv .bundle __pypackages__'))(
  'tools look upward for the folder %s',
  (name) => {
    expect(isSearchedUpward(name, 'folder')).toBe(true);
  },
);

// Files of other programs that are common in /tmp, RUNNER_TEMP and home folders.
test.each(
  words(
    'tmp.Xq3PzY tmpabc12_x ralph-AbCdEf 3f02dacd-17ff-82c0-8925-3eaaf4e7790b.sh script.sh notes.txt report.json data.csv',
    'output.log main.py index.js snap.lock core.1234 .X99-lock .s.PGSQL.5432 .s.PGSQL.5432.lock mysql.sock dump.xml',
    'event.json run.json journal.jsonl hidden-credentials.json ignored.tar clr-debug-pipe-1-2-in .bash_history .viminfo',
    '.nfs0000000001 .lesshst a.yml .claude.json archive.tar.gz profile tmpfile ralph-aside-3f02dacd',
  ),
)('the file %s stays', (name) => {
  expect(isSearchedUpward(name, 'file')).toBe(false);
});

test.each(
  words(
    'tmp.Xq3PzY hsperfdata_runner systemd-private-abc v8-compile-cache-0 _runner_file_commands _temp work build workspace',
    '.X11-unix .ICE-unix .cache .npm .rustup .nuget .m2 .gradle .dotnet .local .ssh .docker ralph-run-3f02dacd agent git push',
    'quarantine surroundings state package.json Makefile',
  ),
)('the folder %s stays', (name) => {
  expect(isSearchedUpward(name, 'folder')).toBe(false);
});

test.each([
  ['.cargo', ['config', 'config.toml'], ['registry', 'bin', 'env', 'credentials.toml']],
  [
    '.config',
    ['dotnet-tools.json', 'mise.toml', 'nextest.toml', 'mocharc', 'vite.config.ts'],
    ['git', 'google-chrome'],
  ],
  ['.yarn', ['releases', 'plugins'], ['berry', 'cache']],
  ['.bundle', ['config'], ['cache', 'plugin']],
] as const)('of the folder %s only some entries are looked for', (folder, searched, others) => {
  const inside = findSearchedNames(folder);
  expect([...searched, ...others].filter((name) => inside?.test(name))).toEqual(searched);
});

test.each(['node_modules', '.git', 'toString'])('all of the folder %s is looked for, where it is', (folder) => {
  expect(findSearchedNames(folder)).toBeNull();
});
