import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { ACTION_FOLDER } from '../../../testbed/testbed.ts';
import { parseJournal } from '../../../src/core/journal/parse-journal.ts';
import { storedState } from '../attacks/attack-fixture.ts';
import { createScene, type Run, type SceneJob } from '../e2e-fixture.ts';

const OPENAI_KEY = 'sk-proj-of-the-stand-in-that-opens-nothing';
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Uses Claude Code's stand-in first, then Codex's; Codex has no rules for single commands. */
function job(env: Readonly<Record<string, string>> = {}): Pick<SceneJob, 'inputs' | 'env'> {
  const path = (name: string): string => join(inject('programs'), name);
  return {
    inputs: {
      agent: 'claude, codex',
      'agent-path': `claude=${path('scripted-agent.mjs')}, codex=${path('scripted-codex.mjs')}`,
      'agent-env': 'RALPH_SCRIPT, RALPH_PAUSE_MS, RALPH_CODEX_LIMIT',
      'allowed-tools': 'Read,Edit,Write,Bash',
    },
    env: { OPENAI_API_KEY: OPENAI_KEY, ...env },
  };
}

/**
 * Returns the agent of each iteration and the skipped ones; the command reproduces the same decisions from the journal.
 */
function turnsOf({ outputs }: Run): readonly string[] {
  const path = outputs['journal-path'] ?? '';
  const replayed = execFileSync(process.execPath, [join(ACTION_FOLDER, 'dist/cli/index.js'), 'replay', path, '--json']);
  expect(JSON.parse(replayed.toString())).toMatchObject({ differences: [], chain: { kind: 'intact' } });
  const parsed = parseJournal(readFileSync(path, 'utf8'));
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal.entries.map(({ agent, passedOver }) =>
    [agent, ...passedOver.map(({ name, why }) => `${name} ${why}`)].join(', '),
  );
}

/** Sets only the clock of the action's process ahead. */
function later(ms: number): Readonly<Record<string, string>> {
  const code = `const { now } = Date; Date.now = () => now() + ${String(ms)};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

test('an agent at its usage limit hands its task to the next one; when both are at their limits, the lane waits for the earlier reset', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const now = Math.floor(Date.now() / MINUTE) * MINUTE;
  const [claudeIsBack, codexIsBack] = [now + 4 * HOUR, now + 2 * HOUR];

  const first = await scene.run({
    ...job(),
    agent: [{ kind: 'work' }, { kind: 'usage-limit', resetsAt: claudeIsBack / 1000 }],
  });
  expect(first, first.main.log).toMatchObject({
    calls: 2,
    main: { exitCode: 0 },
    outputs: { outcome: 'complete', iterations: '3' },
  });
  expect(turnsOf(first)).toEqual(['claude', 'claude', 'codex, claude limit']);
  const handedOver = /claude was at its usage limit until [^,]+, so codex took over in iteration 3\./;
  expect(first.main.log).toMatch(handedOver);
  expect(first.summary).toMatch(handedOver);
  // The key appears once, in the command that asks the runner to hide it.
  expect((first.main.log + first.summary).split(OPENAI_KEY)).toHaveLength(2);
  // Codex finished what Claude Code had begun, and its commit names it.
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Test issue-1']);
  const { body, status } = scene.pullOf('ralph/queue');
  expect(body).toMatch(handedOver);
  expect(status).toMatchObject({
    agents: [
      { name: 'claude', iterations: 2 },
      { name: 'codex', iterations: 1 },
    ],
    handOvers: [expect.stringMatching(handedOver) as string],
    tasks: [{ id: 'issue-1', state: 'done', attempts: 2, agents: ['claude', 'codex'] }],
  });
  expect(JSON.parse(first.outputs['status-json'] ?? '')).toMatchObject({ agents: status.agents });
  const state = await storedState(scene);
  expect(state).toMatchObject({
    agent: 'codex',
    park: null,
    providers: { claude: { kind: 'open', why: 'limit', until: claudeIsBack } },
  });

  scene.openIssue('Greet');
  const time = new Date(codexIsBack).toLocaleTimeString('en-US', { timeStyle: 'short', timeZone: 'UTC' });
  const second = await scene.run(job({ RALPH_CODEX_LIMIT: time.replace('\u202f', ' ') }));
  expect(second, second.main.log).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'parked', reason: 'usage_limit', 'resume-at': new Date(codexIsBack).toISOString() },
  });
  expect(turnsOf(second)).toEqual(['codex, claude limit']);
  expect(await storedState(scene)).toMatchObject({
    park: { reason: 'usage_limit', resumeAt: codexIsBack },
    providers: { claude: { why: 'limit', until: claudeIsBack }, codex: { why: 'limit', until: codexIsBack } },
    // A usage limit does not count as an attempt.
    tasks: { 'issue-3': { attempts: 0 } },
  });

  const third = await scene.run(job(later(codexIsBack - now + MINUTE)));
  expect(third, third.main.log).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'complete', iterations: '2' },
  });
  expect(turnsOf(third)).toEqual(['codex, claude limit', 'codex, claude limit']);
  expect(third.main.log).toContain('session: resumed');
  expect(await storedState(scene)).toMatchObject({ park: null, providers: { codex: { kind: 'closed' } } });
  expect(scene.pullOf('ralph/queue').status.agents).toEqual([{ name: 'codex', iterations: 2 }]);
});
