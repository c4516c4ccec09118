import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { claimsBlocked, type Behaviour, finisher } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { commented, createProject, finishOnce, runOnce, savedState, warningsIn } from '../stage/run-action.ts';
import { killAt } from '../stage/tap.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';

const ADDRESS = 'https://hooks.example.test/services/T0/B0/secret-part';

/** Creates a project with a webhook; returns the bodies that it gets. */
function withWebhook(
  agent: readonly Behaviour[],
  { address = ADDRESS, ...inputs }: Readonly<Record<string, string>> = {},
) {
  const project = createProject({
    issues: [1],
    agent,
    inputs: { 'max-iterations-per-task': '8', 'notify-webhook': address, ...inputs },
  });
  const bodies: string[] = [];
  const ids: string[] = [];
  project.webhook = ({ id, body }) => {
    ids.push(id);
    bodies.push(body);
    return Promise.resolve(null);
  };
  return { project, bodies, ids };
}

function addPlan({ origin }: Project): void {
  const parent = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(parent)?.tree, '.ralph/fix_plan.md': '- [ ] Greet\n' };
  origin.branches.set('main', addCommit(origin, { tree, parent, message: 'Tasks' }));
}

const read = (body = '') => JSON.parse(body) as { readonly needs: unknown; readonly commentUrl: string };
const needsIn = (body = ''): unknown => read(body).needs;
const nextRun = (project: Project) => {
  project.clock.advance(MINUTE);
  return runOnce(project);
};

describe('the webhook gets a message at the moments at which people are mentioned', () => {
  test('of a blocked task, once over several runs', async () => {
    const { project, bodies } = withWebhook([claimsBlocked]);
    for (let run = 0; run < 3; run += 1) await nextRun(project);
    expect(bodies).toHaveLength(1);
    expect(read(bodies[0])).toMatchObject({
      outcome: 'blocked',
      needs: [{ kind: 'blocked', about: 'issue-1', title: 'Title 1' }],
      commentUrl: expect.stringMatching(/\/issues\/1#issuecomment-\d+$/),
    });
  });

  test('again after a person asked for a retry, under another id', async () => {
    const { project, ids } = withWebhook([claimsBlocked]);
    await runOnce(project);
    project.clock.advance(MINUTE);
    await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect(new Set(ids).size).toBe(2);
  });

  test('of a pull request that is ready', async () => {
    const { project, bodies } = withWebhook([finisher]);
    await runOnce(project);
    expect(needsIn(bodies[0])).toEqual([
      { kind: 'ready', about: 'lane-queue', text: expect.any(String), title: null, question: null },
    ]);
  });

  test('of a configuration that stops every run, once', async () => {
    const { project, bodies } = withWebhook([finisher]);
    for (let run = 0; run < 2; run += 1) await runOnce(project, { hasProviderKey: false });
    expect(bodies.map(needsIn)).toMatchObject([[{ kind: 'configuration', about: 'every-run' }]]);
  });

  test('not without an address', async () => {
    const { project, bodies } = withWebhook([claimsBlocked], { address: '' });
    await runOnce(project);
    expect(bodies).toEqual([]);
  });
});

describe('where no comment is written, the message comes alone', () => {
  test('with `notify: none`, once over several runs', async () => {
    const { project, bodies } = withWebhook([claimsBlocked], { notify: 'none' });
    for (let run = 0; run < 3; run += 1) await nextRun(project);
    expect(bodies.map((body) => read(body).commentUrl)).toEqual([expect.stringMatching(/\/issues\/1$/)]);
    expect([...project.forge.notifications.values()]).toEqual([]);
  });

  test('for work without an issue and a pull request, once over several runs', async () => {
    const { project, bodies } = withWebhook([claimsBlocked], { 'task-sources': 'plan' });
    addPlan(project);
    for (let run = 0; run < 3; run += 1) await nextRun(project);
    expect(bodies.map((body) => read(body).commentUrl)).toEqual([expect.stringContaining('/actions/runs/')]);
  });

  test.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['with `notify: none`', { notify: 'none' }, true],
    ['without an issue', { 'task-sources': 'plan' }, true],
    ['with a token that reads nothing', {}, false],
  ])('of a configuration that stops every run, %s', async (_, inputs, isReadable) => {
    const { project, bodies } = withWebhook([finisher], inputs);
    addPlan(project);
    for (const asked of isReadable ? [] : (['pullRequestOf', 'openIssuesWithLabel'] as const))
      project.forge.faults.set(asked, new UserError('configuration', 'Bad credentials'));
    await runOnce(project, { hasProviderKey: false });
    expect(bodies.map(needsIn)).toMatchObject([[{ kind: 'configuration', about: 'every-run' }]]);
    expect(read(bodies[0]).commentUrl).toContain('/actions/runs/');
    expect([...project.forge.notifications.values()]).toEqual([]);
  });

  test('if it fails, a later run tries again', async () => {
    const { project, bodies } = withWebhook([claimsBlocked], { notify: 'none' });
    const { webhook } = project;
    project.webhook = () => Promise.resolve('it answered with HTTP 500');
    await runOnce(project);
    project.webhook = webhook;
    await nextRun(project);
    expect(bodies).toHaveLength(1);
  });
});

describe('a comment that cannot be written', () => {
  test('for now: the webhook waits with it', async () => {
    const { project, bodies } = withWebhook([claimsBlocked]);
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'GitHub answered 500.'));
    await runOnce(project);
    expect(bodies).toEqual([]);
    project.forge.faults.clear();
    await nextRun(project);
    expect(bodies).toHaveLength(1);
  });

  test('ever, as on a locked issue: the message comes alone, once', async () => {
    const { project, bodies } = withWebhook([claimsBlocked]);
    project.forge.faults.set('upsertComment', new UserError('configuration', 'The conversation is locked.'));
    for (let run = 0; run < 3; run += 1) await nextRun(project);
    expect(bodies.map((body) => read(body).commentUrl)).toEqual([expect.stringMatching(/\/issues\/1$/)]);
    expect(savedState(project).notified).toMatchObject([{ kind: 'blocked', comment: null }]);
  });
});

test('a webhook that fails is a warning, and the run ends as without it', async () => {
  const { project } = withWebhook([claimsBlocked]);
  project.webhook = () => Promise.resolve('it answered with HTTP 500');
  const run = await runOnce(project);
  expect(run.end).toBe('blocked (needs_human)');
  expect(warningsIn(run)).toContain('The address in `notify-webhook` got no message: it answered with HTTP 500.');
});

test.each([
  ['before the message', 'upsertComment', 1],
  ['after the message', 'webhook', 2],
])('a main that is killed %s leaves one to its post or the next run, by the same id', async (_, last, count) => {
  const { project, ids } = withWebhook([claimsBlocked]);
  let isSent = false;
  const { webhook } = project;
  project.webhook = (message) => {
    isSent = true;
    return webhook(message);
  };
  const isLast = (call: string): boolean => (last === 'webhook' ? isSent : call.endsWith(last));
  const run = await runOnce(project, { tap: killAt(isLast, last === 'webhook' ? 'before' : 'after') });
  await finishOnce(project, run);
  await nextRun(project);
  expect([ids.length, new Set(ids).size]).toEqual([count, 1]);
});
