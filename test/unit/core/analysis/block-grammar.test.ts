import { describe, expect, test } from 'vitest';
import { markLines } from '../../../../src/core/analysis/markdown-code.ts';
import { findStatusBlock, renderStatusBlock, type StatusBlock } from '../../../../src/core/analysis/status-block.ts';
import { analyzeAt, block } from '../../agents/claude/fixtures.ts';

const NO_FIELD: StatusBlock = {
  status: null,
  exitSignal: null,
  testsStatus: null,
  workType: null,
  tasksCompleted: null,
  filesModified: null,
  summary: null,
  asks: null,
  recommendation: null,
  unreadable: [],
};
const OFFERED_STATUS = 'STATUS: IN_PROGRESS | COMPLETE | BLOCKED';

/** Returns the readable fields of the block in a message, or null if it has none. */
function read(message: string): Partial<StatusBlock> | null {
  const found = findStatusBlock(markLines(message)).block;
  return (
    found &&
    Object.fromEntries(
      Object.entries(found).filter(([, value]) => value !== null && (!Array.isArray(value) || value.length > 0)),
    )
  );
}

describe('a name', () => {
  test.each<[string, string, Partial<StatusBlock>]>([
    ['may be bold with its colon', '**STATUS:** BLOCKED', { status: 'BLOCKED' }],
    ['may be underscored with its colon', '__STATUS:__ BLOCKED', { status: 'BLOCKED' }],
    ['may be a code span with blanks inside', '`  STATUS  `: BLOCKED', { status: 'BLOCKED' }],
    ['may be in typographic quotation marks', '‘STATUS’: BLOCKED', { status: 'BLOCKED' }],
    ['may be numbered', '12. STATUS: BLOCKED', { status: 'BLOCKED' }],
    ['may be numbered with a bracket', '3) STATUS: BLOCKED', { status: 'BLOCKED' }],
    ['may be bulleted with a plus', '+ STATUS: BLOCKED', { status: 'BLOCKED' }],
    ['may be wide', 'ＳＴＡＴＵＳ： BLOCKED', { status: 'BLOCKED' }],
    ['ends at its first colon', 'RECOMMENDATION: STATUS: BLOCKED', { recommendation: 'STATUS: BLOCKED' }],
    ['is whole', 'MY_STATUS: BLOCKED', {}],
    ['is one word', 'STATUS NOW: BLOCKED', {}],
    ['has no digits', 'STATUS2: BLOCKED', {}],
    ['needs its colon', 'STATUS?', {}],
    ['stands within 200 characters', `STATUS${' '.repeat(194)}: BLOCKED`, { status: 'BLOCKED' }],
    ['does not stand beyond 200 characters', `STATUS${' '.repeat(195)}: BLOCKED`, {}],
  ])('%s', (_rule, line, said) => {
    expect(read(block('EXIT_SIGNAL: false', line))).toEqual({ exitSignal: false, ...said });
  });
});

describe('a value', () => {
  test.each<[string, string, Partial<StatusBlock>]>([
    ['may be bold before a comment', 'EXIT_SIGNAL: **true** # all done', { exitSignal: true }],
    ['may be underscored', 'EXIT_SIGNAL: __true__', { exitSignal: true }],
    ['may have blanks inside its bold marks', 'EXIT_SIGNAL: ** true **', { exitSignal: true }],
    ['may have a comment without blank behind the mark', 'EXIT_SIGNAL: true #done', { exitSignal: true }],
    ['has no comment without a blank before the mark', 'EXIT_SIGNAL: true#done', { unreadable: ['EXIT_SIGNAL'] }],
    ['has no bold marks in the middle', 'EXIT_SIGNAL: tr**ue**', { unreadable: ['EXIT_SIGNAL'] }],
    ['is not read out of a sentence', 'EXIT_SIGNAL: true, at last', { unreadable: ['EXIT_SIGNAL'] }],
    ['in any letter case', 'STATUS: In_Progress', { status: 'IN_PROGRESS' }],
    ['with a blank for its underscore is another', 'STATUS: IN PROGRESS', { unreadable: ['STATUS'] }],
    ['that another field allows is unreadable', 'TESTS_STATUS: COMPLETE', { unreadable: ['TESTS_STATUS'] }],
    ['of tests', 'TESTS_STATUS: FAILING', { testsStatus: 'FAILING' }],
    ['of work', 'WORK_TYPE: refactoring', { workType: 'REFACTORING' }],
    ['of 15 digits is a number', 'FILES_MODIFIED: 123456789012345', { filesModified: 123456789012345 }],
    ['of 16 digits is not a number', 'FILES_MODIFIED: 1234567890123456', { unreadable: ['FILES_MODIFIED'] }],
    ['with a plus is not a number', 'TASKS_COMPLETED_THIS_LOOP: +1', { unreadable: ['TASKS_COMPLETED_THIS_LOOP'] }],
    ['that is empty is unreadable, a recommendation too', 'RECOMMENDATION:', { unreadable: ['RECOMMENDATION'] }],
    ['ends before the marks that began with the name', '**RECOMMENDATION: ship it ** ', { recommendation: 'ship it' }],
    ['begins behind the marks that closed the name', '**RECOMMENDATION:** ship it', { recommendation: 'ship it' }],
    ['keeps marks of its own', '**RECOMMENDATION**: ship **all**', { recommendation: 'ship **all**' }],
    [
      'of a recommendation is cut at 2,000 characters',
      `RECOMMENDATION: ${'a'.repeat(2_001)}`,
      { recommendation: `${'a'.repeat(1_999)}…` },
    ],
  ])('%s', (_rule, line, said) => {
    expect(read(block(line))).toEqual(said);
  });
});

describe('a block', () => {
  test.each<[string, string, Partial<StatusBlock> | null]>([
    [
      'continues behind prose, up to its end marker',
      block('EXIT_SIGNAL: false', 'I keep it open.', 'STATUS: BLOCKED'),
      { exitSignal: false, status: 'BLOCKED' },
    ],
    ['ends at its end marker', `${block('EXIT_SIGNAL: true')}\nEXIT_SIGNAL: false`, { exitSignal: true }],
    [
      'without an end marker continues behind blank lines',
      '---RALPH_STATUS---\n\nSTATUS: COMPLETE\n   \nEXIT_SIGNAL: false',
      { status: 'COMPLETE', exitSignal: false },
    ],
    [
      'without an end marker continues behind an unknown field',
      '---RALPH_STATUS---\nPRIORITY: 3\nEXIT_SIGNAL: false',
      { exitSignal: false },
    ],
    [
      'without an end marker ends at prose, with a colon too',
      '---RALPH_STATUS---\nSTATUS: BLOCKED\nOne more thing: the docs.\nFILES_MODIFIED: 2',
      { status: 'BLOCKED' },
    ],
    [
      'without an end marker ends at the next start marker',
      '---RALPH_STATUS---\nSTATUS: BLOCKED\n---RALPH_STATUS---\nEXIT_SIGNAL: false',
      { exitSignal: false },
    ],
    ['is not begun by an end marker', '---END_RALPH_STATUS---\nEXIT_SIGNAL: true', null],
    [
      'may have longer markers with blanks',
      '---- RALPH_STATUS ----\nEXIT_SIGNAL: true\n---- END_RALPH_STATUS ----\nEXIT_SIGNAL: false',
      { exitSignal: true },
    ],
    ['needs three hyphens in its marker', '--RALPH_STATUS--\nEXIT_SIGNAL: true', null],
    ['needs a marker alone on its line', 'Here: ---RALPH_STATUS---\nEXIT_SIGNAL: true', null],
    ['needs a marker without text behind it', '---RALPH_STATUS--- follows\nEXIT_SIGNAL: true', null],
    ['needs a field', block('That is all.'), null],
  ])('%s', (_rule, message, said) => {
    expect(read(message)).toEqual(said);
  });
});

describe('the YAML-like form', () => {
  test.each<[string, string, Partial<StatusBlock> | null]>([
    ['may begin with blank lines', 'RALPH_STATUS:\n   \n  STATUS: BLOCKED', { status: 'BLOCKED' }],
    ['has its keys deeper than its start', '  RALPH_STATUS:\n  STATUS: BLOCKED', null],
    ['may be indented as a whole', '  RALPH_STATUS:\n    STATUS: BLOCKED\n  FILES_MODIFIED: 2', { status: 'BLOCKED' }],
    ['needs a key', 'RALPH_STATUS:', null],
    ['may have bold marks', '**RALPH_STATUS:**\n  STATUS: BLOCKED', { status: 'BLOCKED' }],
    ['has no text behind its start', 'RALPH_STATUS: as follows\n  STATUS: BLOCKED', null],
    [
      'does not read a fenced key',
      'RALPH_STATUS:\n  STATUS: COMPLETE\n  ```\n  EXIT_SIGNAL: true\n  ```',
      { status: 'COMPLETE', unreadable: ['EXIT_SIGNAL'] },
    ],
    [
      'is inferred over what a recommendation speaks of',
      'RALPH_STATUS:\n  STATUS: COMPLETE\n  RECOMMENDATION: handle the exit signal of the child',
      { status: 'COMPLETE', exitSignal: true, recommendation: 'handle the exit signal of the child' },
    ],
  ])('%s', (_rule, message, said) => {
    expect(read(message)).toEqual(said);
  });
});

describe('the template', () => {
  test.each<[string, string, Partial<StatusBlock> | null]>([
    ['is one without EXIT_SIGNAL, whatever is recommended', block(OFFERED_STATUS, 'RECOMMENDATION: <one line>'), null],
    ['is one in lower case', block('tests_status: passing | failing | not_run', 'files_modified: <Number>'), null],
    [
      'is not a template with one field filled in',
      block(OFFERED_STATUS, 'FILES_MODIFIED: 2'),
      { filesModified: 2, unreadable: ['STATUS'] },
    ],
    [
      'is not a template with one line of a field filled in',
      block(OFFERED_STATUS, 'STATUS: BLOCKED'),
      { unreadable: ['STATUS'] },
    ],
    [
      'is not a template with a recommendation only',
      block('RECOMMENDATION: <one line>'),
      { recommendation: '<one line>' },
    ],
    [
      'is not a template with three values for EXIT_SIGNAL',
      block('EXIT_SIGNAL: true | false | maybe'),
      { unreadable: ['EXIT_SIGNAL'] },
    ],
    [
      'is not a template with something before both values',
      block('EXIT_SIGNAL: not true | false'),
      { unreadable: ['EXIT_SIGNAL'] },
    ],
  ])('%s', (_rule, message, said) => {
    expect(read(message)).toEqual(said);
  });
});

test.each<[string, string, boolean]>([
  ['blank lines behind it do not matter', `\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\`\n   \n`, true],
  ['fence and block may both be unclosed', '~~~\n---RALPH_STATUS---\nEXIT_SIGNAL: true', true],
  ['the template in it is not a block', `\`\`\`\n${block('EXIT_SIGNAL: true | false')}\n\`\`\``, false],
  [
    'an earlier fence does not count',
    `\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\`\nand then\n\`\`\`\ncode\n\`\`\``,
    false,
  ],
  ['an empty message ends in none', '', false],
])('whether the message ends in a fenced block: %s', (_rule, message, expected) => {
  expect(findStatusBlock(markLines(message)).endsInFencedBlock).toBe(expected);
});

test.each<[string, Partial<StatusBlock>, string]>([
  [
    'fields in the protocol’s order',
    { exitSignal: false, status: 'BLOCKED', recommendation: 'ask' },
    block('STATUS: BLOCKED', 'EXIT_SIGNAL: false', 'RECOMMENDATION: ask'),
  ],
  [
    'an unreadable field as an empty one',
    { filesModified: 0, unreadable: ['EXIT_SIGNAL'] },
    block('FILES_MODIFIED: 0', 'EXIT_SIGNAL:'),
  ],
])('a rendered block has %s', (_rule, fields, text) => {
  expect(renderStatusBlock({ ...NO_FIELD, ...fields })).toBe(text);
});

test.each<[string, string[]]>([
  ['with other marks between its words, and without a colon', ['STATUS: COMPLETE', 'EXIT--SIGNAL, false']],
  ['assigned inside the value of another field', ['STATUS: COMPLETE', 'WORK_TYPE: TESTING exit_signal=false']],
])('EXIT_SIGNAL counts as there but unreadable: %s', (_rule, fields) => {
  expect(analyzeAt(block(...fields)).signal.exitSignal).toBeNull();
});
