import { expect, test } from 'vitest';
import { nameOfBeside, findNewBesideWork, type BesideWork } from '../../../../src/core/work-tree/answers.ts';

const id = 'a'.repeat(40);
const other = 'b'.repeat(40);

test.each<[BesideWork, string]>([
  [{ is: 'branch', name: 'feature/x', id }, 'branch feature/x'],
  [{ is: 'ref', name: 'refs/tags/v1', id }, 'refs/tags/v1'],
  [{ is: 'stash', name: 'stash@{0}', id }, 'stash@{0}'],
  [{ is: 'head', name: 'abc123abc123', id }, 'commit abc123abc123 on no branch'],
  [{ is: 'work-tree', name: 'a\nb\u{202e}', id }, 'work tree a b'],
])('%j has a name for people', (item, name) => {
  expect(nameOfBeside(item)).toBe(name);
});

test('a name has at most 200 characters, whatever the agent called it', () => {
  expect(nameOfBeside({ is: 'branch', name: 'x'.repeat(4000), id }).length).toBeLessThanOrEqual(200);
});

test.each<[string, BesideWork, BesideWork, boolean]>([
  ['the same branch', { is: 'branch', name: 'a', id }, { is: 'branch', name: 'a', id }, false],
  ['a branch that moved', { is: 'branch', name: 'a', id }, { is: 'branch', name: 'a', id: other }, true],
  ['another branch at the same commit', { is: 'branch', name: 'a', id }, { is: 'branch', name: 'b', id }, true],
  ['a stash below a newer one', { is: 'stash', name: 'stash@{0}', id }, { is: 'stash', name: 'stash@{1}', id }, false],
  ['a work tree with other files', { is: 'work-tree', name: 'w', id }, { is: 'work-tree', name: 'w', id: other }, true],
])('news: %s', (_, before, now, isNew) => {
  expect(findNewBesideWork([before], [now])).toEqual(isNew ? [now] : []);
});
