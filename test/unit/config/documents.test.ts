import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readInputDefaults } from '../../../testbed/runner.ts';
import { listInputNames } from '../../../src/config/agent-inputs.ts';
import { KEY_INPUTS } from '../../../src/core/agent-names.ts';
import { INPUT_ROWS, JOB_ROWS, LOGIN_ROWS } from '../../../src/config/input-rows.ts';
import { inputTable } from '../../../src/config/input-schema.ts';
import { SETTING_ROWS } from '../../../src/config/setting-rows.ts';
import {
  ACTION_INPUTS,
  DEFAULTS,
  JOB_INPUTS,
  SECRET_SETTINGS,
  SETTING_NAMES,
} from '../../../src/config/setting-table.ts';
import { lookAtKinds } from '../../../src/core/review/manifest.ts';
import { buildOutputs } from '../../../src/report/pages/outputs.ts';
import { createLanelessReport } from '../../../src/handover/report.ts';
import { actionYml, configOf } from '../../loop/stage/run-action.ts';
import { plain, read, tableUnder } from '../documents/pages.ts';

const NO_JOURNAL = { path: null, hash: null, receipt: null, history: null };

const PAGE = 'docs/inputs-and-outputs.md';

describe('action.yml, the schema and the page about them say the same', () => {
  const defaults = readInputDefaults(actionYml, '${{ github.token }}', '${{ runner.temp }}');

  test('the table and the schema have the same settings', () => {
    expect([...SETTING_NAMES].sort()).toEqual([...listInputNames(inputTable), ...KEY_INPUTS].sort());
    expect(new Set(SETTING_NAMES).size).toBe(SETTING_NAMES.length);
  });

  test('action.yml has about forty inputs, and the action of one job three more', () => {
    expect(namesIn('inputs')).toEqual(ACTION_INPUTS);
    expect(ACTION_INPUTS.length).toBeLessThanOrEqual(43);
    const ofJob = readInputDefaults(
      read('.github/actions/job/action.yml'),
      '${{ github.token }}',
      '${{ runner.temp }}',
    );
    expect(Object.keys(ofJob)).toEqual([...JOB_INPUTS, ...ACTION_INPUTS, ...SECRET_SETTINGS]);
    expect(ofJob).toMatchObject({ phase: 'all', 'handoff-path': '${{ runner.temp }}/ralph-handoff' });
  });

  test('the defaults of action.yml are those of the table', () => {
    const { settings, 'github-token': token, ...others } = defaults;
    expect([settings, token]).toEqual(['', '${{ github.token }}']);
    expect(DEFAULTS).toMatchObject(others);
  });

  test('the page about auto-merge names every kind that can prevent it', () => {
    const [, listed = ''] = /^The kinds:\n\n```text\n([^`]*)```$/m.exec(read('docs/merging.md')) ?? [];
    expect(listed.trim().split(/,\s+/)).toEqual(lookAtKinds);
  });

  test('every setting has a description', () => {
    const rows = [...INPUT_ROWS, ...JOB_ROWS, ...SETTING_ROWS].flatMap((group) => group.rows);
    expect(rows.filter(([, , description]) => description.length <= 10)).toEqual([]);
  });

  test('the defaults are usable', () => {
    expect(configOf()).toMatchObject({
      taskLabel: 'ralph',
      branchPrefix: 'ralph/',
      draft: true,
      failOn: ['halted', 'failed'],
    });
  });

  test.each([
    ['## Inputs', INPUT_ROWS],
    ['## Settings', SETTING_ROWS],
    ['## Inputs of one job', JOB_ROWS],
  ])('names, defaults and descriptions of the page under %s', (heading, groups) => {
    const rows = tableUnder(PAGE, heading).map(([name, value, description]) => [
      plain(name),
      value === 'empty' ? '' : plain(value),
      description,
    ]);
    expect(rows).toEqual(groups.flatMap((group) => group.rows));
  });

  test('outputs of action.yml, of the code and of the page', () => {
    const report = createLanelessReport({
      outcome: { kind: 'idle', reason: 'no_tasks' },
      repositoryUrl: '',
      runUrl: '',
      startedAt: 0,
      endedAt: 0,
    });
    expect(Object.keys(buildOutputs(report, NO_JOURNAL)).sort()).toEqual([...namesIn('outputs')].sort());
    expect(tableUnder(PAGE, '## Outputs').map(([name, description]) => ({ name: plain(name), description }))).toEqual(
      namesIn('outputs').map((name, index) => ({ name, description: descriptionsIn('outputs')[index] })),
    );
  });

  test('what messages call an input or output is one', () => {
    const known = [...SETTING_NAMES, ...namesIn('outputs'), ...LOGIN_ROWS.map(([name]) => name)];
    const named = wordsInMessages().filter((word) => !OTHER_WORDS.includes(word));
    expect(named).toContain('allow-protected-paths');
    expect(named.filter((word) => !known.includes(word))).toEqual([]);
  });
});

/** Words with hyphens that are not inputs: settings of GitHub and git, names, and words of prose. */
const OTHER_WORDS = [
  // This is an input of actions/checkout.
  'sparse-checkout',
  // These are a package and models of Google, and a file of GitHub Copilot.
  'gemini-cli',
  'gemini-2',
  'gpt-5',
  // The end of a setting of other Ralphs.
  'auto-reset',
  // A login of GitHub's organisations.
  'sign-on',
  // A part of a proposed plan.
  'sub-task',
  // An iteration that changes only tests.
  'test-only',
  'copilot-instructions',
  // An action of GitHub's.
  'github-script',
  // Of actions/checkout.
  'fetch-depth',
  'persist-credentials',
  'anthropic-ai',
  'cache-mode',
  'ralph-action',
  'test-suite',
  'timeout-minutes',
  // A permission of GitHub's.
  'id-token',
  'x-access-token',
  // These are ids of tasks.
  'issue-12',
  'plan-3f9a12c0',
];

/**
 * Returns the words with hyphens in the texts of src/ that are in backticks, or that begin like the name of an input or
 * output.
 */
function wordsInMessages(): readonly string[] {
  const folder = join(import.meta.dirname, '../../../src');
  const paths = readdirSync(folder, { recursive: true }).map(String);
  const beginnings = [...SETTING_NAMES, ...namesIn('outputs')]
    .filter((name) => name.includes('-'))
    .map((name) => name.replace(/-.*/, '-'));
  const words = paths
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(folder, path), 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ''))
    // A literal with a single word is a value, not a message.
    .flatMap((source) => [...source.matchAll(/(?<![\w/.-])(?!(?<=')[\w-]+')[a-z]+(?:-[a-z\d]+)+(?![\w/-])/g)])
    .filter(
      ({ 0: word, index, input }) => input[index - 1] === '`' || beginnings.some((start) => word.startsWith(start)),
    )
    .map(([word]) => word);
  return [...new Set(words)];
}

type Section = 'inputs' | 'outputs';

function sectionOf(section: Section): string {
  const ends = { inputs: '\noutputs:', outputs: '\nruns:' };
  return actionYml.slice(actionYml.indexOf(`\n${section}:`), actionYml.indexOf(ends[section]));
}

function namesIn(section: Section): string[] {
  return [...sectionOf(section).matchAll(/^ {2}([\w-]+):$/gm)].map((match) => match[1] ?? '');
}

function descriptionsIn(section: Section): string[] {
  return [...sectionOf(section).matchAll(/^ {4}description: (.+)$/gm)].map((match) =>
    (match[1] ?? '').replace(/^"(.*)"$/, '$1'),
  );
}
