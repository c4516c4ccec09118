import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readInputDefaults } from '../../../sandbox/runner.ts';
import { INPUT_NAMES } from '../../../src/config/inputs.ts';
import { renderOutputs } from '../../../src/report/pages/outputs.ts';
import { reportWithoutLane } from '../../../src/handover/report.ts';
import { actionYml, configOf } from '../../loop/stage/river.ts';

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');

describe('action.yml, the schema and the README say the same', () => {
  const defaults = readInputDefaults(actionYml, '${{ github.token }}');

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

  test("inputs, defaults and descriptions of the README's table", () => {
    const rows = tableUnder('Inputs').map(([name, value, description]) => ({
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

  test('outputs of action.yml, of the code and of the README', () => {
    const report = reportWithoutLane({
      outcome: { kind: 'idle', reason: 'no_tasks' },
      repositoryUrl: '',
      runUrl: '',
      startedAt: 0,
      endedAt: 0,
    });
    expect(Object.keys(renderOutputs(report, null)).sort()).toEqual([...namesIn('outputs')].sort());
    expect(tableUnder('Outputs').map(([name, description]) => ({ name: plain(name), description }))).toEqual(
      namesIn('outputs').map((name, index) => ({ name, description: descriptionsIn('outputs')[index] })),
    );
  });
});

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

/** Cells of the first table under a heading, without its head. */
function tableUnder(heading: string): string[][] {
  const [, text = ''] = readme.split(`\n## ${heading}\n`);
  const rows =
    text
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `')) ?? [];
  return rows.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function plain(cell: string | undefined): string {
  return (cell ?? '').replace(/^`(.*)`$/, '$1');
}
