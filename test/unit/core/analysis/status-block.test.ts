import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { markLines } from '../../../../src/core/analysis/markdown-code.ts';
import { findStatusBlock, renderStatusBlock, type StatusBlock } from '../../../../src/core/analysis/status-block.ts';
import { analyzeAt, block, inEveryFormat, resultLine } from '../../agents/claude/fixtures.ts';

const TEMPLATE = block(
  'STATUS: IN_PROGRESS | COMPLETE | BLOCKED',
  'TASKS_COMPLETED_THIS_LOOP: <number>',
  'FILES_MODIFIED: <number>',
  'TESTS_STATUS: PASSING | FAILING | NOT_RUN',
  'WORK_TYPE: IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING',
  'EXIT_SIGNAL: false | true',
  'RECOMMENDATION: <one line>',
  'SUMMARY: <one to three sentences>',
  'QUESTION: <only with BLOCKED>',
);

test.each(
  inEveryFormat(
    block(
      'STATUS: COMPLETE',
      'TASKS_COMPLETED_THIS_LOOP: 1',
      'FILES_MODIFIED: 2',
      'TESTS_STATUS: PASSING',
      'WORK_TYPE: TESTING',
      'EXIT_SIGNAL: true',
      'RECOMMENDATION: next',
      'SUMMARY: The flag is there.',
      '  It is documented.',
      'QUESTION: Which default, on or off?',
    ),
  ),
)('every field of a block is read in %s', (_format, output) => {
  expect(analyzeAt(output)).toMatchObject({
    signal: {
      from: 'block',
      status: 'COMPLETE',
      tasksCompleted: 1,
      filesModified: 2,
      testsStatus: 'PASSING',
      workType: 'TESTING',
      exitSignal: true,
      recommendation: 'next',
      summary: 'The flag is there. It is documented.',
      asks: 'Which default, on or off?',
      unreadable: [],
    },
    completionIndicator: true,
    confidence: 100,
    testOnly: true,
  });
});

describe('EXIT_SIGNAL', () => {
  test.each<[string, string[], boolean | null, string[]]>([
    ['explicit false wins over COMPLETE', ['STATUS: COMPLETE', 'EXIT_SIGNAL: false'], false, []],
    ['absent with COMPLETE is inferred', ['STATUS: COMPLETE'], true, []],
    ['a field whose name ends in STATUS is not STATUS', ['STATUS: COMPLETE', 'TESTS_STATUS: PASSING'], true, []],
    ['absent without COMPLETE stays unknown', ['STATUS: IN_PROGRESS'], null, []],
    ['unreadable is never inferred', ['STATUS: COMPLETE', 'EXIT_SIGNAL: perhaps'], null, ['EXIT_SIGNAL']],
    ['an empty value is unreadable', ['STATUS: COMPLETE', 'EXIT_SIGNAL:'], null, ['EXIT_SIGNAL']],
    ['only a comment is unreadable', ['STATUS: COMPLETE', 'EXIT_SIGNAL: # later'], null, ['EXIT_SIGNAL']],
    ['yes is unreadable', ['EXIT_SIGNAL: yes'], null, ['EXIT_SIGNAL']],
    ['letter case of the value', ['EXIT_SIGNAL: TRUE'], true, []],
    ['letter case of the name', ['exit_signal: True'], true, []],
    ['bold name', ['**EXIT_SIGNAL:** true'], true, []],
    ['bold value', ['EXIT_SIGNAL: **true**'], true, []],
    ['bold line', ['**EXIT_SIGNAL: true**'], true, []],
    ['bullet', ['* EXIT_SIGNAL: false'], false, []],
    ['trailing comment', ['EXIT_SIGNAL: true  # plan is empty'], true, []],
    ['twice the same', ['EXIT_SIGNAL: true', 'EXIT_SIGNAL: TRUE'], true, []],
    [
      'twice with different values',
      ['STATUS: COMPLETE', 'EXIT_SIGNAL: true', 'EXIT_SIGNAL: false'],
      null,
      ['EXIT_SIGNAL'],
    ],
  ])('%s', (_rule, fields, exitSignal, unreadable) => {
    expect(analyzeAt(block(...fields)).signal).toMatchObject({ from: 'block', exitSignal, unreadable });
  });
});

test.each<[string, string, Partial<StatusBlock>]>([
  ['a bulleted bold name', '- **STATUS**: BLOCKED', { status: 'BLOCKED', unreadable: [] }],
  ['another work type', 'WORK_TYPE: RESEARCH', { workType: 'OTHER', unreadable: [] }],
  ['another work type with an underscore', 'WORK_TYPE: **bug_fix** # done', { workType: 'OTHER', unreadable: [] }],
  ['two words for a work type', 'WORK_TYPE: bug fix', { workType: null, unreadable: ['WORK_TYPE'] }],
  ['two work types', 'WORK_TYPE: TESTING, DEBUGGING', { workType: null, unreadable: ['WORK_TYPE'] }],
  ['a number for a work type', 'WORK_TYPE: 3', { workType: null, unreadable: ['WORK_TYPE'] }],
  ['no work type', 'WORK_TYPE:', { workType: null, unreadable: ['WORK_TYPE'] }],
  ['words for a number', 'FILES_MODIFIED: lots', { filesModified: null, unreadable: ['FILES_MODIFIED'] }],
  ['a negative number', 'FILES_MODIFIED: -1', { filesModified: null, unreadable: ['FILES_MODIFIED'] }],
  ['a fraction', 'FILES_MODIFIED: 1.5', { filesModified: null, unreadable: ['FILES_MODIFIED'] }],
  ['a number with its unit', 'FILES_MODIFIED: 3 files', { filesModified: null, unreadable: ['FILES_MODIFIED'] }],
  ['zero', 'FILES_MODIFIED: 0', { filesModified: 0, unreadable: [] }],
  ['a number with a comment', 'FILES_MODIFIED: 3 # all', { filesModified: 3, unreadable: [] }],
  ['an unknown field', 'PRIORITY: 3', { unreadable: [] }],
  [
    'a recommendation with quotes, colons and hashes',
    `RECOMMENDATION: it's ok: "ship" it # now`,
    { recommendation: `it's ok: "ship" it # now` },
  ],
])('a block reads %s beside its other fields', (_rule, field, expected) => {
  expect(analyzeAt(block('EXIT_SIGNAL: false', field)).signal).toMatchObject({
    from: 'block',
    exitSignal: false,
    ...expected,
  });
});

describe('which block counts', () => {
  const yes = block('EXIT_SIGNAL: true');
  const no = block('EXIT_SIGNAL: false');
  test.each<[string, string, 'block' | 'other', boolean | null]>([
    ['the last of false and true', `${no}\n${yes}`, 'block', true],
    ['the last of true and false', `${yes}\n${no}`, 'block', false],
    ['one of two true ones', `${yes}\n${yes}`, 'block', true],
    ['the last even if its value is unreadable', `${yes}\n${block('EXIT_SIGNAL: soon')}`, 'block', null],
    ['no prose before a block', `I will set EXIT_SIGNAL: true when finished\n${no}`, 'block', false],
    ['no prose that disagrees', `earlier it was EXIT_SIGNAL: false\n${yes}`, 'block', true],
    ['text after the end marker does not matter', `${yes}\nThat is all.\nSTATUS: BLOCKED`, 'block', true],
    ['with CR LF', yes.replaceAll('\n', '\r\n'), 'block', true],
    ['with lone CR', yes.replaceAll('\n', '\r'), 'block', true],
    ['indented by two blanks', yes.replace(/^/gm, '  '), 'block', true],
    ['indented by eight blanks: that is not code', yes.replace(/^/gm, '        '), 'block', true],
    ['in YAML', 'RALPH_STATUS:\n  STATUS: BLOCKED\n  EXIT_SIGNAL: false', 'block', false],
    ['in YAML, up to where the indentation ends', 'RALPH_STATUS:\n  STATUS: BLOCKED\nEXIT_SIGNAL: true', 'block', null],
    [
      'without an end marker at the end of the text',
      '---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nEXIT_SIGNAL: true',
      'block',
      true,
    ],
    [
      'with markers in lower case and bold',
      '**---ralph_status---**\nEXIT_SIGNAL: true\n**---end_ralph_status---**',
      'block',
      true,
    ],
    ['not the template', TEMPLATE, 'other', null],
    ['not the template of EXIT_SIGNAL alone', block('EXIT_SIGNAL: true | false'), 'other', null],
    [
      'one with a single field left unfilled',
      block('EXIT_SIGNAL: false # or | true', 'TESTS_STATUS: PASSING | FAILING'),
      'block',
      false,
    ],
    ['the filled one behind the template', `${TEMPLATE}\n${yes}`, 'block', true],
    ['the filled one before the template', `${yes}\n${TEMPLATE}`, 'block', true],
    ['not a fenced one', `\`\`\`\n${yes}\n\`\`\`\nnot there yet`, 'other', null],
    ['not one in an unclosed fence', `~~~text\n${yes}\nmore`, 'other', null],
    [
      'not one in a longer fence with a shorter one inside',
      `\`\`\`\`\n\`\`\`\n\`\`\`\n${yes}\n\`\`\`\``,
      'other',
      null,
    ],
    ['not a quoted one', yes.replace(/^/gm, '> '), 'other', null],
    ['a real one before a fenced one', `${no}\n\`\`\`\n${yes}\n\`\`\``, 'block', false],
    [
      'not a marker within prose',
      'the field RALPH_STATUS: says so, and ---RALPH_STATUS--- too\nEXIT_SIGNAL: true',
      'other',
      null,
    ],
    ['not a marker without known fields', block('HELLO: world'), 'other', null],
  ])('%s', (_rule, message, from, exitSignal) => {
    for (const output of [message, resultLine(message)]) {
      const { signal } = analyzeAt(output);
      expect(signal.from === 'block' ? 'block' : 'other').toBe(from);
      expect(signal.exitSignal).toBe(exitSignal);
    }
  });
});

test.each<[string, boolean]>([
  [`done\n\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\``, true],
  [`\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\`\nmore prose`, false],
  ['```\njust code\n```', false],
  [block('EXIT_SIGNAL: true'), false],
])('a fenced block is noted when it ends the message: %j', (message, expected) => {
  expect(findStatusBlock(markLines(message)).endsInFencedBlock).toBe(expected);
});

/**
 * Returns the block as parsing returns it: unreadable fields have no value, EXIT_SIGNAL is inferred, and at least one
 * field is set.
 */
function asParsed(block: StatusBlock): StatusBlock {
  const has = (name: string): boolean => block.unreadable.includes(name);
  const status = has('STATUS') ? null : (block.status ?? 'IN_PROGRESS');
  return {
    status,
    exitSignal: has('EXIT_SIGNAL') ? null : (block.exitSignal ?? (status === 'COMPLETE' ? true : null)),
    testsStatus: has('TESTS_STATUS') ? null : block.testsStatus,
    workType: has('WORK_TYPE') ? null : block.workType,
    tasksCompleted: has('TASKS_COMPLETED_THIS_LOOP') ? null : block.tasksCompleted,
    filesModified: has('FILES_MODIFIED') ? null : block.filesModified,
    recommendation: has('RECOMMENDATION') ? null : block.recommendation,
    summary: has('SUMMARY') ? null : block.summary,
    asks: has('QUESTION') ? null : block.asks,
    unreadable: block.unreadable,
  };
}

test('parse(render(block)) is the block', () => {
  const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.constantFrom(
      'exit signal: no',
      'next time EXIT_SIGNAL: true',
      'STATUS: BLOCKED # now',
      '**ship it**',
      '---RALPH_STATUS---',
      '<one line>',
    ),
  );
  const line = text.map((words) => words.replace(/[\r\n]/g, ' ').trim()).filter((words) => words !== '');
  const optional = line.filter((words) => !/^<[^<>]*>$/.test(words));
  const blocks: fc.Arbitrary<StatusBlock> = fc
    .record({
      status: orNull(fc.constantFrom('IN_PROGRESS' as const, 'BLOCKED' as const, 'COMPLETE' as const)),
      exitSignal: orNull(fc.boolean()),
      testsStatus: orNull(fc.constantFrom('PASSING' as const, 'FAILING' as const, 'NOT_RUN' as const)),
      workType: orNull(
        fc.constantFrom(
          'IMPLEMENTATION' as const,
          'TESTING' as const,
          'DOCUMENTATION' as const,
          'REFACTORING' as const,
          'OTHER' as const,
        ),
      ),
      tasksCompleted: orNull(fc.nat()),
      filesModified: orNull(fc.nat()),
      recommendation: orNull(line),
      summary: orNull(optional),
      asks: orNull(optional),
      unreadable: fc.subarray([
        'STATUS',
        'TASKS_COMPLETED_THIS_LOOP',
        'FILES_MODIFIED',
        'TESTS_STATUS',
        'WORK_TYPE',
        'EXIT_SIGNAL',
        'RECOMMENDATION',
        'SUMMARY',
        'QUESTION',
      ]),
    })
    .map(asParsed);
  fc.assert(
    fc.property(blocks, (expected) => {
      expect(findStatusBlock(markLines(`Some words.\n\n${renderStatusBlock(expected)}`)).block).toEqual(expected);
    }),
  );
});
