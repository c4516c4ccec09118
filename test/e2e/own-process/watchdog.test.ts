import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createScene } from '../e2e-fixture.ts';

test('a main that is stopped is woken and cancelled by its watchdog, and its finished work is published', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  let started: readonly string[] = [];
  let hurried: ChildProcess | null = null;
  const run = await scene.run({
    inputs: { 'max-minutes': '20' },
    agent: [{ kind: 'work' }, { kind: 'hang', ignoreSigterm: false }],
    when: {
      text: 'I think for a very long time.',
      act: (main) => {
        started = watchdogOf(main.pid);
        main.kill('SIGSTOP');
        // This starts the same program and script with a short time limit; its input stays open as long as it runs.
        const [file = '', dash = '', script = '', name = ''] = started;
        hurried = spawn(file, [dash, script, name, '1', String(main.pid), '15'], {
          stdio: ['pipe', 'ignore', 'inherit'],
        });
      },
    },
  });
  (hurried as ChildProcess | null)?.stdin?.end();
  // The run has twenty minutes, and five more to publish.
  expect(started.slice(3)).toEqual(['watchdog', '1500', expect.stringMatching(/^\d+$/), '15']);
  expect(run.main.signal).toBeNull();
  expect(run.outputs).toMatchObject({ outcome: 'cancelled', reason: 'signal' });
  expect(run.post.log).toContain('saved #2 (cache ✓ ref ✓)');
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
  expect(scene.pullOf('ralph/queue')).toMatchObject({ status: { outcome: 'cancelled' } });
});

/** Returns file and arguments of the child that watches a process. */
function watchdogOf(parent: number): readonly string[] {
  const read = (pid: string, name: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'utf8');
    } catch {
      return '';
    }
  };
  const dog = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && / [A-Z] (\d+)/.exec(read(pid, 'stat'))?.[1] === String(parent))
    .map((pid) => read(pid, 'cmdline').split('\0').slice(0, -1))
    .find((found) => found.includes('watchdog'));
  return dog ?? [];
}
