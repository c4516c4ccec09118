import { describe, expect, test } from 'vitest';
import { hintCodes, selectHintsFor, describeHint, type HintCode } from '../../../../src/core/prompt/hints.ts';

describe('a hint for the agent says', () => {
  test.each<[HintCode, readonly string[]]>([
    ['veto_open_tasks', ['overruled', 'required tasks are still open', 'STATUS: COMPLETE with EXIT_SIGNAL: false']],
    ['veto_verify', ['overruled', 'the verification command fails']],
    ['discrepancy_tests', ['TESTS_STATUS: PASSING', 'the verification command failed']],
    ['discrepancy_no_change', ['reported finished work or modified files', 'no file content changed', 'report 0']],
    ['discrepancy_not_marked', ['more finished tasks than their files show', 'report as many as you marked']],
    ['discrepancy_removed', ['Open items are missing', 'Put them back']],
    ['not_marked', ['not marked as done in its file', 'mark it now']],
    ['withheld', ['must not be published', 'Undo those changes', 'STATUS: BLOCKED']],
    ['merge_open', ['not finished', 'conflict markers', 'Resolve every one']],
    ['marked', ['new conflict markers', 'Resolve them', 'If they belong there']],
    ['verify_failed', ['verification command failed', 'before anything else']],
    ['no_change', ['changed no file content', 'one small, real step']],
    ['timeout', ['ran out of time', 'smaller step']],
    ['question', ['Nobody can answer', 'Decide yourself']],
    ['denied', ['lack of permission', 'Do not try it again']],
    ['push_refused', ['git server did not take', 'remove it and do without', 'Do not look for a way around']],
    ['compound', ['combined command was refused', 'one plain command per call']],
    ['no_block', ['no RALPH_STATUS block', 'End the final message with it']],
    ['fenced_block', ['in a code fence', 'without a fence']],
    ['unreadable', ['could not be read', 'only the values given']],
    ['diagnosis', ['diagnosis', 'why the last approach failed', 'clearly different']],
    ['probe', ['probe', 'single iteration decides', 'a different approach']],
  ])('%s', (code, parts) => {
    for (const part of parts) expect(describeHint(code)).toContain(part);
  });

  test('something else with every code', () => {
    expect(new Set(hintCodes.map(describeHint)).size).toBe(hintCodes.length);
    expect(hintCodes).toHaveLength(29);
  });
});

describe('the next iteration gets', () => {
  test('all hints when it works on the same task', () => {
    expect(selectHintsFor(hintCodes, true)).toEqual(hintCodes);
  });

  test('on another task only those about how to work and report', () => {
    expect(selectHintsFor(hintCodes, false)).toEqual([
      'veto_open_tasks',
      'discrepancy_removed',
      'clean_check',
      'base_fails',
      'compound',
      'no_block',
      'fenced_block',
      'unreadable',
    ]);
  });
});
