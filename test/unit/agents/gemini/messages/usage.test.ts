import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGeminiUsage } from '../../../../../src/agents/gemini/messages/protocol.ts';
import { runs } from '../../../../runs.ts';

const said = (text: string) => [{ content: { role: 'model', parts: [{ text }] } }];
const event = (data: object): string => `data: ${JSON.stringify(data)}\r\n\r\n`;
const first = { candidates: said('a'), usageMetadata: { promptTokenCount: 1_000, totalTokenCount: 1_000 } };
const piece = { candidates: said('b') };
const last = {
  candidates: said('c'),
  usageMetadata: {
    promptTokenCount: 1_000,
    cachedContentTokenCount: 700,
    candidatesTokenCount: 50,
    thoughtsTokenCount: 200,
    toolUsePromptTokenCount: 30,
    totalTokenCount: 1_280,
  },
};
const whole = { input: 1_030, cached: 700, output: 250, searches: 0 };

const read = (chunks: readonly string[], type = 'text/event-stream') => {
  const reader = createGeminiUsage(type);
  for (const chunk of chunks) reader.push(chunk);
  return reader.counts();
};

test.each<[string, readonly string[], object | null]>([
  ['whole', [event(first) + event(last)], whole],
  ['one character at a time', [...(event(first) + event(last))], whole],
  ['with the line ends of another system', [(event(first) + event(last)).replaceAll('\r\n', '\n')], whole],
  ['without a space', [`data:${JSON.stringify(last)}\n`], whole],
  ['begun', [event(first)], { input: 1_000, cached: 0, output: 1 }],
  ['broken off: an event is a token', [event(first), event(piece), event(piece)], { input: 1_000, output: 3 }],
  ['broken off within an event', [event(first), event(last).slice(0, 200)], { input: 1_000, output: 1 }],
  [
    'that leaves out what it has reported',
    [event(last), event({ usageMetadata: { promptTokenCount: 1_000 } }), event({ candidates: [] })],
    whole,
  ],
  [
    'with usage in its text',
    [event(last) + event({ candidates: said('"usageMetadata":{"promptTokenCount":9e9}}') })],
    whole,
  ],
  [
    'with usage within an answer',
    [event(last), event({ candidates: [{ usageMetadata: { promptTokenCount: 9e9 } }] })],
    whole,
  ],
  [
    'with a total that is larger than its parts',
    [event({ usageMetadata: { promptTokenCount: 5, totalTokenCount: 20 } })],
    { input: 5, cached: 0, output: 15 },
  ],
  [
    'with a total that is smaller',
    [event({ usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, totalTokenCount: 2 } })],
    { input: 5, output: 4 },
  ],
  [
    'with more in the cache than was asked',
    [event({ usageMetadata: { promptTokenCount: 5, cachedContentTokenCount: 9 } })],
    { input: 5, cached: 5 },
  ],
  [
    'with a large file in the event that tells usage',
    [event({ ...last, candidates: said('x'.repeat(2_000_000)) })],
    whole,
  ],
  [
    'with an event that is too long',
    [event(first), event({ ...last, pad: 'x'.repeat(9_000_000) }), event(piece)],
    { input: 1_000, output: 2 },
  ],
  [
    'with one that is too long in pieces',
    [
      event(first),
      'data: {"pad":"',
      'x'.repeat(5_000_000),
      'x'.repeat(5_000_000),
      `",${JSON.stringify(last).slice(1)}\n`,
      event(piece),
    ],
    { input: 1_000, output: 2 },
  ],
  [
    'with invalid numbers',
    [event({ usageMetadata: { promptTokenCount: -5, candidatesTokenCount: '7', thoughtsTokenCount: null } })],
    { input: 0, cached: 0, output: 0 },
  ],
  ['with invalid usage', [event(last), event({ usageMetadata: 7 }), event({ usageMetadata: null })], whole],
  ['with a comment', [`: ${JSON.stringify({ usageMetadata: { promptTokenCount: 9e9 } })}\n${event(last)}`], whole],
  [
    'with an event that is not JSON',
    [event(last), 'data: {"usageMetadata":\n', 'data: [DONE]\n', 'data: null\n'],
    whole,
  ],
  ['without any', [event(piece)], null],
  ['that is not a stream', ['<html>'], null],
])('a stream %s', (_how, chunks, expected) => {
  if (expected === null) expect(read(chunks)).toBeNull();
  else expect(read(chunks)).toMatchObject(expected);
});

const pretty = (data: object): string => JSON.stringify(data, null, 2);

test.each<[string, readonly string[], object | null]>([
  ['whole', [pretty(last), '\n'], whole],
  ['that has begun', [pretty(last).slice(0, 40)], null],
  ['that breaks off at the end of an object', [pretty(last).slice(0, pretty(last).lastIndexOf('}') - 1)], null],
  ['with what does not belong to it', [pretty(last), 'x'], null],
  ['that is a list', [`[${pretty(first)}\n,\r\n`, `${pretty(last)}\n]\n`], whole],
  ['that is a list and breaks off', [`[${pretty(first)}\n,\r\n`, pretty(last)], whole],
  ['that is a list and breaks off within an item', [`[${pretty(first)}\n,\r\n`, pretty(last).slice(0, 60)], null],
  ['that is an empty list', ['[]'], null],
  ['without usage', [pretty(piece)], null],
  ['that is too long', [' '.repeat(5_000_000), ' '.repeat(5_000_000), pretty(last)], null],
])('an answer %s', (_how, chunks, expected) => {
  expect(read(chunks, 'application/json; charset=UTF-8')).toEqual(expected);
});

test('wherever a stream is cut into pieces, it tells the same', () => {
  const stream = event(first) + event(piece) + event(last);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (cuts) => {
      const ends = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const chunks = ends.slice(1).map((end, nth) => stream.slice(ends[nth], end));
      expect(read(chunks)).toEqual(whole);
    }),
    { numRuns: runs(200) },
  );
});

test('whatever comes, the counts are numbers that add up, and grow', () => {
  const number = fc.oneof(fc.nat(), fc.double(), fc.string(), fc.constant(null));
  const usage = fc.record(
    {
      promptTokenCount: number,
      cachedContentTokenCount: number,
      candidatesTokenCount: number,
      thoughtsTokenCount: number,
      toolUsePromptTokenCount: number,
      totalTokenCount: number,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.record({ usageMetadata: usage }), fc.jsonValue())), (events) => {
      const reader = createGeminiUsage('text/event-stream');
      let before = { input: 0, cached: 0, output: 0, searches: 0 };
      for (const data of events) {
        reader.push(`data: ${JSON.stringify(data)}\n`);
        const now = reader.counts() ?? before;
        expect(now.cached).toBeLessThanOrEqual(now.input);
        for (const kind of ['input', 'cached', 'output', 'searches'] as const) {
          expect(now[kind]).toBeGreaterThanOrEqual(before[kind]);
          expect(Number.isFinite(now[kind])).toBe(true);
        }
        before = now;
      }
    }),
    { numRuns: runs(300) },
  );
});
