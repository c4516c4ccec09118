import { describe, expect, test } from 'vitest';
import { nameReferenceById, findTaskByName, type TaskReference } from '../../../../src/core/people/named-task.ts';

const tasks: readonly TaskReference[] = [
  { id: 'issue-12', name: '#12' },
  { id: 'plan-2b811320dcd2', name: '.ralph/fix_plan.md:4' },
  { id: 'prd-US-003', name: 'US-003' },
  { id: 'prd-7', name: '7' },
  { id: 'beads-7', name: '7' },
  { id: 'prd-12', name: '12' },
  { id: 'prompt-0a1b2c3d4e5f', name: 'PROMPT.md' },
];

describe('a task that a person names', () => {
  test.each([
    ['issue-12', 'issue-12'],
    ['#12', 'issue-12'],
    ['plan-2b811320dcd2', 'plan-2b811320dcd2'],
    ['.ralph/fix_plan.md:4', 'plan-2b811320dcd2'],
    ['US-003', 'prd-US-003'],
    ['us-003', 'prd-US-003'],
    ['prd-US-003', 'prd-US-003'],
    ['beads-7', 'beads-7'],
    ['PROMPT.md', 'prompt-0a1b2c3d4e5f'],
  ])('%s is %s', (given, id) => {
    expect(findTaskByName(given, tasks)).toEqual({ kind: 'task', id });
  });

  test.each([
    ['7', 'Several tasks are called 7: prd-7, beads-7. Name one by its id.'],
    ['12', 'Several tasks are called 12: prd-12, issue-12. Name one by its id.'],
  ])('%s may be several', (given, why) => {
    expect(findTaskByName(given, tasks)).toEqual({ kind: 'several', why });
  });

  test.each([
    ['US-004', /^Nearest: US-003 \(prd-US-003\), /],
    ['.ralph/fix_plan.md:5', /^Nearest: \.ralph\/fix_plan\.md:4 \(plan-2b811320dcd2\), /],
    ['#13', /^Nearest: #12, /],
    ['', /^Nearest: /],
  ])('%s is not found, and the near ones are named', (given, nearest) => {
    expect(findTaskByName(given, tasks)).toEqual({ kind: 'none', nearest: expect.stringMatching(nearest) as string });
  });

  test('where nothing is known nothing is near', () => {
    expect(findTaskByName('US-003', [])).toEqual({ kind: 'none', nearest: 'No tasks are known yet.' });
  });

  test('of what only the id is known the entry of the file is the name', () => {
    expect(findTaskByName('US-003', [nameReferenceById('prd-US-003')])).toEqual({ kind: 'task', id: 'prd-US-003' });
    expect(findTaskByName('#12', [nameReferenceById('issue-12')])).toEqual({ kind: 'task', id: 'issue-12' });
  });

  test('one task that is known twice is one', () => {
    expect(findTaskByName('US-003', [...tasks, nameReferenceById('prd-US-003')])).toMatchObject({ kind: 'task' });
  });
});
