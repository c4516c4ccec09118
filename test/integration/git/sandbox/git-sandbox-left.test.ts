import { chmod, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { iterate, openFresh, setScene, stateOf, workIn } from '../git-fixture.ts';
import { asAgent, openOtherUserSandbox } from './sandbox-fixture.ts';

workIn(openOtherUserSandbox);

describe.runIf(process.getuid?.() === 0)('what verify leaves as another user than the sandbox has', () => {
  test('is left alone: no work, not published, and no reason to end a run', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    // A container that writes into the checkout as root leaves such a folder.
    await mkdir(join(scene.folder, 'coverage'));
    await writeFile(join(scene.folder, 'coverage/index.html'), 'x');
    await chmod(join(scene.folder, 'coverage/index.html'), 0o644);
    await asAgent(scene.folder, 'echo x > left.txt; mkdir -p fixture && cd fixture && git init -q && echo x > file');
    expect(await scene.repository.putBack()).toEqual(['coverage/index.html', 'fixture', 'left.txt']);
    expect((await scene.repository.snapshot()).tree).toBe(tree);
    const { change, committed } = await iterate(scene, () => asAgent(scene.folder, 'echo work > work.txt'));
    expect(change.files).toEqual(['work.txt']);
    expect(committed.publishedPaths).toEqual(['work.txt']);
    expect(committed.withheldNow).toEqual([]);
    expect((await stat(join(scene.folder, 'coverage/index.html'))).uid).toBe(0);
    await expect(stat(join(scene.folder, 'fixture'))).rejects.toThrow(/ENOENT/);
    // A later change of its content counts as work.
    const later = await iterate(scene, () => writeFile(join(scene.folder, 'coverage/index.html'), 'other'));
    expect(later.change.files).toEqual(['coverage/index.html']);
  });
});

test('what git ignores in the checkout is nothing that an agent reaches, whatever the times of files say', async () => {
  await using scene = await setScene();
  await scene.write('node_modules/a/index.js', 'good');
  await scene.write('node_modules/odd [name]/b.js', 'b');
  await scene.write('old.log', 'x');
  const before = stateOf(scene.checkout);
  await openFresh(scene);
  const place = join(scene.folder, 'node_modules/a/index.js');
  const { atime, mtime } = await stat(place);
  await iterate(scene, async () => {
    await writeFile(place, 'evil');
    await utimes(place, atime, mtime);
    await scene.write('node_modules/evil/index.js', 'evil');
    await scene.write('new.log', 'evil');
    await rm(join(scene.folder, 'old.log'));
    await scene.write('work.txt', 'work');
  });
  expect(stateOf(scene.checkout)).toEqual(before);
  await scene.repository.leave();
  expect(stateOf(scene.checkout, OF_GIT_OR_WORK)).toEqual(
    Object.fromEntries(Object.entries(before).filter(([path]) => !/^\.git(?:\/|$)/.test(path))),
  );
  expect(await scene.read('work.txt')).toBe('work');
});

const OF_GIT_OR_WORK = /^\.git$|^work\.txt$/;
