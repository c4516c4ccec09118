import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
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
