import { chmod, mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { iterate, openFresh, setScene, workIn } from '../git-fixture.ts';
import { asAgent, openOtherUserRoom } from './room-fixture.ts';

workIn(openOtherUserRoom);

describe.runIf(process.getuid?.() === 0)('what verify leaves as another user than the room has', () => {
  test('is left alone: no work, not published, and no reason to end a run', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { tree } = await scene.repository.snapshot();
    // As a container does that writes into the checkout as root.
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
    // Once its content changes, somebody worked on it.
    const later = await iterate(scene, () => writeFile(join(scene.folder, 'coverage/index.html'), 'other'));
    expect(later.change.files).toEqual(['coverage/index.html']);
  });
});

test('what git ignores is as it was before the agent worked, whatever the times of its files say', async () => {
  await using scene = await setScene();
  const { signal } = new AbortController();
  await scene.write('node_modules/a/index.js', 'good');
  await scene.write('node_modules/odd [name]/b.js', 'b');
  await scene.write('old.log', 'x');
  await openFresh(scene);
  await scene.repository.keepIgnored(signal);
  const takeBack = await scene.repository.handOver();
  const place = join(scene.folder, 'node_modules/a/index.js');
  const { atime, mtime } = await stat(place);
  await writeFile(place, 'evil');
  await utimes(place, atime, mtime);
  await scene.write('node_modules/evil/index.js', 'evil');
  await scene.write('new.log', 'evil');
  await scene.write('work.txt', 'work');
  await takeBack();
  expect(await scene.repository.putBackIgnored(signal)).toEqual(['new.log', 'node_modules']);
  expect(await readFile(place, 'utf8')).toBe('good');
  await expect(stat(join(scene.folder, 'node_modules/evil'))).rejects.toThrow(/ENOENT/);
  expect(await scene.read('work.txt')).toBe('work');
  expect(await scene.repository.putBackIgnored(signal)).toEqual([]);
});
