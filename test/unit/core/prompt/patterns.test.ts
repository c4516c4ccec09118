import { expect, test } from 'vitest';
import { selectCodebasePatterns } from '../../../../src/core/prompt/places.ts';

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['no log', {}, ''],
  ['a log without them', { 'progress.txt': '# Log\n\n## Monday\n- x\n' }, ''],
  ['an empty part', { 'progress.txt': '## Codebase Patterns\n\n---\n- x\n' }, ''],
  [
    'up to the next heading',
    { 'progress.txt': '# Log\n## Codebase Patterns\n- a\n- b\n\n## Monday\n- x\n' },
    '- a\n- b',
  ],
  ['up to a rule, with CR LF', { 'progress.txt': '## Codebase patterns\r\n- a\r\n---\r\n- x' }, '- a'],
  ['up to the end', { 'scripts/ralph/progress.txt': '## Codebase Patterns\n- a' }, '- a'],
  [
    'the first place that has some',
    { 'progress.txt': '## Codebase Patterns\n- root', 'scripts/ralph/progress.txt': '## Codebase Patterns\n- own' },
    '- own',
  ],
])('%s', (_, texts, expected) => {
  expect(selectCodebasePatterns(texts)).toBe(expected);
});
