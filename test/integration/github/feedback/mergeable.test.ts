import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../../testbed/git.ts';
import { createStoredId, createStoredIssue } from '../../../../testbed/github/state.ts';
import { REPOSITORY, startTestbed, TOKEN } from '../../../../testbed/testbed.ts';
import { createForge } from '../../../../src/github/forge.ts';

test('whether a pull request conflicts is what git says of its branches', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mergeable-'));
  try {
    await using testbed = await startTestbed(join(folder, 'sandbox'));
    const { state } = testbed.github;
    createStoredIssue(state, { title: 'Work', body: '', author: { login: 'octo', type: 'User' } }, 0);
    const forge = createForge({
      ...{ token: TOKEN, tokenFrom: 'input', apiUrl: testbed.github.url, userAgent: 'ralph-action' },
      repository: { owner: REPOSITORY.owner, repo: REPOSITORY.name },
      log: { info: () => {}, warning: () => {}, error: () => {}, group: (_title, body) => body() },
      now: () => 0,
    });
    const clone = join(folder, 'clone');
    await git(folder, ['clone', '--quiet', testbed.remote.repositoryFolder, clone]);
    const commit = async (branch: string, text: string) => {
      await git(clone, ['checkout', '--quiet', '-B', branch, branch === 'main' ? 'main' : 'origin/main']);
      await writeFile(join(clone, 'SHARED.md'), text);
      await git(clone, ['add', 'SHARED.md']);
      await git(clone, ['commit', '--quiet', '-m', text]);
      await git(clone, ['push', '--quiet', testbed.remote.repositoryFolder, branch]);
    };
    await commit('ralph/queue', 'mine');
    const shas = { headSha: '', baseSha: await testbed.git('rev-parse', 'main') };
    state.pulls.push({
      ...{
        id: createStoredId(state),
        number: 1,
        head: 'ralph/queue',
        fork: null,
        maintainerCanModify: false,
        base: 'main',
      },
      ...{ ...shas, draft: true, mergedAt: null, reviewers: [] },
    });
    const seen = async () => (await forge.pullRequestNow('ralph/queue'))?.mergeable;
    expect(await seen()).toBe('mergeable');
    await commit('main', 'theirs');
    expect(await seen()).toBe('conflicting');
    expect(testbed.github.violations).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
