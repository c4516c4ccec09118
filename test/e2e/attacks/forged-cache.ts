import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaneState } from '../../../src/core/lane/state/state.ts';
import type { Scene } from '../e2e-fixture.ts';
import { storedState } from './attack-fixture.ts';

const FOLDER = 'ralph-state';

/**
 * Puts an entry #900 into the cache: the lane's newest entry, with `edit` applied to its state and `conversation`
 * instead of its transcripts.
 */
export async function forgeCacheEntry(
  scene: Scene,
  forged: { readonly edit: (state: LaneState) => LaneState; readonly conversation?: string },
): Promise<void> {
  const { entries } = scene.testbed.cache;
  const honest = entries.findLast(({ key }) => key.includes('/queue/'));
  if (honest === undefined) throw new Error('There is no honest entry to begin with.');
  const files = unpacked(honest.content);
  const known = files['state.json']?.toString() ?? JSON.stringify(await storedState(scene));
  const state = { ...forged.edit(JSON.parse(known) as LaneState), sequence: 900, savedAt: Date.now() };
  const transcripts = Object.keys(files).filter((path) => !/^(state|manifest)\.json$/.test(path));
  const content: Record<string, Buffer> = { ...files, 'state.json': Buffer.from(JSON.stringify(state)) };
  const { conversation } = forged;
  if (conversation !== undefined) for (const path of transcripts) content[path] = Buffer.from(conversation);
  delete content['manifest.json'];
  const sums = Object.entries(content).map(([path, bytes]) => [path, createHash('sha256').update(bytes).digest('hex')]);
  content['manifest.json'] = Buffer.from(
    JSON.stringify({ version: 1, lane: 'queue', sequence: 900, files: Object.fromEntries(sums) as object }),
  );
  entries.push({
    ...honest,
    id: 900,
    key: honest.key.replace(/\/queue\/\d+\//, '/queue/900/'),
    createdAt: Date.now() + 1,
    content: packed(content),
  });
}

/** Returns all bytes in the cache and the lane's ref, unpacked, as text. */
export async function keptInPublic({ testbed }: Scene): Promise<string> {
  const cached = testbed.cache.entries.flatMap(({ content }) => Object.values(unpacked(content)).map(String));
  const refs = (await testbed.git('for-each-ref', '--format=%(refname)', 'refs/ralph')).split('\n').filter(Boolean);
  const onRefs = await Promise.all(refs.map((ref) => testbed.git('log', '--patch', '--text', '--root', ref)));
  return [...cached, ...onRefs].join('\n');
}

function unpacked(archive: Buffer): Record<string, Buffer> {
  return inFolder((folder) => {
    execFileSync('tar', ['-x', '--use-compress-program', 'zstd -d', '-C', folder], { input: archive });
    const paths = readdirSync(join(folder, FOLDER), { recursive: true, encoding: 'utf8' });
    const files = paths.filter((path) => statSync(join(folder, FOLDER, path)).isFile());
    return Object.fromEntries(files.map((path) => [path, readFileSync(join(folder, FOLDER, path))]));
  });
}

function packed(files: Readonly<Record<string, Buffer>>): Buffer {
  return inFolder((folder) => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, FOLDER, path, '..'), { recursive: true });
      writeFileSync(join(folder, FOLDER, path), content);
    }
    return execFileSync('tar', ['-c', '--posix', '--use-compress-program', 'zstd', '-C', folder, FOLDER], {
      maxBuffer: 2 ** 26,
    });
  });
}

function inFolder<T>(body: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-cache-'));
  try {
    return body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
