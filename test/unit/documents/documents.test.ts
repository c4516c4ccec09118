import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  AGENTS_PAGE,
  INPUTS_PAGE,
  renderInputsPage,
  withCapabilities,
  withCurrentWorkflow,
} from '../../../scripts/docs.ts';
import {
  JOB_ACTION,
  KEYLESS,
  renderBranchWorkflow,
  renderJobAction,
  renderReusableWorkflow,
  WITH_KEYS,
} from '../../../scripts/reusable-workflow.ts';
import { COMMAND_HELP } from '../../../src/core/people/command.ts';
import { commands } from '../cli/fixture.ts';
import { withInputs } from '../../../scripts/action-yml.ts';
import { PROMPT_PLACES } from '../../../src/core/prompt/places.ts';
import { INPUT_ROWS, LOGIN_ROWS } from '../../../src/config/input-rows.ts';
import { DEFAULTS, SETTING_NAMES } from '../../../src/config/setting-table.ts';
import { cellsOf, filesIn, namesIn, nodesOf, PAGES, proseOf, read, tableUnder, USER_PAGES } from './pages.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const inputs = [...SETTING_NAMES, 'settings', ...LOGIN_ROWS.map(([name]) => name)];
const outputs = namesIn('outputs');

describe('how long documents are', () => {
  const lengthOf = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
  /** The map of the source, for contributors, has no limit of its own. */
  const unlimited = ['docs/internals.md'];

  test.each([
    ['README.md', 700],
    ['CONTRIBUTING.md', 700],
  ])('%s has at most %i words', (path, most) => {
    expect(lengthOf(read(path))).toBeLessThanOrEqual(most);
  });

  // Features that were added later: the merge order and settings of an organisation; proofs, costs and plans; other
  // agents, requests in threads, webhooks and searched tasks.
  test('docs/ and SECURITY.md have at most 25,000 words together, and three later features 1,500 each', () => {
    const pages = PAGES.filter((path) => /^docs\/|^SECURITY\.md$/.test(path) && !unlimited.includes(path));
    expect(pages.reduce((sum, path) => sum + lengthOf(read(path)), 0)).toBeLessThanOrEqual(25_000 + 3 * 1_500);
  });

  test.each(PAGES.filter((path) => path !== 'CHANGELOG.md'))(
    'no paragraph of %s, and no cell of a table, has more than 80 words',
    (path) => {
      const text = read(path);
      const paragraphs = nodesOf(path, 'paragraph').map(({ position }) =>
        text.slice(position?.start.offset, position?.end.offset).replaceAll(/\]\([^)]*\)/g, ']'),
      );
      const parts = paragraphs.flatMap((one) => (one.startsWith('|') ? one.split('\n').flatMap(cellsOf) : [one]));
      expect(parts.length).toBeGreaterThan(1);
      expect(parts.filter((part) => lengthOf(part) > 80)).toEqual([]);
    },
  );
});

describe('links', () => {
  test.each(PAGES)('of %s lead to files and headings that exist', (path) => {
    const targets = [...nodesOf(path, 'link'), ...nodesOf(path, 'image')].map(({ url }) => url);
    const broken = targets.filter((target) => {
      if (/^https:\/\//.test(target)) return false;
      const [file = '', heading] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), decodeURI(file));
      return !existsSync(join(root, linked)) || (heading !== undefined && !headingsOf(linked).has(heading));
    });
    expect(broken).toEqual([]);
  });

  test('lead from the README to every page', () => {
    const linked = nodesOf('README.md', 'link').map(({ url }) => url.split('#')[0]);
    const pages = PAGES.filter((path) => path !== 'README.md' && !path.startsWith('docs/decisions/'));
    expect(pages.filter((path) => !linked.includes(path))).toEqual([]);
  });

  test.each([
    'docs/how-it-stops.md',
    'docs/tasks-and-branches.md',
    'docs/state.md',
    'docs/command-line.md',
    'docs/recipes.md',
    'docs/moving.md',
    'docs/agents.md',
    'docs/reviews-and-checks.md',
  ])('at the top of %s name its sections, all and in order', (path) => {
    const [top = ''] = read(path).split('\n## ');
    const listed = [...top.matchAll(/^- \[(.+)\]\(#.+\)$/gm)].map(([, name]) => name);
    expect(listed).toEqual([...read(path).matchAll(/^## (.+)$/gm)].map(([, name]) => name));
  });
});

describe('tables', () => {
  test.each(PAGES)('of %s have as many cells in each row as in their head', (path) => {
    const lines = proseOf(path);
    const uneven = lines.filter((line, at) => {
      if (!line.startsWith('|')) return false;
      const above = lines[at - 1] ?? '';
      return above.startsWith('|') && cellsOf(above).length !== cellsOf(line).length;
    });
    expect(uneven).toEqual([]);
    expect(lines.filter((line) => line.startsWith('|') && !line.endsWith('|'))).toEqual([]);
  });
});

describe('code blocks', () => {
  const blocks = PAGES.flatMap((path) =>
    nodesOf(path, 'code').map(({ lang, value }, at) => ({ where: `${path}, block ${String(at + 1)}`, lang, value })),
  );
  const yaml = blocks.filter(({ lang }) => lang === 'yaml' || lang === 'yml');

  test('name their language where they have a fence, and there are some', () => {
    expect(yaml.length).toBeGreaterThan(2);
    const known = [null, 'sh', 'yaml', 'json', 'text', 'markdown', undefined];
    expect(blocks.filter(({ lang }) => !known.includes(lang)).map(({ where }) => where)).toEqual([]);
  });

  // workflows.test.ts checks whether workflows are valid.
  test.each(yaml)('in $where: YAML that reads outputs which the action has', ({ value }) => {
    expect(parse(value)).toBeTypeOf('object');
    const names = [...value.matchAll(/steps\.ralph\.outputs\.([\w-]+)/g)].map(([, name = '']) => name);
    expect(names.filter((name) => !outputs.includes(name))).toEqual([]);
  });

  test('of shells, and commands in the text, are commands that exist', () => {
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    const pieces = PAGES.flatMap((path) => [
      ...[...nodesOf(path, 'inlineCode'), ...nodesOf(path, 'code')].map(({ value }) => ({ path, value })),
    ]);
    const unknown = pieces.filter(({ value }) =>
      [
        ...[...value.matchAll(/(?:^|\n)ralph (?!\.|…|COMMAND)(?:help )?(\S+)/g)].map(([, name = '']) =>
          knownToCli(name),
        ),
        ...[...value.matchAll(/dist\/cli\/index\.js (\S+)/g)].map(([, name = '']) => knownToCli(name)),
        ...[...value.matchAll(/(?:^|\n)\/ralph (\S+(?: \S+)?)/g)].map(([, words = '']) => knownToRalph(words)),
        ...[...value.matchAll(/(?:^|\n)npm run ([\w:-]+)/g)].map(([, name = '']) => scripts.includes(name)),
      ].includes(false),
    );
    expect(unknown).toEqual([]);
    expect(pieces.filter(({ value }) => value.startsWith('ralph ')).length).toBeGreaterThan(10);
  });

  function knownToCli(name: string): boolean {
    return name === 'COMMAND' || commands.some((command) => command.name === name);
  }

  function knownToRalph(words: string): boolean {
    return Object.keys(COMMAND_HELP).some(
      (name) => words === name || words.startsWith(`${name} `) || words === name.split(' ')[0],
    );
  }
});

describe('generated parts are fresh: npm run docs', () => {
  test(INPUTS_PAGE, () => {
    expect(read(INPUTS_PAGE)).toBe(renderInputsPage(read('action.yml')));
  });

  test(AGENTS_PAGE, () => {
    expect(read(AGENTS_PAGE)).toBe(withCapabilities(read(AGENTS_PAGE)));
  });

  test('the workflow of README.md', () => {
    const page = read('README.md');
    expect(page).toBe(withCurrentWorkflow(page, read('templates/workflows/three-jobs.yml')));
  });

  test('the inputs of action.yml', () => {
    expect(read('action.yml')).toBe(withInputs(read('action.yml'), INPUT_ROWS));
  });

  test('the workflow to paste has at most twenty lines, with a reason beside each permission', () => {
    const [, pasted = ''] = /```yaml\n(name: ralph\n[^]*?)```/.exec(read('README.md')) ?? [];
    for (const text of [pasted, read('templates/workflows/three-jobs.yml')]) {
      expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
      const permissions = [...text.matchAll(/^ {2}[\w-]+: (?:read|write)(.*)$/gm)];
      expect(permissions).toHaveLength(6);
      expect(permissions.filter(([, reason = '']) => !/^ # \w/.test(reason))).toEqual([]);
    }
  });

  test(JOB_ACTION, () => {
    expect(read(JOB_ACTION)).toBe(renderJobAction(read('action.yml')));
    // The started files exist and the workflow uses them; the root itself cannot be named in this way.
    const programs = [...read(JOB_ACTION).matchAll(/^ {2}(?:main|post): (.*)$/gm)].map(([, path = '']) =>
      existsSync(join(root, dirname(JOB_ACTION), path)),
    );
    expect(programs).toEqual([true, true]);
    const job = dirname(JOB_ACTION);
    for (const { reusable, branch } of [WITH_KEYS, KEYLESS]) {
      const used = [reusable, branch].flatMap((path) =>
        [...read(path).matchAll(/uses: \$\/(.*)$/gm)].map(([, use]) => use),
      );
      expect(used).toEqual([job, branch, job, job, job]);
    }
  });

  test.each([WITH_KEYS, KEYLESS])('$reusable and $branch', (form) => {
    expect(read(form.reusable)).toBe(renderReusableWorkflow(form));
    expect(read(form.reusable).trimEnd().split('\n').length).toBeLessThanOrEqual(form.logsIn ? 180 : 160);
    expect(read(form.branch)).toBe(renderBranchWorkflow(form));
  });
});

describe('names', () => {
  const beginnings = new Set(
    [...inputs, ...outputs].filter((name) => name.includes('-')).map((name) => name.split('-')[0]),
  );

  test.each(USER_PAGES)('in %s that look like an input or output are one', (path) => {
    const words = nodesOf(path, 'inlineCode')
      .map(({ value }) => /^([a-z]+(?:-[a-z]+)+)(?:: .*)?$/.exec(value)?.[1] ?? '')
      .filter((word) => beginnings.has(word.split('-')[0]));
    expect(words.filter((word) => ![...inputs, ...outputs].includes(word))).toEqual([]);
  });

  const pages = PAGES.filter((path) => path !== 'README.md' && !/^docs\/decisions\/(?!README)/.test(path));

  test.each(pages)('%s names source files that exist', (path) => {
    const named = [...read(path).matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|cjs))`/g)].map(([, file = '']) => file);
    const isThere = (file: string): boolean =>
      ['', 'src', 'src/git'].some((folder) => existsSync(join(root, folder, file)));
    expect(named.filter((file) => !isThere(file))).toEqual([]);
  });

  test('of limits stand beside the defaults', () => {
    const rows = tableUnder('docs/how-it-stops.md', '## Limits').map((cells) => cells[1] ?? '');
    const said = rows.flatMap((cell) => [...cell.matchAll(/(none|\$?[\d,.]+)[^`;\d]*`([\w-]+)`/g)]);
    expect(said.length).toBeGreaterThan(10);
    expect(said.map(([, value = '', name]) => [name, value === 'none' ? '0' : value.replace(/[$,]/g, '')])).toEqual(
      said.map(([, , name = '']) => [name, DEFAULTS[name]]),
    );
  });

  test('of numbers that stand before an input in the text are its default', () => {
    const defaults = DEFAULTS;
    const said = USER_PAGES.flatMap((path) =>
      [...read(path).matchAll(/(\$?\d[\d,.]*)[^\d`.;:()|]*\(`([a-z-]+)`\)/g)].map(([, value = '', name = '']) => ({
        path,
        name,
        value: value.replace(/[$,]/g, ''),
      })),
    ).filter(({ name }) => inputs.includes(name));
    expect(said.length).toBeGreaterThan(8);
    expect(said.filter(({ name, value }) => defaults[name] !== value)).toEqual([]);
  });

  test('of other prompts than the configured one are those that a run looks for, in order', () => {
    const places = PROMPT_PLACES.slice(1).map((path) => `\`${path}\``);
    expect(read('docs/tasks-and-branches.md')).toContain(
      `the first of ${places.slice(0, -1).join(', ')} and ${places.at(-1) ?? ''} is used`,
    );
  });

  test('of versions of Node are those that the programs ask for, each in one place', () => {
    // The bin's own check is made of package.json as well.
    const [, cli] = /"node": ">=([\d.]+)"/.exec(read('package.json')) ?? [];
    const [, atHome] = /OLDEST_NODE = (\d+)/.exec(read('src/wiring/home/run-here.ts')) ?? [];
    const [, action] = /using: node(\d+)/.exec(read('action.yml')) ?? [];
    const said = USER_PAGES.flatMap((path) =>
      [...read(path).matchAll(/\bNode (\d+(?:\.\d+)?)/g)].map(([, version]) => `${path}: ${String(version)}`),
    );
    expect(said).toEqual([
      // To start `ralph`, to run the loop, to begin the sandbox with, and what the sandbox fetches.
      ...[cli, atHome, cli, action].map((version) => `docs/command-line.md: ${String(version)}`),
      `docs/recipes.md: ${String(action)}`,
    ]);
  });

  const documents = [...PAGES, 'action.yml', '.github/workflows/ci.yml', ...filesIn('templates')];

  test.each(documents)('in %s: no folder of the machine that it was written on', (path) => {
    expect(read(path)).not.toMatch(/(?:^|[\s("'`=:])\/(?:work|tmp|home|root|Users)\//m);
  });
});

test('messages that troubleshooting quotes are messages of the source', () => {
  const source = filesIn('src')
    .map((path) => read(path))
    .join('\n');
  const quoted = tableUnder('docs/troubleshooting.md', '# Troubleshooting').flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => text.split('…').map((part) => part.trim())),
  );
  expect(quoted.length).toBeGreaterThan(30);
  expect(quoted.filter((part) => part !== '' && !FROM_ELSEWHERE.includes(part) && !source.includes(part))).toEqual([]);
});

/** Messages of GitHub and of the agent's CLI, and those that the source composes. */
const FROM_ELSEWHERE = [
  'GitHub Actions is not permitted to create or approve pull requests',
  'Resource not accessible by integration',
  "The nested job 'gate' is requesting",
  'refusing to allow a GitHub App to create or update workflow',
  'The agent cannot work: Invalid API key',
  'Credit balance is too low',
  'An input is not usable',
  'inputs are not usable',
  'ref ✗',
];

/** Returns GitHub's anchors for the headings of a document; a repeated heading gets a number. */
function headingsOf(path: string): ReadonlySet<string> {
  const headings = proseOf(path).flatMap((line) => /^#+ (.+)$/.exec(line)?.[1]?.toLowerCase() ?? []);
  const anchors = headings.map((heading) => heading.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
  return new Set(
    anchors.map((anchor, at) => {
      const earlier = anchors.slice(0, at).filter((other) => other === anchor).length;
      return earlier === 0 ? anchor : `${anchor}-${String(earlier)}`;
    }),
  );
}
