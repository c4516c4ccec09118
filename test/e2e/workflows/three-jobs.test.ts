import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, events, TOKEN } from '../../../testbed/testbed.ts';
import type { PlayedJob } from '../../../testbed/workflow/job.ts';
import { createScene, KEY, type Scene } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';

const template = readFileSync(join(ACTION_FOLDER, 'templates/workflows/three-jobs.yml'), 'utf8');

/** Returns the template with an input. */
function withInputs(input: string): string {
  const changed = template.replace(/^ {4}# with:\n {4}# {3}verify:.*$/m, `    with:\n      ${input}`);
  expect(changed).not.toBe(template);
  return changed;
}

/** Plays the workflow; returns the ends of its jobs by name. */
async function play(scene: Scene, performance: Omit<Parameters<Scene['play']>[0], 'workflow'> & { workflow?: string }) {
  const played = await scene.play({ workflow: template, ...performance });
  if (played.kind !== 'called') throw new Error(`It did not call the workflow: ${JSON.stringify(played)}`);
  // The jobs of one branch are shown as `branch (queue) / loop`.
  const endOf = (name: string): PlayedJob['end'] | 'skipped' => {
    const jobs = Object.entries(played.jobs).filter(([full]) => full === name || full.endsWith(` / ${name}`));
    expect(jobs.length).toBeLessThan(2);
    const job = jobs[0]?.[1] ?? 'skipped';
    return job === 'skipped' ? 'skipped' : job.end;
  };
  const ranOf = (name: string) => {
    const end = endOf(name);
    if (end === 'skipped' || end.kind !== 'ran') throw new Error(`The job ${name} did not run the action.`);
    return end;
  };
  return { ...played, endOf, ranOf };
}

test('a labelled issue: three jobs, each with just its rights, and the schedule continues with the queue', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  const { ranOf, jobs, outputs } = await play(scene, { event: events.labeled(issue) });
  expect(Object.keys(jobs)).toEqual(['gate', 'branch (issue-1) / loop', 'branch (issue-1) / publish', 'finish']);
  expect(ranOf('publish').result.outputs).toMatchObject({ outcome: 'complete', branch: 'ralph/issue-1' });
  // One branch needs no summing up, and the outputs of the workflow are its own.
  expect(jobs['finish']).toBe('skipped');
  expect(outputs).toMatchObject({ outcome: 'complete', branch: 'ralph/issue-1', 'pr-number': '2' });
  expect(scene.pullOf('ralph/issue-1')).toMatchObject({ draft: false });

  // People get the journal and the log, and no conversation.
  const [artifacts = ''] = readdirSync(scene.testbed.folder).filter((name) => name.startsWith('artifacts-'));
  expect(existsSync(join(scene.testbed.folder, artifacts, 'ralph-receipt-issue-1'))).toBe(false);
  const kept = join(scene.testbed.folder, artifacts, 'ralph-journal-issue-1');
  expect(readdirSync(kept)).toEqual(['journal.jsonl', 'journal.jsonl.log']);
  expect(readFileSync(join(kept, 'journal.jsonl.log'), 'utf8')).toContain('iteration 2: task done');
  expect(readFileSync(join(kept, 'journal.jsonl.log'), 'utf8')).not.toContain(KEY);

  // The job with the agent has the key and no token; the others have the token and no key.
  const given = ['gate', 'loop', 'publish'].map((name) => ranOf(name).inputs);
  expect(given.map((inputs) => inputs['github-token'])).toEqual([TOKEN, '', TOKEN]);
  expect(given.map((inputs) => inputs['anthropic-api-key'])).toEqual([undefined, KEY, KEY]);
  expect(given.map(({ phase }) => phase)).toEqual(['gate', 'loop', 'publish']);

  const queued = scene.openIssue('Another');
  const next = await play(scene, { event: events.schedule('17 * * * *') });
  expect(next.ranOf('publish').result.outputs).toMatchObject({ outcome: 'complete', branch: 'ralph/queue' });
  expect(queued.labels).toContain('ralph:done');
  const idle = await play(scene, { event: events.schedule('17 * * * *') });
  expect(idle.ranOf('gate').result.outputs['reason']).toBe('all_done');
  expect([idle.jobs['branch'], idle.jobs['finish']]).toEqual(['skipped', 'skipped']);
  expect(idle.outputs).toMatchObject({ outcome: 'idle', reason: 'all_done' });
});

test('other labels, comments and issues start no runner; a command is answered by the gate alone', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet', []);
  for (const event of [
    events.labeled(issue, 'bug'),
    events.comment(scene.testbed.github, { issue, body: 'Nice.' }),
    events.issue('closed', issue),
  ]) {
    // Also of an event that only those want who react faster.
    const workflow = template.replace('types: [labeled]', 'types: [labeled, closed]');
    const { endOf } = await play(scene, { event, workflow });
    expect([endOf('gate'), endOf('loop'), endOf('publish')]).toEqual(['skipped', 'skipped', 'skipped']);
  }
  const asked = await play(scene, { event: events.comment(scene.testbed.github, { issue, body: '/ralph status' }) });
  expect([asked.ranOf('gate').result.outputs['reason'], asked.endOf('loop')]).toEqual(['answered', 'skipped']);
});

test("the caller's inputs and `settings` apply in all three jobs", async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const { ranOf } = await play(scene, {
    event: events.schedule('17 * * * *'),
    workflow: withInputs(
      'branch-prefix: bot/\n      settings: |\n        co-author: false\n        receipts: true\n        max-iterations: 7',
    ),
  });
  expect(ranOf('publish').result.outputs).toMatchObject({ outcome: 'complete', branch: 'bot/queue' });
  expect(ranOf('loop').result.main.log).toContain('Iteration 1/7');
  expect(await scene.testbed.git('log', '-1', '--format=%B', 'bot/queue')).not.toContain('Co-authored-by');
  const [artifacts = ''] = readdirSync(scene.testbed.folder).filter((name) => name.startsWith('artifacts-'));
  expect(readdirSync(join(scene.testbed.folder, artifacts, 'ralph-receipt-queue'))).toEqual(['receipt.json.gz']);
  expect(['gate', 'loop', 'publish'].map((name) => Object.hasOwn(ranOf(name).inputs, 'settings'))).toEqual([
    true,
    false,
    false,
  ]);
});

test('the job of the loop may not push, and its agent finds no token in the checkout', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const probe = [
    'git push origin HEAD:refs/heads/ralph/stolen 2>&1 | tail -1 > pushed.txt || true',
    'git config --list | grep -ci authorization > config.txt || true',
    'env | grep -c ghs_ > env.txt || true',
  ].join('\n');
  const { ranOf } = await play(scene, {
    event: events.schedule('17 * * * *'),
    agent: [{ kind: 'shell', script: probe }],
    workflow: withInputs('max-iterations: 1'),
  });
  const { workspace } = ranOf('loop');
  const found = await Promise.all(['config.txt', 'env.txt'].map((name) => readFile(join(workspace, name), 'utf8')));
  expect(found).toEqual(['0\n', '0\n']);
  expect(await scene.testbed.git('for-each-ref', 'refs/heads')).not.toContain('stolen');
});

// Also tested by loop/split/jobs.
deepTest('a job of the loop that fails before the action is published as such', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  const { ranOf, endOf } = await play(scene, { event: events.labeled(issue), secrets: {} });
  expect(ranOf('publish').result.outputs).toMatchObject({ outcome: 'failed', reason: 'configuration' });
  expect(endOf('loop')).toMatchObject({ kind: 'ran' });
  expect(scene.notificationsOn(issue.number).map(({ body }) => body)).toEqual([
    expect.stringContaining('There is no key for the agent'),
  ]);
  expect(await play(scene, { event: events.labeled(issue) })).toMatchObject({
    jobs: { 'branch (issue-1) / publish': { status: 'success' } },
  });
});

// Also tested by loop/split/jobs.
deepTest('verify decides there as in one job, and what it said of the clean clone is in the pull request', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const { ranOf } = await play(scene, {
    event: events.schedule('17 * * * *'),
    workflow: withInputs('verify: test -f package.json'),
  });
  expect(ranOf('publish').result.outputs).toMatchObject({ outcome: 'complete' });
  expect(scene.pullOf('ralph/queue').body).toContain('## ✅ 1 of 1 task done');
});

test("the project's own set-up steps run only in the agent's job, and their installations are available there", async () => {
  await using scene = await createScene();
  const { folder, git } = scene.testbed;
  const action = join(folder, 'action.yml');
  await writeFile(
    action,
    'name: Set up\ndescription: x\nruns:\n  using: composite\n  steps:\n    - run: echo "$MODE ${#DOCS_TOKEN}" > "$RUNNER_TEMP/tool"\n      shell: bash\n',
  );
  await git('read-tree', 'main');
  const blob = await git('hash-object', '-w', action);
  await git('update-index', '--add', '--cacheinfo', `100644,${blob},.github/actions/ralph-setup/action.yml`);
  const tree = await git('write-tree');
  await git('update-ref', 'refs/heads/main', await git('commit-tree', tree, '-p', 'main', '-m', 'Set up'));
  scene.openIssue('Greet');
  const secrets = [
    'secrets:',
    '  anthropic-api-key: $' + '{{ secrets.ANTHROPIC_API_KEY }}',
    '  app-client-id: Iv1',
    '  app-private-key: key',
    '  env: |',
    '    MODE=fast',
    '    DOCS_TOKEN=$' + '{{ secrets.DOCS }}',
  ];
  const { ranOf } = await play(scene, {
    event: events.schedule('17 * * * *'),
    secrets: { ANTHROPIC_API_KEY: KEY, DOCS: 'docs-secret=1' },
    workflow: template.replace(/^ {4}secrets: .*$/m, () => secrets.map((line) => `    ${line}`).join('\n')),
  });
  const jobs = ['gate', 'loop', 'publish'].map(ranOf);
  const there = jobs.map(({ machine }) => existsSync(join(machine, 'temp', 'tool')));
  expect(there).toEqual([false, true, false]);
  // The caller's variables are there for them, and the values of secrets are masked.
  expect(readFileSync(join(ranOf('loop').machine, 'temp', 'tool'), 'utf8')).toBe('fast 13\n');
  const masks = jobs.map(({ steps }) =>
    steps.flatMap(({ name, log }) =>
      name.startsWith('Set the variables') ? [log.replace('::add-mask::', 'masked ')] : [],
    ),
  );
  expect(masks).toEqual([[], ['masked docs-secret=1\n'], ['masked docs-secret=1\n']]);
  const tokens = jobs.map(({ steps }) =>
    steps.flatMap(({ name, end }) => (name.includes('github-app-token') ? [end] : [])),
  );
  expect(tokens).toEqual([['success'], [], ['success']]);
  expect(ranOf('publish').result.outputs).toMatchObject({ outcome: 'complete' });
});
