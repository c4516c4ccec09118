import { describe, expect, test } from 'vitest';
import {
  type McpServer,
  replaceVariables,
  findSoleVariable,
  parseValueParts,
  describeVariableProblems,
} from '../../../../src/core/mcp/values.ts';

const text = (value: string) => ({ kind: 'text', text: value });
const variable = (name: string, fallback: string | null = null) => ({ kind: 'variable', name, fallback });

test.each<[string, readonly object[] | null]>([
  ['', []],
  ['plain', [text('plain')]],
  ['${A}', [variable('A')]],
  ['a${A}b${B_2}', [text('a'), variable('A'), text('b'), variable('B_2')]],
  ['${A:-}', [variable('A', '')]],
  ['${A:-x y}', [variable('A', 'x y')]],
  ['5$', [text('5$')]],
  ['$ $$', [text('$ $$')]],
  ['$A', null],
  ['$1', null],
  ['${', null],
  ['${}', null],
  ['${A', null],
  ['${A:x}', null],
  ['${1A}', null],
  ['${A:-${B}}', null],
  ['${A:-x:-y}', null],
])('%j is made of its parts', (value, parts) => {
  expect(parseValueParts(value)).toEqual(parts);
});

test.each([
  ['${A}', 'A'],
  ['${A:-x}', null],
  ['x${A}', null],
  ['A', null],
])('%j is one variable, or is not', (value, name) => {
  expect(findSoleVariable(value)).toBe(name);
});

test.each([
  ['${A}-${B:-b}-${C}', 'one-b-'],
  ['$ toString ${toString:-none}', '$ toString none'],
])('%j has values in their place', (value, resolved) => {
  expect(replaceVariables(value, { A: 'one' })).toBe(resolved);
});

describe('variables that a server cannot get', () => {
  const server = (value: string): McpServer => ({
    ...{ kind: 'command', name: 'docs', tools: [], command: 'x', args: [] },
    env: { A: value },
  });
  test.each<[string, string, readonly string[]]>([
    ['it is set', '${SET}', []],
    ['it has a default', '${UNSET:-x}', []],
    [
      'it is not set',
      '${UNSET}',
      [
        "The server docs names `UNSET`, which is not set in this job. Set it in the step's `env`, or give a default: `${UNSET:-default}`.",
      ],
    ],
    [
      'it is a key',
      '${KEY}',
      ["The server docs names `KEY`, which belongs to the agent's login, so no server may get it."],
    ],
    [
      'it is a key, whatever its default',
      '${KEY:-x}',
      ["The server docs names `KEY`, which belongs to the agent's login, so no server may get it."],
    ],
  ])('%s', (_, value, problems) => {
    expect(describeVariableProblems([server(value), server(value)], { SET: '' }, { SET: '', KEY: 'k' })).toEqual(
      problems,
    );
  });
});
