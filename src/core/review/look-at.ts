import { flatten } from '../text/one-line.ts';
import { capped } from '../text/cut.ts';
import { dependencyReasons, manifestReasons } from './manifest.ts';
import { countChecks, countSkips, isTestFile } from './test-files.ts';
import { untestedFiles } from './untested.ts';

/** A file that is published and that a reviewer looks at before all others, and why, as a short part of a sentence. */
export interface LookAt {
  readonly path: string;
  readonly why: string;
}

/** A changed file; its texts are known where `wantsTexts` asks for them, and null where there is none. */
export interface ReviewedChange {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly binary: boolean;
  readonly insertions: number;
  /** Size of what is there now; null: nothing is. */
  readonly bytes: number | null;
  readonly before: string | null;
  readonly after: string | null;
}

/** More are not named: who reads so many looks at all files. */
export const MAX_LOOK_AT = 50;
const MAX_WHY_CHARS = 120;

/** Whether the rules read a file's text, and not only its name. */
export function wantsTexts(path: string): boolean {
  return isManifest(path) || isTestFile(path);
}

/** What a reviewer looks at first, the most important first, at most 50. */
export function lookAtFirst(changes: readonly ReviewedChange[]): readonly LookAt[] {
  const untested = untestedFiles(changes);
  const found = changes.flatMap((change) =>
    [
      ...reasonsFor(change),
      ...(untested.has(change.path) ? [{ rank: UNTESTED, why: 'new code, and no changed test mentions it' }] : []),
    ].map((reason) => ({ ...reason, path: change.path })),
  );
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_LOOK_AT)
    .map(({ path, why }) => ({ path, why: capped(flatten(why), MAX_WHY_CHARS) }));
}

/** Both together, each once, at most 50. */
export function moreToLookAt(known: readonly LookAt[], found: readonly LookAt[]): readonly LookAt[] {
  const byText = new Map([...known, ...found].map((item) => [`${item.path}\n${item.why}`, item]));
  return [...byText.values()].slice(0, MAX_LOOK_AT);
}

interface Reason {
  readonly rank: number;
  readonly why: string;
}

const WEAKER_TESTS = 0;
const RUNS_UNASKED = 1;
const INSTALLS = 2;
const STEERS = 3;
const UNREADABLE = 4;
const UNTESTED = 5;

const LARGE_BYTES = 256 * 1024;

function reasonsFor(change: ReviewedChange): readonly Reason[] {
  const { path, kind, binary, before, after, bytes } = change;
  const isTest = isTestFile(path);
  const skips = countSkips(after ?? '') - countSkips(before ?? '');
  // A text that was not read says nothing.
  const lost = before === null || after === null ? 0 : countChecks(before) - countChecks(after);
  const [scripts, dependencies] = isManifest(path)
    ? [manifestReasons(before, after), dependencyReasons(before, after)]
    : [[], []];
  return [
    ...(isTest && kind === 'deleted' ? [{ rank: WEAKER_TESTS, why: 'a test file was deleted' }] : []),
    ...(isTest && skips > 0
      ? [{ rank: WEAKER_TESTS, why: skips === 1 ? 'a test is skipped' : `tests are skipped in ${skips} places` }]
      : []),
    ...(isTest && lost > 0
      ? [
          {
            rank: WEAKER_TESTS,
            why: `it checks less than before: ${lost === 1 ? '1 check is' : `${lost} checks are`} gone`,
          },
        ]
      : []),
    ...scripts.map((why) => ({ rank: why.includes('runs by itself') ? RUNS_UNASKED : WEAKER_TESTS, why })),
    ...dependencies.map((why) => ({ rank: INSTALLS, why })),
    ...pathRules.filter(({ pattern }) => pattern.test(path)).map(({ rank, why }) => ({ rank, why })),
    ...(binary && kind === 'added' ? [{ rank: UNREADABLE, why: 'a new binary file' }] : []),
    ...(bytes !== null && bytes >= LARGE_BYTES
      ? [{ rank: UNREADABLE, why: `a large file: ${Math.round(bytes / 1024)} KiB` }]
      : []),
  ];
}

function isManifest(path: string): boolean {
  return /(?:^|\/)package\.json$/.test(path);
}

/** Letter case is ignored, as some file systems do. */
const pathRules: readonly (Reason & { readonly pattern: RegExp })[] = [
  {
    rank: WEAKER_TESTS,
    why: 'it decides what is tested',
    pattern:
      /(?:^|\/)(?:(?:vitest|jest|karma|playwright|cypress|wdio|ava|mocha)\.(?:config|workspace|conf|setup)\.[^/]+|jest\.[\w-]*setup[^/]*|\.mocharc[^/]*|\.nycrc[^/]*|pytest\.ini|tox\.ini|noxfile\.py|conftest\.py|phpunit\.xml[^/]*|\.rspec|\.coveragerc)$/i,
  },
  { rank: RUNS_UNASKED, why: 'workflows may run it as an action', pattern: /(?:^|\/)action\.ya?ml$/i },
  {
    rank: RUNS_UNASKED,
    why: 'another CI system runs it',
    pattern:
      /(?:^|\/)(?:\.gitlab-ci[^/]*\.ya?ml|\.?azure-pipelines[^/]*\.ya?ml|\.travis\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.?appveyor\.ya?ml|\.cirrus\.(?:ya?ml|star)|wercker\.ya?ml|codefresh\.ya?ml|buildspec\.ya?ml|cloudbuild\.ya?ml|\.woodpecker\.ya?ml|Jenkinsfile[^/]*|(?:\.circleci|\.buildkite|\.semaphore|\.teamcity|\.woodpecker|\.gitlab|\.azure-pipelines|\.gitea|\.forgejo|\.tekton)\/.*)$/i,
  },
  {
    rank: RUNS_UNASKED,
    why: "git runs it on people's machines",
    pattern:
      /(?:^|\/)(?:(?:\.husky|\.githooks|\.git-hooks|\.lefthook)\/.*|\.?lefthook[^/]*\.(?:ya?ml|toml|json)|\.pre-commit-config\.ya?ml|\.pre-commit-hooks\.ya?ml|\.(?:lintstagedrc|huskyrc)[^/]*)$/i,
  },
  {
    rank: RUNS_UNASKED,
    why: 'editors run what it says',
    pattern: /(?:^|\/)(?:(?:\.vscode|\.idea|\.zed|\.fleet)(?:\/.*)?|[^/]+\.code-workspace)$/i,
  },
  {
    rank: RUNS_UNASKED,
    why: 'it sets up the machine of everyone who opens it',
    pattern: /(?:^|\/)(?:\.devcontainer(?:\/.*)?|\.?devcontainer\.json|\.gitpod\.(?:ya?ml|dockerfile))$/i,
  },
  { rank: RUNS_UNASKED, why: 'a shell runs it in this folder', pattern: /(?:^|\/)\.envrc$/i },
  {
    rank: RUNS_UNASKED,
    why: 'it decides where packages come from',
    pattern:
      /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmrc|\.pnpmfile\.cjs|bunfig\.toml|\.pypirc|pip\.conf|\.yarn\/(?:plugins|releases)\/.*)$/i,
  },
  {
    rank: INSTALLS,
    why: 'it decides what is installed',
    pattern:
      /(?:^|\/)(?:pyproject\.toml|requirements[^/]*\.(?:txt|in)|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|Cargo\.toml|go\.mod|Gemfile|[^/]+\.gemspec|composer\.json|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|[^/]+\.(?:cs|fs|vb)proj|Directory\.Packages\.props|Package\.swift|Podfile|mix\.exs|pubspec\.yaml|deno\.jsonc?|(?:.*\.)?Dockerfile[^/]*)$/i,
  },
  { rank: RUNS_UNASKED, why: 'it decides where large files come from', pattern: /(?:^|\/)\.lfsconfig$/i },
  {
    rank: STEERS,
    why: 'it instructs agents',
    pattern:
      /(?:^|\/)(?:(?:AGENTS|CLAUDE|GEMINI|QWEN|CRUSH|WARP|CODEX)(?:\.\w+)?\.md|\.(?:cursorrules|windsurfrules|clinerules|roorules|goosehints)|copilot-instructions\.md|[^/]+\.(?:prompt|instructions|chatmode)\.md|\.aider[^/]*|SKILL\.md|(?:\.cursor|\.windsurf|\.clinerules|\.roo|\.codex|\.gemini|\.agents?|\.continue|\.junie|\.kiro|\.amazonq|prompts?)\/.*)$|^(?:\.ralph\/)?PROMPT\.md$/i,
  },
];
