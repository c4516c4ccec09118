import { describe, expect, test } from 'vitest';
import { indexHistory, predictFiles, findSharedFile } from '../../../../src/core/parallel/predict-files.ts';

const files = [
  'README.md',
  'src/index.ts',
  'src/cart/index.ts',
  'src/cart/waiting-pulls.ts',
  'src/cart/total.ts',
  'src/user/index.ts',
  'src/user/total.ts',
  'lib/a/index.ts',
  'lib/b/index.ts',
  'lib/c/index.ts',
  'test/cart/total.test.ts',
  'Dockerfile',
];
const twice = [
  ['src/cart/waiting-pulls.ts', 'docs/gone.md', 'Dockerfile'],
  ['src/cart/waiting-pulls.ts', 'Dockerfile'],
];
const commits = [...twice, ['src/cart/waiting-pulls.ts', 'Dockerfile'], ['Dockerfile'], ['src/cart/waiting-pulls.ts']];
const definitions = new Map([
  ['sumOf', ['src/cart/total.ts']],
  ['render', ['src/index.ts', 'src/user/index.ts', 'lib/a/index.ts', 'lib/b/index.ts']],
]);
const index = indexHistory({ files, commits, definitions });
const predicted = (text: string, touched: readonly string[] = []): readonly string[] | null => {
  const found = predictFiles(index, { text, touched });
  return found === null ? null : [...found];
};

describe('a prediction has the files that a text names', () => {
  test.each([
    ['by path', 'Fix src/cart/total.ts.', ['src/cart/total.ts']],
    ['by path, with a line', 'at `src/cart/total.ts:12:3`', ['src/cart/total.ts']],
    ['by path on another machine', 'Error: /home/ann/shop/src/cart/total.ts:12', ['src/cart/total.ts']],
    ['by address', 'See https://github.com/acme/shop/blob/main/src/cart/total.ts#L3', ['src/cart/total.ts']],
    ['by the end of a path', 'cart/total.ts is wrong', ['src/cart/total.ts']],
    ['by folder', 'Everything in src/user/', ['src/user/index.ts', 'src/user/total.ts']],
    ['by name', 'total.ts is wrong', ['src/cart/total.ts', 'src/user/total.ts']],
    ['by a symbol of the same name', 'waitingPulls fails', ['src/cart/waiting-pulls.ts', 'Dockerfile']],
    ['by a word in code', 'Run `total` again', ['src/cart/total.ts', 'src/user/total.ts', 'test/cart/total.test.ts']],
    ['by a symbol that it defines', 'sumOf(cart) is wrong', ['src/cart/total.ts']],
    ['by a name in capitals', 'Explain it in the README', ['README.md']],
  ])('%s', (_, text, expected) => {
    expect(predicted(text)).toEqual(expected);
  });

  test.each([
    ['a word of prose', 'The total is wrong'],
    ['a name that many files have', 'index.ts is wrong'],
    ['a symbol that many files define', 'Call `render` again'],
    ['a host', 'See total.example'],
    ['a path that does not exist', 'Create src/cart/new.ts'],
    ['nothing', ''],
  ])('and is unknown for %s', (_, text) => {
    expect(predicted(text)).toBeNull();
  });
});

describe('a prediction has the files that often change together', () => {
  test('with those that were touched before', () => {
    expect(predicted('', ['src/cart/waiting-pulls.ts'])).toEqual(['src/cart/waiting-pulls.ts', 'Dockerfile']);
  });

  test('not those that seldom do, or in a large commit', () => {
    const large = ['README.md', ...Array.from({ length: 60 }, (_, at) => `f${String(at)}`), 'src/index.ts'];
    const few = indexHistory({ files, commits: [...twice, large, large, large], definitions });
    expect(predictFiles(few, { text: '', touched: ['src/cart/waiting-pulls.ts', 'README.md'] })).toEqual(
      new Set(['src/cart/waiting-pulls.ts', 'README.md']),
    );
  });
});

test('two predictions share a file, or none', () => {
  expect(findSharedFile(new Set(['a', 'b']), new Set(['b', 'c', 'd']))).toBe('b');
  expect(findSharedFile(new Set(['a', 'b', 'e']), new Set(['c']))).toBeNull();
});
