import { describe, expect, test } from 'vitest';
import { analyzeAt, block, inEveryFormat } from '../../agents/claude/fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const no = block('EXIT_SIGNAL: false');

describe('beside STATUS: COMPLETE, false is read from', () => {
  test.each([
    'EXIT\\_SIGNAL: false',
    '**EXIT\\_SIGNAL:** false',
    '`EXIT_SIGNAL`: false',
    '`EXIT_SIGNAL: false`',
    '*EXIT_SIGNAL*: false',
    '***EXIT_SIGNAL***: false',
    '***EXIT_SIGNAL:*** false',
    '__EXIT_SIGNAL__: false',
    '"EXIT_SIGNAL": false',
    '“EXIT_SIGNAL”: false',
    '• EXIT_SIGNAL: false',
    'EXIT_SIGNAL：false',
    'ＥＸＩＴ＿ＳＩＧＮＡＬ: false',
    '\u200BEXIT_SIGNAL: false',
    'EXIT_\u00ADSIGNAL: false',
  ])('%j', (line) => {
    for (const [, output] of inEveryFormat(block('STATUS: COMPLETE', line))) {
      expect(analyzeAt(output)).toMatchObject({
        signal: { from: 'block', status: 'COMPLETE', exitSignal: false, unreadable: [] },
        completionIndicator: false,
      });
    }
  });
});

describe('beside STATUS: COMPLETE, nothing is inferred where EXIT_SIGNAL is there but unreadable', () => {
  test.each([
    '- [ ] EXIT_SIGNAL: false',
    '### EXIT_SIGNAL: false',
    '> EXIT_SIGNAL: false',
    '```\nEXIT_SIGNAL: false\n```',
    '```\nEXIT_SIGNAL: false',
    'EXIT_SIGNAL = false',
    'EXIT_SIGNAL false',
    'EXIT SIGNAL: false',
    'exit-signal: false',
    'exitSignal: false',
    '| EXIT_SIGNAL | false |',
    '<b>EXIT&#95;SIGNAL</b>: false',
    '\u0415XIT_SIGNAL: false',
    'EXIT_S\u0406GN\u0391L: false',
    'My answer: EXIT_SIGNAL: false',
    'NOTE: one task is left, so EXIT_SIGNAL: false',
    'TESTS_STATUS: PASSING, EXIT_SIGNAL: false',
  ])('%j', (line) => {
    for (const [, output] of inEveryFormat(block('STATUS: COMPLETE', line))) {
      const { signal, completionIndicator } = analyzeAt(output);
      expect(signal).toMatchObject({ from: 'block', status: 'COMPLETE', exitSignal: null });
      expect(signal.unreadable).toContain('EXIT_SIGNAL');
      expect(completionIndicator).toBe(false);
    }
  });

  test.each([
    'RECOMMENDATION: handle the exit signal of the child',
    'RECOMMENDATION: next time EXIT_SIGNAL: true',
    'RECOMMENDATION: one task is left, so EXIT_SIGNAL: false',
    'EXIT_SIGNAL_REASON: all tasks are done',
    'NOTE: the exit signal is final',
    'NOTE: 没有剩余的任务了，全部完成',
    'EXISTING: signals',
  ])('an absent one is still inferred beside %j', (line) => {
    expect(analyzeAt(block('STATUS: COMPLETE', line)).signal).toMatchObject({ exitSignal: true, unreadable: [] });
  });
});

test.each<[string, string[], boolean | null]>([
  ['true beside an unread line that names it is unreadable', ['EXIT_SIGNAL: true', '> EXIT_SIGNAL: false'], null],
  [
    'true beside a recommendation that names it is true',
    ['EXIT_SIGNAL: true', 'RECOMMENDATION: EXIT_SIGNAL: true, for the plan is empty'],
    true,
  ],
  [
    'true beside an unknown field that assigns it is unreadable',
    ['EXIT_SIGNAL: true', 'NOTE: EXIT_SIGNAL: false'],
    null,
  ],
  ['true beside a disguised one is unreadable', ['EXIT_SIGNAL: true', 'exitSignal: false'], null],
  [
    'true beside its reason is true',
    ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'EXIT_SIGNAL_REASON: all tasks are done'],
    true,
  ],
  ['true beside a note on it is true', ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'NOTE: exit signal is final'], true],
  [
    'true beside a recommendation of two lines that speaks of it is true',
    ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'RECOMMENDATION: All done,', 'so the exit signal is true.'],
    true,
  ],
  ['an explicit false stays false', ['STATUS: COMPLETE', 'EXIT_SIGNAL: false', 'I keep the exit signal back.'], false],
  ['a bold line closes its marks', ['**RECOMMENDATION: ship it**', 'EXIT_SIGNAL: true'], true],
])('%s', (_rule, fields, exitSignal) => {
  expect(analyzeAt(block(...fields)).signal.exitSignal).toBe(exitSignal);
});

test.each([
  ['a value that is not a choice', block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: false | one left'), ['EXIT_SIGNAL']],
  ['a value in angle brackets', block('EXIT_SIGNAL: <false>'), ['EXIT_SIGNAL']],
  ['an undecided status', block('STATUS: COMPLETE | BLOCKED'), ['STATUS']],
  ['both values, one of them filled in', block('EXIT_SIGNAL: true | false', 'EXIT_SIGNAL: false'), ['EXIT_SIGNAL']],
  ['both values beside a status', block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: true | false'), ['EXIT_SIGNAL']],
  [
    'both values beside a recommendation',
    block('EXIT_SIGNAL: true | false', 'RECOMMENDATION: one task is left'),
    ['EXIT_SIGNAL'],
  ],
  ['a confusable name alone', block('\u0415XIT_SIGNAL: false'), ['EXIT_SIGNAL']],
])('%s in a later block does not let an earlier true one win', (_rule, later, unreadable) => {
  expect(analyzeAt(`${yes}\n${later}`).signal).toMatchObject({ from: 'block', exitSignal: null, unreadable });
});

test.each([
  ['the alternatives of STATUS alone', block('STATUS: IN_PROGRESS | COMPLETE | BLOCKED')],
  ['EXIT_SIGNAL with both values in brackets', block('FILES_MODIFIED: <number>', 'EXIT_SIGNAL: <true|false>')],
  [
    'all fields with an explained recommendation',
    block(
      'STATUS: IN_PROGRESS | COMPLETE | BLOCKED',
      'EXIT_SIGNAL: false | true',
      'RECOMMENDATION: <one line: what to do next>',
    ),
  ],
])('%s are the template, hence no block', (_rule, template) => {
  expect(analyzeAt(`${yes}\n${template}`).signal.exitSignal).toBe(true);
  expect(analyzeAt(template).signal.from).not.toBe('block');
});

describe('without an end marker', () => {
  const open = '---RALPH_STATUS---\nSTATUS: COMPLETE\n';
  test.each<[string, string, boolean | null, string[]]>([
    ['prose and then a field is unreadable', `${open}\nOne more thing.\nEXIT_SIGNAL: false`, null, ['EXIT_SIGNAL']],
    ['a fence and then a field is unreadable', `${open}\`\`\`\nEXIT_SIGNAL: false`, null, ['EXIT_SIGNAL']],
    ['prose that does not name the signal does not matter', `${open}\nThat is all.`, true, []],
    [
      'true stays true before prose that speaks of signals',
      `${open}EXIT_SIGNAL: true\n\nHandled the exit signals SIGINT and SIGTERM.`,
      true,
      [],
    ],
    [
      'true before prose that assigns it is unreadable',
      `${open}EXIT_SIGNAL: true\n\nNo: EXIT_SIGNAL: false`,
      null,
      ['EXIT_SIGNAL'],
    ],
    ['a later block counts for itself', `${open}\nprose\n${no}`, false, []],
  ])('%s', (_rule, message, exitSignal, unreadable) => {
    expect(analyzeAt(message).signal).toMatchObject({ from: 'block', exitSignal, unreadable });
  });
});

describe('the YAML-like form', () => {
  test.each<[string, string, boolean | null, string | null]>([
    [
      'a nested key is not a field',
      'RALPH_STATUS:\n  note:\n    EXIT_SIGNAL: true\n  STATUS: BLOCKED',
      null,
      'BLOCKED',
    ],
    [
      'a nested key is not inferred over',
      'RALPH_STATUS:\n  note:\n    EXIT_SIGNAL: false\n  STATUS: COMPLETE',
      null,
      'COMPLETE',
    ],
    [
      'may have a comment behind its start',
      'RALPH_STATUS:  # final\n  STATUS: COMPLETE\n  EXIT_SIGNAL: true',
      true,
      'COMPLETE',
    ],
    ['is not inferred over a key outside', 'RALPH_STATUS:\n  STATUS: COMPLETE\nEXIT_SIGNAL: false', null, 'COMPLETE'],
    [
      'text behind it does not void what it says',
      'RALPH_STATUS:\n  EXIT_SIGNAL: true\n\nEXIT_SIGNAL is set because the plan is empty.',
      true,
      null,
    ],
    ['may be a list', 'RALPH_STATUS:\n  - STATUS: COMPLETE\n  - EXIT_SIGNAL: false', false, 'COMPLETE'],
  ])('%s', (_rule, message, exitSignal, status) => {
    expect(analyzeAt(message).signal).toMatchObject({ from: 'block', exitSignal, status });
  });
});

describe('the last words of a message without a block', () => {
  test.each([
    ['I looked at `src/a.js`.\n\nI cannot find\nthe **key**.\n', 'I cannot find the **key**.'],
    ['Where is it?\n\n```\nnpm test\n```\n', 'Where is it?'],
    ['One.\n\n> quoted', 'One.'],
    [`${'long '.repeat(400)}end`, `${'long '.repeat(400)}end`.slice(-500).trim()],
    ['', undefined],
  ])('%j', (message, expected) => {
    for (const [, output] of inEveryFormat(message)) expect(analyzeAt(output).signal.lastWords).toBe(expected);
  });

  test('are not asked for beside a block', () => {
    expect(analyzeAt(`Text.\n\n${yes}`).signal).not.toHaveProperty('lastWords');
  });
});
