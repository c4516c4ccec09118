/** A folder's original path and the path of its copy: absolute, without a slash at the end. */
export interface MovedFolder {
  readonly from: string;
  readonly to: string;
}

/**
 * Paths of small text files into which tools write absolute paths when they install something: programs and their
 * launchers (the first line of a script of a Python environment, the launchers of pnpm), and files that list the places
 * of Python modules.
 */
const FILES_WITH_PATHS: readonly RegExp[] = [
  /(?:^|\/)(?:\.?bin|Scripts)\/[^/]+$/,
  /\.(?:pth|egg-link)$/,
  /(?:^|\/)__editable__[^/]*\.py$/,
  /(?:^|\/)pyvenv\.cfg$/,
  // These files contain the path of a git directory: that of a work tree or of a submodule.
  /(?:^|\/)\.git$/,
];

/** Names of files that build tools, package managers and test runners look for in all parent folders, in lower case. */
const FILES: ReadonlySet<string> = new Set(
  [
    // JavaScript
    'npm-shrinkwrap.json yarn.lock bun.lock bun.lockb browserslist firebase.json .ember-cli',
    'lerna.json nx.json turbo.json rush.json deno.json deno.jsonc deno.lock biome.json biome.jsonc angular.json',
    'workspace.json bower.json import_map.json elm.json bsconfig.json rescript.json .pnp.js .pnp.cjs .pnp.loader.mjs',
    // Python
    '__init__.py conftest.py setup.py noxfile.py manage.py tasks.py fabfile.py dodo.py sitecustomize.py',
    'usercustomize.py environment.yml environment.yaml .pdm-python',
    'pylintrc pyrightconfig.json .flake8 .style.yapf .pydocstyle .bandit .importlinter .yamllint dbt_project.yml',
    // Go, Rust, Ruby, PHP, Perl, Lua
    'go.mod go.sum go.work go.work.sum rust-toolchain gems.rb gems.locked .rspec .simplecov',
    'composer.json composer.lock phpstan.neon phpstan.neon.dist psalm.xml cpanfile .busted staticcheck.conf',
    // JVM
    'pom.xml build.xml ivy.xml gradle.properties build.gradle build.gradle.kts settings.gradle settings.gradle.kts',
    'build.sbt build.sc build.mill deps.edn project.clj bb.edn',
    // .NET
    'global.json nuget.config packages.config omnisharp.json testconfig.json xunit.runner.json',
    // C and C++
    'cmakelists.txt cmakepresets.json cmakeuserpresets.json ctesttestfile.cmake ctestconfig.cmake dartconfiguration.tcl',
    'compile_commands.json compile_flags.txt meson.build sconstruct sconscript wscript jamroot jamroot.jam',
    'boost-build.jam project-root.jam xmake.lua premake5.lua',
    // Other languages
    'mix.exs rebar.config pubspec.yaml pubspec.lock analysis_options.yaml stack.yaml cabal.project cabal.project.local',
    'hie.yaml dune dune-project dune-workspace package.swift build.zig build.zig.zon config.nims description .rprofile',
    'renv.lock flake.nix shell.nix default.nix shard.yml v.mod dub.json dub.sdl',
    // Several languages
    'workspace workspace.bazel module.bazel repo.bazel build build.bazel buck .buckconfig .buckroot build_root .gn',
    'taskfile.yml taskfile.yaml lefthook.yml moon.yml melos.yaml mkdocs.yml buf.yaml buf.work.yaml serverless.yml',
    'pulumi.yaml terragrunt.hcl .gclient',
    'compose.yml compose.yaml docker-compose.yml docker-compose.yaml .editorconfig',
    '.git .gitattributes .gitmodules',
  ].flatMap((line) => line.split(' ')),
);

/** Names of folders that tools look for in all parent folders, in lower case. */
const FOLDERS: ReadonlySet<string> = new Set(
  [
    'node_modules bower_components jspm_packages web_modules .yarn .moon __pypackages__ .venv venv .cargo .bundle .mvn',
    '.config .git .hg .svn .jj .bzr _darcs .dvc .west .repo',
  ].flatMap((line) => line.split(' ')),
);

/** Patterns for names of files that tools look for in all parent folders. */
const FORMS: readonly RegExp[] = [
  // package.json, tsconfig.base.json, jest.config.ts, vitest.workspace.ts, pnpm-workspace.yaml
  /^package(?:-lock)?\.(?:json5?|ya?ml)$/,
  /^[tj]sconfig(?:\.[\w-]+)*\.json$/,
  /[.-](?:config|conf|workspace|setup)\.(?:[cm]?[jt]sx?|json[c5]?|toml|ya?ml|py)$/,
  /^pnpm-\w+\.yaml$/,
  // pyproject.toml, Cargo.lock, tox.ini, setup.cfg
  /\.(?:toml|ini|cfg)$/,
  /^(?:cargo|poetry|uv|pdm|pixi|mise)\.lock$/,
  // .mocharc.json, .babelrc, .envrc, .bazelrc, .npmrc
  /^\.[\w-]+rc(?:\.[\w-]+)*$/,
  // .jscpd.json, .golangci.yml, .coveragerc.toml, .scalafmt.conf
  /^\.[\w-]+(?:\.[\w-]+)*\.(?:json[c5]?|ya?ml|toml|ini|cfg|conf|[cm]?[jt]s|py|rb|lua|exs|edn|xml|properties|kdl|php|hcl)$/,
  // .python-version, .tool-versions, .env.test, .clang-tidy, .dockerignore, .lfsconfig
  /^\.[\w-]+versions?$/,
  /^\.env(?:\.[\w.-]+)?$/,
  /^\.clang-\w+$/,
  /^\.[\w-]+(?:ignore|config)$/,
  // Makefile, Gemfile.lock, Justfile, Taskfile.dist.yml
  /^\.?(?:gnumake|make|gem|rake|just|pip|task|guard|fast|pod|brew|cap|thor|earth|vagrant|docker|jenkins|proc|snake|cake|gulp|grunt|jake|tilt|danger|mint|jam|build)file(?:\.[\w.]+)?$/,
  // Directory.Build.props, *.ruleset, *.runsettings
  /^directory\.\w+\.(?:props|targets|rsp)$/,
  /\.(?:props|targets|rsp|runsettings|ruleset|globalconfig|sln|slnx|csproj|fsproj|cabal|opam|nimble|gemspec)$/,
  /^phpunit\.xml(?:\.dist)?$/,
];

/**
 * Folders in which only these entries matter, because the rest is downloaded packages or settings of desktop programs.
 */
const ENTRIES_OF_FOLDER: Readonly<Record<string, RegExp>> = {
  '.cargo': /^config(?:\.toml)?$/i,
  '.config': /^mise$|rc$|\.(?:json[c5]?|ya?ml|toml|ini|cfg|kdl|[cm]?[jt]s)$/i,
  '.yarn': /^(?:releases|plugins|sdks)$/i,
  '.bundle': /^config$/i,
};

/** Files that an agent's CLI writes into a home folder; other tools do not look for them. */
const AGENT_FILES: ReadonlySet<string> = new Set(['.claude.json']);

/** Returns true if tools look for a file or folder of this name in all parent folders. */
export function isSearchedUpward(name: string, kind: 'file' | 'folder'): boolean {
  const lower = name.toLowerCase();
  return kind === 'folder'
    ? FOLDERS.has(lower)
    : FILES.has(lower) || (!AGENT_FILES.has(lower) && FORMS.some((form) => form.test(lower)));
}

/** Returns a pattern for the entries that tools look for in a folder of this name; null if all entries matter. */
export function findSearchedNames(name: string): RegExp | null {
  const lower = name.toLowerCase();
  return Object.hasOwn(ENTRIES_OF_FOLDER, lower) ? (ENTRIES_OF_FOLDER[lower] ?? null) : null;
}

/** Returns true if a file of this path may contain absolute paths that must be moved with it. */
export function namesPaths(path: string): boolean {
  return FILES_WITH_PATHS.some((form) => form.test(path));
}

/** Replaces the paths of moved folders in a text. A longer name that merely begins with a moved path stays. */
export function replaceMovedPaths(text: string, moves: readonly MovedFolder[]): string {
  return moves.reduce((rest, { from, to }) => {
    // The path may follow the end of another word or the beginning of a URL, so other characters before it are allowed.
    const path = new RegExp(`(?<![\\p{L}\\p{N}_.~})-]|(?<!file:/)/)${escaped(from)}(?![\\p{L}\\p{N}_.-])`, 'gu');
    return rest.replace(path, () => to);
  }, text);
}

/** Returns the copy's path for a path inside a moved folder, or the path itself. */
export function mapPathToCopy(path: string, moves: readonly MovedFolder[]): string {
  const move = moves.find(({ from }) => path === from || path.startsWith(`${from}/`));
  return move === undefined ? path : `${move.to}${path.slice(move.from.length)}`;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
