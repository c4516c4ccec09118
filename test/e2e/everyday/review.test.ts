import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { ACTION_FOLDER } from '../../../testbed/testbed.ts';
import { createScene, type Scene, type SceneJob } from '../e2e-fixture.ts';

const OPENAI_KEY = 'sk-proj-of-the-stand-in-that-opens-nothing';

/** Returns a job in which Claude Code's stand-in works, and Codex's reviews by running this script. */
function job(review: string, env: Readonly<Record<string, string>> = { OPENAI_API_KEY: OPENAI_KEY }): SceneJob {
  const path = (name: string): string => join(inject('programs'), name);
  return {
    inputs: {
      'agent-path': `claude=${path('scripted-agent.mjs')}, codex=${path('scripted-codex.mjs')}`,
      'agent-env': 'RALPH_SCRIPT, RALPH_PAUSE_MS, RALPH_CODEX_REVIEW',
      'allowed-tools': 'Read,Edit,Write,Bash',
      'max-iterations': '2',
    },
    env: { RALPH_CODEX_REVIEW: review, ...env },
  };
}

async function withPipeline(scene: Scene, config: object): Promise<void> {
  const steps = [
    { type: 'agent', name: 'work' },
    { type: 'agent', name: 'review', config: { agent: 'codex', role: 'review', ...config } },
  ];
  await scene.testbed.commitToMain({ '.ralph/config.json': JSON.stringify({ steps }) });
}

/** A script that names a provider by its variables in the environment, without their values. */
const seen = `$(env | grep -oE '^(ANTHROPIC|OPENAI|CODEX)_API_KEY|${OPENAI_KEY}' | sort | tr '\\n' ' ')`;

test('another vendor reviews, with its own key; its findings hold the task and reach the next prompt', async () => {
  await using scene = await createScene();
  await withPipeline(scene, { hold: 'high' });
  scene.openIssue('Count');
  const run = await scene.run({
    ...job(
      `echo changed >> README.md
found='{"file": "src/count.js", "line": 1, "severity": "high", "text": "Saw ${seen}"}'
[ -f fixed.txt ] && found=
echo "{\\"findings\\": [$found]}" | sed "s/'//g"`.replace(`found='{`, `found="{`).replace(`"}'\n`, `"}"\n`),
    ),
    agent: [
      { kind: 'shell', script: `env | grep -cE 'OPENAI|${OPENAI_KEY}' > saw.txt; echo 1 > count.txt` },
      { kind: 'shell', script: 'echo 1 > fixed.txt' },
    ],
  });
  expect(run, run.main.log).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete', iterations: '2' } });
});
