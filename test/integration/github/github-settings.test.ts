import { expect, test } from 'vitest';
import type { Area } from '../../../testbed/github/route.ts';
import type { AskedValue, RepositorySettings } from '../../../src/core/doctor/facts.ts';
import { openForge } from './github-fixture.ts';

const ALL = { metadata: 'read', contents: 'read', issues: 'read', actions: 'read' } as const;
const ADMIN = { ...ALL, secrets: 'read', administration: 'read' } as const;
const query = {
  label: 'ralph',
  workflows: ['.github/workflows/ralph.yml'],
  branches: ['ralph/queue', 'ralph/issue-1'],
};
const PAGE = 'https://api.github.com/protection';

test('everything that a token of an administrator sees', async () => {
  await using scene = await openForge({ kind: 'user', permissions: ADMIN });
  const { setUp, labels } = scene.github.state;
  labels.push({ id: 1, name: 'ralph', color: 'ededed', description: '' });
  setUp.organizationSecrets.push('ANTHROPIC_API_KEY');
  setUp.workflows.push({ path: '.github/workflows/ralph.yml', state: 'disabled_inactivity' });
  setUp.rules.push({ type: 'creation', ruleset: 3 });
  setUp.pushRulesets.push({ id: 4, name: 'small files' });
  expect(await scene.forge.settings(query)).toEqual({
    token: { kind: 'known', value: { writes: false, mayOpenPullRequests: true } },
    secrets: { kind: 'known', value: ['ANTHROPIC_API_KEY'] },
    hasLabel: { kind: 'known', value: true },
    workflows: { kind: 'known', value: [{ path: '.github/workflows/ralph.yml', state: 'disabled_inactivity' }] },
    onDefaultBranch: { kind: 'known', value: { '.github/workflows/ralph.yml': null } },
    inTheWay: { kind: 'known', value: query.branches.map((branch) => ({ branch, existing: ['ralph/queue'] })) },
    branchRules: {
      kind: 'known',
      value: [{ type: 'creation', ruleset: 3, source: 'octo/demo', ofOrganization: false }],
    },
    branchProtection: { kind: 'known', value: [] },
    pushRulesets: { kind: 'known', value: [{ id: 4, name: 'small files' }] },
  });
});

test('a rule for the branches of issues alone is found; one for all branches counts once', async () => {
  await using scene = await openForge({ kind: 'user', permissions: ADMIN });
  const { rules, protections } = scene.github.state.setUp;
  rules.push({ type: 'creation', ruleset: 3 }, { type: 'update', ruleset: 5, branch: 'ralph/issue-1' });
  protections.set('ralph/issue-1', { lock_branch: { enabled: true } });
  scene.branches['ralph/issue-1'] = scene.branches['ralph/queue'] ?? '';
  const { branchRules, branchProtection } = await scene.forge.settings(query);
  expect(branchRules).toMatchObject({
    kind: 'known',
    value: [
      { type: 'creation', ruleset: 3 },
      { type: 'update', ruleset: 5 },
    ],
  });
  expect(branchProtection).toEqual({ kind: 'known', value: ['update', 'deletion'] });
});

const kindsOf = (settings: RepositorySettings): readonly string[] =>
  (Object.values(settings) as readonly AskedValue<unknown>[]).map(({ kind }) => kind);

const people = { users: [], teams: [], url: PAGE, users_url: PAGE, teams_url: PAGE, apps_url: PAGE };

test.each<[string, object, readonly string[]]>([
  ['only that it may not be deleted', {}, ['deletion']],
  ['nothing', { allow_deletions: { enabled: true } }, []],
  ['locked', { lock_branch: { enabled: true } }, ['update', 'deletion']],
  ['for some people alone', { restrictions: { ...people, apps: [] } }, ['update', 'deletion']],
  ['also for GitHub Actions', { restrictions: { ...people, apps: [{ slug: 'github-actions' }] } }, ['deletion']],
  [
    'reviews, checks and signatures',
    {
      required_pull_request_reviews: { dismiss_stale_reviews: false, require_code_owner_reviews: false },
      required_status_checks: { contexts: [], checks: [] },
      required_signatures: { url: PAGE, enabled: true },
      allow_deletions: { enabled: true },
    },
    ['pull_request', 'required_status_checks', 'required_signatures'],
  ],
])('a classic protection of the branch: %s', async (_, protection, value) => {
  await using scene = await openForge({ kind: 'user', permissions: ADMIN });
  scene.github.state.setUp.protections.set('ralph/queue', protection);
  expect((await scene.forge.settings(query)).branchProtection).toEqual({ kind: 'known', value });
});

test('of a branch that is not there yet, the protection is not known', async () => {
  await using scene = await openForge({ kind: 'user', permissions: ADMIN });
  delete scene.branches['ralph/queue'];
  expect((await scene.forge.settings(query)).branchProtection).toEqual({ kind: 'known', value: null });
});

test.each<[string, Area, string]>([
  ['token', 'administration', 'Administration: read'],
  ['branchProtection', 'administration', 'Administration: read'],
  ['secrets', 'secrets', 'Secrets: read'],
  ['hasLabel', 'issues', 'Issues: read'],
  ['workflows', 'actions', 'Actions: read'],
  ['onDefaultBranch', 'contents', 'Contents: read'],
])('%s without the right: what the token does not see is neither there nor absent', async (name, area, needs) => {
  for (const kind of ['app', 'user'] as const) {
    await using scene = await openForge({ kind, permissions: { ...ADMIN, [area]: undefined } });
    const settings = await scene.forge.settings(query);
    expect(settings).toMatchObject({
      [name]: { kind: 'unknown', why: `it cannot be seen with this token (that takes \`${needs}\`).` },
    });
    expect(kindsOf(settings).filter((kind) => kind === 'known').length).toBeGreaterThan(5);
  }
});

test.each(['labels/ralph', 'contents/', 'branches/'])(
  'a refusal as 404, which says that it is not accessible, does not count as absence: %s',
  async (path) => {
    await using scene = await openForge({ permissions: ADMIN });
    scene.github.faults.inject({
      match: { path: new RegExp(`demo/${path}`) },
      times: 5,
      effect: { kind: 'answer', status: 404, body: { message: 'Resource not accessible by integration' } },
    });
    const settings = await scene.forge.settings(query);
    expect(kindsOf(settings).filter((kind) => kind === 'unknown')).toHaveLength(1);
    expect(JSON.stringify(settings)).toContain('cannot be seen with this token');
  },
);

test('a repository that the token does not see: one request, and nothing in it counts as absent', async () => {
  await using scene = await openForge({ permissions: {} });
  const settings = await scene.forge.settings(query);
  expect(new Set(kindsOf(settings))).toEqual(new Set(['unknown']));
  expect(scene.sent()).toEqual(['GET ']);
});

test('a used-up rate limit does not count as missing permission', async () => {
  await using scene = await openForge({ permissions: ADMIN });
  scene.github.state.rate.remaining = 1;
  const { hasLabel } = await scene.forge.settings(query);
  expect(hasLabel).toMatchObject({ kind: 'unknown', why: expect.stringContaining('rate limit') });
});
