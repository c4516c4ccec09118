import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  analyzeChunks,
  assistantLine,
  block,
  inChunks,
  INIT,
  jsonLines,
  resultLine,
  toolResultLine,
} from '../fixtures.ts';

const yes = block('EXIT_SIGNAL: true');
const result = resultLine(yes);
const pretty = (...lines: string[]): string =>
  lines.map((line) => `${JSON.stringify(JSON.parse(line), null, 2)}\n`).join('');

describe('an object is found', () => {
  test.each<[string, string]>([
    ['on a line', result],
    ['behind a byte order mark and blanks', `\uFEFF \t${result}`],
    ['before blanks', `${result} \t\r\n`],
    ['on several lines', pretty(result)],
    [
      'on several lines with all kinds of values',
      pretty(resultLine(yes, { a: [1, -2, true, false, null, [], {}, 'x'], b: { c: 0 } })),
    ],
    ['on several lines without indentation', pretty(result).replace(/^ +/gm, '')],
    ['with brackets and quotation marks in its strings', pretty(resultLine(yes, { a: '}]"{[\\', b: '\\"' }))],
    ['behind one that broke off on its line', `{"type":"result","res\n${result}`],
    ['behind one that broke off on several lines', `{\n  "type": "result",\n  "result": "x\n${result}`],
    ['behind a brace in text', `{ is a brace\n${result}`],
    ['behind an open object that nothing followed', `{\n${result}`],
    ['behind an open object that text follows', `{\n"a":\nhm, that is text\n${result}`],
    ['behind an array of numbers', `[1, 2]\n${result}`],
    ['behind a bracket in text', `[x] is done\n${result}`],
    ['behind broken ones', `{x}\n{"a":}\n{\n"a":\n}\n${result}`],
  ])('%s', (_where, output) => {
    const { format, signal } = analyzeAt(output);
    expect(format).not.toBe('text');
    expect(signal.exitSignal).toBe(true);
  });
});

describe('an array of events is read', () => {
  test.each<[string, string]>([
    ['on a line', `[${INIT},${result}]`],
    ['behind a byte order mark and blanks', `\uFEFF \t[${INIT},${result}]`],
    ['with blanks and line ends everywhere', ` [ \r\n\t${INIT} \r\n,\t\n${result}\r\n ] \n`],
    ['in a later line', `npm warn\n\n[${INIT},${result}]`],
    ['pretty-printed', JSON.stringify([JSON.parse(INIT), JSON.parse(resultLine(yes, { a: '}]"{[\\' }))], null, 2)],
    ['with text behind its end', `[${INIT},${result}] hm`],
    ['without its end', `[${INIT},${result}`],
    ['without its end, up to the last whole element', `[${INIT},${result},{"type":"result","res`],
    ['behind a bracket that opened none', `[ 1\n[${INIT},${result}]`],
  ])('%s', (_how, output) => {
    expect(analyzeAt(output)).toMatchObject({ format: 'json-array', sessionId: 's-1', signal: { exitSignal: true } });
  });

  test.each<[string, string]>([
    ['in the middle of a line', `all: [${INIT},${result}]`],
    ['in an array', `[[${INIT},${result}]]`],
    ['behind its end', `[${INIT}],${result}`],
    ['behind text between two elements', `[${INIT}, x ${result}]`],
  ])('not %s', (_where, output) => {
    expect(analyzeAt(output).signal.exitSignal).not.toBe(true);
  });

  test('on a line too long to keep, by its beginning and its end', () => {
    const results = Array.from({ length: 3 }, () => toolResultLine('lorem ipsum '.repeat(300_000)));
    expect(analyzeAt(`[${[INIT, ...results, assistantLine('x'), result].join(',')}]\n`)).toMatchObject({
      format: 'json-array',
      sessionId: 's-1',
      turns: 3,
      signal: { exitSignal: true },
    });
  });

  test('but not behind the first event', () => {
    expect(analyzeAt(`${result}\n[${resultLine('x')}]\n`)).toMatchObject({
      format: 'json',
      signal: { exitSignal: true },
    });
  });
});

describe('whatever the chunks, the analysis is the same', () => {
  const outputs: readonly (readonly [string, string])[] = [
    ['lines', `npm warn ü\r\n\n  ok\n${jsonLines(INIT, assistantLine('x'), result)}`],
    ['pretty-printed objects', pretty(INIT, result)],
    ['an array', `x\n\uFEFF [\n${INIT} ,\n${resultLine(yes, { a: '\\"]}' })} ]\nnpm notice`],
    ['a cut-off array', `[${INIT},${result.slice(0, -9)}`],
    ['an array of numbers', '[\n 1,\n 2]\nAll tasks complete.'],
    ['text', `# Done\n\n- a\n- b\n\`\`\`\n${yes}\n\`\`\`\nI tried it, it works.\n${yes}`],
  ];
  test.each(outputs.flatMap(([what, output]) => [1, 2, 5, 12, 64].map((size) => [what, size, output] as const)))(
    'of %s in chunks of %d bytes',
    (_what, size, output) => {
      expect(analyzeChunks(inChunks(output, size))).toEqual(analyzeAt(output));
    },
  );
});
