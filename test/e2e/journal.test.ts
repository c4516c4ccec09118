import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, TOKEN } from '../../testbed/testbed.ts';
import { createScene, KEY, type Run } from './e2e-fixture.ts';
import { deepTest } from '../runs.ts';

/** Runs the committed command, started like the package's bin. */
function ralph(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ACTION_FOLDER, 'dist', 'cli', 'index.js'), ...args], (error, out) => {
      resolve({ code: error === null ? 0 : Number(error.code), out });
    });
  });
}

function journalOf(run: Run): string {
  return run.outputs['journal-path'] ?? '';
}

test('a run leaves a journal without secrets; the command makes the same decisions from it', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.openIssue('Greet');
  const run = await scene.run({ inputs: { verify: 'npm test' } });
  const text = readFileSync(journalOf(run), 'utf8');
  for (const secret of [TOKEN, KEY]) expect(text).not.toContain(secret);
  // The lines are the start, the iterations, the verification in a clean clone, the proofs, and the end.
  expect(text.trimEnd().split('\n')).toHaveLength(Number(run.outputs.iterations) + 4);
  // The agent's tests are run without each of its tasks, by the real test runner.
  const { body } = scene.pullOf('ralph/queue');
  expect(body.match(/The new test fails without the change, as it should\./g)).toHaveLength(2);
  expect(body).not.toContain('Tests that prove too little');
  const { code, out } = await ralph('replay', journalOf(run), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    branchId: 'queue',
    iterations: Number(run.outputs.iterations),
    outcome: { kind: run.outputs.outcome, reason: run.outputs.reason },
    chain: { kind: 'intact', last: run.outputs['journal-hash'] },
    differences: [],
  });
  expect((await ralph('replay', journalOf(run), '--set', 'max-iterations=1')).out).toContain(
    'It would have ended after 1 iteration: limit (iterations).',
  );

  const next = await scene.run();
  expect(next.outputs).toMatchObject({ outcome: 'idle', 'journal-path': '' });
});

// Also tested by loop/failures and integration/cli.
deepTest('a killed run leaves its journal, too, and the steps after it can find it', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [{ kind: 'work' }, { kind: 'hang', ignoreSigterm: false }],
    when: {
      text: 'I think for a very long time.',
      act: (main) => {
        main.kill('SIGKILL');
      },
    },
  });
  const { code, out } = await ralph('replay', journalOf(run));
  expect(code).toBe(0);
  expect(out).toContain('1 iteration.\n');
  expect(out).toContain('The journal has no end');
});

test('the command lists its options, and reads an output from stdin', async () => {
  expect(await ralph('--help')).toMatchObject({ code: 0, out: expect.stringContaining('analyze') as string });
  expect(await ralph('statsu')).toMatchObject({ code: 2 });
});
