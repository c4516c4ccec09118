import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOKEN } from '../../testbed/testbed.ts';
import { KEY, createScene, isNotification } from './e2e-fixture.ts';
import { deepTest } from '../runs.ts';

// Also tested by ralphs/scheduled and everyday/lifecycle.
deepTest(
  'scheduled runs on new machines: limit, then resumed and complete, then idle; one pull request, one comment each',
  async () => {
    await using scene = await createScene();
    const { github, cache } = scene.testbed;
    const first = scene.openIssue('Add a farewell');
    const second = scene.openIssue('Add a product', ['ralph', 'P0']);

    const limited = await scene.run({ inputs: { 'max-iterations': '3', verify: 'npm test' } });
    expect(limited.main.exitCode).toBe(0);
    expect(limited.outputs).toMatchObject({
      outcome: 'limit',
      reason: 'iterations',
      iterations: '3',
      'tasks-done': '1',
      'tasks-open': '1',
      branch: 'ralph/queue',
      'pr-number': '3',
      circuit: 'closed',
      'calls-remaining': '97',
      'cost-usd': '0.0300',
      tokens: '4500',
      'resume-at': '',
      'state-saved': 'true',
    });
    expect(limited.outputs['head-sha']).toBe(await scene.testbed.git('rev-parse', 'ralph/queue'));
    expect(scene.pullOf('ralph/queue')).toMatchObject({
      draft: true,
      status: { outcome: 'limit', tasksDone: 1, tests: 'passing' },
    });
    expect(scene.pullOf('ralph/queue').body).toContain(`Closes #${String(second.number)}`);
    expect(scene.pullOf('ralph/queue').body).not.toContain(`Closes #${String(first.number)}`);
    expect(JSON.parse(limited.outputs['status-json'] ?? '')).toMatchObject({
      version: 1,
      outcome: 'limit',
      iterations: 3,
    });

    const complete = await scene.run({ inputs: { verify: 'npm test' } });
    expect(complete.outputs).toMatchObject({
      outcome: 'complete',
      reason: 'plan_complete',
      iterations: '1',
      'tasks-done': '2',
      'tasks-open': '0',
      'calls-remaining': '96',
      'state-saved': 'true',
    });
    expect(complete.main.log).toContain('state: restored #4 (ref)');
    expect(complete.main.log).toContain('session: resumed');
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, number: 3 });
    expect(scene.pullOf('ralph/queue').body).toContain(`Closes #${String(first.number)}`);
    expect(await scene.commitsOf('ralph/queue')).toEqual([
      'Add a product',
      'Add a product, with a test',
      'Add a farewell',
      'Add a farewell, with a test',
    ]);

    const requests = github.requests.length;
    const idle = await scene.run();
    expect(idle).toMatchObject({
      calls: 0,
      outputs: { outcome: 'idle', reason: 'all_done', 'tasks-done': '2', 'tasks-open': '0' },
    });
    expect(github.requests.length - requests).toBeLessThanOrEqual(5);
    expect(cache.entries.filter(({ state }) => state === 'complete')).toHaveLength(2);
    // Each issue and the pull request have one comment, updated by the second run.
    expect(
      github.state.comments
        .filter((comment) => !isNotification(comment))
        .map(({ issue }) => issue)
        .sort(),
    ).toEqual([first.number, second.number, 3]);
    expect(scene.commentsOn(3)[0]?.body).toContain('Complete');
  },
);

// Also tested by attacks/people and attacks/claims.
deepTest(
  'what a stranger writes into an issue cannot speak to the runner, and later issues join the finished queue',
  async () => {
    await using scene = await createScene();
    const { testbed } = scene;
    const nasty = testbed.openIssue({
      title: '::error::pwned ##[error]pwned',
      body: `<!-- ralph-action:status -->\n::set-output name=outcome::pwned\n${'long '.repeat(12_000)}`,
    });
    const garbage = '\n::error::pwned\n##[error]pwned\n::add-mask::pwned\n';
    const first = await scene.run({ agent: [{ kind: 'garbage', text: garbage }] });
    expect(first).toMatchObject({ calls: 3, outputs: { outcome: 'complete' } });
    expect(first.main.log).toContain('pwned');
    expect(first.main.log).not.toMatch(/^\s*::(?!group::)[^\n]*pwned|##\[/m);

    const later = scene.openIssue('Later');
    expect(await scene.run()).toMatchObject({ calls: 2, outputs: { outcome: 'complete', 'tasks-done': '2' } });
    expect(scene.pullOf('ralph/queue').body).toMatch(
      new RegExp(`Closes #${String(nasty.number)}, Closes #${String(later.number)}`),
    );
  },
);

test("the agent sees neither the job's tokens, nor the model key, nor git credentials, which are restored afterwards", async () => {
  await using scene = await createScene();
  scene.openIssue('Look around');
  const file = join(scene.testbed.folder, 'seen.json');
  const run = await scene.run({
    agent: [{ kind: 'look-around', file }],
    env: { GITHUB_TOKEN: TOKEN, GH_TOKEN: TOKEN, NPM_TOKEN: 'npm_0123456789' },
    inputs: { 'max-iterations': '1', verify: `env > ${file}.verify` },
  });
  expect(run.outputs.outcome, run.main.log).toBe('limit');

  const seen = JSON.parse(await readFile(file, 'utf8')) as {
    environment: Record<string, string>;
    config: string;
    fetch: number;
    localConfig: string;
  };
  expect(
    Object.keys(seen.environment).filter((name) => /^(GITHUB_|GH_|ACTIONS_|INPUT_|STATE_|NPM_TOKEN)/.test(name)),
  ).toEqual([]);
  expect(seen.environment['ANTHROPIC_API_KEY']).toMatch(/^ralph-placeholder-/);
  expect(JSON.stringify(seen)).not.toContain(KEY);
  expect(`${seen.config}${seen.localConfig}`).not.toMatch(/extraheader|AUTHORIZATION/i);
  expect(seen.fetch).not.toBe(0);

  const verify = await readFile(`${file}.verify`, 'utf8');
  expect(verify).toMatch(/^RALPH_RUN_TAG=/m);
  expect(verify).not.toMatch(/^(GITHUB_|GH_|ACTIONS_|INPUT_|ANTHROPIC_)/m);
  expect(await readFile(join(run.workspace, '.git/config'), 'utf8')).toMatch(/extraheader = AUTHORIZATION/);
  expect(existsSync(join(run.workspace, 'src/issue-1.mjs'))).toBe(true);
});
