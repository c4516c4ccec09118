import { describe, expect, test } from 'vitest';
import { findPhrases } from '../../../../src/core/analysis/analyze.ts';
import { analyzeAt, block, inEveryFormat } from '../../agents/claude/fixtures.ts';

test.each<[string, boolean]>([
  ['All tasks complete, ready for review.', true],
  ['All the tasks in the plan are now complete.', true],
  ['I have completed all remaining work.', true],
  ['The implementation is complete.', true],
  ['There are no tasks left.', true],
  ['I have not finished; none of it is complete.', false],
  ['Not all tasks are complete.', false],
  ["I don't think that all tasks are complete.", false],
  ['The module is incomplete, the rest was abandoned.', false],
  ['The toast says `all tasks complete`.', false],
  ['```\nAll tasks complete\n```', false],
  ['> All tasks complete', false],
  ['Once all tasks are complete I will open a pull request.', false],
  ['Are all tasks complete?', false],
  ['All tasks are complete except the last one.', false],
  ['All tasks complete, but I am stuck on the release.', false],
])('completion is read as whole words, un-negated, outside code: %j → %s', (message, expected) => {
  for (const [, output] of inEveryFormat(message)) {
    const { signal, completionIndicator, confidence } = analyzeAt(output);
    expect(completionIndicator).toBe(expected);
    expect(confidence >= 60).toBe(expected);
    expect(confidence).toBeLessThan(100);
    expect(signal.exitSignal).toBeNull();
    if (expected) expect(signal.from).toBe('phrases');
  }
});

test.each<[string, boolean]>([
  ['Nothing to do: no changes were needed.', true],
  ['The feature was already implemented.', true],
  ['No changes to the parser; I added the printer.', false],
])('no work: %j → %s', (message, expected) => {
  expect(analyzeAt(message).noWork).toBe(expected);
});

test.each<[string, boolean]>([
  ['Ran pytest again: running tests, 12 passed.', true],
  ['I ran the whole test suite, all green. Running tests took a minute.', true],
  ['Added a class and ran pytest.', false],
  ['I did not run the tests.', false],
  ['The command is `run tests`.', false],
])('test-only: %j → %s', (message, expected) => {
  expect(analyzeAt(message).testOnly).toBe(expected);
});

test.each<[string, boolean]>([
  ['Should I use tabs or spaces?', true],
  ['Please confirm the name of the branch.', true],
  ['the handler returns `could you repeat`', false],
  ['I used tabs, as the rest does.', false],
])('question: %j → %s', (message, expected) => {
  expect(analyzeAt(message).question).toBe(expected);
});

test('with a block no phrase is read', () => {
  const message = `All tasks complete! Should I deploy? pytest is running. Nothing to do.\n${block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: false')}`;
  expect(analyzeAt(message)).toMatchObject({
    completionIndicator: false,
    question: false,
    testOnly: false,
    noWork: false,
    confidence: 100,
  });
});

test('without a phrase there is no signal at all', () => {
  expect(analyzeAt('I looked at the parser.').signal).toMatchObject({ from: 'none', exitSignal: null, unreadable: [] });
});

describe('a whole message of one or a few words', () => {
  test.each([
    'Done.',
    'All done!',
    'Complete.',
    'Completed.',
    'Finished.',
    'finished',
    'Work complete.',
    'The work is done.',
    'Task completed ✅',
    '**Complete.**',
    'The task is now complete.',
    'Done. 🎉',
    "I'm done.",
    'Task completed successfully.',
    'Successfully completed!',
  ])('%s: everything is done', (text) => {
    expect(findPhrases(text, []).confidence).toBeGreaterThanOrEqual(60);
  });
  test.each([
    'Done?',
    'Complete?',
    'Not finished.',
    'Incomplete.',
    'Unfinished.',
    'Complete the parser.',
    'Finished with errors left.',
    'Complete. Next I look at the lexer.',
    'Almost done.',
    '未 done',
  ])('%s: not so', (text) => {
    expect(findPhrases(text, []).confidence).toBeLessThan(60);
  });
});
