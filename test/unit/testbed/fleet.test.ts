import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { brokenBy, playFleet, renderFleets } from '../../../bench/fleet/fleet.ts';

const DOCUMENT = 'docs/scale.md';
const TABLES = /(<!-- fleet -->\n)[\s\S]*?(\n<!-- \/fleet -->)/;

test('docs/scale.md has the tables that the simulation prints (vitest -u writes it)', async () => {
  const [text, tables] = [await readFile(DOCUMENT, 'utf8'), await renderFleets(1)];
  await expect(text.replace(TABLES, `$1${tables.replaceAll('$', '$$$$')}$2`)).toMatchFileSnapshot(
    `../../../${DOCUMENT}`,
  );
});

test('ten times the repositories are ten times the work, and no repository has more requests for it', () => {
  const schedule = { hours: 1, minute: 'own' } as const;
  const [few, many] = [100, 1_000].map((repositories) => playFleet({ repositories, schedule, seed: 7 }));
  if (few === undefined || many === undefined) throw new Error('two weeks are played');
  expect(many.calls / few.calls).toBeGreaterThan(8);
  expect(many.calls / few.calls).toBeLessThan(12);
  expect(many.peakRequestsOfOne).toBeLessThan(2 * few.peakRequestsOfOne);
  expect(many.peakRequestsOfOne).toBeLessThan(1_000);
});

test('a schedule at the same minute everywhere needs more runners at once, and one every six hours fewer minutes', () => {
  const week = (schedule: Parameters<typeof playFleet>[0]['schedule']) =>
    playFleet({ repositories: 300, schedule, seed: 3 });
  const [same, own, rare] = [
    week({ hours: 1, minute: 'same' }),
    week({ hours: 1, minute: 'own' }),
    week({ hours: 6, minute: 'own' }),
  ];
  expect(same.peakJobs).toBeGreaterThan(1.5 * own.peakJobs);
  expect(rare.idleMinutes).toBe(own.idleMinutes / 6);
  expect([same, own, rare].map(({ tasks }) => tasks)).toEqual([own.tasks, own.tasks, own.tasks]);
  expect(brokenBy(same)).toContain('jobs, Team');
});
