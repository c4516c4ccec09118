import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { createScene } from '../e2e-fixture.ts';

test('an agent that speaks the Agent Client Protocol works without isolation, and its cost is not known', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    inputs: {
      agent: 'acp',
      'agent-path': join(inject('programs'), 'scripted-acp.mjs'),
      'allowed-tools': 'Read,Edit,Write,Bash(git add:*),Bash(git commit:*)',
      isolation: 'none',
    },
    env: { OPENAI_API_KEY: 'sk-proj-of-the-stand-in-that-opens-nothing' },
  });
  expect(run, run.main.log).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete' } });
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Begin issue-1', 'Test issue-1']);
  const { body } = scene.pullOf('ralph/queue');
  for (const text of [run.main.log, run.summary, body]) {
    expect(text).toMatch(/cost not known|Your agent reports no cost/);
    expect(text).not.toContain('$0.00');
  }
});
