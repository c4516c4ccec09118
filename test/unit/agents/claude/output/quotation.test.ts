import { describe, expect, test } from 'vitest';
import { analyzeAt, assistantLine, block, failedLine, INIT, jsonLines, resultLine } from '../fixtures.ts';

const events = jsonLines(INIT, resultLine('done'));

/** True if the output was read as the CLI's events, and not as a message that quotes them. */
const isTheCli = (output: string): boolean => {
  const { sessionId, turns } = analyzeAt(output);
  return sessionId === 's-1' && turns === 3;
};

test.each([
  'npm warn it is old',
  'NPM notice: this is new',
  '  warning: this is old',
  'info it is ready',
  '[mcp] it is ready',
  '(node:7) This is deprecated',
  '(Use `node --trace-deprecation` to see where it is)',
  '2026-11-21 it is noon',
  '> it is run so',
  '$ echo this is it',
  'Starting up for work',
])('a line of tools before and behind the events is noise: %j', (line) => {
  expect(isTheCli(`${line}\n${events}${line}\n`)).toBe(true);
});

describe('the events are', () => {
  const sentence = 'I tried it, it works.';
  test.each<[string, string, boolean]>([
    ['a quotation between two sentences', `${sentence}\n${events}${sentence}\n`, false],
    ['a quotation between sentences and other lines', `${sentence}\nnpm warn\n${events}npm notice\n${sentence}`, false],
    ['no quotation with a sentence before', `${sentence}\n${events}`, true],
    ['no quotation with a sentence behind', `${events}${sentence}`, true],
    ['no quotation between lines too short for sentences', `it is so:.\n${events}it is so:.\n`, true],
    [
      'no quotation between lines whose sentence begins behind 256 bytes',
      `${'x'.repeat(256)} it is so\n${events}${'x'.repeat(256)} it is so\n`,
      true,
    ],
    [
      'a quotation up to ten',
      `${sentence}\n${jsonLines(...Array.from({ length: 9 }, () => assistantLine('x')), resultLine('x'))}${sentence}`,
      false,
    ],
    [
      'no quotation if they are more',
      `${sentence}\n${jsonLines(...Array.from({ length: 10 }, () => assistantLine('x')), resultLine('x'))}${sentence}`,
      true,
    ],
    ['a quotation if a sentence announces them', `It prints this:\n${events}`, false],
    ['a quotation if a sentence announces them before blank lines', `It prints this: \r\n\n\n${events}`, false],
    ['a quotation if a long sentence announces them', `${'x'.repeat(300)} it prints this:\n${events}`, false],
    ['no quotation if the announcing line is not the last', `It prints this:\nStarting up for work\n${events}`, true],
    ['no quotation if a short line follows the announcing one', `It prints this:\nstarted\n${events}`, true],
    ['no quotation if the announcing line is not a sentence', `Output of tools:\n${events}`, true],
    ['no quotation if the announcing line is a tool’s', `npm notice this is new:\n${events}`, true],
    ['no quotation if the announcing line is short', `This is:\n${events}`, true],
    ['no quotation if a sentence behind them announces', `${events}It prints this:\n`, true],
    ['a quotation before a status block', `${events}${block('EXIT_SIGNAL: false')}`, false],
    [
      'a quotation behind an indented status block in lower case',
      `  ---ralph_status---\nEXIT_SIGNAL: false\n${events}`,
      false,
    ],
    ['a quotation before a status block in a list', `${events}- ---RALPH_STATUS---\nEXIT_SIGNAL: false`, false],
    ['no quotation if words stand before the marker', `${events}npm: ---RALPH_STATUS---\n`, true],
  ])('%s', (_rule, output, expected) => {
    expect(isTheCli(output)).toBe(expected);
  });
});

describe('events', () => {
  test.each<[string, string, boolean]>([
    ['in a fence are quoted', `\`\`\`\n${events}\`\`\``, false],
    ['in a fence of a language are quoted', `\`\`\`json\n${events}\`\`\``, false],
    ['in a fence of tildes are quoted', `~~~\n${events}~~~`, false],
    ['in a fence in a list are quoted', `- \`\`\`\n${events}`, false],
    ['in a fence in a list with stars are quoted', `* ~~~\n${events}`, false],
    ['in a fence in a list with pluses are quoted', `+ \`\`\`\n${events}`, false],
    ['in a fence in a numbered item are quoted', `12. \`\`\`\n${events}`, false],
    ['in a fence in an item numbered with a bracket are quoted', `123456789)  ~~~\n${events}`, false],
    ['in an indented fence are quoted', `\t  \`\`\`\n${events}`, false],
    ['in a fence of tildes with backticks behind are quoted', `~~~ \`x\`\n${events}`, false],
    ['behind a bullet without blank are not', `-\`\`\`\n${events}`, true],
    ['behind a number without its mark are not', `12 \`\`\`\n${events}`, true],
    ['behind a number of ten digits are not', `1234567890. \`\`\`\n${events}`, true],
    ['behind backticks that follow words are not', `see \`\`\`\n${events}`, true],
    ['in a fence behind other lines are quoted', `npm warn\n\`\`\`\ncode\n\n${events}`, false],
    ['behind a closed fence are not', `\`\`\`\ncode\n\`\`\`\n${events}`, true],
    ['behind a fence closed by more marks are not', `~~~\ncode\n~~~~~\n${events}`, true],
    ['behind a fence closed before blanks are not', `\`\`\`\ncode\n  \`\`\` \t\n${events}`, true],
    ['behind a fence that marks with words do not close are quoted', `\`\`\`\n\`\`\` ts\n${events}`, false],
    ['behind a fence that marks in a list do not close are quoted', `\`\`\`\n- \`\`\`\n${events}`, false],
    ['behind a fence that other marks do not close are quoted', `\`\`\`\n~~~\n${events}`, false],
    ['behind a fence that fewer marks do not close are quoted', `\`\`\`\`\n\`\`\`\n${events}`, false],
    ['in a second fence are quoted', `\`\`\`\ncode\n\`\`\`\n\`\`\`\n${events}`, false],
    ['behind three backticks in a line are not', `a \`\`\`b\`\`\` c and more\n${events}`, true],
    ['before a fence are not', `${INIT}\n\`\`\`\n${resultLine('done')}\n`, true],
    ['behind two backticks are not', `\`\`\n${events}`, true],
  ])('%s', (_rule, output, expected) => {
    expect(isTheCli(output)).toBe(expected);
  });
});

test.each<[string, string, string]>([
  ['one result is an object', resultLine('x'), 'json'],
  ['one event that is not a result is a stream', INIT, 'jsonl'],
  ['two results are a stream', jsonLines(resultLine('x'), resultLine('y')), 'jsonl'],
  ['an element makes an array', `[${INIT}]\n${resultLine('x')}`, 'json-array'],
  ['objects of others, one a line, are a stream', '{"a":1}\n{"b":2}', 'jsonl'],
  ['objects of others amid text are text', '{"a":1}\nhm\n{"b":2}', 'text'],
  ['objects of others amid longer text are text', '{"a":1}\nhm, that is long\n{"b":2}', 'text'],
  ['one object of others is an object', ' {"a":1}\n', 'json'],
  ['one object cut off is an object', '{ "a":[1,', 'json'],
  ['one object with text behind it is text', '{"a":1} hm', 'text'],
  ['one object with broken inside is text', '{"a":hm}', 'text'],
  ['a brace without a key is text', '{hm', 'text'],
  ['an array of others is an array', '[ {"a":1} ]', 'json-array'],
  ['an array cut off is an array', '[{"a":1},', 'json-array'],
  ['an array with text behind it is text', '[{"a":1}] hm', 'text'],
  ['an array of numbers is text', '[1,', 'text'],
  ['an object cut off behind other lines is the CLI’s, if it begins so', 'npm warn\n{"type":"result","res', 'json'],
  [
    'an object cut off behind other lines is the CLI’s, if its session comes first',
    'npm warn\n{"session_id":"s","res',
    'json',
  ],
  ['another object cut off behind other lines is text', 'npm warn\n{"name":"result","res', 'text'],
  ['an object of the CLI’s kind that is whole and broken is text', 'npm warn\n{"type":hm}', 'text'],
])('the format of an output: %s', (_rule, output, format) => {
  expect(analyzeAt(output).format).toBe(format);
});

describe('output of the CLI that a message quotes', () => {
  const first = failedLine('Credit balance is too low');
  test.each([
    ['two lines amid prose', `I tried it, and it printed two lines.\n${INIT}\n${first}\nSo the handler is right.`],
    ['an array amid prose', `I tried it, and it printed an array.\n[${INIT},${first}]\nSo the handler is right.`],
    ['an object that the words before announce', `The CLI prints this as its answer:\n\n${first}\n`],
    ['an object with a status block outside it', `${first}\n${block('EXIT_SIGNAL: false')}`],
  ])('is text: %s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({ format: 'text', agentError: null, sessionId: null });
  });

  test.each([
    ['json', `Starting up…\n${resultLine(block('EXIT_SIGNAL: true'))}\nDone in 3s.`],
    ['jsonl', `Starting up…\n${INIT}\n${assistantLine('x')}\n${resultLine(block('EXIT_SIGNAL: true'))}\nDone in 3s.`],
  ])('is not what stands between short lines of tools: %s', (format, output) => {
    expect(analyzeAt(output)).toMatchObject({ format, sessionId: 's-1', signal: { exitSignal: true } });
  });
});
