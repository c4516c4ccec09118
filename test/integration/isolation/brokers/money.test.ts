import { describe, expect, test } from 'vitest';
import { bedrockApi, createClaudeProtocol, messagesApi } from '../../../../src/agents/claude/messages/protocol.ts';
import { createGeminiProtocol } from '../../../../src/agents/gemini/messages/protocol.ts';
import { createOpenAiProtocol } from '../../../../src/agents/openai/protocol.ts';
import type { ModelProtocol } from '../../../../src/ports/broker.ts';
import { eventually } from '../../../eventually.ts';
import {
  askProvider as ask,
  beginStream as stream,
  createMoneyScene as createScene,
  eventOf as event,
} from './money-scene.ts';

const claude = createClaudeProtocol({ api: messagesApi, headers: {}, mayWebSearch: false, prices: {} });
const bedrock = createClaudeProtocol({ api: bedrockApi, headers: {}, mayWebSearch: false, prices: {} });
const openAi = (api: 'responses' | 'chat'): ModelProtocol =>
  createOpenAiProtocol({ apis: [api], basePath: '/v1', headers: {}, mayWebSearch: false, prices: {} });
const gemini = createGeminiProtocol({ prices: {}, mayWebSearch: false });

const started = (input: number): string =>
  event({ type: 'message_start', message: { usage: { input_tokens: input, output_tokens: 1 } } });
const finished = (output: number): string => event({ type: 'message_delta', usage: { output_tokens: output } });
const message = { model: 'claude-opus-5-5', stream: true, messages: [] };

describe('twenty requests at once', () => {
  test.each([0.05, 0.25, 0.55, 1.95])('do not spend more than one too many of a limit of $%d', async (limit) => {
    await using scene = await createScene(claude, (_request, response) => {
      stream(response).write(started(1));
      setImmediate(() => response.end(finished(5_000)));
    });
    const call = await scene.open(limit);
    // The largest possible answer to each request costs $0.10.
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const answer = await ask(call, '/v1/messages', { ...message, max_tokens: 5_000 });
        return { status: answer.status, text: await answer.text() };
      }),
    );
    const { costUsd, exhausted } = await call.end();
    expect(costUsd).toBeGreaterThanOrEqual(Math.min(limit, 1.95));
    expect(costUsd).toBeLessThan(limit + 0.11);
    expect(exhausted).toBe('cost');
    // No accepted request lost a paid answer.
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(Math.round(costUsd / 0.1));
    expect(passed.every(({ text }) => text.endsWith(finished(5_000)))).toBe(true);
  });

  test('run one after another if each could use up the rest of the budget', async () => {
    let running = 0;
    let most = 0;
    await using scene = await createScene(claude, (_request, response) => {
      most = Math.max(most, (running += 1));
      setTimeout(() => {
        running -= 1;
        stream(response).end(started(1) + finished(100));
      }, 5);
    });
    const call = await scene.open(1);
    const answers = Array.from({ length: 5 }, async () =>
      (await ask(call, '/v1/messages', { ...message, max_tokens: 64_000 })).text(),
    );
    await Promise.all(answers);
    expect(most).toBe(1);
    expect(await call.end()).toMatchObject({ requests: 5, exhausted: null });
  });
});

describe('a running stream is cut when what has passed reaches the limit,', () => {
  const words = 'x'.repeat(4_000);
  const frame = (data: object): string =>
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(data)).toString('base64') });
  interface Row {
    readonly of: string;
    readonly protocol: ModelProtocol;
    readonly path: string;
    readonly body: object;
    /** An event that costs about $0.02 each time. */
    readonly piece: string;
    readonly first?: string;
    readonly type?: string;
    readonly end: RegExp;
  }
  test.each<Row>([
    {
      of: 'the Messages API',
      protocol: claude,
      path: '/v1/messages',
      body: { ...message, max_tokens: 64_000 },
      first: started(10),
      piece: event({ type: 'content_block_delta', delta: { text: words } }),
      end: /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"invalid_request_error","message":"Credit balance is too low[^\n]*\n\n$/,
    },
    {
      of: 'the Responses API',
      protocol: openAi('responses'),
      path: '/v1/responses',
      body: { model: 'gpt-5', stream: true, input: 'hi' },
      piece: event({ type: 'response.output_text.delta', delta: words + words }),
      end: /\n\nevent: response\.failed\ndata: \{"type":"response\.failed","response":\{[^\n]*"code":"insufficient_quota"[^\n]*\n\n$/,
    },
    {
      of: 'Chat Completions',
      protocol: openAi('chat'),
      path: '/v1/chat/completions',
      body: { model: 'gpt-5', stream: true, messages: [] },
      piece: event({ choices: [{ delta: { content: words + words } }] }),
      end: /\n\ndata: \{"error":\{[^\n]*"insufficient_quota"[^\n]*\n\n$/,
    },
    {
      of: 'Gemini',
      protocol: gemini,
      path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
      body: { contents: [] },
      piece: event({ candidates: [{}], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 9_000 } }),
      end: /\n\ndata: \{"error":\{"code":400,"message":"The limit of this run is reached\.[^\n]*\n\n$/,
    },
  ])('as $of says an error', async ({ protocol, path, body, first = '', piece, end }) => {
    await using scene = await createScene(protocol, (_request, response) => {
      stream(response).write(first);
      const more = (): void => {
        if (!response.destroyed) response.write(piece, () => setImmediate(more));
      };
      more();
    });
    const call = await scene.open(0.08);
    const text = await (await ask(call, path, body)).text();
    expect(text).toMatch(end);
    await eventually(() => {
      expect(scene.hungUp()).toBe(1);
    });
    // A repeated request is refused as well.
    expect((await ask(call, path, body)).status).toBe(400);
    const bill = await call.end();
    expect(bill).toMatchObject({ requests: 1, exhausted: 'cost' });
    expect(bill.costUsd).toBeGreaterThanOrEqual(0.08);
    expect(bill.costUsd).toBeLessThan(0.2);
  });

  test('of Bedrock without a word, and counts it', async () => {
    await using scene = await createScene(bedrock, (_request, response) => {
      stream(response, 'application/vnd.amazon.eventstream').write(
        frame({ type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } }),
      );
      const more = (): void => {
        if (!response.destroyed)
          response.write(frame({ type: 'content_block_delta', delta: { text: words } }), () => setImmediate(more));
      };
      more();
    });
    const call = await scene.open(0.08);
    const path = '/model/us.anthropic.claude-opus-5-5-v1%3A0/invoke-with-response-stream';
    await expect(
      ask(call, path, { max_tokens: 64_000, messages: [] }).then((answer) => answer.text()),
    ).rejects.toThrow();
    expect(await call.end()).toMatchObject({ requests: 1, exhausted: 'cost' });
  });

  test('but not an answer that is complete', async () => {
    const whole = started(10) + finished(5_000);
    await using scene = await createScene(claude, (_request, response) => stream(response).end(whole));
    const call = await scene.open(0.01);
    const answer = await ask(call, '/v1/messages', { ...message, max_tokens: 64_000 });
    expect(await answer.text()).toBe(whole);
    expect(await call.end()).toMatchObject({ exhausted: 'cost', costUsd: expect.closeTo(0.1, 3) as number });
  });

  test('each of several, when they have reached it together', async () => {
    await using scene = await createScene(claude, (_request, response) => {
      stream(response).write(started(10));
      let sent = 0;
      const more = (): void => {
        if (response.destroyed) return;
        // Usage is only reported at the end, which is far away.
        response.write(event({ type: 'content_block_delta', delta: { text: words } }), () => setImmediate(more));
        sent += 1;
        if (sent > 2_000) response.destroy();
      };
      more();
    });
    const call = await scene.open(1);
    const texts = await Promise.all(
      Array.from({ length: 4 }, async () =>
        (await ask(call, '/v1/messages', { ...message, max_tokens: 10_000 })).text(),
      ),
    );
    expect(texts.every((text) => text.includes('event: error'))).toBe(true);
    const { costUsd } = await call.end();
    expect(costUsd).toBeGreaterThanOrEqual(1);
    expect(costUsd).toBeLessThan(1.2);
  });
});

describe('a model whose price nobody has said', () => {
  const rows: readonly (readonly [string, ModelProtocol, string, object, RegExp])[] = [
    ['Messages', claude, '/v1/messages', { ...message, model: 'glm-4.6' }, /"type":"error".*glm-4\.6=INPUT/],
    ['Responses', openAi('responses'), '/v1/responses', { model: 'gpt-9', input: 'hi' }, /"error".*gpt-9=INPUT/],
    ['Chat', openAi('chat'), '/v1/chat/completions', { model: 'qwen9', messages: [] }, /"error".*qwen9=INPUT/],
    [
      'Gemini',
      gemini,
      '/v1beta/models/gemini-9:generateContent',
      { contents: [] },
      /"FAILED_PRECONDITION"|gemini-9=INPUT/,
    ],
  ];

  test.each(rows)('is not called while a limit in dollars holds: %s', async (_api, protocol, path, body, words) => {
    await using scene = await createScene(protocol, (_request, response) => response.end('{}'));
    const call = await scene.open(5);
    const answer = await ask(call, path, body);
    const text = await answer.text();
    expect(answer.status).toBe(400);
    expect(text).toMatch(words);
    expect(text).toMatch(/max-cost-usd: 0.*max-cost-usd-per-day: 0/);
    expect(scene.asked()).toBe(0);
    const bill = await call.end();
    expect(bill).toMatchObject({ requests: 0, costUsd: 0, refused: [] });
    expect(bill.unpriced).not.toBeNull();
  });

  test.each(rows)('is called without one: %s', async (_api, protocol, path, body) => {
    await using scene = await createScene(protocol, (_request, response) => response.end('{}'));
    const call = await scene.open(null);
    expect((await ask(call, path, body)).status).toBe(200);
    expect(await call.end()).toMatchObject({ requests: 1, unpriced: null });
  });
});
