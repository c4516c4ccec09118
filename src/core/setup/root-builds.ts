import type { Language } from './stack.ts';

/** The folder of a build outside of the source tree; `build` may be a file or a folder of the project. */
const BUILD_FOLDER = ['build ? _build', 'build'];

/** Hosts of downloads from repositories, which registries and manifests refer to. */
const GITHUB = ['github.com', '*.githubusercontent.com'];

/** Builds of a whole repository, detected at its root unless a language stands there; runners have CMake. */
export const rootBuilds: readonly Language[] = [
  {
    by: ['CMakeLists.txt'],
    tool: 'cmake',
    language: ['@c ? C', 'C++'],
    facts: { c: /^\s*project\s*\([^)]*\bC\s*\)/im, tests: /^\s*(?:enable_testing\s*\(|include\s*\(\s*CTest\b)/im },
    words: { tree: BUILD_FOLDER, build: 'cmake -S . -B {tree} && cmake --build {tree}' },
    build: '{build}',
    test: '@tests ? {build} && ctest --test-dir {tree} --output-on-failure',
    programs: ['cmake', 'ctest'],
    leaves: ['{tree}/'],
  },
  {
    by: ['meson.build'],
    tool: 'meson',
    language: ['@cpp ? C++', 'C'],
    facts: { cpp: /^\s*project\s*\([^)]*'cpp'/m, tests: /^\s*(?:test\s*\(|subdir\s*\(\s*'tests?')/m },
    words: { tree: BUILD_FOLDER },
    build: 'meson setup {tree} && meson compile -C {tree}',
    test: '@tests ? meson setup {tree} && meson test -C {tree} --print-errorlogs',
    setup: { '- run: pipx install meson && pipx install ninja': {} },
    leaves: ['{tree}/'],
  },
  {
    by: ['MODULE.bazel', 'WORKSPACE.bazel', 'WORKSPACE'],
    tool: 'bazel',
    language: 'Bazel',
    build: 'bazel build //...',
    test: 'bazel test //...',
    setup: { 'bazel-contrib/setup-bazel@0.18.0': {} },
    hosts: ['bcr.bazel.build', 'releases.bazel.build', ...GITHUB],
    leaves: ['/bazel-*', 'MODULE.bazel & !MODULE.bazel.lock ? MODULE.bazel.lock'],
  },
  {
    by: ['build.zig'],
    tool: 'zig',
    language: 'Zig',
    facts: { tests: /\bstep\(\s*"test"/ },
    build: 'zig build',
    test: '@tests ? zig build test',
    setup: { 'mlugg/setup-zig@v2': {} },
    hosts: GITHUB,
    leaves: ['.zig-cache/', 'zig-out/'],
  },
];

/** A Makefile with a target `test`, for projects in any other language. */
export const makeLanguage: Language = {
  by: ['Makefile', 'makefile', 'GNUmakefile'],
  tool: 'make',
  language: 'Make',
  facts: { build: /^build\s*:(?!=)/m, test: /^test\s*:(?!=)/m, lint: /^lint\s*:(?!=)/m },
  tools: [{ when: '@test' }],
  build: '@build ? make build',
  test: 'make test',
  lint: '@lint ? make lint',
};
