import { firstOf, pathIn, uses, type Place, type Stack } from './project.ts';

/** Go, by go.work or go.mod. */
export function go(place: Place, all: readonly Place[]): Stack | null {
  const manifest = goManifest(place);
  if (manifest === null) return null;
  const modules = manifest === 'go.work' ? workspaceModules(place.text('go.work')) : [];
  const packages = modules.length === 0 ? './...' : modules.map((folder) => `${folder}/...`).join(' ');
  return {
    language: 'Go',
    folder: place.folder,
    packageManager: 'go',
    frameworks: [],
    install: null,
    build: `go build ${packages}`,
    test: `go test ${packages}`,
    lint: `go vet ${packages}`,
    setup: setupGo(all),
    programs: ['go', 'gofmt'],
    leaves: [],
  };
}

function goManifest(place: Place): string | null {
  return firstOf(place, ['go.work', 'go.mod']);
}

/** One Go for all modules, that of the newest: each further set-up would replace the one before. */
function setupGo(all: readonly Place[]): readonly string[] {
  const [newest] = all.toSorted((a, b) => goVersion(b) - goVersion(a));
  const sums = all.filter((place) => place.has('go.sum') && place.folder !== '');
  const [only] = sums;
  return uses('actions/setup-go@v6', {
    'go-version-file': newest === undefined ? null : pathIn(newest, goManifest(newest) ?? ''),
    'cache-dependency-path': only === undefined ? null : sums.length > 1 ? "'**/go.sum'" : pathIn(only, 'go.sum'),
  });
}

/** As a number that grows with the version; 0: none is named. */
function goVersion(place: Place): number {
  const [, major = '0', minor = '0', patch = '0'] =
    /^go\s+(\d+)\.(\d+)(?:\.(\d+))?/m.exec(place.text(goManifest(place) ?? '')) ?? [];
  return (Number(major) * 1000 + Number(minor)) * 1000 + Number(patch);
}

/** Folders that `use` names; those with characters that a shell reads otherwise are left out. */
function workspaceModules(text: string): readonly string[] {
  const named = [...text.matchAll(/^\s*(?:use\s+)?(\.\/[\w./-]+|\.)\s*(?:\/\/.*)?$/gm)].map(
    ([, folder]) => folder ?? '.',
  );
  return [...new Set(named)].filter((folder) => !folder.includes('..')).slice(0, 20);
}

/** Rust, by Cargo.toml. */
export function rust(place: Place): Stack | null {
  if (!place.has('Cargo.toml')) return null;
  const manifest = place.text('Cargo.toml');
  const all = /^\[workspace\]/m.test(manifest) ? ' --workspace' : '';
  const isPinned = firstOf(place, ['rust-toolchain.toml', 'rust-toolchain']) !== null;
  return {
    language: 'Rust',
    folder: place.folder,
    packageManager: 'cargo',
    frameworks: ['axum', 'actix-web', 'rocket'].filter((name) => new RegExp(`^${name}\\s*=`, 'm').test(manifest)),
    install: null,
    build: `cargo build${all}`,
    test: `cargo test${all}`,
    lint: `cargo clippy${all}`,
    setup: [
      isPinned ? '- run: rustup show # installs what the toolchain file names' : '- run: rustup update stable',
      ...(isPinned && place.folder !== '' ? [`  working-directory: ${place.folder}`] : []),
      ...uses('Swatinem/rust-cache@v2', { workspaces: place.folder === '' ? null : place.folder }),
    ],
    programs: ['cargo'],
    leaves: ['target/'],
  };
}

/** Swift, by its package; GitHub's Linux runners have the compiler. */
export function swift(place: Place): Stack | null {
  if (!place.has('Package.swift')) return null;
  const isVapor = /\/vapor(?:\.git)?"/.test(place.text('Package.swift'));
  return {
    language: 'Swift',
    folder: place.folder,
    packageManager: 'swift',
    frameworks: isVapor ? ['Vapor'] : [],
    install: null,
    build: 'swift build',
    test: place.has('Tests') ? 'swift test' : null,
    lint: null,
    setup: [],
    programs: ['swift'],
    leaves: place.has('Package.resolved') ? ['.build/'] : ['.build/', 'Package.resolved'],
  };
}

/** Java and Kotlin, by Maven's or Gradle's files. */
export function java(place: Place): Stack | null {
  const manifest = firstOf(place, [
    'pom.xml',
    'build.gradle.kts',
    'build.gradle',
    'settings.gradle.kts',
    'settings.gradle',
  ]);
  if (manifest === null) return null;
  const isMaven = manifest === 'pom.xml';
  const text = place.text(manifest);
  const wrapper = isMaven ? 'mvnw' : 'gradlew';
  const program = place.has(wrapper)
    ? `${place.isExecutable(wrapper) ? '' : 'sh '}./${wrapper}`
    : isMaven
      ? 'mvn'
      : 'gradle';
  const start = isMaven ? `${program} -B` : program;
  const version =
    /<(?:maven\.compiler\.(?:release|source|target)|java\.version|release)>\s*(?:1\.)?(\d{1,2})\s*</.exec(text)?.[1] ??
    /(?:JavaLanguageVersion\.of\(|jvmToolchain\(|JavaVersion\.VERSION_)(\d{1,2})/.exec(text)?.[1] ??
    place.versionInWorkflows('java-version');
  const versionFile = firstOf(place, ['.java-version']);
  return {
    language: /kotlin/i.test(text) ? 'Kotlin' : 'Java',
    folder: place.folder,
    packageManager: isMaven ? 'maven' : 'gradle',
    frameworks: /spring-?boot|springframework\.boot/i.test(text) ? ['Spring Boot'] : [],
    install: null,
    build: isMaven ? `${start} package -DskipTests` : `${start} assemble`,
    test: `${start} test`,
    lint: null,
    setup: uses('actions/setup-java@v5', {
      distribution: 'temurin',
      'java-version-file': versionFile === null ? null : pathIn(place, versionFile),
      'java-version': versionFile === null ? `'${version ?? '21'}'` : null,
      cache: isMaven ? 'maven' : 'gradle',
    }),
    programs: [program],
    leaves: isMaven ? ['target/'] : ['build/', '.gradle/'],
  };
}

/** C and C++, by the CMakeLists.txt at the root; runners have CMake. */
export function cmake(place: Place): Stack | null {
  if (!place.has('CMakeLists.txt')) return null;
  const manifest = place.text('CMakeLists.txt');
  const hasTests = /^\s*(?:enable_testing\s*\(|include\s*\(\s*CTest\b)/im.test(manifest);
  const folder = place.has('build') ? '_build' : 'build';
  const build = `cmake -S . -B ${folder} && cmake --build ${folder}`;
  return {
    language: /^\s*project\s*\([^)]*\bC\s*\)/im.test(manifest) ? 'C' : 'C++',
    folder: place.folder,
    packageManager: 'cmake',
    frameworks: [],
    install: null,
    build,
    test: hasTests ? `${build} && ctest --test-dir ${folder} --output-on-failure` : null,
    lint: null,
    setup: [],
    programs: ['cmake', 'ctest'],
    leaves: [`${folder}/`],
  };
}
