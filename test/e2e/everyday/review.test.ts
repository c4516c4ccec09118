import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { createScene, type Run, type Scene, type SceneJob } from '../e2e-fixture.ts';

const OPENAI_KEY = 'sk-proj-of-the-stand-in-that-opens-nothing';

/** Creates a repository whose pipeline has Claude Code work and Codex review. */
async function createReviewed(config: object): Promise<Scene> {
  const steps = [
    { type: 'agent', name: 'work' },
    { type: 'agent', name: 'review', config: { agent: 'codex', role: 'review', ...config } },
  ];
  const scene = await createScene();
  await scene.testbed.remote.commitByHand('main', { '.ralph/config.json': JSON.stringify({ steps }) });
  return scene;
}

/** Runs a job in which Codex's stand-in reviews by running `review`, whose output is its final message. */
function runReviewed(
  scene: Scene,
  review: string,
  {
    agent = [],
    env = { OPENAI_API_KEY: OPENAI_KEY },
  }: Pick<SceneJob, 'agent'> & { readonly env?: Record<string, string> },
): Promise<Run> {
  const path = (name: string): string => join(inject('programs'), name);
  return scene.run({
    inputs: {
      'agent-path': `claude=${path('scripted-agent.mjs')}, codex=${path('scripted-codex.mjs')}`,
      'agent-env': 'RALPH_SCRIPT, RALPH_PAUSE_MS, RALPH_CODEX_REVIEW',
      'allowed-tools': 'Read,Edit,Write,Bash',
      'max-iterations': '2',
    },
    env: { RALPH_CODEX_REVIEW: review, ...env },
    agent,
  });
}

/**
 * Prints which keys of providers are among the variables of a process, in words that are not secrets; a real key is one.
 * The brackets keep the pattern from matching itself.
 */
const KEYS_SEEN = `env | grep -oE '^(ANTHROPIC|OPENAI|CODEX)_API_KEY|[s]k-proj-of' | sed 's/_API_KEY//' | sort -u | tr '\\n' ' '`;

test('another vendor reviews, with its own key: its findings hold the task, and reach the next prompt', async () => {
  await using scene = await createReviewed({ hold: 'high' });
  scene.openIssue('Count');
  const run = await runReviewed(
    scene,
    `[ -f fixed.txt ] && echo '{"findings": []}' && exit
printf '{"findings": [{"file": "count.txt", "line": 1, "severity": "high", "text": "Saw: %s"}]}' "$(${KEYS_SEEN})"`,
    {
      agent: [
        { kind: 'shell', script: `${KEYS_SEEN} > seen.txt; echo 1 > count.txt` },
        { kind: 'shell', script: 'echo 1 > fixed.txt' },
      ],
    },
  );
  expect(run, run.main.log).toMatchObject({ calls: 2, outputs: { outcome: 'complete', iterations: '2' } });
  expect(run.summary).toContain('held by review: 1 finding');
  expect(run.main.log).toContain('step review (agent) passed; held by review: 1 finding');
  expect((await scene.testbed.git('show', 'ralph/queue:seen.txt')).trim()).not.toMatch(/OPENAI|sk-proj/);
  // The first review is in the journal only: the second one found nothing.
  expect(scene.pullOf('ralph/queue').body).not.toContain('Findings of reviews');
  expect((run.main.log + run.summary).split(OPENAI_KEY)).toHaveLength(2);
});

test('the reviewer sees no key of the other vendor, and no key ends the run before a call', async () => {
  await using scene = await createReviewed({});
  scene.openIssue('Count');
  const without = await runReviewed(scene, '', { env: {} });
  expect(without, without.main.log).toMatchObject({
    calls: 0,
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  expect(without.main.log).toContain('step review calls the agent codex: There is no key');
  const run = await runReviewed(
    scene,
    `printf '{"findings": [{"file": "a", "severity": "low", "text": "Saw: %s."}]}' "$(${KEYS_SEEN})"`,
    { agent: [{ kind: 'work' }, { kind: 'work' }] },
  );
  expect(run.outputs, run.main.log).toMatchObject({ outcome: 'complete' });
  expect(scene.pullOf('ralph/queue').body).toMatch(/\*\*low\*\* `a`: Saw: (?:CODEX )?(?:OPENAI )?\./);
});

test('a reviewer that says 10 MB holds the task where findings hold, and fills no page', async () => {
  await using scene = await createReviewed({ hold: 'low' });
  scene.openIssue('Count');
  const run = await runReviewed(scene, `node -e 'console.log(JSON.stringify({ findings: "x".repeat(1e7) }))'`, {
    agent: [{ kind: 'shell', script: 'echo 1 > count.txt' }, { kind: 'idle' }],
  });
  expect(run.outputs, run.main.log).toMatchObject({ outcome: 'limit' });
  expect(scene.pullOf('ralph/queue').body).toContain('held by review: unreadable');
  expect(scene.pullOf('ralph/queue').body.length).toBeLessThan(65_000);
});
