import { expect, test } from 'vitest';
import { priorityOfHeading, priorityOfLabel, priorityOfWord } from '../../../../src/core/tasks/priority.ts';

test.each<[string, number | null]>([
  ['Priority 1', 1],
  ['## Priority 2: soon', 2],
  ['🔴 priority #3', 3],
  ['PRIORITY – 4 (later)', 4],
  ['Priority 5', 5],
  ['P0 – now', 1],
  ['Priority: P2', 3],
  ['Priority 0', null],
  ['Priority 6', null],
  ['Priority 10', null],
  ['Priority 1.5', null],
  ['Priority 1st', null],
  ['Priorities 1', null],
  ['Low Priority 1', 3],
])('the heading %j gives %s', (heading, priority) => {
  expect(priorityOfHeading(heading)).toBe(priority);
});

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
  ['Priority 1', 1],
  ['## Priority 2: soon', 2],
  ['🔴 priority #3', 3],
  ['PRIORITY – 4 (later)', 4],
  ['Priority 5', 5],
  ['P0 – now', 1],
  ['Priority: P2', 3],
  ['Priority 0', null],
  ['Priority 6', null],
  ['Priority 10', null],
  ['Priority 1.5', null],
  ['Priority 1st', null],
  ['Priorities 1', null],
  ['Low Priority 1', 3],
])('the heading %j gives %s', (heading, priority) => {
  expect(priorityOfHeading(heading)).toBe(priority);
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
