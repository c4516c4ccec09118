import { readdirSync } from 'node:fs';
import { normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/countdown.ts';
import { DEFAULTS } from '../../../src/config/setting-table.ts';
import { commands } from '../cli/fixture.ts';
import { PAGES, read } from './pages.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

type Row = readonly [words: string, ...values: readonly number[]];

const SAMPLES = readdirSync(`${ROOT}test/samples/repositories`).length;

/** By page, or by command for its help: words with `#` for each number, and the numbers' values in the code. */
const TABLE: Readonly<Record<string, readonly Row[]>> = {
  'README.md': [
    // An idle run of the hourly schedule is billed as one minute.
    ['about # runner minutes a month', 24 * 30],
  ],
  'docs/command-line.md': [
    ['newest # are kept, # MiB at most', of('home/log-files', 'most'), mib('home/log-files', 'mostBytes')],
    ['last # lines of the newest log', of('cli/monitor/local/read-local', 'SHOWN_LINES')],
    ['for at most # minutes', minutes('wiring/doctor/trials', 'VERIFY_MS')],
    ['about # MB on disk', of('cli/sandbox/sandbox', /about (\d+) MB on disk/)],
    ['(# to # MB)', 100, of('../testbed/story', /\(100 to (\d+) MB/)],
  ],
  'docs/costs-and-plans.md': [
    ['within # days', days('core/snapshot/stored-pull', 'REVERT_WITHIN_MS')],
    ['newest # pull requests', of('core/snapshot/stored-pull', 'MAX_PULLS')],
    ['lost nothing in # runs or more', of('core/tuning/tuning', 'RUNS_TO_RECOMMEND')],
    ['more than # groups', of('core/forecast/forecast', 'MAX_UNRELATED_BOXES')],
  ],
  'docs/decisions/README.md': [
    [
      'up to # MiB',
      mib('agents/reading/capped-bytes', 'HEAD_BYTES') + mib('agents/reading/capped-bytes', 'TAIL_BYTES'),
    ],
  ],
  'docs/proof.md': [
    ['takes at most # minutes', minutes('core/proof/judge', 'QUICK_MS')],
    ['signs at most # commits', of('git/remote/sign', 'MAX_SIGNED_COMMITS')],
  ],
  'docs/how-it-stops.md': [
    ['# claims that everything', of('core/lane/circuit', 'WINDOW_SIZE')],
    ['next try is after # minutes', minutes('core/agents/providers', /isNaN\(reported\) \? now \+ (\w+)/)],
    ['waits for # days', days('core/agents/providers', 'MAX_USAGE_WAIT_MS')],
    ['up to # hours', hours('core/tasks/ids', 'MAX_WAIT_MS')],
    ['tried every # hours', hours('core/lane/verification', 'REVERIFY_MS')],
    ['in a clean clone still gets # min', minutes('loop/verification', 'MIN_CLEAN_VERIFY_MS')],
    ['SIGKILL # s later', seconds('processes/run-program', 'STOP_GRACE_MS')],
    ['| issue text | # characters', of('core/text/clean', 'MAX_TEXT_CHARS')],
    [
      '# characters, at most # of them notes',
      of('core/prompt/prompt', 'MAX_CONTEXT'),
      of('core/prompt/prompt', 'MAX_LEARNINGS'),
    ],
    ['`…` + # min', minutes('core/sharing/lease', 'PUBLISH_MS')],
    ['| state | # KiB', kib('core/lane/state/state', 'MAX_STATE_BYTES')],
    ['| transcript | # MiB', mib('core/lane/state/state', 'MAX_SESSION_BYTES')],
    [
      '# s to restore, # s to save',
      seconds('state/cache-store', 'restoreTimeoutMs'),
      seconds('state/cache-store', 'saveTimeoutMs'),
    ],
    ['# s per request, # retries', seconds('github/client', 'requestMs'), of('github/client', 'retries')],
    ['| cancelling | # s', of('wiring/machine', /within (\d+) s of that signal/)],
    ['then has # s to publish', seconds('entries/finish-run', 'publishMs')],
    [
      'at least # of the last # iterations',
      of('core/lane/decide', 'INDICATORS_TO_COMPLETE'),
      of('core/lane/circuit', 'WINDOW_SIZE'),
    ],
  ],
  'docs/inputs-and-outputs.md': [
    ['Keep it # minutes below', of('core/doctor/step-findings', 'EXTRA_MINUTES')],
    ['takes at most # minutes', minutes('core/proof/judge', 'QUICK_MS')],
    ['at least # characters', of('config/input-schema', /'notify-webhook-secret',[^]*?length >= (\d+)/)],
  ],
  'docs/internals.md': [
    ['README.md has at most # words', of('../test/unit/documents/documents.test', /'README\.md', (\d+)/)],
    ['lines of # characters', numberIn('.oxfmtrc.json', /"printWidth": (\d+)/)],
    ['more than # files side by side', of('../test/unit/house.test', /more than (\d+) source files/)],
    ['runs # jobs at a time', numberIn('scripts/ci.mjs', /AT_ONCE = (\d+)/)],
    [
      'SIGTERM after # s, SIGKILL after # s',
      seconds('../testbed/runner', 'TERM_AFTER_MS'),
      seconds('../testbed/runner', 'KILL_AFTER_MS'),
    ],
    ['fewer than # % of them', numberIn('stryker.config.json', /"break": (\d+)/)],
    ['[# repositories]', SAMPLES],
    ['body above # characters', of('github/pull-requests', 'MAX_BODY_CHARS')],
  ],
  'docs/pipelines.md': [
    [
      'at most #; the delay (# s) doubles up to # s',
      of('core/pipeline/file-schema', 'MAX_RETRIES'),
      seconds('core/pipeline/parse-pipeline', 'DEFAULT_RETRY_MS'),
      seconds('core/pipeline/step-output', 'MAX_DOUBLED_DELAY_MS'),
    ],
    [
      'failures in a row (#) skip the step until `…` (# s)',
      of('core/pipeline/parse-pipeline', /BREAKER: \w+ = \{ threshold: (\d+)/),
      seconds('core/pipeline/parse-pipeline', /BREAKER: .*resetAfterMs: (\w+)/),
    ],
    ['waits for up to # minutes', minutes('core/loop/next-action', 'MAX_SHORT_WAIT_MS')],
    [
      'up to # texts of # to # characters',
      ...['MAX_TEXTS', 'MIN_TEXT_CHARS', 'MAX_TEXT_CHARS'].map((name) => of('core/analysis/done-signals', name)),
    ],
    ['up to # paths', of('core/analysis/done-signals', 'MAX_MARKERS')],
  ],
  'docs/recipes.md': [
    [
      "of the agent's job (#)",
      of('../scripts/reusable-workflow', /timeout-minutes: \{ type: string, default: '(\d+)'/),
    ],
    [`git ${of('git/git', /OLDEST_GIT = \[(\d+)/)}.${of('git/git', /OLDEST_GIT = \[\d+, (\d+)/)} or newer`],
    ['# repositories', SAMPLES],
    ['at most # s of a run', seconds('runner/webhook', 'WITHIN_MS')],
    ['at most # s of each job', seconds('runner/send-spans', 'WITHIN_MS')],
  ],
  'docs/reviews-and-checks.md': [
    ['of the checks, at most #.', of('core/feedback/memory', 'MAX_CHECKS')],
    [
      'at most # lines and # characters',
      of('core/feedback/checks/check-task', 'MAX_LOG_LINES'),
      of('core/feedback/checks/check-task', 'MAX_LOG_CHARS'),
    ],
    ['on the newest # commits', 1 + of('github/feedback/pull-request-query', 'EARLIER_COMMITS')],
    ['or after # hours', hours('core/sharing/waiting-issues', 'LOOK_AGAIN_MS')],
    ['more than # minutes', minutes('loop/feedback/lock-files', 'TOOL_MS')],
  ],
  'docs/scale.md': [
    ['run it every # hours', of('../bench/fleet/fleet', /hours: ([2-9]\d*),/)],
    [
      'token has # an hour for each repository, of which # may write',
      of('../bench/fleet/fleet', /'requests', most: (\w+)/),
      of('../bench/fleet/fleet', /'writes', most: (\w+)/),
    ],
    [
      'its # are enough for # repositories, its # writes',
      of('../bench/fleet/fleet', /App's requests", most: (\w+)/),
      of('../bench/fleet/fleet', /SIZES = .* (\w+)\]/),
      of('../bench/fleet/fleet', /App's writes", most: (\w+)/),
    ],
    ['# tasks a week', of('../bench/fleet/fleet', 'tasksAWeek')],
    ['# calls of # minutes', of('../bench/fleet/fleet', 'callsOfTask'), of('../bench/fleet/fleet', 'callMinutes')],
    [
      `$${of('../bench/fleet/fleet', 'callUsd').toFixed(2)} for each, # minutes of set-up`,
      of('../bench/fleet/fleet', 'setUpMinutes'),
    ],
  ],
  'docs/security.md': [
    ['more than # MiB', mib('git/inspection/inspection', 'MAX_SEARCHED_BYTES')],
    ['at most # processes', of('isolation/namespaces/sandbox-of', 'MAX_PROCESSES')],
    [
      `ports from ${of('core/isolation/hosts', 'FIRST_LOCAL_PORT')}, at most #`,
      of('core/isolation/hosts', 'MAX_LOCAL_PORTS'),
    ],
    ['for # days', of('../scripts/reusable-workflow', /ralph-journal-.*retention-days: (\d+)/)],
    [
      'up to # files and # GiB',
      of('core/local/ignored-copies', /copyLimits.* files: (\w+)/),
      of('core/local/ignored-copies', /bytes: ([\d* ]+) \}/) / 2 ** 30,
    ],
    ['# minutes after `…`', minutes('wiring/guard', 'GRACE_MS')],
  ],
  'docs/state.md': [
    ['the last # changes', of('core/lane/session', 'MAX_TRANSITIONS')],
    ['# days of usage', of('core/lane/ledger', 'MAX_LEDGER_DAYS')],
    ['the last # runs', of('core/snapshot/stored-run', 'MAX_RUNS')],
    ['the last # pull requests', of('core/snapshot/stored-pull', 'MAX_PULLS')],
    ['journals, packed, up to # KiB', kib('core/snapshot/stored-run', 'MAX_JOURNALS_CHARS')],
    [
      'more than # days or # commits',
      days('git/refs/ref-snapshot', 'OLDEST_HISTORY_MS'),
      of('git/refs/ref-snapshot', 'MAX_HISTORY_COMMITS'),
    ],
  ],
  'docs/tasks-and-branches.md': [
    ['larger than # MiB', mib('git/checkout/texts', 'MAX_TASK_FILE_BYTES')],
    ['at most # times in 24 hours', of('core/people/notifications', 'MAX_NOTIFICATIONS_PER_DAY')],
    ['up to # characters below its heading', of('core/prompt/prompt', 'MAX_PATTERNS')],
    ['more than # characters are compacted', of('core/prompt/learnings', 'MAX_LEARNINGS_CHARS')],
  ],
  'ralph status': [['the last # days', of('core/lane/ledger', 'MAX_LEDGER_DAYS')]],
  'ralph history': [['within # days', days('core/snapshot/stored-pull', 'REVERT_WITHIN_MS')]],
  'ralph monitor': [['every # seconds', seconds('cli/monitor/source', 'ALL_MS')]],
  'ralph tune': [['in # runs or more', of('core/tuning/tuning', 'RUNS_TO_RECOMMEND')]],
  'ralph doctor': [['at most # minutes', minutes('wiring/doctor/trials', 'VERIFY_MS')]],
};

/** Numbers that no constant holds: those of GitHub, Linux, Claude Code and other projects, goals, and what was measured once. */
const OTHERS: readonly string[] = [
  ...['after 7 days without access, or beyond 10 GB', 'after 60 days without activity'],
  ...['step summary above 1 MiB', 'holds at most 128 KiB', 'for up to 10 minutes after its result'],
  ...['2 checks', '4 test runs', '2 test runs'],
  ...['below 4 minutes', 'below 8 minutes', '1.2 GB', '94.0 % of', 'about 550 MB'],
];

/** Numbers that count what their sentence lists. */
const COUNTED: readonly string[] = [
  ...['3 scheduled runs', '3 times, in jobs', '2 runs at once', '2 runs apart', '2 runs in each order'],
];

describe('numbers with a unit', () => {
  test.each(Object.entries(TABLE).flatMap(([page, rows]) => rows.map((row) => ({ page, row, words: row[0] }))))(
    'of $page are those of the code: $words',
    ({ page, row }) => {
      expect(textOf(page)).toContain(filled(row));
    },
  );

  const pages = [...PAGES.filter((path) => path !== 'CHANGELOG.md'), ...commands.map(({ name }) => `ralph ${name}`)];

  test.each(pages)('of %s are in the table', (page) => {
    const rows = (TABLE[page] ?? []).map(filled);
    const left = [...rows, ...OTHERS, ...COUNTED].reduce(without, textOf(page));
    expect([...left.matchAll(WITH_UNIT)].map(([words]) => words)).toEqual([]);
  });

  test('that no constant holds are on a page', () => {
    const texts = pages.map(textOf).join('\n');
    expect([...OTHERS, ...COUNTED].filter((words) => !texts.includes(words))).toEqual([]);
  });
});

const UNITS =
  's|ms|min|h|GB|MB|[KMG]iB|%|(?:second|minute|hour|day|week|month|time|character|word|line|file|commit|change|process|port|path|text|task|iteration|call|request|retry|failure|claim|check|branch|round|run|repository|row|try)(?:s|es)?|retries|processes|branches|tries|repositories';

/** A number with a unit, or with one word before the unit. */
const WITH_UNIT = new RegExp(
  String.raw`(?<![\w#.,-])\$?\d[\d,.]*(?: |-)?(?:(?!the\b)[a-z]+ )?(?:${UNITS})(?![\w-])`,
  'g',
);

const WORDS = 'two three four five six seven eight nine ten eleven twelve'.split(' ');

/** Returns a page's text with digits for its numbers, and without code, link targets and generated tables. */
function textOf(page: string): string {
  const help = commands.find(({ name }) => page === `ralph ${name}`)?.help;
  return (help?.replaceAll(/\s+/g, ' ') ?? read(page))
    .replaceAll(/^ *```[^]*?^ *```$/gm, '')
    .replaceAll(/<!-- (\w+) -->[^]*<!-- \/\1 -->/g, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/(\$?\d[\d,.]*)[^\d`.;:()|]*\(`([a-z-]+)`\)/g, (all, _, name: string) => (name in DEFAULTS ? '…' : all))
    .replaceAll(/\$?\d[\d,.]*[^\d`;|]*, `([a-z-]+)`/g, (all, name: string) => (name in DEFAULTS ? '…' : all))
    .replaceAll(/`[^`]*`/g, '`…`')
    .replaceAll(new RegExp(String.raw`\b(?:${WORDS.join('|')})\b`, 'gi'), (word) =>
      String(WORDS.indexOf(word.toLowerCase()) + 2),
    );
}

function without(text: string, words: string): string {
  return text.replaceAll(words, '…');
}

function filled([words, ...values]: Row): string {
  const left = [...values];
  return words.replaceAll('#', () => (left.shift() ?? Number.NaN).toLocaleString('en-US'));
}

/** Returns a number of a source file, by the name of a constant or property, or by what a pattern captures. */
function of(path: string, name: string | RegExp): number {
  const pattern =
    typeof name === 'string' ? new RegExp(String.raw`\b${name}(?:: \w+)? ?[=:] ?(\d[\w. *]*|[A-Z]+_MS)`) : name;
  return numberIn(`src/${path}.ts`, pattern);
}

/** Returns the number that a pattern captures, which may be a product such as `10 * MINUTE_MS`. */
function numberIn(path: string, pattern: RegExp): number {
  const factors = pattern
    .exec(read(normalize(path)))?.[1]
    ?.trim()
    .split(' * ')
    .map(factor);
  return factors?.reduce((product, value) => product * value, 1) ?? Number.NaN;
}

function factor(text: string): number {
  const [base = '', power = '1'] = text.split(' ** ');
  const units: Readonly<Record<string, number>> = { MINUTE_MS, HOUR_MS, DAY_MS };
  return (units[base] ?? Number(base.replaceAll('_', ''))) ** Number(power);
}

function seconds(...place: Parameters<typeof of>): number {
  return of(...place) / 1000;
}

function minutes(...place: Parameters<typeof of>): number {
  return of(...place) / MINUTE_MS;
}

function hours(...place: Parameters<typeof of>): number {
  return of(...place) / HOUR_MS;
}

function days(...place: Parameters<typeof of>): number {
  return of(...place) / DAY_MS;
}

function kib(...place: Parameters<typeof of>): number {
  return of(...place) / 1024;
}

function mib(...place: Parameters<typeof of>): number {
  return of(...place) / 1024 ** 2;
}
