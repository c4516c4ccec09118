import { z } from 'zod';
import type { Folder } from '../folder.ts';
import { countSchema } from '../policy.ts';
import { capText, flattenText } from '../text/phrase.ts';
import { inspectLockFile } from './lock-files.ts';
import { type FileFinding, type LookAtKind, lookAtKinds, reviewManifest } from './manifest.ts';
import {
  changesTestSettings,
  countInTests,
  isGenerated,
  isLockFile,
  isManifest,
  isTestFile,
  mayHoldTests,
  readsTexts,
} from './test-files.ts';

/** Path rules per kind. Letter case is ignored because some file systems ignore it. */
const rules: readonly { readonly kind: LookAtKind; readonly pattern: RegExp }[] = [
  {
    kind: 'test-settings',
    pattern:
      /(?:^|\/)(?:vitest|vite|jest|karma|playwright|cypress|wdio|ava|mocha|web-test-runner|nightwatch|testcafe|jasmine|protractor|testem|codecept)(?:[.-][\w-]+)*(?:[.-](?:config|workspace|conf|[\w-]*setup|presets?|projects?)\.[^/]+|\.(?:json5?|ya?ml|toml))$/i,
  },
  {
    kind: 'test-settings',
    pattern:
      /(?:^|\/)(?:testem\.[cm]?js|\.mocharc[^/]*|\.nycrc[^/]*|\.c8rc[^/]*|\.taprc|\.?pytest\.(?:ini|toml)|\.?tox\.(?:ini|toml)|noxfile\.py|conftest\.py|\.stestr\.conf|phpunit(?:\.[\w-]+)?\.xml(?:\.dist)?|codeception[^/]*\.ya?ml|behat\.ya?ml|\.rspec|\.simplecov|\.coveragerc|nextest\.toml|\.cargo\/config(?:\.toml)?|[^/]*\.runsettings|xunit\.runner\.json|testconfig\.json|Directory\.Build\.(?:props|targets)|\.mvn\/.*|junit-platform\.properties|CTest[^/]*\.cmake|dart_test\.yaml|tests\.edn|\.busted)$/i,
  },
  {
    kind: 'task-runner',
    pattern:
      /(?:^|\/)(?:(?:GNU)?Makefile|[^/]+\.mk|\.?justfile|Taskfile\.(?:dist\.)?ya?ml|Rakefile|[^/]+\.rake|magefile\.go|tasks\.py|build\.xml|(?:[\w-]+[-_.])?(?:tests?|check|verify|ci)(?:[-_.][\w-]+)?\.(?:sh|bash|ps1|cmd|bat))$/i,
  },
  {
    kind: 'task-runner',
    pattern:
      /(?:^|\/)(?:bin|scripts?|ci|hack|tools?|dev)\/(?:run[-_])?(?:tests?|check|verify|ci)(?:[-_][\w-]+)?(?:\.(?:py|rb|[cm]?[jt]s))?$/i,
  },
  // The commands of each iteration of a later run.
  { kind: 'task-runner', pattern: /(?:^|\/)\.ralph\/(?:config|configs\/.*)\.(?:json|ya?ml)$|^config\.yaml$/i },
  // npm and Cargo run the first of these files when they build; Python and consoles run the others at each start.
  {
    kind: 'script-by-itself',
    pattern:
      /(?:^|\/)(?:binding\.gyp|package\.(?:json5|ya?ml)|build\.rs|(?:site|user)customize\.py|[^/]+\.pth|\.(?:Rprofile|ghci|ocamlinit|iex\.exs|pdbrc|irbrc|pryrc|gdbinit|lldbinit))$/i,
  },
  { kind: 'action', pattern: /(?:^|\/)action\.ya?ml$/i },
  {
    kind: 'other-ci',
    pattern:
      /(?:^|\/)(?:\.gitlab-ci[^/]*\.ya?ml|\.?azure-pipelines[^/]*\.ya?ml|\.travis\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.?appveyor\.ya?ml|\.cirrus\.(?:ya?ml|star)|wercker\.ya?ml|codefresh\.ya?ml|buildspec\.ya?ml|cloudbuild\.ya?ml|\.woodpecker\.ya?ml|Jenkinsfile[^/]*|\.zuul\.ya?ml|(?:\.builds|bamboo-specs|\.circleci|\.buildkite|\.semaphore|\.teamcity|\.woodpecker|\.gitlab|\.azure-pipelines|\.gitea|\.forgejo|\.tekton)\/.*)$/i,
  },
  {
    kind: 'git-hook',
    pattern:
      /(?:^|\/)(?:(?:\.husky|\.githooks|\.git-hooks|\.lefthook)(?:\/.*)?|\.simple-git-hooks\.[^/]+|\.overcommit\.ya?ml|\.?lefthook[^/]*\.(?:ya?ml|toml|json)|\.pre-commit-config\.ya?ml|\.pre-commit-hooks\.ya?ml|\.(?:lintstagedrc|huskyrc)[^/]*)$/i,
  },
  {
    kind: 'editor',
    pattern:
      /(?:^|\/)(?:(?:\.vscode|\.idea|\.zed|\.fleet)(?:\/.*)?|[^/]+\.(?:code-workspace|sublime-project)|\.exrc|\.n?vimrc|\.nvim\.lua)$/i,
  },
  {
    kind: 'machine',
    pattern: /(?:^|\/)(?:\.devcontainer(?:\/.*)?|\.?devcontainer\.json|\.gitpod\.(?:ya?ml|dockerfile))$/i,
  },
  {
    kind: 'shell',
    pattern: /(?:^|\/)(?:\.envrc(?:\.[\w-]+)?|\.?mise(?:\.[\w-]+)*\.toml|(?:\.mise|mise|\.config\/mise)\/.*)$/i,
  },
  {
    kind: 'package-source',
    pattern:
      /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmrc|\.?pnpmfile\.[cm]?js|\.pnp\.c?js|pnpm-workspace\.yaml|bunfig\.toml|\.pypirc|pip\.(?:conf|ini)|\.?(?:uv|poetry|pdm|hatch)\.toml|\.condarc|\.gemrc|\.bundle\/config|nuget\.config|\.netrc|\.curlrc|init\.gradle(?:\.kts)?|gradle\.properties|verification-(?:metadata\.xml|keyring\.\w+)|\.bazelrc|\.bazeliskrc|\.corepack\.env|\.yarn\/(?:plugins|releases)\/.*)$/i,
  },
  {
    kind: 'dependencies',
    pattern:
      /(?:^|\/)(?:pyproject\.toml|requirements[^/]*\.(?:txt|in)|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|Cargo\.toml|go\.(?:mod|work)|Gemfile|[^/]+\.gemspec|composer\.json|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|[^/]+\.(?:cs|fs|vb)proj|Directory\.Packages\.props|Package\.swift|Podfile|mix\.exs|pubspec\.yaml|deno\.jsonc?|import_map\.json|MODULE\.bazel|WORKSPACE(?:\.bazel)?|[^/]+\.sbt|flake\.nix|(?:.*\.)?Dockerfile[^/]*)$/i,
  },
  {
    kind: 'wrapper',
    pattern:
      /(?:^|\/)(?:gradlew|mvnw|sbtx?|millw?|pants|bazelisk|buildw|amper|rebar3|tools\/bazel)(?:\.(?:bat|cmd|ps1))?$|(?:^|\/)(?:gradle|maven)-wrapper\.(?:jar|properties)$/i,
  },
  // These files name the version of the tool, and with it the program that is downloaded and started.
  {
    kind: 'wrapper',
    pattern:
      /(?:^|\/)(?:\.bazelversion|\.tool-versions|\.sdkmanrc|rust-toolchain(?:\.toml)?|global\.json|dotnet-tools\.json|project\/build\.properties)$/i,
  },
  {
    kind: 'notes',
    pattern:
      /(?:^|\/)(?:progress|learnings|memory|notes)\.(?:txt|md)$|(?:^|\/)\.ralph\/(?:learnings_archive\.md|learnings\/.*|AGENT\.md)$/i,
  },
  { kind: 'large-file-source', pattern: /(?:^|\/)\.lfsconfig$/i },
  {
    kind: 'agent-instructions',
    pattern:
      /(?:^|\/)(?:@?(?:AGENTS?|CLAUDE|GEMINI|QWEN|CRUSH|WARP|CODEX|CONVENTIONS)(?:\.\w+)?\.md|mcp\.json|\.(?:cursorrules|windsurfrules|clinerules|roorules|goosehints|rules|augment-guidelines)|(?:opencode|\.?crush)\.jsonc?|\.roomodes|copilot-instructions\.md|[^/]+\.(?:prompt|instructions|chatmode)\.md|\.aider[^/]*|SKILL\.md|(?:\.cursor|\.windsurf|\.clinerules|\.roo|\.codex|\.gemini|\.qwen|\.copilot|\.agents?|\.continue|\.junie|\.kiro|\.amazonq|\.opencode|\.trae|\.augment[\w-]*|\.goose|\.amp|\.factory|\.kilocode|memory-bank|prompts?)\/.*)$|^(?:.*\.?ralph\/)?PROMPT\.md$|(?:^|\/)\.ralph\/(?:specs\/.*|SPECS_INDEX\.md)$/i,
  },
];

/** The facts about a changed file that the rule for untested code uses. */
interface ChangedFile {
  readonly path: string;
  readonly insertions: number;
  /** The text of a test file; it may be null for other files. */
  readonly after: string | null;
}

/** Minimum number of new lines for which a test is expected; existing tests may cover fewer lines. */
const MIN_LINES = 10;

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|cs|swift|c|cc|cpp|scala|ex|exs|dart|vue|svelte|sh)$/i;

const NO_NAME_OF_ITS_OWN = /^(?:index|main|mod|lib|__init__|__main__)$/;

/** Maximum number of characters read of a test file, which imports what it tests near its beginning. */
const READ_CHARS = 32_768;

/** Published files of one kind, always shown on one line, so that they do not hide other kinds. */
export interface FilesToLookAt {
  readonly kind: LookAtKind;
  /** Number of files of this kind. */
  readonly fileCount: number;
  /** Some of the files, nearest to the root first. */
  readonly files: readonly LookAtFile[];
}

/** A named file. */
interface LookAtFile {
  readonly path: string;
  /** A short description; null if the kind says everything. */
  readonly what: string | null;
}

/** A changed file. */
export interface ReviewedChange {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly binary: boolean;
  readonly insertions: number;
  /** True if the change adds a conflict with all of its marker lines. */
  readonly marked?: boolean;
  /** Current size; null if the file no longer exists. */
  readonly bytes: number | null;
  /** True if the texts were not read because the run reached its limits for reading. */
  readonly unread: boolean;
  /** The text before the change if the rules read it; null if there is no text. */
  readonly before: string | null;
  /** The text after the change if the rules read it; null if there is no text. */
  readonly after: string | null;
}

/** Maximum number of files named per kind; further ones are only counted. */
export const MAX_NAMED_FILES = 10;

const MAX_WHAT_CHARS = 120;

/** Returns what a reviewer looks at first, by kind, most serious first. */
export function listLookAtFirst(changes: readonly ReviewedChange[]): readonly FilesToLookAt[] {
  const untested = untestedFiles(changes);
  const embedded = embeddedRepositories(changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path));
  const findings = changes.flatMap((change) =>
    [
      ...findingsIn(change),
      ...(embedded.has(change.path) ? [{ kind: 'embedded-repository', what: null } as const] : []),
      ...(untested.has(change.path) ? [{ kind: 'untested', what: null } as const] : []),
    ].map(({ kind, what }) => ({ kind, path: change.path, what })),
  );
  const byKind = Map.groupBy(findings, ({ kind }) => kind);
  return lookAtKinds.flatMap((kind) => {
    const files = [...(byKind.get(kind) ?? [])].sort((a, b) => depthOf(a.path) - depthOf(b.path));
    return files.length === 0 ? [] : [{ kind, fileCount: files.length, files: nearestToRoot(files) }];
  });
}

/** Returns the changed files outside of the folder that the run works in. */
export function listChangesOutside(folder: Folder, paths: readonly string[]): readonly FilesToLookAt[] {
  if (paths.length === 0) return [];
  const files = paths
    .map((path) => ({ path, what: `outside of ${folder}` }))
    .sort((a, b) => depthOf(a.path) - depthOf(b.path));
  return [{ kind: 'outside', fileCount: files.length, files: nearestToRoot(files) }];
}

/** Joins two lists. A file that both lists count but neither names is counted twice. */
export function combineLookAt(
  known: readonly FilesToLookAt[],
  more: readonly FilesToLookAt[],
): readonly FilesToLookAt[] {
  return lookAtKinds.flatMap((kind) => {
    const both = [...known, ...more].filter((one) => one.kind === kind);
    const files = [...new Map(both.flatMap((one) => one.files).map((file) => [file.path, file])).values()];
    const unnamed = both.reduce((sum, one) => sum + one.fileCount - one.files.length, 0);
    return both.length === 0 ? [] : [{ kind, fileCount: files.length + unnamed, files: nearestToRoot(files) }];
  });
}

const recordedSchema = z
  .array(
    z.object({
      kind: z.enum(lookAtKinds),
      fileCount: countSchema,
      files: z.array(z.object({ path: z.string() })).max(MAX_NAMED_FILES),
    }),
  )
  .max(lookAtKinds.length)
  .catch([]);

/**
 * Returns the kinds, numbers and paths of a record without its descriptions, because it may come from somebody else.
 */
export function restoreLookAt(recorded: unknown): readonly FilesToLookAt[] {
  return recordedSchema
    .parse(recorded)
    .map(({ kind, fileCount, files }) => ({ kind, fileCount, files: files.map(({ path }) => ({ path, what: null })) }));
}

function nearestToRoot(files: readonly LookAtFile[]): readonly LookAtFile[] {
  return files
    .slice(0, MAX_NAMED_FILES)
    .map(({ path, what }) => ({ path, what: what === null ? null : capText(flattenText(what), MAX_WHAT_CHARS) }));
}

function depthOf(path: string): number {
  return path.split('/').length;
}

const LARGE_BYTES = 256 * 1024;

/** Returns true if a file is a picture, a font or other media, which changes often and never runs. */
function isPicture(path: string): boolean {
  return /\.(?:png|jpe?g|gif|webp|avif|ico|bmp|tiff?|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav|pdf)$/i.test(path);
}

/** Returns at most one finding of each kind. Findings by file name need no text. */
function findingsIn(change: ReviewedChange): readonly FileFinding[] {
  const { path, kind, binary, marked, bytes } = change;
  return [
    ...(marked === true ? [{ kind: 'conflict-markers', what: null } as const] : []),
    ...(isTestFile(path) && kind === 'deleted' ? [{ kind: 'deleted-test', what: null } as const] : []),
    ...textFindings(change),
    // PyTorch stores weights in `.pth` files, an ending that Python uses for path files, so binary ones are not
    // scripts.
    ...kindsByPath(path)
      .filter((one) => !binary || one !== 'script-by-itself')
      .map((one) => ({ kind: one, what: null })),
    ...(binary && kind === 'added' ? [{ kind: 'new-binary', what: null } as const] : []),
    ...(binary && kind === 'changed' && !isPicture(path) ? [{ kind: 'changed-binary', what: null } as const] : []),
    ...(bytes !== null && bytes >= LARGE_BYTES
      ? [{ kind: 'large-file', what: `${Math.round(bytes / 1024)} KiB` } as const]
      : []),
  ];
}

function textFindings(change: ReviewedChange): readonly FileFinding[] {
  const { path, unread, before, after } = change;
  if (!readsTexts(change)) return [];
  if (unread && isLockFile(path)) return [{ kind: 'lock-file', what: 'too large to be read' }];
  if (unread)
    return [{ kind: isTestFile(path) && !isManifest(path) ? 'test-not-read' : 'manifest-not-read', what: null }];
  if (isManifest(path)) return reviewManifest(before, after);
  if (isLockFile(path)) return inspectLockFile(path, before, after);
  return [...testFindings(change), ...settingsFindings(change)];
}

function settingsFindings({ path, before, after }: ReviewedChange): readonly FileFinding[] {
  return changesTestSettings(path, before, after) ? [{ kind: 'test-settings', what: null }] : [];
}

function testFindings({ path, before, after }: ReviewedChange): readonly FileFinding[] {
  if (!mayHoldTests(path)) return [];
  const [old, now] = [countInTests(path, before ?? ''), countInTests(path, after ?? '')];
  const skips = now.skips - old.skips;
  const gone = [goneWords(old.tests - now.tests, 'test'), goneWords(old.assertions - now.assertions, 'check')].filter(
    (words) => words !== '',
  );
  return [
    ...(skips > 0 ? [{ kind: 'skipped-test', what: skips === 1 ? null : `in ${skips} places` } as const] : []),
    ...(gone.length > 0 ? [{ kind: 'weaker-test', what: gone.join('; ') } as const] : []),
  ];
}

function goneWords(lost: number, one: string): string {
  return lost <= 0 ? '' : lost === 1 ? `1 ${one} is gone` : `${lost} ${one}s are gone`;
}

/**
 * Returns the files that make a folder a bare git repository. Git treats a folder with `HEAD`, `objects/` and `refs/`
 * as a repository and runs what its `config` names.
 */
function embeddedRepositories(paths: readonly string[]): ReadonlySet<string> {
  const heads = paths.filter((path) => /(?:^|\/)HEAD$/i.test(path));
  const all = heads.length === 0 ? [] : paths.map((path) => path.toLowerCase());
  return new Set(
    heads.filter((head) => {
      const folder = head.slice(0, -'HEAD'.length).toLowerCase();
      // Git stores no empty folders, but any command can create them, so `config` next to `HEAD` is enough.
      return all.some((path) => ['config', 'objects/', 'refs/'].some((name) => path.startsWith(folder + name)));
    }),
  );
}

/** Returns the code files with at least `MIN_LINES` new lines that no changed test names. */
function untestedFiles(changes: readonly ChangedFile[]): ReadonlySet<string> {
  const code = changes.filter(({ path, insertions }) => insertions >= MIN_LINES && isCode(path));
  const names = new Set(code.map(({ path }) => moduleNameOf(path)));
  const named = new Set<string>();
  for (const { path, after } of code.length === 0 ? [] : changes.filter((change) => isTestFile(change.path)))
    for (const [word] of `${path}\n${after?.slice(0, READ_CHARS) ?? ''}`.matchAll(/[\w-]+/g)) {
      const name = plainName(word);
      if (names.has(name)) named.add(name);
    }
  return new Set(code.map(({ path }) => path).filter((path) => !named.has(moduleNameOf(path))));
}

function isCode(path: string): boolean {
  return CODE.test(path) && !isTestFile(path) && !isGenerated(path) && !/\.(?:config|d)\.[^/]+$/.test(path);
}

/** Returns the name by which tests refer to a file; for `greet/index.ts` the folder's name. */
function moduleNameOf(path: string): string {
  const [file = '', folder = ''] = path.split('/').reverse();
  const name = file.split('.', 1)[0] ?? '';
  return plainName(NO_NAME_OF_ITS_OWN.test(name) && folder !== '' ? folder : name);
}

/** Removes test affixes: `test_greet.py`, `greet_test.go` and `GreetTest.java` name `greet`. */
function plainName(word: string): string {
  return word
    .slice(0, 200)
    .replace(/^test_|_(?:test|spec)$|Tests?$/, '')
    .toLowerCase();
}

/** Returns the kinds that follow from the path alone. */
function kindsByPath(path: string): readonly LookAtKind[] {
  return rules.filter(({ pattern }) => pattern.test(path)).map(({ kind }) => kind);
}

/** Returns true if a path shows that the file decides what is tested, and how. */
export function isTestSettings(path: string): boolean {
  return kindsByPath(path).includes('test-settings');
}

/** Returns true if a file says which packages a program uses, or which scripts it has. */
export function definesPackages(path: string): boolean {
  return isManifest(path) || isLockFile(path) || kindsByPath(path).includes('dependencies');
}
