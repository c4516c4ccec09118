import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PushedWithState } from '../../../../src/ports/remote.ts';
import {
  BRANCH,
  iterate,
  openFresh,
  openState,
  setScene,
  startWay,
  TEXT_FILE,
  type OneText,
  type Passage,
  type Scene,
} from '../git-fixture.ts';

const STATE = 'refs/ralph/v2/state';

/** Creates a lane with one commit to push, and its cell after this run's claim. */
async function laneToPush(scene: Scene) {
  const cells = await openState(scene.server, dirname(scene.workFolder));
  const claimed = await cells.write(null, 'claimed');
  if (claimed.kind !== 'written') throw new Error(JSON.stringify(claimed));
  await openFresh(scene);
  const { committed } = await iterate(scene, () => scene.write('a.txt', 'a'));
  const base = await refOf(scene, 'refs/heads/main');
  const push = { branch: BRANCH, commit: committed.head, since: base, at: null };
  return { cells, claimed: claimed.head, push };
}

function refOf(scene: Scene, ref: string): Promise<string> {
  return scene.serverGit('rev-parse', '--verify', '--quiet', ref).catch(() => 'none');
}

async function stateOn(scene: Scene): Promise<string> {
  return scene.serverGit('show', `${STATE}:${TEXT_FILE}`);
}

/** Returns the head of the state that was pushed along; fails if none. */
function landed(pushed: PushedWithState): string {
  if (pushed.kind !== 'pushed' || pushed.state?.kind !== 'written') throw new Error(JSON.stringify(pushed));
  return pushed.state.head;
}

function alongOf(cells: OneText, expected: string | null, text: string) {
  return { along: cells.carry(expected, text) };
}

function pushesOf({ server }: Scene): number {
  return server.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('git-receive-pack')).length;
}

describe('a push of the branch takes the state along', () => {
  test('in the same requests as without it, and what was written continues from what was claimed', async () => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    const before = scene.server.requests.length;
    const head = landed(await scene.remote().pushWithState({ ...push, ...alongOf(cells, claimed, 'first') }));
    const taken = scene.server.requests.length - before;
    expect([await refOf(scene, `refs/heads/${BRANCH}`), await refOf(scene, STATE)]).toEqual([push.commit, head]);
    expect(await stateOn(scene)).toBe('first');
    expect(await scene.serverGit('rev-list', STATE)).toBe(`${head}\n${claimed}`);

    const second = (await iterate(scene, () => scene.write('b.txt', 'b'))).committed.head;
    const next = { ...push, commit: second, since: push.commit, at: push.commit };
    const asked = scene.server.requests.length;
    expect(await scene.remote().pushOn(next)).toEqual({ kind: 'pushed' });
    expect(scene.server.requests.length - asked).toBe(taken);
    // The cell's own writes build on the pushed state.
    expect(await cells.write(head, 'saved')).toMatchObject({ kind: 'written' });
    expect(await scene.serverGit('rev-list', '--count', STATE)).toBe('3');
    await scene.serverGit('fsck', '--strict');
  });

  test('also where another process wrote it', async () => {
    await using scene = await setScene();
    const { claimed, push } = await laneToPush(scene);
    const another = await openState(scene.server, dirname(scene.workFolder));
    expect(await another.read()).toMatchObject({ head: claimed });
    landed(await scene.remote().pushWithState({ ...push, ...alongOf(another, claimed, 'of another process') }));
    expect(await stateOn(scene)).toBe('of another process');
  });

  test('also the first state of a repository', async () => {
    await using scene = await setScene();
    const { cells, push } = await laneToPush(scene);
    await scene.serverGit('update-ref', '-d', STATE);
    landed(await scene.remote().pushWithState({ ...push, ...alongOf(cells, null, 'new') }));
    expect(await stateOn(scene)).toBe('new');
    await scene.serverGit('fsck', '--strict');
  });

  test('or neither: where a person changed the branch, the state stays as it was', async () => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    await scene.serverGit('update-ref', `refs/heads/${BRANCH}`, push.since);
    expect(await scene.remote().pushWithState({ ...push, ...alongOf(cells, claimed, 'first') })).toMatchObject({
      kind: 'moved',
    });
    expect([await refOf(scene, `refs/heads/${BRANCH}`), await refOf(scene, STATE)]).toEqual([push.since, claimed]);
  });

  test("not if a person's order changed it in the meantime: nothing is pushed, and the next try takes both", async () => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    const person = await openState(scene.server, dirname(scene.workFolder));
    await person.read();
    await person.write(claimed, 'ordered');
    expect(await scene.remote().pushWithState({ ...push, ...alongOf(cells, claimed, 'first') })).toEqual({
      kind: 'overtaken',
    });
    expect(await refOf(scene, `refs/heads/${BRANCH}`)).toBe('none');
    expect(await stateOn(scene)).toBe('ordered');

    const read = await cells.read();
    expect(read).toMatchObject({ kind: 'found', text: 'ordered' });
    const expected = read.kind === 'found' ? read.head : null;
    landed(await scene.remote().pushWithState({ ...push, ...alongOf(cells, expected, 'second') }));
    expect(await refOf(scene, `refs/heads/${BRANCH}`)).toBe(push.commit);
    expect(await stateOn(scene)).toBe('second');
  });

  test.each([
    ['a ruleset of the state refs', async (scene: Scene) => refuseStateRefs(scene)],
    ['a server without atomic pushes', (scene: Scene) => scene.serverGit('config', 'receive.advertiseAtomic', 'false')],
  ])('not where %s forbids it: the branch goes alone', async (_, forbid) => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    await forbid(scene);
    expect(await scene.remote().pushWithState({ ...push, ...alongOf(cells, claimed, 'first') })).toEqual({
      kind: 'pushed',
      state: { kind: 'refused', why: expect.any(String) as string },
    });
    expect([await refOf(scene, `refs/heads/${BRANCH}`), await refOf(scene, STATE)]).toEqual([push.commit, claimed]);
  });

  test('a rule about the branch is the end of it, as without the state', async () => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    await scene.server.setRule('protected-branch');
    expect(await scene.remote().pushWithState({ ...push, ...alongOf(cells, claimed, 'first') })).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'branch', words: expect.stringContaining('GH006') as string },
    });
    expect([await refOf(scene, `refs/heads/${BRANCH}`), await refOf(scene, STATE)]).toEqual(['none', claimed]);
  });

  test.each<[Passage, PushedWithState['kind'], string]>([
    // The run finds its own earlier write as a conflict; the next try pushes both again.
    ['answer lost', 'overtaken', 'first'],
    [503, 'unreachable', 'claimed'],
  ])('and where the way is "%s": %s, the state is %s', async (passage, kind, state) => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    let isLost = false;
    await using way = await startWay(scene.server, (path) => {
      const isHit = path.endsWith('git-receive-pack') && (passage !== 'answer lost' || !isLost);
      isLost ||= isHit && !path.includes('?');
      return Promise.resolve(isHit && !path.includes('?') ? passage : 'open');
    });
    expect(
      await scene.remote({ url: way.url }).pushWithState({ ...push, ...alongOf(cells, claimed, 'first') }),
    ).toMatchObject({ kind });
    expect(await stateOn(scene)).toBe(state);
    const read = await cells.read();
    expect(read).toMatchObject({ text: state });
    const expected = read.kind === 'found' ? read.head : null;
    landed(await scene.remote().pushWithState({ ...push, ...alongOf(cells, expected, 'again') }));
  });

  test('only with a branch that may be pushed', async () => {
    await using scene = await setScene();
    const { cells, claimed, push } = await laneToPush(scene);
    const before = pushesOf(scene);
    expect(
      await scene.remote().pushWithState({ ...push, branch: 'main', ...alongOf(cells, claimed, 'first') }),
    ).toMatchObject({ kind: 'rejected' });
    expect(pushesOf(scene)).toBe(before);
  });
});

async function refuseStateRefs({ server }: Scene): Promise<void> {
  const rule =
    'while read -r old new ref; do case $ref in refs/ralph/v2/*) echo "GH013: Repository rule violations" >&2; exit 1;; esac; done';
  await writeFile(join(server.repositoryFolder, 'hooks', 'pre-receive'), `#!/bin/sh\n${rule}\n`, { mode: 0o755 });
}
