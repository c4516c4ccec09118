import { expect, test } from 'vitest';
import {
  getLabelDefinition,
  computeLabelChange,
  chooseTaskLabel,
  waitsForApproval,
  type LifecycleLabel,
} from '../../../../src/core/people/labels.ts';
import type { TaskObstacle, TaskProgress } from '../../../../src/core/tasks/task.ts';

test.each<[TaskProgress['state'], TaskObstacle | null, LifecycleLabel | null]>([
  ['todo', null, null],
  ['in-progress', null, 'ralph:working'],
  ['failed', null, 'ralph:failed'],
  ['blocked', null, 'ralph:blocked'],
  ['done', null, 'ralph:done'],
  ['todo', 'needs-approval', 'ralph:needs-approval'],
  ['in-progress', 'needs-approval', 'ralph:needs-approval'],
  // A finished task needs no approval.
  ['done', 'needs-approval', 'ralph:done'],
])('a task that is %s, with the obstacle %j, has the label %j', (state, obstacle, label) => {
  expect(chooseTaskLabel({ state }, obstacle)).toBe(label);
});

test.each<[readonly string[], LifecycleLabel | null, readonly string[], readonly string[]]>([
  [[], null, [], []],
  [['bug'], 'ralph:done', ['ralph:done'], []],
  [['bug', 'Ralph:Done'], 'ralph:done', [], []],
  [['bug', 'RALPH:working'], 'ralph:done', ['ralph:done'], ['RALPH:working']],
  [['ralph:done', 'ralph:working'], 'ralph:done', [], ['ralph:working']],
  [['ralph:done', 'bug', 'ralph:failed'], null, [], ['ralph:done', 'ralph:failed']],
  // The task label and foreign labels are not Ralph's.
  [['ralph', 'ralph:mine', 'toString'], null, [], []],
])('from %j to %j: put on %j, take off %j', (current, wanted, add, remove) => {
  expect(computeLabelChange(current, wanted)).toEqual({ add, remove });
});

test.each<[LifecycleLabel, string, string]>([
  ['ralph:working', '1d76db', 'Ralph is working on this issue'],
  ['ralph:done', '0e8a16', 'Ralph has finished this issue; its work waits in a pull request'],
  ['ralph:failed', 'b60205', 'Ralph gave up on this issue: it took too many iterations'],
  ['ralph:blocked', 'd93f0b', 'Ralph cannot continue with this issue without a person'],
  ['ralph:needs-approval', 'fbca04', 'The text was changed after approval: add the task label again'],
])('%s is created with the colour %s', (name, color, description) => {
  expect(getLabelDefinition(name)).toEqual({ name, color, description });
});

test.each<[readonly string[], boolean]>([
  [[], false],
  [['ralph', 'ralph:done'], false],
  [['bug', 'Ralph:Needs-Approval'], true],
])('by its labels %j an issue waits for approval: %s', (labels, waits) => {
  expect(waitsForApproval(labels)).toBe(waits);
});
