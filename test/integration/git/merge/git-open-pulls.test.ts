import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readdirSync } from 'node:fs';
import type { OpenPulls } from '../../../../src/ports/repository.ts';
import { runGit, setScene, type Scene } from '../git-fixture.ts';
import { commitToMain } from './merge-fixture.ts';

/** Pushes a branch of the checkout's main as a person and returns its head. */
async function branch(
  { checkout, server }: Scene,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  await runGit(checkout, ['checkout', '--quiet', '-B', name, 'main']);
  for (const [path, text] of Object.entries(files)) await writeFile(join(checkout, path), text);
  await runGit(checkout, ['add', '--all']);
  await runGit(checkout, ['commit', '--quiet', '-m', name]);
  await runGit(checkout, ['push', '--quiet', server.repositoryFolder, `${name}:${name}`]);
  const head = await runGit(checkout, ['rev-parse', 'HEAD']);
  await runGit(checkout, ['checkout', '--quiet', 'main']);
  await runGit(checkout, ['branch', '--quiet', '-D', name]);
  return head;
}

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 40 }, (_, at) => `${changed[at] ?? `line ${String(at)}`}\n`).join('');

describe('open pull requests are compared', () => {
  let scene: Scene;
  let asked: OpenPulls;

  beforeAll(async () => {
    scene = await setScene();
    const { checkout } = scene;
    await commitToMain(scene, { 'shared.txt': lines() });
    await runGit(checkout, ['pull', '--quiet', scene.server.repositoryFolder, 'main']);
    const heads = [
      await branch(scene, 'ralph/issue-1', { 'shared.txt': lines({ 2: 'one' }) }),
      await branch(scene, 'ralph/issue-2', { 'shared.txt': lines({ 2: 'two' }) }),
      // Lines far apart in one file do not conflict.
      await branch(scene, 'ralph/issue-3', { 'shared.txt': lines({ 35: 'three' }), 'ä b.txt': 'x' }),
      await branch(scene, 'ralph/issue-4', { 'other.txt': 'x' }),
    ];
    const tip = await commitToMain(scene, { 'other.txt': 'of a person' });
    const pulls = heads.map((head, at) => ({ number: at + 1, branch: `ralph/issue-${String(at + 1)}`, head }));
    asked = { base: { branch: 'main', tip }, pulls };
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test('by what git would merge: the same line conflicts, the same file does not', async () => {
    const behind = { isBehind: true, changedInBase: [] };
    expect(await scene.repository.compareOpen(asked)).toEqual([
      { number: 1, conflictsWith: [2], ...behind },
      { number: 2, conflictsWith: [1], ...behind },
      { number: 3, conflictsWith: [], ...behind },
      { number: 4, conflictsWith: [], isBehind: true, changedInBase: ['other.txt'] },
    ]);
  });

  test('with the base where they left it if nothing was merged since', async () => {
    const tip = await runGit(scene.checkout, ['rev-parse', 'main']);
    const compared = await scene.repository.compareOpen({ ...asked, base: { branch: 'main', tip } });
    expect(compared?.map(({ isBehind, changedInBase }) => [isBehind, changedInBase])).toEqual(
      asked.pulls.map(() => [false, []]),
    );
  });

  test('from the base that a branch merged last', async () => {
    const { checkout, server } = scene;
    await runGit(checkout, ['fetch', '--quiet', server.repositoryFolder, 'ralph/issue-4', 'main']);
    await runGit(checkout, ['checkout', '--quiet', '--detach', asked.pulls[3]?.head ?? '']);
    await runGit(checkout, ['merge', '--quiet', '-X', 'ours', '-m', 'Merge main', asked.base.tip]);
    const head = await runGit(checkout, ['rev-parse', 'HEAD']);
    await runGit(checkout, ['push', '--quiet', server.repositoryFolder, `HEAD:refs/heads/ralph/issue-5`]);
    await runGit(checkout, ['checkout', '--quiet', 'main']);
    const pulls = [{ number: 5, branch: 'ralph/issue-5', head }];
    expect(await scene.repository.compareOpen({ ...asked, pulls })).toEqual([
      { number: 5, conflictsWith: [], isBehind: false, changedInBase: [] },
    ]);
  });

  test('and nothing of that stays in the checkout', async () => {
    const refs = await runGit(scene.checkout, ['for-each-ref']);
    const objects = await runGit(scene.checkout, ['count-objects', '-v']);
    await scene.reopen().compareOpen(asked);
    expect(await runGit(scene.checkout, ['for-each-ref'])).toBe(refs);
    expect(await runGit(scene.checkout, ['count-objects', '-v'])).toBe(objects);
    expect(readdirSync(scene.workFolder).filter((name) => name.startsWith('bare-'))).toEqual([]);
  });

  test.each([
    [
      'a branch is gone',
      (pulls: OpenPulls['pulls']) => [...pulls, { number: 9, branch: 'ralph/issue-9', head: 'a'.repeat(40) }],
    ],
    [
      'a head is not the one that GitHub named',
      (pulls: OpenPulls['pulls']) => pulls.map((one) => ({ ...one, head: 'a'.repeat(40) })),
    ],
    ['a name is not a branch', (pulls: OpenPulls['pulls']) => pulls.map((one) => ({ ...one, branch: 'x:y' }))],
  ])('git cannot tell where %s', async (_, change) => {
    expect(await scene.repository.compareOpen({ ...asked, pulls: change(asked.pulls) })).toBeNull();
  });
});
