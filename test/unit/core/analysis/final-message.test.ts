import { describe, expect, test } from 'vitest';
import { analyzeTranscript } from '../../../../src/core/analysis/analyze.ts';
import type { Transcript } from '../../../../src/core/analysis/analysis.ts';
import { analyzeAt, block } from '../../agents/claude/fixtures.ts';

/** An agent of which only the final message is known. */
const transcriptOf = (finalMessage: string): Transcript => ({
  format: 'text',
  finalMessage,
  finished: true,
  agentError: null,
  usageLimit: null,
  denials: [],
  askedPerson: false,
  sessionId: null,
  turns: null,
  tokens: null,
  costUsd: null,
});

const HEAD = 64 * 1024;
const TAIL = 192 * 1024;

describe('of a message longer than 256 Ki characters', () => {
  const yes = block('EXIT_SIGNAL: true');
  const filler = (chars: number): string => `\n${'x'.repeat(chars - 2)}\n`;
  const exitSignalOf = (text: string): boolean | null =>
    analyzeTranscript(transcriptOf(text), []).analysis.signal.exitSignal;

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

test.each([
  [`\`\`\`\n${block('EXIT_SIGNAL: true')}\n\`\`\``, true],
  ['done', false],
])('of %j the length is known, and whether it ends in a fenced block', (finalMessage, endsInFencedBlock) => {
  expect(analyzeTranscript(transcriptOf(finalMessage), [])).toMatchObject({
    finalChars: finalMessage.length,
    endsInFencedBlock,
  });
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
    'with EXIT_SIGNAL false does not count',
    block('STATUS: COMPLETE', 'EXIT_SIGNAL: false'),
    { completionIndicator: false, confidence: 100 },
  ],
])('a block %s', (_rule, message, expected) => {
  expect(analyzeAt(message)).toMatchObject(expected);
});
