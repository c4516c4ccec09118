import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { refusePlugins } from '../../../../src/agents/opencode/cli.ts';

test.each<{ path: string; text: string; refused: boolean }>([
  { path: 'README.md', text: 'plugin', refused: false },
  { path: 'opencode.json', text: '{"model":"a"}', refused: false },
  { path: 'opencode.json', text: '', refused: false },
  { path: '.opencode/agent/a.md', text: 'hello', refused: false },
  { path: '.opencode/plugin/a.md', text: 'hello', refused: false },
  { path: 'opencode.json', text: '{"plugin":["a"]}', refused: true },
  { path: 'a/opencode.jsonc', text: '{"plugins":["a"]}', refused: true },
  { path: 'opencode.json', text: '{"plug\\u0069n":["a"]}', refused: true },
  { path: '.opencode/opencode.json', text: '{"plugin":["a"]}', refused: true },
  { path: '.opencode/plugin/a.js', text: '', refused: true },
  { path: 'a/.opencode/plugins/a.ts', text: '', refused: true },
  { path: 'opencode.json', text: `{"a":"${'x'.repeat(1024 * 1024)}"}`, refused: true },
  // This file is beside the work folder.
  { path: 'b/.opencode/plugins/a.ts', text: '', refused: false },
])('$path is refused: $refused', async ({ path, text, refused }) => {
  await using place = await createPlace();
  await mkdir(dirname(join(place.alsoFolder, path)), { recursive: true });
  await writeFile(join(place.alsoFolder, path), text);
  const refusing = refusePlugins({ ...place, tree: place.alsoFolder });
  await (refused
    ? expect(refusing).rejects.toThrow(/plugins for OpenCode/)
    : expect(refusing).resolves.toBeUndefined());
});

test('a link in the place of settings is refused', async () => {
  await using place = await createPlace();
  await symlink('/etc/hostname', join(place.workFolder, 'opencode.json'));
  await expect(refusePlugins({ ...place, tree: place.alsoFolder })).rejects.toThrow(/`a\/opencode\.json`/);
});

async function createPlace() {
  const alsoFolder = await mkdtemp(join(tmpdir(), 'ralph-plugins-'));
  const workFolder = join(alsoFolder, 'a');
  await mkdir(workFolder);
  return { alsoFolder, workFolder, [Symbol.asyncDispose]: () => rm(alsoFolder, { recursive: true, force: true }) };
}
