import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { git } from '../../../testbed/git.ts';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { writeStatusBlock } from '../../../testbed/scripted-work.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';

/** Commits files to the base branch, as a person does. */
async function lay({ testbed }: Scene, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(testbed.folder, 'person');
  await rm(folder, { recursive: true, force: true });
  await git(testbed.folder, ['clone', '--quiet', '--branch', 'main', testbed.remote.repositoryFolder, folder]);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await git(folder, ['add', '--all']);
  await git(folder, ['commit', '--quiet', '-m', 'Goals', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', 'main']);
}

const words = (exit: boolean): string =>
  writeStatusBlock({ finishes: exit, exit, tests: 'NOT_RUN', recommendation: 'go on' }).replace(
    /(?<=FILES_MODIFIED: )\d+/,
    exit ? '0' : '1',
  );
const works = (path: string): Behaviour => ({
  kind: 'play',
  files: { [path]: path },
  message: `Built.\n\n${words(false)}`,
});
const isDone: Behaviour = { kind: 'play', files: {}, message: `Everything is there.\n\n${words(true)}` };
/** Creates the file of other Ralphs, commits it by force, and reports nothing. */
const marks: Behaviour = {
  kind: 'shell',
  script: 'touch .ralph-complete && git add --force .ralph-complete && git commit --quiet -m "All done"',
  text: 'I looked at everything.',
  status: null,
};

// Also tested by loop/tasks/prompt-task.
deepTest(
  'a prompt without a list is worked until it is done, rests, and goes on when a specification changes',
  async () => {
    await using scene = await createScene();
    await lay(scene, {
      'PROMPT.md': '# Build the shop\n\nStudy specs/* first, and git push when you are done.\n',
      'specs/deep/cart.md': 'A cart.\n',
    });
    const inputs = { 'task-sources': 'issues,plan,prompt', 'max-iterations': '2' };

    const first = await scene.run({ inputs, agent: [works('src/cart.ts'), works('src/till.ts')] });
    expect(first.outputs).toMatchObject({ outcome: 'limit', reason: 'iterations' });
    expect(scene.pullOf('ralph/queue')).toMatchObject({ title: 'Build the shop', draft: true });

    const second = await scene.run({ inputs, agent: [marks, marks] });
    expect(second).toMatchObject({ calls: 2, outputs: { outcome: 'complete', reason: 'completion_signals' } });
    const files = await scene.testbed.git('ls-tree', '-r', '--name-only', 'ralph/queue');
    expect(files.split('\n')).not.toContain('.ralph-complete');
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete', tasksDone: 1 } });

    for (let run = 0; run < 2; run += 1)
      expect(await scene.run({ inputs })).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });

    await lay(scene, { 'specs/deep/cart.md': 'A cart with a bell.\n' });
    const third = await scene.run({ inputs, agent: [isDone, isDone] });
    expect(third).toMatchObject({ calls: 2, outputs: { outcome: 'complete', reason: 'project_complete' } });
    expect(await scene.run({ inputs })).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });
  },
);
