import { describe, expect, test } from 'vitest';
import type { Analysis } from '../../../../../src/core/analysis/analysis.ts';
import {
  analyzeAt,
  analyzeChunks,
  assistantLine,
  block,
  inChunks,
  INIT,
  jsonLines,
  NOW,
  resultLine,
} from '../fixtures.ts';
import { cpuMs } from '../../../../cpu.ts';

const yes = block('EXIT_SIGNAL: true');
const result = resultLine(yes);
const OWN_FALSE = 'RALPH_STATUS:\n  STATUS: IN_PROGRESS\n  EXIT_SIGNAL: false\n';

function observed(output: string): Analysis {
  return analyzeChunks([new TextEncoder().encode(output)], NOW, () => undefined);
}

describe('a line of prose that begins like an event does not count', () => {
  test.each(['{"type":"user","name":"Bob"}', '{"type":"user","message":"Bob"}', '{"type":"stream_event","event":"x"}'])(
    '%s',
    (line) => {
      for (const end of ['\n', '\r\n']) {
        const output = ['All tasks complete, ready for review.', line, ''].join(end);
        expect(analyzeAt(output)).toMatchObject({
          format: 'text',
          signal: { from: 'phrases' },
          completionIndicator: true,
        });
        expect(observed(output)).toEqual(analyzeAt(output));
      }
    },
  );
});

describe('a status block outside the events makes them a quotation', () => {
  const sentence = 'I tried it, it works.\n';
  const many = jsonLines(INIT, ...Array.from({ length: 12 }, () => assistantLine('x')), result);
  test.each<[string, string]>([
    ['in the YAML-like form', `Output\n${result}\n${OWN_FALSE}`],
    [
      'with blanks in its markers',
      `Output\n${result}\n--- RALPH_STATUS ---\nEXIT_SIGNAL: false\n--- END_RALPH_STATUS ---\n`,
    ],
    ['behind many events in a message', `${sentence}${many}${sentence}${block('EXIT_SIGNAL: false')}`],
    ['in the YAML-like form behind many events in a message', `${sentence}${many}${sentence}${OWN_FALSE}`],
  ])('%s', (_rule, output) => {
    expect(analyzeAt(output)).toMatchObject({
      format: 'text',
      sessionId: null,
      signal: { from: 'block', exitSignal: false },
    });
  });

  test('but not behind many events that no prose precedes', () => {
    expect(analyzeAt(`npm warn x\n${many}${sentence}${OWN_FALSE}`)).toMatchObject({
      format: 'jsonl',
      sessionId: 's-1',
      signal: { exitSignal: true },
    });
  });
});

describe('a result is found behind', () => {
  test.each<[string, string]>([
    ['many broken objects', '{"broken\n'.repeat(10_000)],
    ['an event and many broken objects', `${INIT}\n${'{"level":"info"} trailing\n'.repeat(10_001)}`],
    ['many broken objects and a broken event', `${'{"broken\n'.repeat(10_000)}{"type":"result","res\n`],
  ])('%s', (_what, noise) => {
    expect(analyzeAt(`${noise}${result}\n`)).toMatchObject({
      sessionId: 's-1',
      turns: 3,
      signal: { exitSignal: true },
    });
    expect(
      analyzeAt(
        noise +
          jsonLines(
            resultLine('x').replace('{"duration_api_ms":7,', '{"type":"result",').replace(',"type":"result"}', '}'),
          ),
      ),
    ).toMatchObject({ sessionId: 's-1', turns: 3 });
  });
});

describe('noise on the line of the object', () => {
  const outputs: readonly (readonly [string, string])[] = [
    ['a notice behind it', `${result} npm notice`],
    ['a notice behind it, with CR LF', `${result} npm notice\r\n`],
    ['an overwritten line before it', `loading…\r${result}\n`],
    ['an overwritten line in brackets before it', `[1/4] loading…\r\u001B[2K${result}\n`],
    ['a spinner before it', `-\r\\\r|\r${result}\n`],
    ['a hidden cursor', `\u001B[?25l${result}\n`],
    ['several control sequences', `\u001B[2K\u001B[1G ${result}\u001B[?25h\n`],
    ['a NUL before it', `\u0000${result}\n`],
  ];
  test.each(outputs)('does not matter: %s', (_what, output) => {
    expect(analyzeAt(output)).toMatchObject({ format: 'json', sessionId: 's-1', signal: { exitSignal: true } });
  });

  test.each(
    [...outputs, ['several events', `${INIT}${result}${INIT} npm`] as const].flatMap(([what, output]) =>
      [1, 2, 5, 64].map((size) => [what, size, `npm warn\n${output}`] as const),
    ),
  )('does not matter in chunks either: %s, %d bytes', (_what, size, output) => {
    expect(analyzeChunks(inChunks(output, size))).toEqual(analyzeAt(output));
  });

  test('two events on a line are two', () => {
    expect(analyzeAt(`${INIT}${result}\n`)).toMatchObject({
      format: 'jsonl',
      sessionId: 's-1',
      signal: { exitSignal: true },
    });
  });

  test('prose behind it makes it a quotation', () => {
    expect(analyzeAt(`${result} is what it printed, and I mended that.`)).toMatchObject({
      format: 'text',
      sessionId: null,
    });
  });

  test.each<[string, string]>([
    ['events on one line', INIT.repeat(40_000)],
    ['events on one line, the last one broken', `${INIT.repeat(40_000)}{"type":`],
    ['carriage returns', '\r'.repeat(3_000_000)],
    ['overwritten lines', 'a\r'.repeat(1_500_000)],
    ['control sequences', '\u001B[2K'.repeat(700_000)],
    ['lines that begin like events', '{"type":}\n'.repeat(300_000)],
  ])('is read in linear time: %s', (_what, output) => {
    const cost = cpuMs(() => {
      expect(analyzeAt(output).agentError).toBeNull();
    });
    expect(cost).toBeLessThan(5_000);
  });
});

test.each<[string, string, Analysis['format']]>([
  ['a tool that says what it does announces nothing', `Using the settings of this container:\n${result}`, 'json'],
  ['somebody who says what it prints does', `Running it prints this:\n${result}`, 'text'],
  ['deprecations are noise', `deprecated: this is old\n${result}\ndeprecated: this is old\n`, 'json'],
  ['a compiler’s underline opens no fence', `3   const x: number = "abc";\n          ~~~~~\n${result}\n`, 'json'],
  ['tildes near the margin open one', `   ~~~~~\n${result}\n`, 'text'],
  ['tildes with a language open one', `          ~~~ts\n${result}\n`, 'text'],
])('%s', (_rule, output, format) => {
  expect(analyzeAt(output).format).toBe(format);
});
