import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { events } from '../../../sandbox/sandbox.ts';
import { endOfRun } from '../../../sandbox/workflow/play.ts';
import { writtenWorkflows } from '../../workflow-lint.ts';
import { createScene, KEY, type Scene } from '../e2e-fixture.ts';

/** Whole workflows that a document tells people to copy; the scene provides what they name besides the key. */
const documented = writtenWorkflows().filter(({ where, text }) => /\.md:/.test(where) && /^ +- cron: '17/m.test(text));

test('there are documented workflows', () => {
  expect(documented.map(({ where }) => where.replace(/:\d+$/, ''))).toEqual(
    expect.arrayContaining(['README.md', 'docs/recipes.md']),
  );
});

test.each(documented)('$where plays: every expression and every input is one that there is', async ({ text }) => {
  await using scene = await createScene();
  await addLockfile(scene);
  const secrets = Object.fromEntries([...text.matchAll(/\bsecrets\.(\w+)/g)].map(([, name]) => [name, KEY]));
  // On a machine with rustup, the step would load a toolchain.
  const workflow = text.replace('run: rustup ', 'run: no-rustup-on-this-machine ');
  const played = await scene.play({ workflow, event: events.schedule(), secrets });
  expect(endOfRun(played)).toMatchObject({
    kind: 'ran',
    runName: 'ralph: queue',
    result: { main: { exitCode: 0 }, outputs: { outcome: 'idle', reason: 'no_such_label' } },
  });
});

/** Puts an empty lockfile on the default branch, which `npm ci` requires. */
async function addLockfile({ sandbox: { folder, git } }: Scene): Promise<void> {
  const path = join(folder, 'package-lock.json');
  const lock = {
    name: 'sample',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: { '': { name: 'sample', version: '1.0.0' } },
  };
  await writeFile(path, JSON.stringify(lock));
  await git('read-tree', 'main');
  await git('update-index', '--add', '--cacheinfo', `100644,${await git('hash-object', '-w', path)},package-lock.json`);
  const tree = await git('write-tree');
  await git('update-ref', 'refs/heads/main', await git('commit-tree', tree, '-p', 'main', '-m', 'Lock'));
}
