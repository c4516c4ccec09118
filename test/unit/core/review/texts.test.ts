import { describe, expect, test } from 'vitest';
import { readsTexts, selectToRead, type UnreadChange } from '../../../../src/core/review/test-files.ts';

const MIB = 1024 * 1024;

function change(path: string, more: Partial<UnreadChange> = {}): UnreadChange {
  return { path, kind: 'changed', bytesBefore: 10, bytesAfter: 10, ...more };
}

const read = (changes: readonly UnreadChange[]): readonly string[] => selectToRead(changes).map(({ path }) => path);

test.each<readonly [string, UnreadChange['kind'], boolean]>([
  ['package.json', 'changed', true],
  ['a/Package.json', 'added', true],
  ['package.json', 'deleted', false],
  ['test/a.test.js', 'added', true],
  ['tests/run', 'changed', true],
  ['test/a.test.js', 'deleted', false],
  ['test/data.json', 'changed', false],
  ['tests/image.PNG', 'added', false],
  ['src/a.js', 'changed', false],
])('%s, %s: its texts are read: %s', (path, kind, expected) => {
  expect(readsTexts({ path, kind })).toBe(expected);
});

describe('more than a run can read', () => {
  test('manifests come before tests, those nearest to the root first', () => {
    expect(
      read(['test/deep/a.test.js', 'z/b/package.json', 'a.test.js', 'package.json'].map((path) => change(path))),
    ).toEqual(['package.json', 'z/b/package.json', 'a.test.js', 'test/deep/a.test.js']);
  });

  test.each<readonly [string, Partial<UnreadChange>]>([
    ['is long now', { bytesAfter: MIB + 1 }],
    ['was long before', { bytesBefore: MIB + 1, bytesAfter: 1 }],
  ])('one that %s is left, the others are read', (_, more) => {
    expect(read([change('package.json', more), change('a/package.json')])).toEqual(['a/package.json']);
  });

  test.each<readonly [string, number, Partial<UnreadChange>]>([
    ['bytes', 16, { bytesBefore: null, bytesAfter: MIB }],
    ['files', 4000, {}],
  ])('this many %s, and the manifest in any case', (_, most, more) => {
    const tests = Array.from({ length: most + 10 }, (_each, i) => change(`${i}.test.js`, more));
    const found = read([...tests, change('zz/package.json', { bytesAfter: 0, bytesBefore: 0 })]);
    expect(found[0]).toBe('zz/package.json');
    expect(found.length).toBeGreaterThanOrEqual(most);
    expect(found.length).toBeLessThanOrEqual(most + 1);
  });
});
