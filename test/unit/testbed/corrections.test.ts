import { expect, test } from 'vitest';
import { findCorrection, withoutNumbers } from '../../../testbed/corrections.ts';
import { parseNamedTask } from '../../../testbed/scripted-work.ts';
import { createWorkerScript } from '../../../testbed/worker-script.ts';
import type { FeedbackSubject } from '../../../src/core/feedback/subject.ts';
import { composePrompt } from '../../../src/core/prompt/prompt.ts';
import { promptParts, task } from '../core/core-fixtures.ts';

const on: Readonly<Record<'thread' | 'check' | 'conflict', FeedbackSubject>> = {
  thread: {
    kind: 'thread',
    thread: 'T',
    ...{ replyTo: 5, asked: 5 },
    by: 'ada',
    path: 'src/a.js',
    line: 3,
    suggestion: null,
  },
  check: { kind: 'check', name: 'lint', head: 'abc' },
  conflict: { kind: 'conflict', branch: 'main', base: 'def' },
};
const MERGE = {
  conflicts: ['src/a.js', 'src/b.js'],
  lockFiles: [],
  regeneratedByLoop: [],
  regenerated: [],
  verification: null,
};

/** Returns one of our prompts for feedback of people or CI. */
function promptOf(kind: keyof typeof on, id: string, body: string): string {
  const asked = task(12, { title: 'Asked', body });
  return composePrompt({
    ...promptParts,
    task: { ...asked, id, source: { kind: 'feedback', on: on[kind], pullRequest: 4, url: 'https://github.test/4' } },
    merge: kind === 'conflict' ? MERGE : null,
  });
}

// The stand-ins read our prompts; this test keeps the two consistent.
test.each([
  {
    what: 'a thread',
    prompt: promptOf('thread', 'thread-5', 'File: src/a.js\nLine: 3'),
    paths: ['src/a.js'],
    before: 'one\n',
    after: 'one\n// Reviewed: it stays as small as it is.\n',
  },
  {
    what: 'a check that names a first line',
    prompt: promptOf(
      'check',
      'check-0123456789ab',
      'End of the log:\nError: src/a.js: the first line must be "// MIT"',
    ),
    paths: ['src/a.js'],
    before: 'one\n',
    after: '// MIT\none\n',
  },
  {
    what: 'a conflict',
    prompt: promptOf('conflict', 'conflict-base', 'The base has moved on.'),
    paths: ['src/a.js', 'src/b.js'],
    before: 'a\n<<<<<<< ralph/queue\nours\n=======\ntheirs\n>>>>>>> main\nz\n',
    after: 'a\nours\ntheirs\nz\n',
  },
])('$what is done in one visit', ({ prompt, paths, before, after }) => {
  const named = parseNamedTask(prompt);
  const correction = named === null ? null : findCorrection(prompt, named);
  expect(correction?.paths).toEqual(paths);
  expect(correction?.correct(before)).toBe(after);
});

test.each([
  ['a task of the queue', 'issue-12', 'File: src/a.js'],
  ['a check that says something else', 'check-0123456789ab', '1 test failed'],
])('%s is work like any other', (_what, id, prompt) => {
  expect(findCorrection(prompt, { id, title: 'x', item: null })).toBeNull();
});

test.each([
  ['     1→one\n     2→\n     3→three\n\n<system-reminder>\nmind\n</system-reminder>', 'one\n\nthree\n'],
  ['     1\tone\n     2\ttwo', 'one\ntwo\n'],
  ['<file>\n00001| one\n00002| two\n</file>', 'one\ntwo\n'],
  ['1: one\n2: two', 'one\ntwo\n'],
  ['1. one\n2. two', 'one\ntwo\n'],
  ['one\ntwo\n', 'one\ntwo\n'],
])("a CLI's display of a file, %j, is the text %j", (shown, text) => {
  expect(withoutNumbers(shown)).toBe(text);
});

test('a model reads each file, writes it, and then says that it is done', () => {
  const prompts = [promptOf('conflict', 'conflict-base', 'The base has moved on.')];
  const script = createWorkerScript();
  const after = (texts: readonly string[]) =>
    typeof script === 'function' ? script({ prompts, results: texts.map((text) => ({ text, isError: false })) }) : null;
  expect(after([])).toMatchObject({ kind: 'read', path: 'src/a.js' });
  const shown = '1\t<<<<<<< x\n2\tours\n3\t=======\n4\ttheirs\n5\t>>>>>>> main';
  expect(after([shown])).toMatchObject({ kind: 'write', path: 'src/a.js', content: 'ours\ntheirs\n' });
  expect(after([shown, 'ok'])).toMatchObject({ kind: 'read', path: 'src/b.js' });
  expect(after([shown, 'ok', shown, 'ok'])).toMatchObject({
    kind: 'reply',
    text: expect.stringMatching(/STATUS: COMPLETE[^]*EXIT_SIGNAL: false/),
  });
});
