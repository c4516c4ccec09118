import { expect, test } from 'vitest';
import { isGenerated, isLockFile } from '../../../../src/core/review/test-files.ts';

test.each([
  ['package-lock.json', true],
  ['packages/web/npm-shrinkwrap.json', true],
  ['yarn.lock', true],
  ['pnpm-lock.yaml', true],
  ['bun.lockb', true],
  ['rust/Cargo.lock', true],
  ['uv.lock', true],
  ['composer.lock', true],
  ['go.sum', true],
  ['package.json', false],
  ['my-package-lock.json', false],
  ['go.mod', false],
  ['src/file.lock', false],
  ['yarn.lock/readme.md', false],
  ['dist/index.js', false],
])('%s is a lock file: %s', (path, expected) => {
  expect(isLockFile(path)).toBe(expected);
});

test('nobody reviews the lines of a lock file', () => {
  expect(isGenerated('web/yarn.lock')).toBe(true);
  expect(isGenerated('dist/index.js')).toBe(true);
  expect(isGenerated('src/index.ts')).toBe(false);
});
