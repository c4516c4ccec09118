import { describe, expect, test } from 'vitest';
import { judgeOutput } from '../../../../src/core/analysis/judge.ts';
import { createOutputReader } from '../../../../src/core/analysis/reader.ts';
import { analyzeAt, block, NOW } from './fixtures.ts';

describe('of a message longer than 256 Ki characters', () => {
  const HEAD = 64 * 1024;
  const TAIL = 192 * 1024;
  const yes = block('EXIT_SIGNAL: true');
  const filler = (chars: number): string => `\n${'x'.repeat(chars - 2)}\n`;
  const exitSignalOf = (text: string): boolean | null =>
    judgeOutput({ format: 'text', text }, NOW).analysis.signal.exitSignal;

  test.each<[string, string, boolean | null]>([
    ['the beginning is read', `${yes}${filler(HEAD + TAIL)}`, true],
    ['the end is read', `${filler(HEAD + TAIL)}${yes}`, true],
    ['the middle is left out', `${filler(HEAD)}${yes}${filler(TAIL - yes.length + 1)}`, null],
    ['the middle is left out, however long', `${filler(HEAD + TAIL)}${yes}${filler(TAIL)}`, null],
    ['nothing is left out if it is no longer', `${filler(HEAD)}${yes}${filler(TAIL - yes.length)}`, true],
  ])('%s', (_rule, message, exitSignal) => {
    expect(exitSignalOf(message)).toBe(exitSignal);
  });
});

test('the reader tells whether the final message ends in a fenced block', () => {
  for (const [message, expected] of [
    [`\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\``, true],
    ['done', false],
  ] as const) {
    const reader = createOutputReader({ now: NOW });
    reader.push(new TextEncoder().encode(message));
    reader.end();
    expect(reader.endsInFencedBlock()).toBe(expected);
    expect(reader.finalChars()).toBe(message.length);
  }
});

test.each<[string, string, object]>([
  [
    'of tests makes an iteration of tests only',
    block('WORK_TYPE: TESTING'),
    { testOnly: true, completionIndicator: false, confidence: 100 },
  ],
  [
    'of another work does not',
    block('WORK_TYPE: DOCUMENTATION'),
    { testOnly: false, completionIndicator: false, confidence: 100 },
  ],
  [
    'with EXIT_SIGNAL true is a completion',
    block('EXIT_SIGNAL: true'),
    { testOnly: false, completionIndicator: true, confidence: 100 },
  ],
  [
    'with EXIT_SIGNAL false is none',
    block('STATUS: COMPLETE', 'EXIT_SIGNAL: false'),
    { completionIndicator: false, confidence: 100 },
  ],
])('a block %s', (_rule, message, expected) => {
  expect(analyzeAt(message)).toMatchObject(expected);
});
