import { expect, test } from 'vitest';
import { levelsToTry, settleLevel, wantedIsolations, type FailedLevel } from '../../../../src/core/isolation/level.ts';
import { isByOutsiders } from '../../../../src/core/isolation/outsiders.ts';

const noRoot: FailedLevel = { level: 'namespace', why: 'sudo asks for a password' };
const noUser: FailedLevel = { level: 'user', why: 'sudo asks for a password' };

test('auto tries the strongest first, a level that is named is tried alone, and for none nothing is tried', () => {
  expect(levelsToTry('auto')).toEqual(['namespace', 'user', 'sandbox']);
  expect(levelsToTry('namespace')).toEqual(['namespace']);
  expect(levelsToTry('user')).toEqual(['user']);
  expect(levelsToTry('none')).toEqual([]);
});

test('what was reached holds, and a weaker one says why', () => {
  const reached = { reached: 'namespace', failed: [], byOutsiders: true } as const;
  expect(settleLevel('auto', reached)).toEqual({ kind: 'settled', level: 'namespace', why: null });
  expect(settleLevel('auto', { reached: 'user', failed: [noRoot], byOutsiders: true })).toEqual({
    kind: 'settled',
    level: 'user',
    why: 'Stronger isolation is not available here (`namespace`: sudo asks for a password).',
  });
});

test('none is what it is when it was written out', () => {
  expect(settleLevel('none', { reached: null, failed: [], byOutsiders: true })).toEqual({
    kind: 'settled',
    level: 'none',
    why: null,
  });
});

test.each([true, false])('a level that was named and cannot be had ends the run (by outsiders: %s)', (byOutsiders) => {
  const settled = settleLevel('namespace', { reached: null, failed: [noRoot], byOutsiders });
  expect(settled).toMatchObject({
    kind: 'unusable',
    problem: expect.stringContaining('`isolation: namespace`') as string,
  });
});

test('auto falls to none for a schedule, and not for what outsiders can bring about', () => {
  const failed = [noRoot, noUser];
  expect(settleLevel('auto', { reached: null, failed, byOutsiders: false })).toMatchObject({
    kind: 'settled',
    level: 'none',
    why: expect.stringContaining('sudo asks for a password') as string,
  });
  expect(settleLevel('auto', { reached: null, failed, byOutsiders: true })).toMatchObject({ kind: 'unusable' });
});

test('nothing but a level that was reached, or none, is ever settled', () => {
  for (const wanted of wantedIsolations)
    for (const reached of [null, 'namespace', 'user'] as const)
      for (const byOutsiders of [true, false]) {
        const settled = settleLevel(wanted, { reached, failed: [noRoot], byOutsiders });
        if (settled.kind === 'settled') expect(settled.level).toBe(reached ?? 'none');
      }
});

test.each([
  ['schedule', false],
  ['workflow_dispatch', false],
  ['repository_dispatch', false],
  ['push', false],
  ['issues', true],
  ['issue_comment', true],
  ['pull_request', true],
  ['something_new', true],
])('%s: outsiders can bring it about: %s', (event, expected) => {
  expect(isByOutsiders(event)).toBe(expected);
});
