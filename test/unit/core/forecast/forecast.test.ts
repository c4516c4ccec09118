import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../cpu.ts';
import { countUnrelatedBoxes, lacksCriterion, findSimilarTasks } from '../../../../src/core/forecast/forecast.ts';
import type { TaskHistory } from '../../../../src/core/history/task-history.ts';
import { noon } from '../core-fixtures.ts';

const merged: TaskHistory = {
  ...{ id: 'issue-7', title: 'Fix the login form', state: 'done', pullRequest: 12, labels: [], agent: 'claude' },
  ...{ model: null, iterations: 2, costUsd: 1, labelledAt: null, openedAt: noon, end: 'merged', endedAt: noon },
  ...{ isUntouched: true, reviewRounds: 0, peopleCommits: 0, revertedAt: null },
};

const times = (count: number, own: Partial<TaskHistory> = {}): readonly TaskHistory[] =>
  Array.from({ length: count }, () => ({ ...merged, ...own }));

describe('similar tasks', () => {
  test.each<[string, readonly TaskHistory[], readonly string[], object | null]>([
    ['are not known after four', times(4), [], null],
    [
      'are summed up once there are five',
      times(5),
      [],
      { count: 5, label: null, costUsd: 1, iterations: 2, untouchedPercent: 100 },
    ],
    ['are those that are over', [...times(4), ...times(3, { end: 'open' })], [], null],
    [
      'have the cost and the iterations of the one in the middle',
      [1, 1.2, 1.4, 9, 30].map((costUsd, at) => ({ ...merged, costUsd, iterations: at + 1 })),
      [],
      { costUsd: 1.4, iterations: 3 },
    ],
    [
      'were not merged untouched if they were closed, or a person added commits',
      [...times(3), ...times(1, { end: 'closed', isUntouched: null }), ...times(1, { isUntouched: false })],
      [],
      { untouchedPercent: 60 },
    ],
    [
      'have no share where too little is known of commits',
      [...times(4), ...times(3, { isUntouched: null })],
      [],
      { count: 7, untouchedPercent: null },
    ],
    [
      'have no cost, and never $0, where too few costs are known',
      [...times(4), ...times(3, { costUsd: null })],
      [],
      { count: 7, costUsd: null },
    ],
    [
      'share a label if there are enough of them',
      [...times(5, { labels: ['bug'], costUsd: 3 }), ...times(9)],
      ['ralph', 'bug'],
      { count: 5, label: 'bug', costUsd: 3 },
    ],
    [
      'are all tasks if too few share a label',
      [...times(4, { labels: ['bug'] }), ...times(9)],
      ['bug'],
      { count: 13, label: null },
    ],
    [
      'share the rarest label',
      [...times(5, { labels: ['bug', 'ui'] }), ...times(5, { labels: ['bug'] })],
      ['bug', 'ui'],
      { count: 5, label: 'ui' },
    ],
  ])('%s', (_, histories, labels, expected) => {
    const found = findSimilarTasks(histories, labels);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  });
});

describe('an issue that says nothing about the end', () => {
  test.each<[string, string, string]>([
    ['a title alone', 'Add CLI options', ''],
    ['two words', 'Dark mode', '<!-- Describe it. -->\n'],
    ['a title, again', 'Add support for the F# language', 'Support for the F# language is a great addition'],
    ['an address alone', 'Look into it for highlighting', 'https://example.com/tool'],
    [
      'a template that nobody filled in',
      'Submit a request',
      '### Proposed solution\n\n_No response_\n\n<!-- must -->\n',
    ],
    ['a form whose answer to that is missing', 'Add a form', '### What should be different?\n\n_No response_\n'],
  ])('%s', (_, title, body) => {
    expect(lacksCriterion({ title, body })).toBe(true);
  });
});

describe('an issue that says something about the end', () => {
  test.each<[string, string, string]>([
    ['in its title', 'Parsing an empty file should be harmless', ''],
    ['as a failure in two words', 'Login crashes', ''],
    ['as a failure', 'Example parser crashes on empty file', ''],
    ['as what is not so', 'The index is not updated', ''],
    ['as boxes', 'Login for the shop', '- [ ] a person can log in'],
    ['as code', 'Middleware in the router', '```ts\napp.use(x)\n```'],
    ['in a form', 'Add a form', '### What should be different?\n\nThe shop has a login form.\n'],
    ['below a heading', 'Add the milestones', '## Acceptance criteria\n- Milestones exist'],
    ['as a wish', 'Checkboxes for parameters', 'I would like to have checkboxes'],
    ['in many words', 'Add an option', 'word '.repeat(50)],
    ['in a language whose words are not known', 'Caisse optimale', 'Placer les paramètres sous la définition'],
    ['in another script', '快速点击时下拉选项栏有几率失效', '快速点击'],
  ])('%s', (_, title, body) => {
    expect(lacksCriterion({ title, body })).toBe(false);
  });
});

describe('boxes are related', () => {
  const boxes = (...texts: readonly string[]): string => texts.map((text) => `- [ ] ${text}\n`).join('');
  test.each<[string, string, string, number]>([
    ['not at all', 'Release', boxes('Parse dates', 'Dark mode', 'Faster queries', '#12', '#13'), 5],
    ['by a word, and through others', 'Release', boxes('Parse dates', 'Dates in the menu', 'Menus that scroll'), 1],
    ['by the title', 'Login form', boxes('The form has a button', 'A login is remembered', 'Dark mode'), 2],
    ['not by words of any task', 'Release', boxes('Add tests for parsing', 'Add tests for colours'), 2],
    ['only while they are open', 'Release', '- [x] Parse dates\n- [ ] Dark mode\n', 1],
    ['not where a comment hides them', 'Release', '<!--\n- [ ] Dark mode\n-->', 0],
  ])('%s', (_, title, body, expected) => {
    expect(countUnrelatedBoxes({ title, body })).toBe(expected);
  });
});

test.each<[string, string]>([
  ['comments', '<!--'.repeat(16_000)],
  ['links', '['.repeat(65_000)],
  ['pictures', '<img '.repeat(13_000)],
  ['lines', '\n'.repeat(65_000)],
  ['boxes', '- [ ] a box\n'.repeat(5_000)],
  ['headings', `# ${'accept '.repeat(9_000)}`],
])('a text of %s alone is read at once', (_, body) => {
  const spent = cpuMs(() => {
    lacksCriterion({ title: 'Add it', body });
    countUnrelatedBoxes({ title: 'Add it', body });
  });
  expect(spent).toBeLessThan(1_000);
});
