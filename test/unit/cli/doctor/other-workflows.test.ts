import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readOtherWorkflows } from '../../../../src/wiring/doctor/workflow-files.ts';

const FILES: Readonly<Record<string, string>> = {
  'build.yml': 'name: "Build: all"\non: [push, pull_request]\njobs: {}\n',
  'deploy.yml': 'name: Deploy\non: workflow_dispatch\njobs: {}\n',
  'lint.yaml': 'on: pull_request\njobs: {}\n',
  'broken.yml': 'name: [\n',
  'ralph.yml': 'name: ralph\non: schedule\njobs:\n  a:\n    steps:\n      - uses: acme/ralph-action@v1\n',
  'notes.md': 'name: Notes\n',
};

test('the other workflows of a checkout are known by the names that `workflow_run` takes', async () => {
  const top = await mkdtemp(join(tmpdir(), 'other-workflows-'));
  try {
    expect(await readOtherWorkflows(top)).toEqual([]);
    const folder = join(top, '.github/workflows');
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
    expect(await readOtherWorkflows(top)).toEqual([
      { name: 'Build: all', checksPullRequests: true },
      { name: 'Deploy', checksPullRequests: false },
      { name: '.github/workflows/lint.yaml', checksPullRequests: true },
    ]);
  } finally {
    await rm(top, { recursive: true });
  }
});
