import fc from 'fast-check';
import { expect, test } from 'vitest';
import { priorityOfLabel, priorityOfWord } from '../../../../src/core/tasks/priority.ts';
import { hashId } from '../../../../src/core/tasks/task-id.ts';

test.each<[string, number | null]>([
  ['P0', 1],
  ['critical', 1],
  ['Urgent', 1],
  ['HIGH', 1],
  ['p1', 2],
  ['medium', 2],
  ['normal', 2],
  ['none', 2],
  ['P2', 3],
  ['low', 3],
  ['P3', 4],
  ['P4', null],
  ['', null],
  ['constructor', null],
])('the word %j is priority %s', (word, priority) => {
  expect(priorityOfWord(word)).toBe(priority);
});

test.each<[string, number | null]>([
  ['P0', 1],
  ['p3', 4],
  ['priority:critical', 1],
  ['priority: High', 1],
  ['Priority/P2', 3],
  ['prio:low', 3],
  ['priority low', 3],
  ['high-priority', 1],
  ['low priority', 3],
  ['high', null],
  ['P0!', null],
  ['priority', null],
  ['priority:', null],
  ['priority:soon', null],
  ['not-priority', null],
  ['priority:constructor', null],
])('the label %j gives %s', (label, priority) => {
  expect(priorityOfLabel(label)).toBe(priority);
});

test.each([
  ['', '4c6d4ff0cf7c'],
  ['Add a parser', 'b5293138b0b8'],
  ['é🚧', 'd629cacd3cef'],
])('the hash of %j is %s in every version: states of lanes hold it', (text, hash) => {
  expect(hashId(text)).toBe(hash);
});

test('different texts have different hashes, however alike they are', () => {
  const texts = Array.from({ length: 50_000 }, (_, index) => `Task ${String(index)}`);
  expect(new Set(texts.map(hashId)).size).toBe(texts.length);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      expect(hashId(a)).toMatch(/^[0-9a-f]{12}$/);
      expect(hashId(a) === hashId(b)).toBe(a === b);
    }),
  );
});
