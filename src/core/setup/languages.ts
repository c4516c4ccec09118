import { compiledLanguages } from './compiled-languages.ts';
import { nameGoPackages, listGoSums, findGoVersionFile, formatGoVersion, renderPythonInstall } from './manifests.ts';
import type { Language } from './stack.ts';

const NODE_LOCKS = ['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb', 'package-lock.json', 'npm-shrinkwrap.json'];
const PYTHON_FILES = ['pyproject.toml', 'requirements.txt', 'requirements-dev.txt', 'setup.py', 'setup.cfg'];

/** The languages that are detected in every folder, in the order in which they are named. */
export const detectedLanguages: readonly Language[] = [
  {
    by: ['package.json'],
    language: ['#typescript, tsconfig.json ? TypeScript', 'JavaScript'],
    facts: { test: { key: 'scripts.test', says: /^(?![^]*no test specified)/ } },
    words: {
      lock: NODE_LOCKS.map((name) => `${name} ? ${name}`),
      cached: '{lock}',
      modern: '.yarnrc.yml, $packageManager=yarn@ & !$packageManager=yarn@1. ? modern',
      named: '$packageManager=npm@, $packageManager=pnpm@, $packageManager=yarn@ ? named',
      versionFile: ['.nvmrc ? .nvmrc', '.node-version ? .node-version', '$engines.node, $volta.node ? package.json'],
    },
    frameworks: [
      ...['#next ? Next.js', '#nuxt ? Nuxt', '#react ? React', '#vue ? Vue', '#svelte ? Svelte', '#astro ? Astro'],
      ...['#@angular/core ? Angular', '#express ? Express', '#fastify ? Fastify', '#@nestjs/core ? NestJS'],
    ],
    build: '$scripts.build= ? {tool} run build',
    test: '@test ? {tool} test',
    lint: '$scripts.lint= ? {tool} run lint',
    setup: {
      'actions/setup-node@v5': {
        'node-version-file': '{at}{versionFile}',
        'node-version': ["!{versionFile} & ~node-version ? '$1'", "!{versionFile} ? 'lts/*'"],
        cache: '{cached} ? {tool}',
        // Without this input, the action caches for the manager that the manifest names, and fails if there is no
        // lock file.
        'package-manager-cache': '!{cached} & {named} ? false',
        'cache-dependency-path': '{cached} ? {folder}/{lock}',
      },
    },
    leaves: ['node_modules/'],
    tools: [
      {
        when: 'pnpm-lock.yaml, !{lock} & $packageManager=pnpm@',
        tool: 'pnpm',
        install: ['{lock} ? pnpm install --frozen-lockfile', 'pnpm install --no-lockfile'],
        // The action reads the version from the root unless another manifest is given.
        setup: {
          'pnpm/action-setup@v4': {
            version: '!$packageManager=pnpm@ ? 10',
            package_json_file: '$packageManager=pnpm@ ? {folder}/package.json',
          },
        },
      },
      {
        when: 'yarn.lock, !{lock} & $packageManager=yarn@',
        tool: 'yarn',
        install: [
          ...['{modern} & {lock} ? yarn install --immutable', '{modern} ? yarn install --no-immutable'],
          ...['{lock} ? yarn install --frozen-lockfile', 'yarn install --no-lockfile'],
        ],
        setup: { '{modern} ? - run: corepack enable': {} },
        // The other managers install without writing a lock file; a modern Yarn cannot.
        leaves: ['node_modules/', ...['yarn.lock', '.pnp.*', '.yarn/'].map((name) => `{modern} & !{lock} ? ${name}`)],
      },
      {
        when: 'bun.lock, bun.lockb, !{lock} & $packageManager=bun@',
        tool: 'bun',
        words: { cached: '' },
        install: ['{lock} ? bun install --frozen-lockfile', 'bun install --no-save'],
        test: '@test ? bun run test',
        setup: { 'oven-sh/setup-bun@v2': {} },
      },
      { tool: 'npm', install: ['{lock} ? npm ci', 'npm install --no-package-lock'] },
    ],
  },
  {
    by: ['deno.json', 'deno.jsonc'],
    tool: 'deno',
    language: 'TypeScript',
    words: { lock: NODE_LOCKS.map((name) => `${name} ? ${name}`) },
    // If there is a package.json as well, Deno is used only if its lock file is the only one.
    tools: [{ when: '!package.json, deno.lock & !{lock}' }],
    install: 'deno.lock ? deno install --frozen',
    build: '$tasks.build ? deno task build',
    // Nobody can answer a permission prompt during a run, so everything is allowed.
    test: ['$tasks.test ? deno task test', 'deno test --allow-all'],
    lint: ['$tasks.lint ? deno task lint', 'deno lint'],
    setup: { 'denoland/setup-deno@v2': { 'deno-version-file': '.dvmrc ? {at}.dvmrc' } },
    leaves: ['!deno.lock ? deno.lock'],
  },
  {
    by: ['pyproject.toml', 'requirements.txt', 'setup.py'],
    reads: PYTHON_FILES,
    language: 'Python',
    facts: {
      django: /^\s*["']?django\b|["']django\b/im,
      fastapi: /^\s*["']?fastapi\b|["']fastapi\b/im,
      flask: /^\s*["']?flask\b|["']flask\b/im,
      pytest: /\bpytest\b/i,
      ruff: /\bruff\b/i,
      poetry: { in: 'pyproject.toml', says: /^\[tool\.poetry\]/m },
      version: { in: 'pyproject.toml', says: /^(?:requires-python|python)\s*=\s*["']/m },
    },
    words: {
      pytest: '@pytest, pytest.ini, conftest.py ? pytest',
      ...{ run: '{tool} run', module: '{run} python -m', cached: '', left: '' },
      versionFile: ['.python-version ? .python-version', '!~python-version & @version ? pyproject.toml'],
    },
    install: ({ place, tool, holds }) => renderPythonInstall(place, tool, holds('{pytest}')),
    frameworks: ['@django ? Django', '@fastapi ? FastAPI', '@flask ? Flask'],
    test: ['{pytest} ? {run} pytest', 'tests, test ? {module} unittest discover'],
    lint: '@ruff, ruff.toml ? {run} ruff check',
    setup: {
      '!uv.lock ? actions/setup-python@v6': {
        'python-version-file': '{at}{versionFile}',
        'python-version': ["!{versionFile} & ~python-version ? '$1'", "!{versionFile} ? '3.x'"],
        cache: '{cached} ? {tool}',
        'cache-dependency-path': '{at}{cached}',
      },
    },
    leaves: ['__pycache__/', 'uv.lock ? .venv/', '{left}', '{pytest} ? .pytest_cache/'],
    tools: [
      { when: 'uv.lock', tool: 'uv', setup: { 'astral-sh/setup-uv@v7': { 'enable-cache': 'true' } } },
      {
        when: 'poetry.lock, @poetry & !requirements.txt',
        tool: 'poetry',
        words: { cached: 'poetry.lock ? poetry.lock', left: '!poetry.lock ? poetry.lock' },
        setup: { '- run: pipx install poetry': {} },
      },
      {
        tool: 'pip',
        words: { cached: PYTHON_FILES.map((name) => `${name} ? ${name}`), run: 'python -m', module: 'python -m' },
        programs: ['python', 'pip', 'pytest'],
      },
    ],
  },
  {
    by: ['go.work', 'go.mod'],
    tool: 'go',
    language: 'Go',
    build: 'go build {packages}',
    test: 'go test {packages}',
    lint: 'go vet {packages}',
    words: { packages: nameGoPackages, version: formatGoVersion },
    setup: {
      'actions/setup-go@v6': {
        'go-version': '{version}',
        'go-version-file': ({ all, holds }) => (holds('{version}') ? '' : findGoVersionFile({ all })),
        'cache-dependency-path': listGoSums,
      },
    },
    programs: ['go', 'gofmt'],
  },
  {
    by: ['Cargo.toml'],
    tool: 'cargo',
    language: 'Rust',
    facts: { axum: /^axum\s*=/m, actix: /^actix-web\s*=/m, rocket: /^rocket\s*=/m, workspace: /^\[workspace\]/m },
    frameworks: ['@axum ? axum', '@actix ? actix-web', '@rocket ? rocket'],
    build: ['@workspace ? cargo build --workspace', 'cargo build'],
    test: ['@workspace ? cargo test --workspace', 'cargo test'],
    lint: ['@workspace ? cargo clippy --workspace', 'cargo clippy'],
    setup: {
      'rust-toolchain.toml, rust-toolchain ? - run: rustup show # installs what the toolchain file names': {},
      'rust-toolchain.toml, rust-toolchain ?   working-directory: {folder}': {},
      '!rust-toolchain.toml & !rust-toolchain ? - run: rustup update stable': {},
      'Swatinem/rust-cache@v2': { workspaces: '{folder}' },
    },
    leaves: ['target/'],
  },
  {
    by: ['pom.xml', 'build.gradle.kts', 'build.gradle', 'settings.gradle.kts', 'settings.gradle'],
    language: ['@kotlin ? Kotlin', 'Java'],
    facts: {
      ...{ kotlin: /kotlin/i, multiplatform: /\bmultiplatform\b/ },
      spring: /spring-?boot|springframework\.boot/i,
      maven: /<(?:maven\.compiler\.(?:release|source|target)|java\.version|release)>\s*(?:1\.)?(\d{1,2})\s*</,
      gradle: /(?:JavaLanguageVersion\.of\(|jvmToolchain\(|JavaVersion\.VERSION_)(\d{1,2})/,
    },
    words: { version: ["@maven ? '$1'", "@gradle ? '$1'", "~java-version ? '$1'", "'21'"] },
    frameworks: ['@spring ? Spring Boot'],
    setup: {
      'actions/setup-java@v5': {
        distribution: 'temurin',
        'java-version-file': '.java-version ? {at}.java-version',
        'java-version': '!.java-version ? {version}',
        cache: '{tool}',
      },
    },
    programs: ['{start}'],
    tools: [
      {
        when: 'pom.xml',
        tool: 'maven',
        words: { start: ['^mvnw ? ./mvnw', 'mvnw ? sh ./mvnw', 'mvn'] },
        build: '{start} -B package -DskipTests',
        test: '{start} -B test',
        leaves: ['target/'],
      },
      {
        tool: 'gradle',
        words: { start: ['^gradlew ? ./gradlew', 'gradlew ? sh ./gradlew', 'gradle'] },
        build: '{start} assemble',
        // A multiplatform project has no task `test`.
        test: ['@multiplatform, src/commonMain ? {start} allTests', '{start} test'],
        leaves: ['build/', '.gradle/'],
      },
    ],
  },
  // GitHub's Linux runners have a compiler, so no set-up is needed.
  {
    by: ['Package.swift'],
    tool: 'swift',
    language: 'Swift',
    facts: { vapor: /\/vapor(?:\.git)?"/ },
    frameworks: ['@vapor ? Vapor'],
    build: 'swift build',
    test: 'Tests ? swift test',
    leaves: ['.build/', '!Package.resolved ? Package.resolved'],
  },
  {
    by: ['Gemfile'],
    tool: 'bundler',
    language: 'Ruby',
    facts: { rails: /^\s*gem ["']rails["']/m, rspec: /["']rspec/, rubocop: /["']rubocop/, version: /^ruby[ (]/m },
    words: { named: '.ruby-version, .tool-versions, @version ? named', version: ["~ruby-version ? '$1'", "'3.4'"] },
    frameworks: ['@rails ? Rails'],
    install: 'bundle install',
    test: ['@rspec, .rspec ? bundle exec rspec', '@rails ? bundle exec rails test', 'Rakefile ? bundle exec rake test'],
    lint: '@rubocop, .rubocop.yml ? bundle exec rubocop',
    // bundler-cache is off because it installs into the work tree.
    setup: { 'ruby/setup-ruby@v1': { 'ruby-version': '!{named} ? {version}', 'working-directory': '{folder}' } },
    programs: ['bundle'],
    leaves: ['!Gemfile.lock ? Gemfile.lock'],
  },
  {
    by: ['composer.json'],
    tool: 'composer',
    language: 'PHP',
    facts: { version: { key: 'require.php', says: /(\d\.\d+)/ } },
    words: {
      tests: '#phpunit/phpunit, phpunit.xml, phpunit.xml.dist ? vendor/bin/phpunit',
      runner: ['#pestphp/pest ? vendor/bin/pest', '{tests}'],
      checker: '#phpstan/phpstan ? vendor/bin/phpstan',
    },
    frameworks: ['#laravel/framework ? Laravel', '#symfony/framework-bundle ? Symfony'],
    // A PHP extension has a manifest for Composer but is built without it, so nothing is installed.
    install: '!$type=php-ext ? composer install --no-interaction',
    test: ['$scripts.test ? composer test', '{runner}'],
    lint: '{checker} analyse',
    setup: { 'shivammathur/setup-php@v2': { 'php-version': "@version, ~php-version ? '$1'" } },
    programs: ['php', 'composer', '{runner}', '{checker}'],
    leaves: ['vendor/'],
  },
  {
    by: ['mix.exs'],
    tool: 'mix',
    language: 'Elixir',
    facts: {
      phoenix: /\{:phoenix\b/,
      credo: /\{:credo\b/,
      versions: { in: '.tool-versions', says: /^(?=[^]*^elixir\s)(?=[^]*^erlang\s)/m },
    },
    frameworks: ['@phoenix ? Phoenix'],
    install: ['mix.lock ? mix deps.get --check-locked', 'mix deps.get'],
    build: 'mix compile',
    test: 'mix test',
    lint: ['@credo ? mix credo', '.formatter.exs ? mix format --check-formatted'],
    setup: {
      'erlef/setup-beam@v1': {
        'version-file': '@versions ? {at}.tool-versions',
        'version-type': '@versions ? strict',
        'elixir-version': ["!@versions & ~elixir-version ? '$1'", "!@versions ? '1.18'"],
        'otp-version': ["!@versions & ~otp-version ? '$1'", "!@versions ? '27'"],
      },
    },
    leaves: ['_build/', 'deps/', '!mix.lock ? mix.lock'],
  },
  ...compiledLanguages,
];
