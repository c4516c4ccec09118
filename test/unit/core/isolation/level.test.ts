import { describe, expect, test } from 'vitest';
import { requiresNetworkLimit, parseAllowedHosts } from '../../../../src/core/isolation/hosts.ts';
import {
  listLevelsToTry,
  NO_BOUNDS,
  settleLevel,
  wantedIsolations,
  type FailedLevel,
} from '../../../../src/core/isolation/probe.ts';
import { isByOutsiders } from '../../../../src/core/isolation/program-folders.ts';

const noRoot: FailedLevel = { level: 'namespace', why: 'sudo asks for a password' };
const noUser: FailedLevel = { level: 'user', why: 'sudo asks for a password' };

test('auto tries the strongest first, a level that is named is tried alone, and for none nothing is tried', () => {
  expect(listLevelsToTry('auto')).toEqual(['namespace', 'user', 'sandbox']);
  expect(listLevelsToTry('namespace')).toEqual(['namespace']);
  expect(listLevelsToTry('user')).toEqual(['user']);
  expect(listLevelsToTry('none')).toEqual([]);
});

test('the reached level holds, and a weaker one says why', () => {
  const reached = { reached: 'namespace', failed: [], byOutsiders: true, mustLimit: false } as const;
  expect(settleLevel('auto', reached)).toEqual({ kind: 'settled', level: 'namespace', why: null });
  expect(settleLevel('auto', { reached: 'user', failed: [noRoot], byOutsiders: true, mustLimit: false })).toEqual({
    kind: 'settled',
    level: 'user',
    why: 'Stronger isolation is not available here (`namespace`: sudo asks for a password).',
  });
});

test('none is what it is when it was written out', () => {
  expect(settleLevel('none', { reached: null, failed: [], byOutsiders: true, mustLimit: false })).toEqual({
    kind: 'settled',
    level: 'none',
    why: null,
  });
});

test.each([true, false])('a level that was named and cannot be had ends the run (by outsiders: %s)', (byOutsiders) => {
  const settled = settleLevel('namespace', { reached: null, failed: [noRoot], byOutsiders, mustLimit: false });
  expect(settled).toMatchObject({
    kind: 'unusable',
    problem: expect.stringContaining('`isolation: namespace`') as string,
  });
});

test('auto falls to none for a schedule, and not for what outsiders can bring about', () => {
  const failed = [noRoot, noUser];
  expect(settleLevel('auto', { reached: null, failed, byOutsiders: false, mustLimit: false })).toMatchObject({
    kind: 'settled',
    level: 'none',
    why: expect.stringContaining('sudo asks for a password') as string,
  });
  expect(settleLevel('auto', { reached: null, failed, byOutsiders: true, mustLimit: false })).toMatchObject({
    kind: 'unusable',
  });
});

test('only a level that was reached, or no level, is ever settled', () => {
  for (const wanted of wantedIsolations)
    for (const reached of [null, 'namespace', 'user'] as const)
      for (const byOutsiders of [true, false]) {
        const settled = settleLevel(wanted, { reached, failed: [noRoot], byOutsiders, mustLimit: false });
        if (settled.kind === 'settled') expect(settled.level).toBe(reached ?? 'none');
      }
});

describe('where `allowed-hosts` has to be enforced', () => {
  const open: FailedLevel = { level: 'user', why: NO_BOUNDS };
  const problemOf = (...[wanted, tried]: Parameters<typeof settleLevel>): string => {
    const settled = settleLevel(wanted, tried);
    return settled.kind === 'unusable' ? settled.problem : '';
  };

  test.each([true, false])(
    'no level but none ends the run, whoever brought it about (by outsiders: %s)',
    (byOutsiders) => {
      const nothing = { reached: null, byOutsiders, mustLimit: true } as const;
      const opened = 'To leave the network open, set `allowed-hosts: any`.';
      expect(problemOf('auto', { ...nothing, failed: [noRoot, open] })).toBe(
        `\`allowed-hosts\` cannot be enforced on this runner, because the isolation that it needs is not available (\`namespace\`: sudo asks for a password; \`user\`: ${NO_BOUNDS}). Use a runner with sudo, such as GitHub's Ubuntu runners. ${opened}`,
      );
      const named = problemOf('user', { ...nothing, failed: [open] });
      expect(named).toMatch(
        /^`isolation: user` is not available on this runner \(`user`: no firewall can be set up here/,
      );
      expect(named).toContain(opened);
      expect(problemOf('none', { ...nothing, failed: [] })).toBe(
        'With `isolation: none` the agent reaches the whole network, so `allowed-hosts` cannot be enforced. Remove `allowed-hosts`, or set `isolation: auto`.',
      );
    },
  );

  test('a level that can do it is taken', () => {
    const reached = { reached: 'sandbox', failed: [noRoot, open], byOutsiders: true, mustLimit: true } as const;
    expect(settleLevel('auto', reached)).toMatchObject({ kind: 'settled', level: 'sandbox' });
  });

  test.each([
    [['api.example.com'], true],
    [['none'], true],
    [['localhost:5432'], true],
    [['any'], false],
    [[], false],
  ])('%j: %s', (items, expected) => {
    expect(requiresNetworkLimit(parseAllowedHosts(items).asked)).toBe(expected);
  });
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
