import type { LookAtKind } from './kinds.ts';

/** What the name of a file alone says of it. */
export function kindsByPath(path: string): readonly LookAtKind[] {
  return rules.filter(({ pattern }) => pattern.test(path)).map(({ kind }) => kind);
}

/** Letter case is ignored, as some file systems do. */
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
  // npm builds it as it installs.
  { kind: 'script-by-itself', pattern: /(?:^|\/)(?:binding\.gyp|package\.(?:json5|ya?ml))$/i },
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
  { kind: 'shell', pattern: /(?:^|\/)(?:\.envrc(?:\.[\w-]+)?|\.?mise(?:\.[\w-]+)*\.toml)$/i },
  {
    kind: 'package-source',
    pattern:
      /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmrc|\.pnpmfile\.cjs|\.pnp\.c?js|pnpm-workspace\.yaml|bunfig\.toml|\.pypirc|pip\.conf|\.yarn\/(?:plugins|releases)\/.*)$/i,
  },
  {
    kind: 'dependencies',
    pattern:
      /(?:^|\/)(?:pyproject\.toml|requirements[^/]*\.(?:txt|in)|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|Cargo\.toml|go\.mod|Gemfile|[^/]+\.gemspec|composer\.json|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|[^/]+\.(?:cs|fs|vb)proj|Directory\.Packages\.props|Package\.swift|Podfile|mix\.exs|pubspec\.yaml|deno\.jsonc?|(?:.*\.)?Dockerfile[^/]*)$/i,
  },
  {
    kind: 'wrapper',
    pattern:
      /(?:^|\/)(?:gradlew|mvnw|sbtx?|millw?|pants|bazelisk|buildw)(?:\.(?:bat|cmd|ps1))?$|(?:^|\/)(?:gradle|maven)-wrapper\.(?:jar|properties)$/i,
  },
  {
    kind: 'notes',
    pattern:
      /(?:^|\/)(?:progress|learnings|memory|notes)\.(?:txt|md)$|(?:^|\/)\.ralph\/(?:learnings(?:_archive)?\.md|learnings\/.*|AGENT\.md|progress\.txt)$/i,
  },
  { kind: 'large-file-source', pattern: /(?:^|\/)\.lfsconfig$/i },
  {
    kind: 'agent-instructions',
    pattern:
      /(?:^|\/)(?:(?:AGENTS?|CLAUDE|GEMINI|QWEN|CRUSH|WARP|CODEX)(?:\.\w+)?\.md|\.(?:cursorrules|windsurfrules|clinerules|roorules|goosehints|rules|augment-guidelines)|opencode\.jsonc?|copilot-instructions\.md|[^/]+\.(?:prompt|instructions|chatmode)\.md|\.aider[^/]*|SKILL\.md|(?:\.cursor|\.windsurf|\.clinerules|\.roo|\.codex|\.gemini|\.qwen|\.copilot|\.agents?|\.continue|\.junie|\.kiro|\.amazonq|\.opencode|\.trae|\.augment[\w-]*|prompts?)\/.*)$|^(?:\.ralph\/)?PROMPT\.md$/i,
  },
];
