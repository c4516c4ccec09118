import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGlob } from '../../../../src/core/text/glob.ts';
import { cpuMs } from '../../../cpu.ts';

test.each<[string, string, boolean]>([
  ['*.go', 'main.go', true],
  ['*.go', 'cmd/main.go', false],
  ['*.go', '.go', true],
  ['cmd/**/*.go', 'cmd/a.go', true],
  ['cmd/**/*.go', 'cmd/x/y/a.go', true],
  ['cmd/**/*.go', 'cmd//a.go', false],
  ['cmd/**/*.go', 'xcmd/a.go', false],
  ['cmd/**', 'cmd/x/y', true],
  ['**.ts', 'a/b.ts', true],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['a?c', 'a😀c', true],
  ['a.c', 'abc', false],
  ['(a|b)', 'a', false],
  ['[ab]', '[ab]', true],
  ['', '', true],
  ['*', '', true],
  ['a', 'ab', false],
])('the glob %s and the path %s: %s', (glob, path, matches) => {
  expect(createGlob(glob)(path)).toBe(matches);
});

test('a glob that could match in many ways takes no time', () => {
  const cost = cpuMs(() => {
    expect(createGlob('*a*a*a*a*a*a*a*a*b')('a'.repeat(4000))).toBe(false);
    expect(createGlob('**/**/**/**/**/b')('a/'.repeat(2000))).toBe(false);
  });
  expect(cost).toBeLessThan(1000);
});

test('is what a regular expression of it says', () => {
  const parts: Readonly<Record<string, string>> = {
    '**/': '(?:[^/]+/)*',
    '**': '.*',
    '*': '[^/]*',
    '?': '[^/]',
    a: 'a',
    '/': '/',
  };
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...Object.keys(parts)), { maxLength: 5 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 8 }),
      (tokens, path) => {
        // Adjacent tokens may form other tokens.
        const glob = tokens.join('');
        const read = glob.match(/\*\*\/?|[^]/g) ?? [];
        const pattern = new RegExp(`^${read.map((token) => parts[token] ?? '').join('')}$`);
        expect(createGlob(glob)(path)).toBe(pattern.test(path));
      },
    ),
  );
});
