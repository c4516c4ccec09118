import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OTHER_RALPH_KEYS } from '../../../src/config/settings/keys.ts';
import { describeLayout, LAYOUT_PATHS } from '../../../src/core/layouts/found-files.ts';
import { identifyLayout } from '../../../src/core/layouts/layouts.ts';
import { taskSourceNames } from '../../../src/core/tasks/ids.ts';
import { filesOf, RALPHS, type Ralph } from '../../ralphs.ts';
import { DEFAULTS, SETTING_NAMES } from '../../../src/config/setting-table.ts';
import { tablesUnder, tableUnder } from './pages.ts';

const PAGE = 'docs/moving.md';
const settings = tableUnder(PAGE, '## Settings');

/** Returns the code spans of a cell. */
const codeIn = (cell: string | undefined): readonly string[] =>
  [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** Settings of other Ralphs that the action promises to know. */
const PROMISED =
  `PROJECT_NAME PROJECT_TYPE MAX_CALLS_PER_HOUR MAX_TOKENS_PER_HOUR CLAUDE_TIMEOUT_MINUTES CLAUDE_OUTPUT_FORMAT
  CLAUDE_CODE_CMD ALLOWED_TOOLS SESSION_CONTINUITY SESSION_EXPIRY_HOURS RALPH_VERBOSE CB_NO_PROGRESS_THRESHOLD
  CB_SAME_ERROR_THRESHOLD CB_OUTPUT_DECLINE_THRESHOLD CB_PERMISSION_DENIAL_THRESHOLD CB_COOLDOWN_MINUTES CB_AUTO_RESET
  TASK_SOURCES GITHUB_TASK_LABEL OPTIONAL_SECTIONS TEST_COMMAND QUALITY_GATES PERMISSION_DENIAL_MODE REVIEW_MODE
  MAX_CONSECUTIVE_TEST_LOOPS MAX_CONSECUTIVE_DONE_SIGNALS TEST_PERCENTAGE_THRESHOLD`.split(/\s+/);

describe('the settings of other Ralphs', () => {
  const named = settings.flatMap(([cell]) => codeIn(cell));

  test('are in the table, each once: those that are promised, and those of the samples', () => {
    const used = RALPHS.flatMap((ralph) =>
      Object.entries(filesOf(ralph))
        .filter(([path]) => path.endsWith('.ralphrc'))
        .flatMap(([, text]) => [...text.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name)),
    );
    expect(used.length).toBeGreaterThan(50);
    expect([...PROMISED, ...used].filter((name) => !named.includes(name))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  test('are in the table: every one that is known here, with its other names and beside its input', () => {
    const rowOf = (name: string): readonly string[] => settings.find(([cell]) => codeIn(cell).includes(name)) ?? [];
    expect(
      OTHER_RALPH_KEYS.flatMap(({ name, aliases }) => [name, ...aliases]).filter((name) => !named.includes(name)),
    ).toEqual([]);
    const elsewhere = OTHER_RALPH_KEYS.filter(
      ({ name, input }) => input !== null && !codeIn(rowOf(name)[1]).includes(input),
    );
    expect(elsewhere.map(({ name, input }) => `${name}: ${String(input)}`)).toEqual([]);
  });

  test('lead to inputs that exist', () => {
    /** Values of inputs and settings, and words that are not inputs. */
    const others = [
      ...['resume', 'fresh', 'true', 'false', 'continue', 'halt', 'count', 'threshold'],
      ...['local', 'plan,prd', 'beads', 'github', 'issues', 'claude', 'if:', 'ralph:done', '.ralph/'],
    ];
    const words = settings.flatMap(([, cell]) => codeIn(cell)).filter((word) => /^[a-z.]+([-,:/][a-z]*)*$/.test(word));
    const inputs = SETTING_NAMES;
    expect(words.filter((word) => !inputs.includes(word) && !others.includes(word))).toEqual([]);
    expect(words.filter((word) => inputs.includes(word)).length).toBeGreaterThan(30);
  });
});

/** The section of each tool; `own` matches the files of its sample that belong to the project itself. */
const SECTIONS: Readonly<Record<Ralph, { readonly headings: readonly string[]; readonly own: RegExp }>> = {
  'ralph-claude-code': { headings: ['## ralph-claude-code'], own: /^(src|test)\/|^README\.md$|^package\.json$/ },
  // The loop of bmalph is that of ralph-claude-code.
  bmalph: {
    headings: ['## bmalph', '## ralph-claude-code'],
    own: /^(src|test)\/|^README\.md$|^package\.json$|^CLAUDE\.md$/,
  },
  'go-ralph': { headings: ['## The Go Ralph (wiggum)'], own: /^tool\/|^README\.md$|^INDEX\.txt$/ },
  'early-bash': { headings: ['## The early bash version'], own: /^README\.md$/ },
  snarktank: { headings: ['## snarktank/ralph'], own: /^(src|test)\/|^README\.md$|^package\.json$/ },
};

/** Returns the files named in a section's tables. */
function filesUnder(heading: string): readonly string[] {
  const tables = tablesUnder(PAGE, heading).filter(({ head: [first] }) => first === 'file');
  return tables.flatMap(({ rows }) => rows.flatMap(([cell]) => codeIn(cell)));
}

describe('every file that other Ralphs lay', () => {
  test.each(RALPHS)('in %s is in the section of its system', (ralph) => {
    const { headings, own } = SECTIONS[ralph];
    const named = headings.flatMap(filesUnder);
    const isNamed = (path: string): boolean =>
      named.some((name) => patternOf(name).test(path)) || (path !== '.' && isNamed(dirname(path)));
    const files = Object.keys(filesOf(ralph)).filter((path) => !own.test(path) && path !== '.gitignore');
    expect(files.length).toBeGreaterThan(8);
    expect(files.filter((path) => !isNamed(path))).toEqual([]);
  });

  test('is in the table of the code when it is in one of the document, and the other way round', () => {
    const headings = new Set(Object.values(SECTIONS).flatMap((section) => section.headings));
    const named = [...headings].flatMap((heading) => filesUnder(heading));
    expect(LAYOUT_PATHS.length).toBeGreaterThan(90);
    expect(LAYOUT_PATHS.filter((path) => !named.includes(path))).toEqual([]);
    expect([...new Set(named)].filter((path) => !LAYOUT_PATHS.includes(path))).toEqual([]);
  });

  test.each(RALPHS)('in %s is named by a run, and nothing else is', (ralph) => {
    const files = Object.keys(filesOf(ralph));
    const folders = files.flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)));
    const paths = [...new Set([...files, ...folders])];
    const layout = identifyLayout(paths);
    if (layout === null) throw new Error('No layout is recognised.');
    const said = describeLayout(layout, {
      ...{ paths, links: [], texts: filesOf(ralph), steps: {}, promptFile: '.ralph/PROMPT.md' },
      taskSources: taskSourceNames,
      folder: '',
    });
    const isSaid = (path: string): boolean =>
      said.some((line) => line.includes(`\`${path}\``)) || (path !== './' && isSaid(`${dirname(path)}/`));
    const { own } = SECTIONS[ralph];
    const foreign = files.filter((path) => !own.test(path) && path !== '.gitignore');
    // The settings file has its own table rows.
    expect(foreign.filter((path) => !isSaid(path) && !path.endsWith('.ralphrc'))).toEqual([]);
    const names = said.slice(1).flatMap((line) => codeIn(line.split(': ').slice(0, 2).join(': ')));
    const notPaths = ['ralph run', 'ralph init', 'ralph import', 'steps', '.ralph/', 'branchName'];
    expect(names.filter((name) => !paths.includes(name) && !notPaths.includes(name))).toEqual([]);
    expect(said.length).toBeLessThan(25);
    expect(Math.max(...said.map(({ length }) => length))).toBeLessThan(480);
  });

  /** Returns a name as an expression: `*` matches any part of a name; a folder ends with a slash. */
  function patternOf(name: string): RegExp {
    const literal = name.replace(/\/$/, '').replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    return new RegExp(`^${literal.replace(/\\\*/g, String.raw`[\w-]+`)}$`);
  }
});

/** Numbers of ralph-claude-code and bmalph that the page calls unchanged. */
const UNCHANGED = {
  'max-calls-per-hour': '100',
  'agent-timeout-minutes': '15',
  'session-expiry-hours': '24',
  'circuit-no-progress': '3',
  'circuit-same-error': '5',
  'circuit-output-decline': '70',
  'circuit-permission-denials': '2',
  'circuit-cooldown-minutes': '30',
  'completion-signals': '2',
};

describe('numbers', () => {
  test('that are called unchanged are those of the other Ralphs', () => {
    expect(DEFAULTS).toMatchObject(UNCHANGED);
  });

  test('that differ are limits, each once', () => {
    const limits = tableUnder(PAGE, '## What is deliberately different').flatMap(([cell]) => codeIn(cell));
    expect(limits.length).toBeGreaterThan(5);
    expect(limits.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
    expect(new Set(limits).size).toBe(limits.length);
  });
});
