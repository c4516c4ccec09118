import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OpenAiApi } from '../../../../src/agents/openai/endpoints.ts';
import { createUsageReader } from '../../../../src/agents/openai/usage.ts';
import { runs } from '../../../runs.ts';

const event = (data: Readonly<Record<string, unknown>> & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const begun = event({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } });
const text = (delta: string): string =>
  event({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta });
const used = {
  input_tokens: 1_000,
  input_tokens_details: { cached_tokens: 800 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 40 },
  total_tokens: 1_050,
};
const ended = (type: string, usage: unknown, more: object = {}): string =>
  event({ type, sequence_number: 9, response: { id: 'resp_1', ...more, usage } });
const completed = ended('response.completed', used);
const whole = { input: 1_000, cached: 800, output: 50 };

const chunk = (delta: unknown, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta }], usage: null, ...more })}\n\n`;
const chatUsed = { prompt_tokens: 1_000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 800 } };
const last = (usage: unknown): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [], usage })}\n\n`;
const DONE = 'data: [DONE]\n\n';

function told(api: OpenAiApi, chunks: readonly string[], type = 'text/event-stream; charset=utf-8') {
  const reader = createUsageReader(api, type);
  for (const one of chunks) reader.push(one);
  return reader.told();
}

describe('a stream of the Responses API', () => {
  test.each<[string, readonly string[], object | null, number | null]>([
    ['whole', [begun, text('Hi'), completed], whole, 1],
    ['that was cut short', [begun, ended('response.incomplete', used)], whole, null],
    ['that failed', [begun, ended('response.failed', used, { error: { code: 'server_error' } })], whole, null],
    ['that failed at once', [begun, ended('response.failed', null)], null, null],
    ['one character at a time', [...(begun + text('Hi') + completed)], whole, 1],
    ['with the line ends of another system', [(begun + completed).replaceAll('\n', '\r\n')], whole, null],
    [
      'with spaces in its JSON',
      ['data: {"type": "response.completed", "response": {"usage": {"input_tokens": 7}}}\n'],
      { input: 7, output: 0 },
      null,
    ],
    [
      'broken off: a delta is a token at least, and four characters are one',
      [begun, text('a'), text(''), text('x'.repeat(40))],
      null,
      12,
    ],
    ['that calls a tool', [event({ type: 'response.function_call_arguments.delta', delta: '{"cmd":"ls"}' })], null, 3],
    ['that thinks', [event({ type: 'response.reasoning_summary_text.delta', delta: 'Hmm' })], null, 1],
    ['broken off within its end', [begun, text('a'), completed.slice(0, 90)], null, 1],
    [
      'whose end repeats 100 KB',
      [ended('response.completed', used, { instructions: 'x'.repeat(100_000) })],
      whole,
      null,
    ],
    [
      'with usage in its text',
      [text('"type":"response.completed","response":{"usage":{"output_tokens":9e9}}'), completed],
      whole,
      18,
    ],
    [
      'with usage in a call',
      [
        event({ type: 'response.output_item.done', item: { type: 'response', usage: { input_tokens: 9e9 } } }),
        completed,
      ],
      whole,
      null,
    ],
    ['with an end that is no JSON', ['data: {"type":"response.completed",\n', completed], whole, null],
    ['with a comment', [`: ${completed.slice(completed.indexOf('{'))}`], null, null],
    ['with usage that is none', [ended('response.completed', 7)], null, null],
    [
      'with numbers that are none',
      [ended('response.completed', { input_tokens: -5, output_tokens: '7', total_tokens: NaN })],
      { input: 0, cached: 0, output: 0 },
      null,
    ],
    [
      'with a line that no event has',
      [`data: ${'x'.repeat(9_000_000)}`, completed.slice(completed.indexOf('data:'))],
      null,
      null,
    ],
    ['after such a line', [`data: ${'x'.repeat(9_000_000)}\n`, completed], whole, null],
    ['without any', ['event: ping\n\n'], null, null],
    ['that is no stream', ['<html>'], null, null],
  ])('%s', (_how, chunks, usage, streamed) => {
    const answer = told('responses', chunks);
    if (usage === null) expect(answer.usage).toBeNull();
    else expect(answer.usage).toMatchObject(usage);
    expect(answer.streamed).toBe(streamed);
  });
});

describe('a stream of Chat Completions', () => {
  test.each<[string, readonly string[], object | null, number | null]>([
    ['whole', [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hi' }), last(chatUsed), DONE], whole, 1],
    ['one character at a time', [...(chunk({ content: 'Hi' }) + last(chatUsed) + DONE)], whole, 1],
    [
      'that tells the sum so far in every chunk',
      [chunk({ content: 'a' }, { usage: { ...chatUsed, completion_tokens: 1 } }), last(chatUsed)],
      whole,
      1,
    ],
    [
      'that leaves what was thought out of the output',
      [last({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 })],
      { input: 10, output: 105 },
      null,
    ],
    [
      'that counts its cache like DeepSeek',
      [last({ prompt_tokens: 10, prompt_cache_hit_tokens: 8 })],
      { input: 10, cached: 8 },
      null,
    ],
    [
      'that counts its cache like Moonshot',
      [last({ prompt_tokens: 10, cached_tokens: 8 })],
      { input: 10, cached: 8 },
      null,
    ],
    ['broken off', [chunk({ content: 'a' }), chunk({ content: 'x'.repeat(40) })], null, 11],
    [
      'that calls a tool',
      [
        chunk({
          tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a":1}' } }],
        }),
      ],
      null,
      3,
    ],
    ['that thinks', [chunk({ reasoning_content: 'Hmm' }), chunk({ reasoning: 'Hmmmmm' })], null, 3],
    ['with usage in its text', [chunk({ content: '"usage":{"prompt_tokens":9e9}' }), last(chatUsed)], whole, 8],
    ['that tells none', [chunk({ content: 'a' }), DONE], null, 1],
    ['that is no stream', ['<html>'], null, null],
  ])('%s', (_how, chunks, usage, streamed) => {
    const answer = told('chat', chunks);
    if (usage === null) expect(answer.usage).toBeNull();
    else expect(answer.usage).toMatchObject(usage);
    expect(answer.streamed).toBe(streamed);
  });
});

describe('an answer that does not stream', () => {
  const answers: readonly (readonly [OpenAiApi, string])[] = [
    ['responses', JSON.stringify({ id: 'resp_1', status: 'completed', output: [], usage: used })],
    ['chat', JSON.stringify({ id: 'c', choices: [{ message: { content: 'Hi' } }], usage: chatUsed })],
  ];

  test.each(answers)('of %s', (api, answer) => {
    const read = (...chunks: readonly string[]) => told(api, chunks, 'application/json').usage;
    expect(read(answer)).toEqual(whole);
    expect(read(answer.slice(0, 20), answer.slice(20))).toEqual(whole);
    expect(read(`${answer}\n`)).toEqual(whole);
    expect(read(answer.slice(0, 20))).toBeNull();
    expect(read(answer.slice(0, 20), '}')).toBeNull();
    expect(read(`${answer}x`)).toBeNull();
    expect(read(`${' '.repeat(9_000_000)}${answer}`)).toBeNull();
    expect(read('[]')).toBeNull();
  });
});

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
    const expected = told(api, [stream], type);
    expect(expected.usage).toEqual(whole);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const chunks = at.slice(1).map((end, nth) => stream.slice(at[nth], end));
        expect(told(api, chunks, type)).toEqual(expected);
      }),
      { numRuns: runs(200) },
    );
  });

  test.each(streams)('of %s that break off anywhere never come to more: %#', (api, stream, type) => {
    const all = told(api, [stream], type);
    fc.assert(
      fc.property(fc.nat(stream.length), (end) => {
        const part = told(api, [stream.slice(0, end)], type);
        expect(part.usage === null || part.usage.output <= whole.output).toBe(true);
        expect(part.streamed ?? 0).toBeLessThanOrEqual(all.streamed ?? 0);
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
        const { usage, streamed } = told(api, chunks, type);
        for (const count of [usage?.input, usage?.cached, usage?.output, streamed]) {
          expect(Number.isFinite(count ?? 0) && (count ?? 0) >= 0).toBe(true);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
