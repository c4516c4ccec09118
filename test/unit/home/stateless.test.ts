import { execFileSync } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LaneStatusReport } from '../../../src/cli/lane/lane-schema.ts';
import { openPlaces } from '../../../src/wiring/lane-places.ts';
import { ralph, settingsOf } from '../cli/fixture.ts';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-stateless-')));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  const setting = { input: 'max-iterations', text: '3', origin: 'file', where: '.ralphrc:1' } as const;
  settingsOf.set(folder, [{ workflow: 'ralph run', settings: [setting], problems: [] }]);
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('a checkout without a remote, where no run has worked yet', () => {
  test('ralph status shows its settings', async () => {
    const { code, out, error } = await ralph(['status', '--dir', folder], '', openPlaces);
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(/^No state yet: .*\n\nsettings \(ralph run\)\n.*max-iterations/);
    const report = JSON.parse(
      (await ralph(['status', '--dir', folder, '--json'], '', openPlaces)).out,
    ) as LaneStatusReport;
    expect(report).toMatchObject({ branchId: 'queue', places: [], settings: [{ workflow: 'ralph run' }] });
  });

  test.each([[['status', '--all']], [['status', '--remote', 'origin']], [['pause']]])(
    'ralph %j needs a place',
    async (args) => {
      const { code, out, error } = await ralph([...args, '--dir', folder], '', openPlaces);
      expect([code, out]).toEqual([2, '']);
      expect(error).toContain('has no remote "origin"');
    },
  );
});
