import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createClaudeProtocol, messagesApi } from '../../../../src/agents/claude/messages/protocol.ts';
import { createGeminiProtocol } from '../../../../src/agents/gemini/messages/protocol.ts';
import { createOpenAiProtocol } from '../../../../src/agents/openai/protocol.ts';
import type { ModelProtocol } from '../../../../src/ports/broker.ts';
import { askProvider, beginStream, createMoneyScene, eventOf } from './money-scene.ts';

const claude = createClaudeProtocol({ api: messagesApi, headers: {}, mayWebSearch: true, prices: {} });
const gemini = createGeminiProtocol({ prices: {}, mayWebSearch: true });
const openAi = (api: 'responses' | 'chat'): ModelProtocol =>
  createOpenAiProtocol({
    ...{ apis: [api], basePath: '/v1', headers: {}, mayWebSearch: true },
    prices: { 'search-model': { input: 1, cachedInput: 1, output: 1 } },
  });

/** A kind of request, with the answer to it. */
interface Form {
  readonly of: string;
  readonly protocol: ModelProtocol;
  readonly path: string;
  readonly body: object;
  /** The events of the answer, or a whole answer in JSON. */
  readonly answer: readonly object[] | object;
  /** The cost of one answer in US dollars. */
  readonly cost: number;
}

const responses = { protocol: openAi('responses'), path: '/v1/responses' };
const chat = { protocol: openAi('chat'), path: '/v1/chat/completions' };
const stream = { path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse' };
const whole = { path: '/v1beta/models/gemini-2.5-pro:generateContent' };

/** Each answer has 10,000 tokens, at $10 per million. */
const usage = { input_tokens: 0, output_tokens: 10_000 };
const chatUsage = { prompt_tokens: 0, completion_tokens: 10_000 };
const usageMetadata = { promptTokenCount: 0, candidatesTokenCount: 10_000 };
const finished = { type: 'response.completed', response: { usage, service_tier: 'default', output: [] } };

const plain: readonly Form[] = [
  {
    ...{ of: 'the Responses API', ...responses, cost: 0.1, answer: [finished] },
    body: { model: 'gpt-5', stream: true, input: 'hi', max_output_tokens: 10_000 },
  },
  {
    ...{ of: 'the Responses API without a stream', ...responses, cost: 0.1 },
    answer: { usage, service_tier: 'default' },
    body: { model: 'gpt-5', input: 'hi', max_output_tokens: 10_000 },
  },
  {
    ...{ of: 'the fast tier of the Responses API', ...responses, cost: 0.25 },
    answer: [{ ...finished, response: { usage, service_tier: 'priority' } }],
    body: { model: 'gpt-5', stream: true, input: 'hi', max_output_tokens: 10_000 },
  },
  {
    ...{ of: 'Chat Completions', ...chat, cost: 0.1, answer: [{ choices: [], usage: chatUsage }] },
    body: { model: 'gpt-5', stream: true, messages: [], max_completion_tokens: 10_000 },
  },
  {
    ...{ of: 'two choices of Chat Completions', ...chat, cost: 0.1, answer: [{ choices: [], usage: chatUsage }] },
    body: { model: 'gpt-5', stream: true, messages: [], max_tokens: 5_000, n: 2 },
  },
  {
    ...{ of: 'Gemini', protocol: gemini, ...stream, cost: 0.1 },
    answer: [{ candidates: [{ finishReason: 'STOP' }], usageMetadata }],
    body: { contents: [], generationConfig: { maxOutputTokens: 10_000 } },
  },
  {
    ...{ of: 'Gemini without a stream', protocol: gemini, ...whole, cost: 0.1 },
    answer: { candidates: [{ finishReason: 'STOP' }], usageMetadata },
    body: { contents: [], generation_config: { max_output_tokens: 10_000 } },
  },
];

const searchCall = (type: string) => ({ type: 'web_search_call', status: 'completed', action: { type } });
const found = { type: 'response.output_item.done', item: searchCall('search') };
const grounded = (...queries: readonly string[]) => [
  { candidates: [{ content: {}, groundingMetadata: { webSearchQueries: queries } }], usageMetadata },
  { candidates: [{ finishReason: 'STOP' }], usageMetadata },
];
const claudeSearch = [
  { type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 1 } } },
  { type: 'content_block_start', content_block: { type: 'server_tool_use', name: 'web_search' } },
  { type: 'message_delta', usage: { output_tokens: 5_000, server_tool_use: { web_search_requests: 4 } } },
];

const searching: readonly Form[] = [
  {
    ...{ of: 'the Messages API, with its number', protocol: claude, path: '/v1/messages', cost: 0.14 },
    answer: claudeSearch,
    body: {
      ...{ model: 'claude-opus-5-5', stream: true, messages: [], max_tokens: 5_000 },
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }],
    },
  },
  {
    ...{ of: 'the Messages API', protocol: claude, path: '/v1/messages', cost: 0.14, answer: claudeSearch },
    body: {
      ...{ model: 'claude-opus-5-5', stream: true, messages: [], max_tokens: 5_000 },
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
  },
  {
    ...{ of: 'the Responses API', ...responses, cost: 0.12, answer: [found, found, finished] },
    body: { model: 'gpt-5', stream: true, input: 'hi', max_output_tokens: 10_000, tools: [{ type: 'web_search' }] },
  },
  {
    ...{ of: 'the Responses API, with its number and without a stream', ...responses, cost: 0.13 },
    answer: {
      ...{ usage, service_tier: 'default' },
      output: [searchCall('search'), searchCall('open_page'), searchCall('search'), { ...searchCall('search') }],
    },
    body: {
      ...{ model: 'gpt-5', input: 'hi', max_output_tokens: 10_000, max_tool_calls: 3 },
      tools: [{ type: 'web_search_2025_08_26' }],
    },
  },
  {
    ...{ of: 'the older search of the Responses API', ...responses, cost: 0.105 },
    answer: [found, { ...finished, response: { ...finished.response, output: [searchCall('search')] } }],
    body: {
      ...{ model: 'gpt-4.1', stream: true, input: 'hi', max_output_tokens: 10_000, service_tier: 'default' },
      tools: [{ type: 'web_search_preview' }],
    },
  },
  {
    ...{ of: 'Chat Completions', ...chat, cost: 0.045, answer: [{ choices: [], usage: chatUsage }] },
    body: { ...{ model: 'search-model', stream: true, messages: [], max_tokens: 10_000 }, web_search_options: {} },
  },
  {
    ...{ of: 'Gemini 2.5, by prompt', protocol: gemini, ...stream, cost: 0.135, answer: grounded('a', 'b', 'c') },
    body: { contents: [], generationConfig: { maxOutputTokens: 10_000 }, tools: [{ googleSearch: {} }] },
  },
  {
    ...{ of: 'Gemini 3, by query', protocol: gemini, cost: 0.148, answer: grounded('a', 'b') },
    path: '/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse',
    body: { contents: [], generationConfig: { maxOutputTokens: 10_000 }, tools: [{ google_search: {} }] },
  },
];

function answerWith(response: ServerResponse, answer: Form['answer']): void {
  // The answer comes later, so that all requests that may overlap do so.
  setTimeout(() => {
    if (Array.isArray(answer)) beginStream(response).end((answer as readonly object[]).map(eventOf).join(''));
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }, 20);
}

async function askTwenty({ protocol, path, body, answer }: Form, limit: number) {
  await using scene = await createMoneyScene(protocol, (_request, response) => {
    answerWith(response, answer);
  });
  const call = await scene.open(limit);
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const one = await askProvider(call, path, body);
      await one.text();
      return one.status;
    }),
  );
  return { bill: await call.end(), passed: answers.filter((status) => status === 200).length };
}

describe.each([
  { what: 'requests', forms: plain },
  { what: 'requests that search', forms: searching },
])('twenty $what at once do not spend more than one too many:', ({ forms }) => {
  test.each(forms)('$of', async (form) => {
    for (const limit of [form.cost / 2, form.cost * 5.5]) {
      const { bill, passed } = await askTwenty(form, limit);
      expect(bill.costUsd).toBeGreaterThanOrEqual(limit);
      expect(bill.costUsd).toBeLessThan(limit + form.cost * 1.01);
      expect(bill.costUsd).toBeCloseTo(passed * form.cost, 4);
      expect(bill.exhausted).toBe('cost');
    }
  });
});

test('a stream is cut when its searches reach the limit', async () => {
  let sent = 0;
  await using scene = await createMoneyScene(responses.protocol, (_request, response) => {
    beginStream(response);
    const more = (): void => {
      sent += 1;
      if (!response.destroyed) response.write(eventOf(found), () => setTimeout(more, 1));
    };
    more();
  });
  const call = await scene.open(0.2);
  const body = { model: 'gpt-5', stream: true, input: 'hi', tools: [{ type: 'web_search' }] };
  expect(await (await askProvider(call, responses.path, body)).text()).toContain('response.failed');
  const { costUsd } = await call.end();
  expect(costUsd).toBeGreaterThanOrEqual(0.2);
  expect(costUsd).toBeLessThan(0.3);
  // Each search costs $0.01.
  expect(sent).toBeLessThan(60);
});
