import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readInputDefaults } from '../../../sandbox/runner.ts';
import { INPUT_NAMES } from '../../../src/config/input-schema.ts';
import { renderOutputs } from '../../../src/report/pages/outputs.ts';
import { reportWithoutLane } from '../../../src/handover/report.ts';
import { actionYml, configOf } from '../../loop/stage/river.ts';
import { plain, tableUnder } from '../documents/pages.ts';

const NO_JOURNAL = { path: null, hash: null };

const PAGE = 'docs/inputs-and-outputs.md';

describe('action.yml, the schema and the page about them say the same', () => {
  const defaults = readInputDefaults(actionYml, '${{ github.token }}', '${{ runner.temp }}');

  test('inputs of action.yml and of the schema', () => {
    expect([...namesIn('inputs')].sort()).toEqual([...INPUT_NAMES].sort());
  });

  test('every input of action.yml has a default and a description', () => {
    expect(Object.keys(defaults)).toEqual(namesIn('inputs'));
    expect(descriptionsIn('inputs')).toHaveLength(INPUT_NAMES.length);
    expect(descriptionsIn('inputs').every((text) => text.length > 10)).toBe(true);
  });

  test('the defaults are usable', () => {
    expect(configOf()).toMatchObject({
      taskLabel: 'ralph',
      branchPrefix: 'ralph/',
      draft: true,
      failOn: ['halted', 'failed'],
    });
  });

  test('inputs, defaults and descriptions of the page', () => {
    const rows = tableUnder(PAGE, '## Inputs').map(([name, value, description]) => ({
      name: plain(name),
      default: value === 'empty' ? '' : plain(value),
      description,
    }));
    const expected = namesIn('inputs').map((name, index) => ({
      name,
      default: defaults[name],
      description: descriptionsIn('inputs')[index],
    }));
    expect(rows).toEqual(expected);
  });

  test('outputs of action.yml, of the code and of the page', () => {
    const report = reportWithoutLane({
      outcome: { kind: 'idle', reason: 'no_tasks' },
      repositoryUrl: '',
      runUrl: '',
      startedAt: 0,
      endedAt: 0,
    });
    expect(Object.keys(renderOutputs(report, NO_JOURNAL)).sort()).toEqual([...namesIn('outputs')].sort());
    expect(tableUnder(PAGE, '## Outputs').map(([name, description]) => ({ name: plain(name), description }))).toEqual(
      namesIn('outputs').map((name, index) => ({ name, description: descriptionsIn('outputs')[index] })),
    );
  });

  test('what messages call an input or output is one', () => {
    const known = [...namesIn('inputs'), ...namesIn('outputs')];
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
  'copilot-instructions',
  // This is an input of actions/checkout.
  'fetch-depth',
  'persist-credentials',
  'anthropic-ai',
  'cache-mode',
  'ralph-action',
  'test-suite',
  'timeout-minutes',
  'x-access-token',
];

/**
 * Returns the words with hyphens in the texts of src/ that are in backticks, or that begin like the name of an input or
 * output.
 */
function wordsInMessages(): readonly string[] {
  const folder = join(import.meta.dirname, '../../../src');
  const paths = readdirSync(folder, { recursive: true }).map(String);
  const beginnings = [...namesIn('inputs'), ...namesIn('outputs')]
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
