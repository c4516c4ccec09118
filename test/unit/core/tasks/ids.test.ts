import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  hashId,
  idOfForeignIssue,
  isIssueTask,
  isLaneId,
  toIssueLane,
  issueOfId,
  keyOfEntry,
  isHashedId,
  nameOfTaskId,
  parseTaskName,
  taskIdOfEntry,
  taskIdOfIssue,
} from '../../../../src/core/tasks/ids.ts';

test("an issue's task and its own lane are called the same", () => {
  expect(taskIdOfIssue(12)).toBe('issue-12');
  expect(toIssueLane(12)).toBe('issue-12');
});

test.each([
  ['issue-1', 1],
  ['issue-12', 12],
  ['issue-123456789012345', 123456789012345],
  ['issue-1234567890123456', null],
  ['issue-0', null],
  ['issue-012', null],
  ['issue-', null],
  ['issue-12a', null],
  ['my-issue-12', null],
  ['queue', null],
  ['plan-3f9a12c0', null],
])('the issue of %s is %j', (id, number) => {
  expect(issueOfId(id)).toBe(number);
  expect(isIssueTask(id)).toBe(number !== null);
  expect(isLaneId(id)).toBe(number !== null || id === 'queue');
});

test.each([
  ['plan', '3f9a12c0', 'plan-3f9a12c0'],
  ['prd', 'US-001', 'prd-US-001'],
  ['beads', 'bd-a1b2', 'beads-bd-a1b2'],
] as const)('an entry of %s called %s is the task %s', (source, key, id) => {
  expect(taskIdOfEntry(source, key)).toBe(id);
  expect(keyOfEntry(id)).toBe(key);
});

test('the id of anything but an entry has no key', () => {
  expect(keyOfEntry('issue-12')).toBe('issue-12');
  expect(keyOfEntry('my-plan-1')).toBe('my-plan-1');
});

describe('what people call a task of which only the id is known', () => {
  test.each([
    ['issue-12', '#12'],
    [idOfForeignIssue('owner/repo#4'), 'owner/repo#4'],
    [idOfForeignIssue('owner/re.po#4'), 'owner/re.po#4'],
    [idOfForeignIssue(`owner/${'r'.repeat(100)}#4`), 'an issue of another repository'],
    ['plan-3f9a12c0', 'plan-3f9a12c0'],
    ['elsewhere-owner.repo.12', 'owner/repo#12'],
    ['elsewhere-owner.repo.12x', 'an issue of another repository'],
    ['plan-elsewhere-owner.repo.12', 'plan-elsewhere-owner.repo.12'],
    ['plan-elsewhere-', 'plan-elsewhere-'],
  ])('%s: %s', (id, name) => {
    expect(nameOfTaskId(id)).toBe(name);
  });
});

test.each([
  ['issue-12', false],
  ['prd-US-001', false],
  ['beads-bd-a1b2', false],
  ['plan-3f9a12c0', true],
  ['plan-3f9a12c0-2', true],
  ['prompt-0a1b2c3d4e5f', true],
  ['prd-a-b-0a1b2c3d4e5f', true],
])('the id %s contains a hash: %s', (id, expected) => {
  expect(isHashedId(id)).toBe(expected);
});

test('what waits elsewhere has an id of at most 80 characters of an id', () => {
  expect(idOfForeignIssue('owner/repo#4')).toBe('elsewhere-owner.repo.4');
  expect(idOfForeignIssue('ow ner!!/repo#4')).toBe('elsewhere-ow-ner-.repo.4');
  expect(idOfForeignIssue(`owner/${'r'.repeat(100)}#4`)).toHaveLength(80);
});

describe('the task that people name', () => {
  test.each([
    ['12', 'issue-12'],
    ['#12', 'issue-12'],
    ['7', 'issue-7'],
    ['123', 'issue-123'],
    ['12a', null],
    ['a12', null],
    ['issue-12', 'issue-12'],
    ['Issue-12', 'issue-12'],
    ['plan-3f9a12c0', 'plan-3f9a12c0'],
    ['prd-US-001', 'prd-US-001'],
    ['beads-bd-a1b2.1', 'beads-bd-a1b2.1'],
    [`prd-${'x'.repeat(76)}`, `prd-${'x'.repeat(76)}`],
    [`prd-${'x'.repeat(77)}`, null],
    ['0', null],
    ['##12', null],
    ['plan-', null],
    ['plan-a b', null],
    ['US-001', null],
    ['', null],
  ])('%j is %j', (name, id) => {
    expect(parseTaskName(name)).toBe(id);
  });
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
