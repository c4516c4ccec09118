import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OpenAiApi } from '../../../../src/agents/openai/usage.ts';
import { runs } from '../../../runs.ts';
import { DONE, begun, chatUsed, chunk, completed, last, text, accountOf, used, whole } from './streams.ts';

describe('chunks', () => {
  const streams: readonly (readonly [OpenAiApi, string, string])[] = [
    ['responses', begun + text('Hi') + text('"type":"response.completed"') + completed, 'text/event-stream'],
    [
      'chat',
      chunk({ content: 'Hi' }) + chunk({ tool_calls: [{ function: { arguments: '{}' } }] }) + last(chatUsed) + DONE,
      'text/event-stream',
    ],
    ['responses', JSON.stringify({ usage: used }), 'application/json'],
    ['chat', JSON.stringify({ usage: chatUsed }), 'application/json'],
  ];

  test.each(streams)('of %s cut anywhere come to the same: %#', (api, stream, type) => {
    const expected = accountOf(api, [stream], type);
    expect(expected.usage).toEqual(whole);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const chunks = at.slice(1).map((end, nth) => stream.slice(at[nth], end));
        expect(accountOf(api, chunks, type)).toEqual(expected);
      }),
      { numRuns: runs(200) },
    );
  });

  test.each(streams)('of %s that break off anywhere tell all or nothing: %#', (api, stream, type) => {
    fc.assert(
      fc.property(fc.nat(stream.length), (end) => {
        const { usage, since } = accountOf(api, [stream.slice(0, end)], type);
        expect(usage ?? whole).toEqual(whole);
        expect(usage === null || since === null).toBe(true);
      }),
      { numRuns: runs(200) },
    );
  });

  test('of any text do not make it throw', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('data:', '\n', '{"usage":{', '"type":"response.completed"', '"delta":{', '}', ']', '1e999'),
      fc.constantFrom(begun, completed, last(chatUsed), chunk({ content: 'a' })),
    );
    const types = fc.constantFrom('text/event-stream', 'application/json', '');
    fc.assert(
      fc.property(fc.constantFrom<OpenAiApi>('responses', 'chat'), types, fc.array(piece), (api, type, chunks) => {
        const { usage, since } = accountOf(api, chunks, type);
        for (const count of [usage?.input, usage?.cached, usage?.output, since]) {
          expect(Number.isFinite(count ?? 0) && (count ?? 0) >= 0).toBe(true);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
