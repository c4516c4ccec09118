import { describe, expect, test } from 'vitest';
import { encodeEventFrame } from '../../../../../testbed/scripted-model/amazon-frames.ts';
import { createClaudeUsage } from '../../../../../src/agents/claude/messages/usage.ts';

const event = (data: Readonly<Record<string, unknown>> & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const start = event({
  type: 'message_start',
  message: {
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      cache_read_input_tokens: 1_000,
      output_tokens: 1,
    },
  },
});
const delta = (text: string): string =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const end = event({ type: 'message_delta', delta: {}, usage: { output_tokens: 50, input_tokens: 12 } });
const counted = { input: 10, cacheWrite: 100, cacheWriteHour: 200, cacheRead: 1_000, output: 1, webSearches: 0 };
const whole = { ...counted, input: 12, output: 50 };

const read = (chunks: readonly string[], type = 'text/event-stream; charset=utf-8') => {
  const reader = createClaudeUsage(type);
  for (const chunk of chunks) reader.push(chunk);
  return reader.counts();
};

test.each<[string, readonly string[], object | null]>([
  ['whole', [start + delta('a') + end], whole],
  ['one character at a time', [...(start + delta('a') + end)], whole],
  ['with the line ends of another system', [(start + end).replaceAll('\n', '\r\n')], whole],
  ['begun', [start], counted],
  ['broken off: a delta is a token', [start, delta('a'), delta('b'), delta('c')], { ...counted, output: 3 }],
  ['broken off within an event', [start, end.slice(0, 30)], counted],
  ['with usage in its text', [start + delta('"message_delta" {"usage":{"output_tokens":9e9}}') + end], whole],
  ['with a line that no event has', [start, `data: {"type":"message_delta",${'x'.repeat(80_000)}`, '\n', end], whole],
  [
    'with invalid numbers',
    [event({ type: 'message_delta', usage: { output_tokens: -5, input_tokens: '7' } })],
    { input: 0, output: 0 },
  ],
  [
    'with an event that is too long to be one',
    [start, event({ type: 'message_delta', usage: { output_tokens: 999 }, pad: 'x'.repeat(80_000) }), end],
    whole,
  ],
  [
    'with one that is too long in two pieces',
    [
      start,
      `data: {"type":"message_delta","pad":"${'x'.repeat(50_000)}`,
      `${'x'.repeat(20_000)}","usage":{"output_tokens":999}}\n`,
      end,
    ],
    whole,
  ],
  [
    'with a conversation that the provider shortened first',
    [
      start,
      event({
        type: 'message_delta',
        usage: {
          input_tokens: 20,
          output_tokens: 50,
          iterations: [
            { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500, cache_read_input_tokens: 7_000 },
            { type: 'message', input_tokens: 20, output_tokens: 50 },
          ],
        },
      }),
    ],
    { ...counted, input: 180_020, output: 3_550, cacheRead: 7_000 },
  ],
  ['with a comment', [`: {"type":"message_delta","usage":{"output_tokens":999}}\n${start}${end}`], whole],
  ['with an event of another kind', [start, event({ type: 'ping', usage: { output_tokens: 999 } }), end], whole],
  ['with an event that is not JSON', [start, 'data: {"type":"message_delta",\n', end], whole],
  [
    'with invalid usage',
    [start, event({ type: 'message_delta', usage: 7 }), event({ type: 'message_delta', usage: null })],
    counted,
  ],
  [
    'that tells a sum twice',
    [
      event({ type: 'message_delta', usage: { server_tool_use: { web_search_requests: 2 } } }),
      event({ type: 'message_delta', usage: { server_tool_use: { web_search_requests: 3 } } }),
      event({ type: 'message_delta', usage: {} }),
    ],
    { webSearches: 3 },
  ],
  ['without any', [delta('a')], null],
  ['that is not a stream', ['<html>'], null],
])('a stream %s', (_how, chunks, expected) => {
  if (expected === null) expect(read(chunks)).toBeNull();
  else expect(read(chunks)).toMatchObject(expected);
});

test('an answer that does not stream', () => {
  const answer = JSON.stringify({
    usage: { input_tokens: 5, output_tokens: 6, server_tool_use: { web_search_requests: 2 } },
  });
  expect(read([answer.slice(0, 20), answer.slice(20)], 'application/json')).toMatchObject({
    input: 5,
    output: 6,
    webSearches: 2,
  });
  expect(read([answer.slice(0, 20)], 'application/json')).toBeNull();
  expect(read([`${answer}\n`], 'application/json')).toMatchObject({ input: 5 });
  expect(read([`${answer}x`], 'application/json')).toBeNull();
  expect(read([answer.slice(0, 20), '}'], 'application/json')).toBeNull();
  expect(read([`${' '.repeat(9_000_000)}${answer}`], 'application/json')).toBeNull();
  expect(read([' '.repeat(5_000_000), ' '.repeat(5_000_000), answer], 'application/json')).toBeNull();
});

describe("Amazon's frames", () => {
  const frames = Buffer.concat([
    encodeEventFrame({ type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } }),
    encodeEventFrame({ type: 'content_block_delta', delta: { type: 'text_delta', text: '"bytes":"e30="' } }),
    encodeEventFrame({ type: 'message_delta', usage: { output_tokens: 50 } }),
  ]);
  const readFrames = (bytes: Buffer, size: number) => {
    const decoder = new TextDecoder();
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, nth) =>
      decoder.decode(bytes.subarray(nth * size, (nth + 1) * size), { stream: true }),
    );
    return read(chunks, 'application/vnd.amazon.eventstream');
  };

  test.each([1, 7, 100, 10_000])('in chunks of %d bytes', (size) => {
    expect(readFrames(frames, size)).toMatchObject({ input: 10, output: 50 });
  });

  test('broken off', () => {
    expect(readFrames(frames.subarray(0, frames.length - 40), 100)).toMatchObject({ input: 10, output: 4 });
    expect(readFrames(frames.subarray(0, 40), 100)).toBeNull();
  });

  test('with an event that is longer than any that tells usage', () => {
    const long = encodeEventFrame({ type: 'content_block_delta', delta: { text: 'x'.repeat(200_000) } });
    const last = encodeEventFrame({ type: 'message_delta', usage: { output_tokens: 70 } });
    expect(readFrames(Buffer.concat([frames, long, last]), 5_000)).toMatchObject({ input: 10, output: 70 });
  });

  test('with invalid base64', () => {
    expect(read(['{"bytes":"a"}', '{"bytes":"e30="}'], 'application/vnd.amazon.eventstream')).toBeNull();
  });
});
