import { describe, expect, test } from 'vitest';
import type { OpenAiApi } from '../../../../src/agents/openai/usage.ts';
import {
  DONE,
  begun,
  chatUsed,
  chunk,
  completed,
  ended,
  event,
  last,
  text,
  accountOf,
  used,
  whole,
} from './streams.ts';

describe('a stream of the Responses API', () => {
  test.each<[string, readonly string[], object | null, number | null]>([
    ['whole', [begun, text('Hi'), completed], whole, null],
    ['that was cut short', [begun, ended('response.incomplete', used)], whole, null],
    ['that failed', [begun, ended('response.failed', used, { error: { code: 'server_error' } })], whole, null],
    ['that failed at once', [begun, ended('response.failed', null)], null, null],
    ['one character at a time', [...(begun + text('Hi') + completed)], whole, null],
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
      null,
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
    ['with an end that is not JSON', ['data: {"type":"response.completed",\n', completed], whole, null],
    ['with a comment', [`: ${completed.slice(completed.indexOf('{'))}`], null, null],
    ['with invalid usage', [ended('response.completed', 7)], null, null],
    [
      'with invalid numbers',
      [ended('response.completed', { input_tokens: -5, output_tokens: '7', total_tokens: NaN })],
      null,
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
    ['that is not a stream', ['<html>'], null, null],
  ])('%s', (_how, chunks, usage, since) => {
    const answer = accountOf('responses', chunks);
    if (usage === null) expect(answer.usage).toBeNull();
    else expect(answer.usage).toMatchObject(usage);
    expect(answer.since).toBe(since);
  });
});

describe('a stream of Chat Completions', () => {
  test.each<[string, readonly string[], object | null, number | null]>([
    ['whole', [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hi' }), last(chatUsed), DONE], whole, null],
    ['one character at a time', [...(chunk({ content: 'Hi' }) + last(chatUsed) + DONE)], whole, null],
    [
      'that tells the sum so far in every chunk',
      [chunk({ content: 'a' }, { usage: { ...chatUsed, completion_tokens: 1 } }), last(chatUsed)],
      whole,
      null,
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
    ['with usage in its text', [chunk({ content: '"usage":{"prompt_tokens":9e9}' }), last(chatUsed)], whole, null],
    [
      'whose sum says that nothing was asked nor answered',
      [chunk({ content: 'a' }), last({ prompt_tokens: 0 })],
      null,
      1,
    ],
    ['that continues after the sum so far', [last(chatUsed), chunk({ content: 'x'.repeat(40) })], whole, 10],
    ['that tells none', [chunk({ content: 'a' }), DONE], null, 1],
    ['that is not a stream', ['<html>'], null, null],
  ])('%s', (_how, chunks, usage, since) => {
    const answer = accountOf('chat', chunks);
    if (usage === null) expect(answer.usage).toBeNull();
    else expect(answer.usage).toMatchObject(usage);
    expect(answer.since).toBe(since);
  });
});

describe('an answer that does not stream', () => {
  const answers: readonly (readonly [OpenAiApi, string])[] = [
    ['responses', JSON.stringify({ id: 'resp_1', status: 'completed', output: [], usage: used })],
    ['chat', JSON.stringify({ id: 'c', choices: [{ message: { content: 'Hi' } }], usage: chatUsed })],
  ];

  test.each(answers)('of %s', (api, answer) => {
    const read = (...chunks: readonly string[]) => accountOf(api, chunks, 'application/json').usage;
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
