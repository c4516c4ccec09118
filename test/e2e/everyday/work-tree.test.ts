import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { createSampleProject, type GitRemote } from '../../../testbed/git-remote.ts';
import { createScene } from '../e2e-fixture.ts';

/** Creates a project in whose fresh clone git reports a modified file. */
async function fillWithLineEnds(remote: GitRemote): Promise<void> {
  const seed = await mkdtemp(join(tmpdir(), 'ralph-line-ends-'));
  await createSampleProject(seed);
  const id = await git(seed, ['hash-object', '-w', '--stdin', '--no-filters'], { input: 'one\r\ntwo\r\n' });
  await git(seed, ['update-index', '--add', '--cacheinfo', `100644,${id},a.cs`]);
  await writeFile(join(seed, '.gitattributes'), '*.cs text\n');
  await git(seed, ['add', '.gitattributes']);
  await git(seed, ['commit', '--quiet', '-m', 'Line ends']);
  await remote.importFrom(seed);
  await rm(seed, { recursive: true });
}

test("line ends, a nested repository from verify, packages that are ignored too late, work on the agent's own branch: done in two calls", async () => {
  await using scene = await createScene({ fill: fillWithLineEnds });
  scene.openIssue('Add a greeting');
  const leaving = `mkdir packages; for i in $(seq 320); do echo x > packages/$i.js; done
    git worktree add -q "$(mktemp -d)/tree" -b feature
    cd "$(git worktree list --porcelain | sed -n 's/^worktree //p' | tail -1)"
    echo greeting > greeting.txt; git add greeting.txt; git -c user.name=a -c user.email=a@b commit -q -m greeting`;
  const bringing = `echo packages/ >> .gitignore; git -c user.name=a -c user.email=a@b merge -q feature`;
  const run = await scene.run({
    agent: [
      { kind: 'shell', script: leaving },
      { kind: 'shell', script: bringing },
    ],
    inputs: { verify: 'rm -rf fixture && git clone -q . fixture && echo x >> README.md && test -f a.cs' },
  });
  expect(run).toMatchObject({ calls: 2, main: { exitCode: 0 }, outputs: { outcome: 'complete', 'tasks-done': '1' } });
  const pull = scene.pullOf('ralph/queue');
  expect(pull.body).toContain('Closes #1');
  expect(pull.body).not.toContain('Left out');
  const patch = await readFile(`${run.outputs['journal-path'] ?? ''}.1-work-tree-tree.patch`, 'utf8');
  expect(patch).toMatch(/greeting\.txt[^]*\+greeting/);
  const { repositoryFolder } = scene.testbed.remote;
  const changed = await git(repositoryFolder, ['diff', '--name-only', 'main', 'ralph/queue']);
  expect(changed.split('\n')).toEqual(['.gitignore', 'greeting.txt']);
});
