import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { events } from '../../../testbed/testbed.ts';
import { rows } from '../../runs.ts';
import { createScene, KEY, type Scene } from '../e2e-fixture.ts';

const PATH = '.github/workflows/ralph.yml';
const VERIFY = 'test -f package.json';

/** Starts the provider that accepts the agent's key; `asked` holds path and key of each request. */
async function startProvider(status: number) {
  const asked: (readonly [string, string])[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    asked.push([url, String(headers['x-api-key'])]);
    response.writeHead(status).end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    env: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` },
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Creates a repository with the template's workflow and all its requirements. */
async function sceneWithWorkflow(change: (text: string) => string = (text) => text): Promise<Scene> {
  const scene = await createScene();
  const { testbed } = scene;
  const template = await readFile(new URL(`../../../templates/workflows/ralph.yml`, import.meta.url), 'utf8');
  const text = change(template.replace('OWNER/', 'acme/').replace(/# verify: .*/, `verify: ${VERIFY}`));
  const folder = join(testbed.folder, 'person');
  await git(testbed.folder, ['clone', '--quiet', '--branch', 'main', testbed.remote.repositoryFolder, folder]);
  await mkdir(dirname(join(folder, PATH)), { recursive: true });
  await writeFile(join(folder, PATH), text);
  await git(folder, ['add', '--all']);
  await git(folder, ['commit', '--quiet', '-m', 'Workflow', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', 'main']);
  await rm(folder, { recursive: true });
  testbed.permissions.actions = 'read';
  testbed.github.state.setUp.workflows.push({ path: PATH, state: 'active' });
  return scene;
}

test('/ralph doctor of a correct set-up: green, without a call, in the one status comment', async () => {
  await using scene = await sceneWithWorkflow();
  await using provider = await startProvider(200);
  const { github } = scene.testbed;
  const issue = scene.openIssue('Greet');
  const run = await scene.run({
    event: events.comment(github, { issue, body: '/ralph doctor' }),
    inputs: { verify: VERIFY },
    env: provider.env,
  });
  expect(run).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'idle', reason: 'answered', circuit: 'closed', 'tasks-open': '1' },
  });
  expect(provider.asked).toEqual([['/v1/models?limit=1', KEY]]);
  const [comment, ...others] = scene.commentsOn(issue.number).filter(({ author }) => author.type === 'Bot');
  expect(others).toEqual([]);
  expect(comment?.body).toMatch(/^<!-- ralph-action:status -->/);
  // The comment names what the job's token cannot see, with the page on which a person sees it.
  expect(comment?.body).toMatch(
    /⚠ Could not check classic branch protection: .*cannot be seen with this token.*settings\/branches/,
  );
  expect(comment?.body).not.toContain('✗');
  for (const says of [
    'The key is accepted',
    'passes in a clean clone',
    'This checkout is on a branch',
    'The agent is ready',
  ])
    expect(comment?.body).toContain(says);
  expect(run.summary).toContain('**Set-up:**');
  expect(run.main.log).toContain('one request that costs nothing');
  // Nothing is claimed, reserved, published or labelled.
  expect(await scene.testbed.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  expect(github.state.pulls).toEqual([]);
  expect(issue.labels).toEqual(['ralph']);
});

test('command: doctor reports all problems at once, and fails', async () => {
  await using scene = await sceneWithWorkflow((text) =>
    text.replace('issues: write', 'issues: read').replace('verify:', 'verfy:'),
  );
  await using provider = await startProvider(401);
  const { github, permissions } = scene.testbed;
  github.state.settings.actionsMayOpenPullRequests = false;
  const [workflow] = github.state.setUp.workflows;
  if (workflow !== undefined) workflow.state = 'disabled_inactivity';
  github.state.setUp.rules.push({ type: 'pull_request', ruleset: 7 });
  delete permissions.actions;
  const run = await scene.run({
    event: events.dispatch(),
    inputs: { command: 'doctor', verify: 'false', 'agent-path': '/nowhere/claude', 'state-store': 'ref' },
    env: provider.env,
  });
  expect(run).toMatchObject({
    calls: 0,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  for (const says of [
    '✗ `verfy` is not an input of this action. Did you mean',
    '✗ The workflow lacks `issues: write`',
    '✗ GitHub did not let us open pull requests',
    '✗ The key is refused (HTTP 401)',
    '✗ The label `ralph` does not exist',
    "✗ Rulesets apply to Ralph's branches",
    '✗ `verify` fails in a clean clone of this commit, at `false`',
    '/nowhere/claude',
    '⚠ Could not check whether the workflow is disabled',
  ])
    expect(run.summary).toContain(says);
  expect(run.main.log).toContain('✗ The key is refused (HTTP 401).');
  expect(run.main.log).toMatch(/::error::.*The check of the set-up found \d+ problems/);
  expect(github.state.comments).toEqual([]);
});

test('a variable that verify needs and does not get is a problem of its own, without a trial', async () => {
  await using scene = await sceneWithWorkflow();
  await using provider = await startProvider(200);
  const run = await scene.run({
    event: events.dispatch(),
    inputs: { command: 'doctor', verify: 'test "$FROM_SETUP" = yes' },
    env: { ...provider.env, FROM_SETUP: 'yes' },
  });
  expect(run.outputs).toMatchObject({ outcome: 'failed', reason: 'configuration' });
  expect(run.summary).toMatch(/✗ The verify command .*FROM_SETUP.*is set in this job and withheld from/);
  expect(run.main.log).not.toContain('verify runs once');
});

test("a run's result for the base is not computed again, and a checkout of a pull request event says what to do", async () => {
  await using scene = await sceneWithWorkflow();
  await using provider = await startProvider(200);
  const issue = scene.openIssue('Greet');
  const inputs = { verify: VERIFY };
  expect(await scene.run({ inputs })).toMatchObject({ outputs: { outcome: 'complete' } });
  const doctor = { event: events.dispatch(), inputs: { ...inputs, command: 'doctor' }, env: provider.env };
  const known = await scene.run(doctor);
  expect(known).toMatchObject({ calls: 0, outputs: { outcome: 'idle', branch: 'ralph/queue' } });
  expect(known.summary).toContain('passes on the base branch, as an earlier run found');
  expect(known.main.log).not.toContain('verify runs once');

  const detached = await scene.run({
    ...doctor,
    prepare: async (workspace) => {
      await git(workspace, ['checkout', '--quiet', '--detach']);
    },
  });
  expect(detached.outputs).toMatchObject({ outcome: 'failed', reason: 'configuration' });
  expect(detached.summary).toMatch(/✗ HEAD is detached/);
  expect(detached.summary).toMatch(/⚠ `verify` could not be tried: the checkout is not usable/);
  expect(scene.commentsOn(issue.number)).toHaveLength(1);
});

test.each(rows(1, ['doctor by hand', 'doctor in a comment']))(
  '%s, through the workflow that people copy',
  async (how) => {
    await using provider = await startProvider(200);
    const environment = `env:\n  ANTHROPIC_BASE_URL: ${provider.env.ANTHROPIC_BASE_URL}\njobs:`;
    const change = (text: string): string => text.replace(/^jobs:/m, environment);
    await using scene = await sceneWithWorkflow(change);
    const issue = scene.openIssue('Greet');
    const workflow = await scene.testbed.git('show', `main:${PATH}`);
    const event = how.endsWith('hand')
      ? events.dispatch('doctor')
      : events.comment(scene.testbed.github, { issue, body: '/ralph doctor' });
    const played = await scene.play({ workflow, event });
    expect(played).toMatchObject({
      kind: 'ran',
      calls: 0,
      result: { outputs: { outcome: 'idle', reason: 'answered' } },
    });
    expect(provider.asked).toHaveLength(1);
  },
);

test('a stranger is refused, and nothing is examined', async () => {
  await using scene = await sceneWithWorkflow();
  const { github } = scene.testbed;
  const issue = scene.openIssue('Greet');
  const run = await scene.run({ event: events.comment(github, { issue, body: '/ralph doctor', by: 'stranger' }) });
  expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'refused', reason: 'not_allowed' } });
  expect(github.requests.filter(({ path }) => path.includes('/rules'))).toEqual([]);
});
