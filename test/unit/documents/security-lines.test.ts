import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openDoors } from '../../e2e/attacks/open-doors.ts';
import { read } from './pages.ts';

test('the page on security names what an agent of the same user can still reach, each line shown by attacks that come through', () => {
  const [, section = ''] =
    /## What an agent of the same user can still reach\n(.*?)(?=\n## |$)/s.exec(read('docs/security.md')) ?? [];
  const lines = [...section.matchAll(/^- (?:\*\*(.+?)\*\*)?/gm)].map(([, heading = '']) => heading);
  expect(new Set(Object.values(openDoors))).toEqual(new Set(lines));
});

test('each attack that comes through is in the corpus', () => {
  const folder = 'test/e2e/attacks';
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  const corpus = files.map((name) => read(`${folder}/${name}`)).join('\n');
  expect(Object.keys(openDoors).filter((does) => !corpus.includes(does))).toEqual([]);
});
