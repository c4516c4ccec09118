/**
 * The purpose of a command of CI. `tool` changes the machine, `install` installs the project's packages, `before` is
 * anything else that tests may need, `slow` is a test that needs more than a clean clone, `change` changes the project
 * itself, and `aside` proves nothing.
 */
export type CommandPurpose = 'tool' | 'install' | 'build' | 'test' | 'slow' | 'check' | 'before' | 'change' | 'aside';

/** Splits a step's script into commands; null for a shell program, which no line of `verify` can repeat. */
export function commandsOfScript(script: string): readonly string[] | null {
  const lines = script
    .replaceAll('\r', '')
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(COMMENT, '$1').trim().replace(LAST_SEMICOLON, ''))
    .filter((line) => line !== '' && !/^set [-+]\w+( \w+)?$/.test(line));
  if (lines.some((line) => (PROGRAM.test(line) && !ONE_LINE_BLOCK.test(line)) || hasOpenQuote(line))) return null;
  // Folders and variables also apply to the lines that follow, so these lines stay one command.
  const first = lines.findIndex((line) => SETS_STATE.test(line));
  const apart = lines.length > 1 && first >= 0 ? first : lines.length;
  const joined = lines.slice(apart).filter((line) => SETS_STATE.test(line) || classifyCommand(line) !== 'aside');
  return [
    ...joinDownloads(lines.slice(0, apart)).map((line) => line.replace(/^mkdir (?!-)/, 'mkdir -p ')),
    joinCommands(joined),
  ].filter((line) => line !== '');
}

/** Joins each download with the lines up to the last one that installs a tool with it. */
function joinDownloads(lines: readonly string[]): readonly string[] {
  const [line, ...rest] = lines;
  if (line === undefined) return [];
  const [, file = null] = /^(?:wget|curl)\s(?:.*\s-\w*o\s+|.*\/)([\w.-]+)/.exec(line) ?? [];
  const last = rest.findLastIndex((one) => file !== null && one.includes(file) && classifyCommand(one) === 'tool');
  return [joinCommands([line, ...rest.slice(0, last + 1)]), ...joinDownloads(rest.slice(last + 1))];
}

/** Matches lines that change the folder or set variables for the lines that follow. */
const SETS_STATE =
  /^(?:cd|export|source|\.|pushd)(?:\s|$)|^\w+=(?:"\$\(.*\)"|(?:"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s"'$]|\$(?!\())*)$/;

/** Joins commands so that each runs only if those before it passed; an `||` in one of them concerns only that one. */
export function joinCommands(commands: readonly string[]): string {
  return commands
    .map((command) => (commands.length > 1 && HAS_ALTERNATIVE.test(command) ? `{ ${command}; }` : command))
    .join(' && ');
}

/** Matches commands with an `||` outside of quotes and groups. */
const HAS_ALTERNATIVE = /^(?:'[^']*'|"(?:\\.|[^"\\])*"|\([^()]*\)|\{ [^{}]*\}|\{(?! )|[^'"(){])*?\|\|/;

const PROGRAM =
  /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select|\{|\}|\))(?:\s|;|$)|<<|;;|^\w+\s*\(\)|[|&(\\]$/;

/** Matches a condition or a loop that ends on its own line. */
const ONE_LINE_BLOCK = /^(?:if\s.*;\s*fi|(?:for|while|until)\s.*;\s*done)$/;

/** Matches a semicolon at the end of a line that ends only a command. */
const LAST_SEMICOLON = /(?<![;\\\s])\s*;$/;

/** Matches a comment outside of quotes, with the text before it. */
const COMMENT = /^((?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^'"\\])*?)(?:^|\s)#.*$/;

function hasOpenQuote(line: string): boolean {
  const bare = line.replaceAll(/\\./g, '').replaceAll(/'[^']*'|"[^"]*"/g, '');
  return /['"]/.test(bare);
}

const MANAGER = String.raw`(?:npm|pnpm|yarn|bun|poetry|composer|uv|cargo|bundle|deno|mix|pip)`;

/** Matches commands that publish something or reach a service. */
const PUBLISHES =
  /^(?!(?:python3? -m )?(?:pip3?|luarocks|gem|npm|yarn) (?:install|i|add)\s).*\b(?:install-strip|publish|deploy|(?<!--|=|\s--?[\w-]+ )release|upload|codecov|coveralls|semantic-release|pkg-pr-new|changeset version|docker (?:push|login)|twine|goveralls|nx-cloud)\b|^(?:gh|aws|gcloud|az|netlify|vercel|fly|heroku|terraform|kubectl|helm)\s/;

/** Patterns for the purposes; the first one that matches a command is used. */
const PURPOSES: readonly (readonly [CommandPurpose, RegExp])[] = [
  ['aside', /GITHUB_(?:OUTPUT|STEP_SUMMARY)/],
  ['tool', /GITHUB_(?:ENV|PATH)|^(?:curl|wget)\s.*\|\s*(?:(?:ba|da|z)?sh|python3?)\b/],
  // A command that must fail proves nothing about a change.
  ['check', /^!\s/],
  // The names of repositories and files say nothing about the purpose, so they are not searched.
  ['before', /^(?:curl\s.*-\w*[oO]|wget|git clone|cp|ln|mkdir|touch|tar|unzip)\s/],
  ['aside', PUBLISHES],
  [
    'aside',
    // These commands only print. One that writes to a file is excluded, because later commands may need the file.
    /^(?!.*(?:\|\s*(?:sudo )?tee\s|>\s*[\w.~$][\w./~${}-]*$))(?:echo|printf|uname|lscpu|ls|cat|pwd|env|printenv|jq|head|tail|which|tree|df|free|date|true|exit|sleep|git (?:--version|diff|status|log|fetch|rev-parse))\b|^\S+ (?:--?version|-[vV]|version|--help)$|\b(?:coverage (?:combine|report|html|xml)|diff-cover)\b|^rustup (?:toolchain list|default$|-V)|^(?:python3? -m )?(?:npm|pnpm|yarn|pip3?) (?:list|ls|why|freeze)\b/,
  ],
  [
    'tool',
    /\bsudo\b|\b(?:apt|apt-get|brew|rustup|corepack|pipx(?! run)|pyenv|rbenv|sdkmanager|snap|dnf|apk)\s|^docker(?:-compose)?\s|^(?:psql|mysql|createdb|createuser|git config|(?:npm|pnpm|yarn) config|git submodule|poetry (?:config|env|self)|mix local\.|gem install|go install|cargo (?:install|binstall)|dotnet tool install|yarn set version|uv (?:python|tool) install|chmod)\b|\b(?:npm|pnpm|yarn|bun) (?:install|i|add|global add) (?:-g|--global)\b|\b(?:pip|pip3|uv pip) install (?:-U |--upgrade )?(?:pip|setuptools|wheel|tox|nox|poetry|hatch|uv|pdm|pipenv|tox-uv|virtualenv)\b|^(?:npx|pnpm(?: exec)?|yarn|bunx) playwright install/,
  ],
  [
    'change',
    new RegExp(
      `(?:[:-]fix|--fix|--write)\\b|^(?:${MANAGER}(?: pip)? (?:add|remove|rm|uninstall|require|upgrade|update|version)|bun update|sed -i|rm|mv|git (?:apply|checkout|commit|reset|clean|push|switch|merge|rebase|tag))\\b|^npm (?:i|install) (?!-|\\.)\\S`,
    ),
  ],
  // The name of a test may follow the option that leaves the tests out.
  [
    'build',
    /-DskipTests\b|-Dmaven\.test\.skip\b|\s-x test\b|--(?:disable|no|skip|without)-tests?\b|^cargo test\b.* --no-run\b/,
  ],
  [
    'install',
    /^(?:python3? -m )?(?:npm (?:ci|install|i)|pnpm (?:install|i)|yarn(?: install)?(?: --\S+)*$|yarn install|bun (?:install|i)|(?:pip|pip3|uv pip) install|uv sync|poetry install|pdm (?:install|sync)|pipenv (?:install|sync)|hatch env create|bundle install|bundle config|composer (?:install|update)|mix deps\.get|go (?:mod (?:download|verify)|get)|cargo fetch|dotnet (?:restore|tool restore)|deno install|luarocks install|opam install|(?:dart|flutter) pub get|make (?:install[-_]deps|install|deps|setup|bootstrap)(?![-\w])|lerna bootstrap|conan install|vcpkg install)\b/,
  ],
  [
    'check',
    /\b(?:lint\w*|eslint|oxlint|biome|editorconfig-checker|prettier|fmt|format(?:ting)?|mypy|pyright|pyrefly|ty check|type-?check\w*|typing|types?:check|check[-:]types|tsc|vue-tsc|clippy|vet|staticcheck|golangci-lint|ruff|black|isort|flake8|pylint|bandit|pre-commit|rubocop|standardrb|phpstan|psalm|phpcs|php-cs-fixer|credo|dialyzer|knip|spellcheck|cspell|codespell|typos|audit|licen[sc]e\w*|shellcheck|actionlint|hadolint|markdownlint|attw|publint|size-limit|manypkg|dedupe|check-unused|check-formatted|check-locked|dprint|ktlint\w*|detekt|spotless\w*|checkstyle\w*|brakeman|bundler-audit|erb_?lint|database_consistency|dart analyze|flutter analyze)\b/,
  ],
  [
    'slow',
    /\b(?:e2e|end-to-end|integration|playwright|cypress|browser|browserstack|chrome|firefox|smoke|perf\w*|bench(?:mark)?s?|fuzz\w*|mutation|infection|stryker)\b/,
  ],
  [
    'test',
    /\b(?:tests?|(?<!\.)specs?|pytest|unittest|tox|nox|ctest|run_?tests?|busted|eunit|rebar3 ct|ginkgo|shellspec|cucumber|tap|uvu|unit|jest|vitest|mocha|ava|karma|phpunit|simple-phpunit|pest|rspec|minitest|rcmdcheck|nextest|gotestsum|prove|testacular|behave)\b|:test\b|\btest[:\w-]+|\b(?:mvnw?|mvnd)\b.*\b(?:verify|install|test)\b|\bgradlew?\b.*\b(?:build|check|test)\b|^(?:bundle exec )?rake(?: [A-Z]\w*=\S+)*$|^\.\/build(?:\.sh)?$|\bmake\b.*(?:test|\bcheck(?:\s|$))|^(?:npm|pnpm|yarn|bun|make) (?:run )?(?:ci|verify)$/,
  ],
  ['check', /\bcheck\b/],
  [
    'aside',
    /(?<!-(?:disable|no|skip|without)-)\b(?:docs?|documentation|rdoc|yard|rustdoc|mkdocs|sphinx-build|jekyll)\b/,
  ],
  [
    'build',
    /\b(?:build|compile|generate|codegen|assemble|pack|package|prepare|bundle|transpile|dist)\b|^cmake\b|^make$|^(?:\.\/)?configure\b|^\.\/autogen\.sh\b|^ninja\b|^meson\b|\bprotoc\b/,
  ],
  ['aside', /version/i],
];

/** Returns the purpose of a command; for several commands in one line, the purpose that comes first in `order`. */
export function classifyCommand(command: string): CommandPurpose {
  const parts = command
    .split(/ && | ; |;\s*(?:then|else|do|fi|done)\b\s*/)
    .map((part) => part.trim())
    .filter((part) => !/^(?:popd|if|elif|for|while|until)(?:\s|$)|^$/.test(part) && !SETS_STATE.test(part))
    .map((part) => part.replace(VARIABLES, ''));
  const purposes = parts.map((part) => {
    // An option may name a check that it disables, so options are removed.
    const bare = part.replaceAll(/\s-x\s+\S+/g, '').replaceAll(/\s-(?!-check)\S+/g, '');
    const isMet = ([purpose, pattern]: (typeof PURPOSES)[number]): boolean =>
      pattern.test(purpose === 'check' || purpose === 'slow' ? bare : part);
    return PURPOSES.find(isMet)?.[0] ?? 'before';
  });
  // Commands that only print say nothing about the commands beside them.
  const isAside = purposes.every((purpose) => purpose === 'aside') || parts.some((part) => PUBLISHES.test(part));
  if (isAside && purposes.includes('aside')) return 'aside';
  const order: readonly CommandPurpose[] = ['change', 'test', 'slow', 'check', 'build', 'install', 'tool'];
  return order.find((purpose) => purposes.includes(purpose)) ?? 'before';
}

const VARIABLES = /^(?:[A-Za-z_]\w*=(?:'[^']*'|"[^"]*"|\S*)\s+)+/;

/** Returns the programs that the commands start and that an agent may need, by the names that a tool rule can have. */
export function listPrograms(commands: readonly string[]): readonly string[] {
  const words = commands.flatMap((command) =>
    command
      .replaceAll(/'[^']*'|"[^"]*"/g, "''")
      .split(/&&|\|\||[;|()]/)
      .map((part) =>
        part
          .trim()
          .replace(/^(?:if|then|else|while|until|do)\s+/, '')
          .replace(VARIABLES, ''),
      )
      .flatMap((part) => /^(\.?[\w./-]+)(?:\s|$)/.exec(part)?.[1] ?? []),
  );
  return [...new Set(words)].filter((word) => !NO_PROGRAM.test(word));
}

const NO_PROGRAM =
  /^(?:sudo|sh|bash|zsh|eval|exec|script|unbuffer|source|\.|cd|export|mkdir|rm|mv|cp|curl|wget|docker|ssh|env|echo|cat|test|set|true|false|git|npx|bunx|for|fi|done)$/;

/**
 * Returns the variables that commands read but do not set; a step of the set-up may set them. Names that may stand for
 * a credential are left out.
 */
export function findOpenVariables(texts: readonly string[], set: ReadonlySet<string>): readonly string[] {
  const all = texts.map((text) => text.replaceAll(/'[^']*'/g, '')).join('\n');
  const names = [...all.matchAll(/\$\{?([A-Z][A-Z0-9_]*)\b(?!:?-)/g)].map(([, name = '']) => name);
  const isSet = (name: string): boolean => set.has(name) || new RegExp(`\\b${name}=`).test(all);
  return [...new Set(names)].filter((name) => !isSet(name) && !JOB_VARIABLE.test(name));
}

/** Returns the variables that commands of the set-up give to the steps after them. */
export function findGivenVariables(setUp: readonly string[]): readonly string[] {
  const given = setUp.flatMap((line) => [
    ...line.matchAll(/\b(?:echo|printf) [\\"']*([A-Z][A-Z0-9_]*)=(?:(?!\becho\b).)*GITHUB_ENV/g),
  ]);
  return given.map(([, name = '']) => name).filter((name) => !JOB_VARIABLE.test(name));
}

const JOB_VARIABLE =
  /^(?:CI|HOME|PATH|PWD|OLDPWD|USER|SHELL|TMPDIR|LANG|(?:GITHUB|RUNNER|ACTIONS|INPUT|BASH)_\w+|\w*(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\w*)$/;
