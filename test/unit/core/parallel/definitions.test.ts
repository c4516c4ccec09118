import { expect, test } from 'vitest';
import { buildDefinitionPattern, parseDefinitions, findSymbols } from '../../../../src/core/parallel/predict-files.ts';

test('symbols are identifiers of several words, and words in code', () => {
  const text =
    'The cart calls openLane and total_of. See `render(cart)`, `a` and Array.from, but not re-use or README.';
  expect(findSymbols(text)).toEqual(['render', 'cart', 'openLane', 'total_of']);
  expect(findSymbols('')).toEqual([]);
  expect(findSymbols(Array.from({ length: 500 }, (_, at) => `fooBar${String(at)}`).join(' '))).toHaveLength(300);
});

test.each([
  ['export async function openLane(', true],
  ['class  openLane {', true],
  ['def openLane', true],
  ['func openLane', true],
  ['function* openLane', true],
  ['const cart$ =', true],
  ['openLane(', false],
  ['const cart2', false],
])('a definition is found by the word in front of it: %s', (line, isOne) => {
  expect(new RegExp(buildDefinitionPattern(['openLane', 'cart$'])).test(line)).toBe(isOne);
});

test('what git found is read by symbol, each file once', () => {
  const found = [
    'abc123:src/a.ts\0function openLane',
    'abc123:src/a.ts\0const  openLane',
    'abc123:src/odd:name.ts\0class openLane',
    'abc123:src/b.ts\0def total',
    'fatal: something else',
    '',
  ];
  expect([...parseDefinitions(found.join('\n'))]).toEqual([
    ['openLane', ['src/a.ts', 'src/odd:name.ts']],
    ['total', ['src/b.ts']],
  ]);
});
