/** A file with many purposes, in which some lines decide what is tested. */
interface SettingsFile {
  readonly path: RegExp;
  /** Names of sections in which every line decides what is tested. */
  readonly sections: RegExp | null;
  /** Lines that decide what is tested in any section. */
  readonly lines: RegExp | null;
}

const FILES: readonly SettingsFile[] = [
  {
    path: /(?:^|\/)pyproject\.toml$/i,
    sections: /^tool\.(?:pytest|coverage|tox|nox|hatch\.envs|poe|taskipy|pdm\.scripts|unittest)\b/,
    lines: null,
  },
  {
    path: /(?:^|\/)setup\.cfg$/i,
    sections: /^(?:tool:pytest|pytest|coverage:.*|aliases|nosetests|testenv.*)$/,
    lines: null,
  },
  { path: /(?:^|\/)Cargo\.toml$/i, sections: /^\[test\]$/, lines: /^\s*(?:test|doctest|harness|autotests)\s*=/ },
  {
    path: /(?:^|\/)pom\.xml$/i,
    sections: null,
    lines:
      /skipTests|skipITs|maven\.test\.skip|testFailureIgnore|surefire|failsafe|<(?:ex|in)cludes?>|<groups>|<excludedGroups>/,
  },
  {
    path: /(?:^|\/)(?:build|settings)\.gradle(?:\.kts)?$/i,
    sections: null,
    lines: /\btests?\b|Tests?\b|ignoreFailures|\bexclude|\binclude|onlyIf|enabled\s*=/,
  },
  { path: /(?:^|\/)gradle\.properties$/i, sections: null, lines: /test|check|verif/i },
  { path: /(?:^|\/)build\.sbt$/i, sections: null, lines: /\btests?\b|Tests?\b|testOptions/ },
  { path: /(?:^|\/)CMakeLists\.txt$/i, sections: null, lines: /add_test|enable_testing|discover_tests|BUILD_TESTING/i },
  { path: /(?:^|\/)(?:composer|deno)\.jsonc?$/i, sections: null, lines: /test|spec|phpunit|check/i },
];

const HEADER = /^\s*\[([^#\n]{1,200})\]\s*(?:#.*)?$/;

const KEY = /^([\w"'. \t-]{1,200})=/;

const LOCK_FILE = new RegExp(
  [
    /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/,
    /(?:^|\/)(?:Cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock)$/,
    /(?:^|\/)(?:go\.sum|mix\.lock|pubspec\.lock|Podfile\.lock|Package\.resolved|packages\.lock\.json|flake\.lock)$/,
    /(?:^|\/)(?:pylock(?:\.[\w-]+)?\.toml|requirements[\w-]*\.lock|pixi\.lock|conda-lock\.ya?ml|gems\.locked|go\.work\.sum)$/,
    /(?:^|\/)(?:[\w-]*gradle\.lockfile|paket\.lock|stack\.yaml\.lock|shard\.lock|rebar\.lock|renv\.lock|conan\.lock)$/,
    /(?:^|\/)(?:MODULE\.bazel\.lock|\.terraform\.lock\.hcl|Chart\.lock|Cartfile\.resolved|vlt-lock\.json|mise\.lock)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

const HASH = /\.(?:py|pyi|rb|rake|exs?|sh|bash|bats|pl|pm|t|r|jl|cr|nim|ya?ml|toml)$/i;

const DASHES = /\.(?:hs|lhs|lua|elm|sql)$/i;

type Blocks = readonly (readonly [string, string])[];

const DOCSTRINGS: Blocks = [
  ['"""', '"""'],
  ["'''", "'''"],
];

const RUBY: Blocks = [['\n=begin', '\n=end']];

/** Matches the paths where test runners look for tests and their data. */
const TEST_PATH = new RegExp(
  [
    /(?:^|\/)(?:(?:[\w.-]*[._-])?tests?|\w*Tests?|\w+\.Tests?|__tests__|specs?|e2e|cypress)\//,
    /(?:^|\/)(?:testdata|test[A-Z]\w*|fixtures?|__(?:mocks|fixtures|snapshots)__)\/|\.snap$/,
    /\.(?:approved|verified)\.[^/]+$/,
    /\.(?:test|spec)\.[^/]+$/,
    /_(?:test|spec)\.[^/]+$/,
    /[-_]tests?\.(?:[cm]?[jt]sx?|py|rb|rs|go|exs?|php|lua|dart|clj[cs]?|hs|ml|sh|bats)$/,
    /(?:^|\/)tests?\.(?:[cm]?[jt]sx?|py|rb|rs|go)$/,
    /(?:^|\/)(?:test_[^/]+|conftest)\.py$/,
    /(?:Tests?|TestCase|Spec|IT)\.(?:java|kt|cs|fs|vb|swift|scala|groovy|hs|php)$/,
    /(?:^|\/)t\/[^/]+\.t$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Returns true if the path is that of a test. */
export function isTestFile(path: string): boolean {
  return TEST_PATH.test(path);
}

/** Returns true if a file may contain tests: Rust keeps tests next to the code that they test. */
export function mayHoldTests(path: string): boolean {
  return isTestFile(path) || /\.rs$/.test(path);
}

/** The numbers of tests, assertions, and marks that keep tests from running, in one test file. */
interface TestCounts {
  readonly tests: number;
  readonly assertions: number;
  readonly skips: number;
}

/** Counts the tests in a test file's text, ignoring comments. */
export function countInTests(path: string, text: string): TestCounts {
  const code = withoutComments(path, text);
  return {
    tests: matches(code, TESTS),
    assertions: matches(code, ASSERTIONS),
    // Go's build conditions are comments, so they are counted in the whole text.
    skips: matches(code, ANY_SKIP) + matches(text, BUILD_CONDITION),
  };
}

function matches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Calls and marks of common test runners that skip a test or all other tests. */
const SKIPS = [
  /\.(?:skip|todo|only|skipIf|runIf|failing|fails|fixme)\s*[(.`]/,
  /\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b[ \t]*[('"`]/,
  /^[ \t]*(?:skip|pending)(?:[ \t]*$|[ \t]+['"]|[ \t]*\(|[ \t]+(?:if|unless)\b)/,
  /[{,]\s*(?:skip|todo|only)\s*:\s*(?!false\b|\d)/,
  /@(?:module|describe)?tag[ \t]*\(?[ \t]*:?skip\b/,
  /\bpytest\.(?:mark\.(?:skip|skipif|xfail)\b|importorskip\s*\()|\b__test__\s*=\s*False\b/,
  /@(?:unittest\.(?:skip\w*|expectedFailure)|Disabled\w*|Ignore)\b|\b(?:Assumptions|Assume)\.\w+\s*\(/,
  /\bpytest\.skip\s*\(|\.(?:skipTest|Skip|Skipf|SkipNow|markTestSkipped|markTestIncomplete)\s*\(/,
  /#\[(?:ignore\b|cfg\(any\(\)\))|\[Ignore\b|\bSkip\s*=\s*"|\bos\.Exit\(0\)/,
];

const ANY_SKIP = new RegExp(SKIPS.map(({ source }) => source).join('|'), 'gm');

const BUILD_CONDITION = /^\/\/(?:go:build| \+build)\b/gm;

/** Matches the assertions of common test libraries. */
const ASSERTIONS =
  /\b(?:expect|assert\w*|XCTAssert\w*)\s*[(!.]|\b(?:ok|equal|strictEqual|deepEqual|deepStrictEqual|throws|rejects)\s*\(|\bassert\s|\bt\.(?:Error|Fatal)f?\(/g;

/** Matches the beginning of one test in common test runners. */
const TESTS =
  /\b(?:test|it|specify|xit|xtest|fit)(?:\.\w+)*\s*(?:\([^)\n]{0,200}\)\s*)?[(`]\s*['"`]|^[ \t]*(?:async[ \t]+)?def test\w*\s*\(|^func (?:Test|Fuzz)\w*\s*\(|@(?:Parameterized|Repeated)?Test\b|#\[(?:\w+::)*test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|^[ \t]*(?:it|specify|scenario|test)[ \t]+['"]/gm;

/** Removes comments that take up whole lines or blocks from the text of a program. */
function withoutComments(path: string, text: string): string {
  if (HASH.test(path)) return withoutLines(withoutBlocks(text, /\.pyi?$/i.test(path) ? DOCSTRINGS : RUBY), /^[ \t]*#/);
  if (DASHES.test(path))
    return withoutLines(
      withoutBlocks(text, [
        ['{-', '-}'],
        ['--[[', ']]'],
      ]),
      /^[ \t]*--/,
    );
  // PHP has both comment styles; in Rust and PHP `#[` is an attribute, so it does not begin a comment.
  return withoutLines(
    withoutBlocks(text, [['/*', '*/']]),
    /\.php$/i.test(path) ? /^[ \t]*(?:\/\/|#(?!\[))/ : /^[ \t]*\/\//,
  );
}

function withoutBlocks(text: string, blocks: Blocks): string {
  return blocks.reduce((rest, [start, end]) => withoutBlock(rest, start, end), text);
}

/** Removes block comments. An unclosed one stays, and so does one that begins within a word, such as `dist/*`. */
function withoutBlock(text: string, start: string, end: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let open = text.indexOf(start); open !== -1; open = text.indexOf(start, open)) {
    if (start === '/*' && /[\w.*'"`\\/]/.test(text.charAt(open - 1))) {
      open += 1;
      continue;
    }
    const close = text.indexOf(end, open + start.length);
    if (close === -1) break;
    kept.push(text.slice(at, open));
    at = close + end.length;
    open = at;
  }
  return [...kept, text.slice(at)].join(' ');
}

function withoutLines(text: string, comment: RegExp): string {
  return text
    .split('\n')
    .filter((line) => !comment.test(line))
    .join('\n');
}

/** Returns true if a package manager writes the file from a manifest, so that nobody merges its lines by hand. */
export function isLockFile(path: string): boolean {
  return LOCK_FILE.test(path);
}

/** Returns true if some lines of the file may decide what is tested, so that its texts must be read. */
function mayHaveTestSettings(path: string): boolean {
  return FILES.some((file) => file.path.test(path));
}

/** Returns true if a change touches lines that decide what is tested; false for files without such lines. */
export function changesTestSettings(path: string, before: string | null, after: string | null): boolean {
  return FILES.some((file) => file.path.test(path) && settingsIn(before ?? '', file) !== settingsIn(after ?? '', file));
}

function settingsIn(text: string, { sections, lines }: SettingsFile): string {
  let within = '';
  const kept = text.split('\n').filter((line) => {
    const section = HEADER.exec(line)?.[1];
    if (section !== undefined) within = bare(section);
    // A dotted key may include the section's name: `pytest.ini_options.addopts = …` below [tool], or the whole name at
    // the beginning of the file.
    const key = section === undefined ? bare(KEY.exec(line)?.[1] ?? '') : '';
    const isOfSection = [within, key, `${within}.${key}`].some((name) => name !== '' && sections?.test(name));
    return (isOfSection && !/^\s*(?:#|$)/.test(line)) || (lines?.test(line) ?? false);
  });
  return kept.map((line) => line.trim()).join('\n');
}

/** Removes quotes and blanks from a TOML name such as `"tool" . pytest`. */
function bare(name: string): string {
  return name.replace(/["'\s]/g, '');
}

/**
 * Facts about a changed file whose content is not read. Byte counts are null if the file does not exist on that side.
 */
export interface UnreadChange {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly bytesBefore: number | null;
  readonly bytesAfter: number | null;
}

const MAX_TEST_FILE_BYTES = 1024 * 1024;

/** Maximum size of a lock file that is read; those of large projects have tens of thousands of lines. */
const MAX_LOCK_FILE_BYTES = 8 * 1024 * 1024;

const MAX_READ_BYTES = 16 * 1024 * 1024;

const MAX_READ_FILES = 4000;

/** Matches data files, which are kept next to tests but are not run. */
const DATA =
  /\.(?:jsonl?|ya?ml|toml|csv|tsv|txt|md|snap|xml|html?|css|svg|log|sql|patch|diff|png|jpe?g|gif|webp|ico|pdf|woff2?|ttf|wasm|zip|gz|tgz|tar|bin|dat|mp[34]|wav)$/i;

/** Returns true if the file defines package scripts. */
export function isManifest(path: string): boolean {
  return /(?:^|\/)package\.json$/i.test(path);
}

/** Returns true if the rules read a file's texts and not only its name. */
export function readsTexts({ path, kind }: Pick<UnreadChange, 'path' | 'kind'>): boolean {
  return (
    kind !== 'deleted' &&
    (isManifest(path) || isLockFile(path) || mayHaveTestSettings(path) || (mayHoldTests(path) && !DATA.test(path)))
  );
}

/**
 * Selects the changes whose texts are read, up to limits on bytes and files: manifests before tests, those nearest to
 * the root first.
 */
export function selectToRead<C extends UnreadChange>(changes: readonly C[]): readonly C[] {
  const wanted = changes
    .filter(readsTexts)
    .map((change) => ({ change, order: (isManifest(change.path) ? 0 : 1_000_000) + change.path.split('/').length }))
    .sort((a, b) => a.order - b.order)
    .map(({ change }) => change);
  const read: C[] = [];
  let bytes = 0;
  for (const change of wanted) {
    const [before, after] = [change.bytesBefore ?? 0, change.bytesAfter ?? 0];
    const longest = isLockFile(change.path) ? MAX_LOCK_FILE_BYTES : MAX_TEST_FILE_BYTES;
    if (Math.max(before, after) > longest || bytes + before + after > MAX_READ_BYTES) continue;
    if (read.length === MAX_READ_FILES) break;
    bytes += before + after;
    read.push(change);
  }
  return read;
}

/** Matches files that tools generate, and copies of other people's code. */
const GENERATED = [
  /\.(?:min\.(?:js|css|mjs)|map|snap|pb\.go)$|_pb2\.pyi?$|\.(?:generated|gen)\.[^/]+$/,
  /(?:^|\/)(?:dist|vendor|node_modules|third_party|__snapshots__|__generated__)\//,
];

/** Returns true if the file is generated or copied, so that nobody reviews its lines. */
export function isGenerated(path: string): boolean {
  return isLockFile(path) || GENERATED.some((pattern) => pattern.test(path));
}
