import { describe, expect, test } from 'vitest';
import type { Analysis } from '../../../../../src/core/analysis/analysis.ts';
import { createOutputReader } from '../../../../../src/agents/claude/output/reader.ts';
import { createTextLines } from '../../../../../src/agents/claude/output/text-lines.ts';
import { analyzeAt, analyzeChunks, block, inChunks, INIT, jsonLines, NOW, resultLine } from '../fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const result = resultLine(yes);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('lines are taken together', () => {
  test.each([
    ['up to an object', 'a\n\n> b\n{"a":1}\nc\n', 'a\n\n> b\n'],
    ['up to an indented object', 'a\n  {\n', 'a\n'],
    ['up to an object behind a byte order mark', 'a\n\uFEFF{}\n', 'a\n'],
    ['up to an array of objects', 'a\n[ {}]\n', 'a\n'],
    ['up to an array whose first object is on a later line', 'a\n[\n\n {}]\n', 'a\n'],
    ['over a bracket that may still turn out to be anything', 'a\n[\n\n', 'a\n[\n\n'],
    ['over other brackets', '[1]\n[link](x)\n[\nb {\n', '[1]\n[link](x)\n[\nb {\n'],
    ['up to a line that is not whole', 'a\nb', 'a\n'],
    ['over objects in a fence', '```\n{}\n[{}]\n', '```\n{}\n[{}]\n'],
    ['up to an object behind a fence', '```json\n{}\n```\n{}\n', '```json\n{}\n```\n'],
  ])('%s', (_rule, text, taken) => {
    const to = createTextLines().takeTogether(bytesOf(text), 0, { object: true, array: true });
    expect(text.slice(0, new TextDecoder().decode(bytesOf(text).subarray(0, to)).length)).toBe(taken);
  });

  test('over everything where no JSON is looked for', () => {
    const text = 'a\n{}\n[{}]\n';
    expect(createTextLines().takeTogether(bytesOf(text), 0, { object: false, array: false })).toBe(text.length);
  });

  test('but not endlessly many', () => {
    expect(
      createTextLines().takeTogether(bytesOf('ab\n'.repeat(100_000)), 0, { object: true, array: true }),
    ).toBeLessThan(70_000);
  });
});

describe('a fence on bytes', () => {
  test.each([
    ['```\n', true],
    ['```\r\n', true],
    ['  ~~~ts\n', true],
    ['- ```\n', true],
    ['12. ```\n', true],
    ['[\n```\n', true],
    ['```\nx\n```\n', false],
    ['```\n````  \r\n', false],
    ['````\n```\n', true],
    ['```\n~~~\n', true],
    ['```\n``` x\n', true],
    ['```\n- ```\n', true],
    ['``` a`b\n', false],
    ['~~~ a`b\n', true],
    ['``\n', false],
    ['a ```\n', false],
    ['-```\n', false],
    ['1234567890. ```\n', false],
  ])('%j leaves one open: %j', (text, isOpen) => {
    const whole = createTextLines();
    whole.take(bytesOf(text));
    expect(whole.inFence()).toBe(isOpen);
    const together = createTextLines();
    together.takeTogether(bytesOf(text), 0, { object: true, array: true });
    expect(together.inFence()).toBe(isOpen);
  });

  test('is noise from the first event on', () => {
    const lines = createTextLines();
    lines.take(bytesOf('```\n'));
    lines.ignoreFences();
    lines.take(bytesOf('```\n'));
    expect(lines.inFence()).toBe(false);
  });
});

test.each<[string, string, Analysis['format']]>([
  ['plain lines', 'building…\n'.repeat(200_000), 'json'],
  ['bracketed logs', '[info] compiled\n'.repeat(100_000), 'json'],
  ['fences that are closed again', '```\n'.repeat(20_000), 'json'],
  ['a fence that stays open', '```\n'.repeat(20_001), 'text'],
])('a result behind much noise is found: %s', (_what, noise, format) => {
  expect(analyzeAt(`${noise}${result}\n`).format).toBe(format);
});

test('an object in a fence with CR LF is quoted', () => {
  expect(analyzeAt(`\`\`\`json\r\n${resultLine('x', { is_error: true })}\r\n\`\`\`\r\n`)).toMatchObject({
    format: 'text',
    agentError: null,
  });
});

test.each([
  ['an object that spans many lines', JSON.stringify(JSON.parse(result), null, 2)],
  ['an object behind one that text broke off', `{\nbye\n${result}`],
  ['an object behind one that another broke off', `{ "a":\n${result}`],
])('%s is read, whatever the chunks', (_what, text) => {
  for (const size of [1, 7, 64, 4096]) {
    expect(analyzeChunks(inChunks(text, size))).toMatchObject({
      format: 'json',
      sessionId: 's-1',
      signal: { exitSignal: true },
    });
  }
});

test('an observer sees every line of text, the long ones capped', () => {
  const seen: string[] = [];
  const reader = createOutputReader({
    now: NOW,
    onEvent: (event) => {
      if (event.kind === 'text') seen.push(event.text);
    },
  });
  reader.push(bytesOf(`a\n\n  b\r\n${'c'.repeat(100_000)}\nd\n[\ne\n${jsonLines(INIT)}f`));
  reader.end();
  expect(seen.map((text) => (text.length > 9 ? text.length : text))).toEqual(['a', '  b\r', 2_000, 'd', '[', 'e', 'f']);
});

test('of a text longer than any message the beginning and the end are read', () => {
  const filler = 'lorem ipsum\n'.repeat(100_000);
  expect(analyzeAt(`Error: at first\n${filler}Error: in between\n${filler}${yes}`)).toMatchObject({
    errors: [{ text: 'Error: at first' }],
    signal: { exitSignal: true },
  });
});

describe('a fence that opens in the read beginning of a long text', () => {
  const filler = 'lorem ipsum\n'.repeat(30_000);
  test.each<[string, string, boolean | null]>([
    ['and closes in its unread middle does not hold the end', `\`\`\`\n${filler}\`\`\`\n${filler}${yes}`, true],
    ['and never closes holds the end', `\`\`\`\n${filler}~~~\n${filler}${yes}`, null],
    [
      'is followed by one that opens in the middle, and holds the end',
      `\`\`\`\n${filler}\`\`\`\r\n- ~~~ts\r\n${filler}${yes}`,
      null,
    ],
  ])('%s', (_rule, output, exitSignal) => {
    expect(analyzeAt(resultLine(output)).signal.exitSignal).toBe(exitSignal);
    expect(analyzeAt(output).signal.exitSignal).toBe(exitSignal);
  });
});
