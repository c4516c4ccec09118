import { describe, expect, test } from 'vitest';
import { KNOWN_SIGNALS } from '../../../../src/core/analysis/done-signals.ts';
import { parseSignalFiles } from '../../../../src/core/pipeline/reading/signals-in-files.ts';

const FILE = '.ralph/config.json';

describe('`signals` of .ralph/config.json', () => {
  test.each<[string, string]>([
    ['a file without the key', '{ "steps": [] }'],
    ['an empty object', '{ "signals": {} }'],
    ['something else altogether', '[]'],
  ])('%s: the known ones', (_, text) => {
    expect(parseSignalFiles({ [FILE]: text })).toEqual({ signals: KNOWN_SIGNALS, problems: [] });
  });

  test('adds to the known ones, each once', () => {
    const text = JSON.stringify({
      signals: { done: [' SHIP IT ', 'SHIP IT'], markers: ['DONE.txt', '.ralph-complete'] },
    });
    expect(parseSignalFiles({ [FILE]: `\uFEFF${text}` })).toEqual({
      signals: { done: ['<promise>COMPLETE</promise>', 'SHIP IT'], markers: ['.ralph-complete', 'DONE.txt'] },
      problems: [],
    });
  });

  test.each<[string, unknown, readonly RegExp[]]>([
    [
      'a text too short',
      { done: ['ok'] },
      [/^\.ralph\/config\.json:1:21 signals\.done\[0\] is shorter than 4 characters/],
    ],
    ['a text without words', { done: ['----'] }, [/signals\.done\[0\] has neither letters nor digits/]],
    ['lines', { done: ['a line\nanother'] }, [/signals\.done\[0\] has more than one line/]],
    ['no text', { done: [7] }, [/signals\.done\[0\] is invalid: expected string/]],
    ['no list', { done: 'SHIP IT' }, [/signals\.done is invalid: expected array/]],
    [
      'too many',
      { done: Array.from({ length: 21 }, (_, at) => `text ${String(at)}`) },
      [/signals\.done has more than 20 entries/],
    ],
    ['a path out of it', { markers: ['../x'] }, [/signals\.markers\[0\] must stay in the repository/]],
    ['an absolute path', { markers: ['/tmp/x'] }, [/signals\.markers\[0\] must be relative/]],
    ['a path into .git', { markers: ['.GIT/HEAD'] }, [/signals\.markers\[0\] must stay in the repository/]],
    ['a pattern', { markers: ['*.md'] }, [/signals\.markers\[0\] must be the path of one file/]],
    ['an unknown key', { done: [], exit: [] }, [/signals only knows `done` and `markers`/]],
    ['no object', 7, [/signals is invalid: expected object/]],
    ['all at once', { done: ['x'], markers: ['..', '/'] }, [/done\[0\]/, /markers\[0\]/, /markers\[1\]/]],
  ])('%s', (_, signals, problems) => {
    const parsed = parseSignalFiles({ [FILE]: JSON.stringify({ signals }) });
    expect(parsed.signals).toEqual(KNOWN_SIGNALS);
    for (const problem of problems) expect(parsed.problems).toContainEqual(expect.stringMatching(problem));
  });

  test('a file that is not JSON is a problem of its own', () => {
    // The file's other reader reports the problem, with the line.
    expect(parseSignalFiles({ [FILE]: '{ signals: ' })).toEqual({ signals: KNOWN_SIGNALS, problems: [] });
  });
});

const STEPS = '"steps": [{ "type": "agent", "name": "a" }]';
const yaml = (marker: string): string => `signals:\n  markers: [${marker}]\nsteps:\n  - type: agent\n    name: a\n`;

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  [
    'the default of the Go Ralph',
    { '.ralph/configs/default.json': `{ "signals": { "markers": ["D"] }, ${STEPS} }` },
    ['D'],
  ],
  ['YAML', { '.ralph/config.yaml': yaml('Y') }, ['Y']],
  ['YAML of the root that is a pipeline', { 'config.yaml': yaml('R') }, ['R']],
  ["anybody's YAML", { 'config.yaml': 'signals: { markers: [R] }' }, []],
  [
    'the one that counts, and one without steps before it',
    { [FILE]: '{ "signals": { "markers": ["A"] } }', '.ralph/config.yaml': yaml('Y') },
    ['A', 'Y'],
  ],
  ['not one behind it', { [FILE]: `{ ${STEPS} }`, '.ralph/config.yaml': yaml('Y') }, []],
  [
    'one with variables outside of quotes',
    { [FILE]: `{ "max_loops_per_task": \${M:-5}, "signals": { "markers": ["A"] }, ${STEPS} }` },
    ['A'],
  ],
])('they are read from %s', (_, texts, markers) => {
  expect(parseSignalFiles(texts)).toEqual({
    signals: { done: KNOWN_SIGNALS.done, markers: [...KNOWN_SIGNALS.markers, ...markers] },
    problems: [],
  });
});

test('mistakes in them are reported with line and column', () => {
  expect(parseSignalFiles({ '.ralph/config.yaml': yaml('../x') }).problems).toEqual([
    '.ralph/config.yaml:2:13 signals.markers[0] must stay in the repository, and out of .git.',
  ]);
});
