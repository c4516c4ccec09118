import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBranchName } from '../../../../src/core/refusals/refusal.ts';

test.each<readonly [string, boolean]>([
  ['ralph/queue', true],
  ['ralph/issue-1', true],
  ['ünder/strich', true],
  ['a@b', true],
  ['a/-b', true],
  ['', false],
  ['-a', false],
  ['HEAD', false],
  ['a b', false],
  ['a..b', false],
  ['a//b', false],
  ['/a', false],
  ['a/', false],
  ['a.', false],
  ['.a', false],
  ['a/.b', false],
  ['a.lock', false],
  ['a.lock/b', false],
  ['@{-1}', false],
  ['a\u0000b', false],
  ['a\u007fb', false],
  ...['~', '^', ':', '?', '*', '[', '\\'].map((sign) => [`a${sign}b`, false] as const),
])('a branch may be called %j: %s', (name, isName) => {
  expect(isBranchName(name)).toBe(isName);
});

test('git agrees', () => {
  const piece = fc.constantFrom(...'a/.-@{~^:?*[\\ é\u0001\u007f'.split(''), '.lock', 'HEAD', '..', 'ralph/');
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join('')),
      (name) => {
        expect(isBranchName(name)).toBe(gitTakes(name));
      },
    ),
    { numRuns: 60 },
  );
});

function gitTakes(name: string): boolean {
  try {
    execFileSync('git', ['check-ref-format', '--branch', name], { cwd: tmpdir(), stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
