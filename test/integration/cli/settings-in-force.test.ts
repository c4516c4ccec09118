import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimRun } from '../../../src/home/own-folder.ts';
import { createCheckoutFiles } from '../../../src/wiring/home/checkout-state.ts';
import { readWorkflowFiles } from '../../../src/wiring/doctor/workflow-files.ts';
import { readSettingsInForce } from '../../../src/wiring/settings/effective-settings.ts';
import type { ReportedSettings } from '../../../src/core/settings/effective.ts';
import { runGit } from '../git/git-fixture.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-settings-'));
  await runGit(folder, ['init', '-q', '-b', 'main']);
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function commit(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await runGit(folder, ['add', '-A']);
  await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'files']);
}

async function inForce(): Promise<readonly ReportedSettings[]> {
  const env = { PATH: process.env.PATH, MAX_TOKENS_PER_HOUR: '9000' };
  return readSettingsInForce(await readWorkflowFiles(folder), { folder, env });
}

test('where no workflow uses the action they are those of ralph run: environment, committed file, defaults', async () => {
  await commit({ '.ralphrc': 'MAX_CALLS_PER_HOUR=7\n', '.github/workflows/ci.yml': 'on: push\njobs: {}\n' });
  await writeFile(join(folder, '.ralphrc'), 'MAX_CALLS_PER_HOUR=8\n');
  const [answered, ...others] = await inForce();
  expect(others).toEqual([]);
  expect(answered).toMatchObject({ workflow: 'ralph run', problems: [] });
  const of = (name: string): unknown => answered?.settings.find(({ input }) => input === name);
  expect(of('max-calls-per-hour')).toMatchObject({ text: '7', origin: 'file', where: '.ralphrc:1 MAX_CALLS_PER_HOUR' });
  expect(of('max-tokens-per-hour')).toMatchObject({ text: '9000', origin: 'environment' });
  expect(of('max-iterations')).toMatchObject({ text: '10', origin: 'default' });
  expect(of('github-token')).toBeUndefined();
});

test('those of ralph run are read where the last run worked', async () => {
  await commit({ '.ralphrc': 'MAX_CALLS_PER_HOUR=7\n', 'packages/api/.ralphrc': 'MAX_CALLS_PER_HOUR=9\n' });
  await claimRun(createCheckoutFiles(folder), {
    ...{ runTag: 'tag', folder: 'packages/api', startedAt: 0 },
    runFolderOf: () => '/nowhere',
  });
  const [answered] = await inForce();
  expect(answered?.settings.find(({ input }) => input === 'max-calls-per-hour')).toMatchObject({
    ...{ text: '9', where: 'packages/api/.ralphrc:1 MAX_CALLS_PER_HOUR' },
  });
});

test("where one does, they are the workflow's, and the person's environment says nothing", async () => {
  const steps = 'steps:\n      - uses: acme/ralph-action@v1\n        with:\n          max-iterations: 3\n';
  await commit({ '.github/workflows/ralph.yml': `on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    ${steps}` });
  const [answered] = await inForce();
  expect(answered?.workflow).toBe('.github/workflows/ralph.yml');
  expect(answered?.settings.filter(({ origin }) => origin !== 'default')).toMatchObject([
    { input: 'max-iterations', text: '3', origin: 'input' },
  ]);
});
