import { expect, test } from 'vitest';
import { isBetweenPrograms, parseStat } from '../../../src/processes/process-tree.ts';

const REST = '0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 777 1000 200';
test.each([
  { line: `50 (bash) S 40 50 50 ${REST}`, expected: { pid: 50, parent: 40, group: 50, startedAt: '777' } },
  { line: `50 (a) b (c) S 40 45 50 ${REST}`, expected: { pid: 50, parent: 40, group: 45, startedAt: '777' } },
  { line: `50 (bash) Z 40 50 50 ${REST}`, expected: null },
  { line: '', expected: null },
])('the stat line "$line" is $expected', ({ line, expected }) => {
  expect(parseStat(line)).toEqual(expected);
});

const stat = ({
  flags = 4194304,
  state = 'R',
  environment = [0, 0],
}: {
  flags?: number;
  state?: string;
  environment?: readonly [number, number];
}): string => `50 (sleep) ${state} 40 50 50 0 -1 ${flags} ${'0 '.repeat(40)}${environment.join(' ')} 0`;
test.each([
  { who: 'between two programs', line: stat({}), expected: true },
  { who: 'that has got its environment since', line: stat({ environment: [7000, 7100] }), expected: true },
  { who: 'started without an environment', line: stat({ environment: [7000, 7000] }), expected: false },
  { who: 'of the kernel', line: stat({ flags: 0x0020_8040 }), expected: false },
  { who: 'that ended', line: stat({ state: 'Z' }), expected: false },
  { who: 'that is gone', line: '', expected: false },
])('whose environment is empty: a process $who', ({ line, expected }) => {
  expect(isBetweenPrograms(line)).toBe(expected);
});
