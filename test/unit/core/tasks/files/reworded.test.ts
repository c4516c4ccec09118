import { expect, test } from 'vitest';
import { parsePlan } from '../../../../../src/core/tasks/files/plan.ts';

const idsOf = (text: string): readonly string[] => parsePlan('plan.md', text, []).tasks.map(({ task }) => task.id);
const [plain] = idsOf('- [ ] Read the header row\n');

test.each([
  '- [x] ~~Read the header row~~ ✅ 2026-11-26',
  '- [x] ~~Read the header row~~',
  '- [x] ~Read the header row~',
  '- ~~[x] Read the header row~~',
  '- ~~[x] Read the header row~~ (done)',
  '- [x] ~~**Read** the header row~~ (done)',
  '- [x] **Read the header row**',
  '- [x] __Read__ the `header` row',
  '- [x] [Read the header row](https://example.com)',
  '- [x] Read the header row ✅ 2026-11-26',
  '- [x] Read the header row ✅',
  '- [x] Read the header row ✔️',
  '- [x] Read the header row ➕ 2026-11-20 📅 2026-11-30 ✅ 2026-11-26',
  '- [x] Read the header row [completion:: 2026-11-26]',
  '- [x] Read the header row (done:: 2026-11-26)',
  '- [x] Read the header row done:: 2026-11-26',
  '- [x] Read the header row @done(2026-11-26 10:00)',
  '- [x] Read the header row (done)',
  '- [x] Read the header row [done 2026-11-26]',
  '- [x] Read the header row — done',
  '- [x] Read the header row - DONE.',
  '3. [x] Read the header row',
  '* [X]   Read  the header row',
])('%s is the same task', (line) => {
  expect(idsOf(`# Another heading\n\n${line}\n`)).toEqual([plain]);
});

test.each([
  '- [ ] Read the footer row',
  '- [ ] Read the header row until done',
  '- [ ] Read the header row of done:: fields',
  '- [ ] Show ✅ for the header row',
])('%s is another task', (line) => {
  expect(idsOf(line)).not.toEqual([plain]);
});

test('a box inside a strike is a box if it is ticked and the strike ends', () => {
  const text = '- ~~[x] a~~\n- ~~[ ] b~~\n- ~~[x] c\n- ~~[X] d~~ e\n';
  const { tasks } = parsePlan('plan.md', text, []);
  expect(tasks.map(({ task, state }) => [task.title, state])).toEqual([
    ['a', 'done'],
    ['d e', 'done'],
  ]);
});

test('a title of marks alone stays one', () => {
  expect(idsOf('- [ ] ✅\n- [ ] (done)\n')).toHaveLength(2);
});

test('strikethrough is not part of a title', () => {
  const { tasks } = parsePlan('plan.md', '- [x] ~~Read the `a~~b` row~~ soon\n- [ ] Keep ~/x and ~/y\n', []);
  expect(tasks.map(({ task }) => task.title)).toEqual([expect.not.stringMatching(/^~~/), 'Keep ~/x and ~/y']);
});
