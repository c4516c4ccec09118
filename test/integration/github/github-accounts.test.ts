import { describe, expect, test } from 'vitest';
import { addIssue } from '../../../testbed/github/state.ts';
import { now, openForge, refusedWith } from './github-fixture.ts';

describe('permission of a person', () => {
  test.each([
    ['admin', 'admin', 'admin'],
    ['write', 'maintain', 'maintain'],
    ['write', 'write', 'write'],
    ['read', 'triage', 'triage'],
    ['read', 'read', 'read'],
    ['write', 'release-crew', 'write'],
  ] as const)('%s with the role %s is %s', async (permission, roleName, expected) => {
    await using at = await openForge();
    at.github.state.collaborators.set('someone', { permission, roleName });
    expect(await at.forge.permissionOf('someone')).toBe(expected);
  });

  test('the owner of the repository is an admin', async () => {
    await using at = await openForge();
    expect(await at.forge.permissionOf('octo')).toBe('admin');
  });

  test('a stranger in a public repository may read', async () => {
    await using at = await openForge();
    expect(await at.forge.permissionOf('stranger')).toBe('read');
  });

  test('a deleted account has no permission', async () => {
    await using at = await openForge();
    expect(await at.forge.permissionOf('gone-deleted')).toBe('none');
  });

  test('a login is data, never a path', async () => {
    await using at = await openForge();
    await at.forge.permissionOf('dependabot[bot]/../admin');
    expect(at.sent()).toEqual(['GET /collaborators/dependabot%5Bbot%5D%2F..%2Fadmin/permission']);
  });

  test('is asked once a run, however the login is written', async () => {
    await using at = await openForge();
    await Promise.all([at.forge.permissionOf('octo'), at.forge.permissionOf('Octo')]);
    await at.forge.permissionOf('octo');
    expect(at.sent()).toEqual(['GET /collaborators/octo/permission']);
  });

  test('is asked again after a failure', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /permission$/ },
      times: 1,
      effect: { kind: 'answer', status: 403, body: { message: 'No.' } },
    });
    await refusedWith(at.forge.permissionOf('octo'));
    expect(await at.forge.permissionOf('octo')).toBe('admin');
  });
});

describe('the account of a login', () => {
  test.each([
    { login: 'renovate[bot]', type: 'Bot', expected: { login: 'renovate[bot]', id: 2740337, kind: 'bot' } },
    { login: 'octo', type: 'User', expected: { login: 'octo', id: 2740337, kind: 'user' } },
    { login: 'acme', type: 'Organization', expected: null },
  ] as const)('$login, a $type, is $expected', async ({ login, type, expected }) => {
    await using at = await openForge();
    at.github.state.accounts.set(login, { id: 2740337, type });
    expect(await at.forge.account(login)).toEqual(expected);
    expect(at.sent()).toEqual([`GET /users/${encodeURIComponent(login)}`]);
  });

  test('that does not exist is null', async () => {
    await using at = await openForge();
    expect(await at.forge.account('gone-deleted')).toBeNull();
  });

  test('is the same in GraphQL and in REST, although GraphQL leaves [bot] out', async () => {
    await using at = await openForge();
    addIssue(
      at.github.state,
      { title: 'Update', body: '', labels: ['ralph'], author: 'renovate[bot]', labelledBy: 'renovate[bot]' },
      now,
    );
    const history = (await at.forge.issueHistories([1], 'ralph')).get(1);
    expect(history?.labelings[0]?.by).toEqual(await at.forge.account('renovate[bot]'));
  });
});
