import { expect, test } from 'vitest';
import {
  copyLimits,
  formatCopyLimits,
  selectCopies,
  type MeasuredPath,
} from '../../../../src/core/local/ignored-copies.ts';

const limits = { files: 10, bytes: 100 };
const of = (path: string, files: number, bytes: number): MeasuredPath => ({ path, size: { files, bytes } });

test.each<[string, readonly MeasuredPath[], readonly string[], readonly string[]]>([
  ['nothing', [], [], []],
  ['exactly the limits', [of('a', 10, 100)], ['a'], []],
  ['a file too many', [of('a', 11, 1)], [], ['a']],
  ['a byte too many', [of('a', 1, 101)], [], ['a']],
  ['a huge one leaves out only itself', [of('data', 1, 99), of('packages', 9, 50)], ['packages'], ['data']],
  [
    'one that holds too many files leaves out only itself',
    [of('a', 9, 1), of('b', 2, 2), of('c', 1, 3)],
    ['a', 'c'],
    ['b'],
  ],
  ['what could not be measured', [{ path: 'x', size: null }, of('a', 1, 1)], ['a'], ['x']],
  [
    'several that could not',
    [
      { path: 'x', size: null },
      { path: 'y', size: null },
    ],
    [],
    ['x', 'y'],
  ],
  ['together too much', [of('b', 1, 60), of('a', 1, 50)], ['a'], ['b']],
])('%s', (_, measured, fits, tooMuch) => {
  expect(selectCopies(measured, limits)).toEqual({ fits, tooMuch });
});

test('the limits as people read them', () => {
  expect(formatCopyLimits(copyLimits)).toBe('200,000 files or 4 GiB');
  expect(formatCopyLimits({ files: 5, bytes: 1.5 * 2 ** 30 })).toBe('5 files or 1.5 GiB');
});
