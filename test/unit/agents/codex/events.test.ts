import { describe, expect, test } from 'vitest';
import { codexDialect } from '../../../../src/agents/codex/events/dialect.ts';
import { analyzeIn, jsonLines } from '../reading/fixtures.ts';

const STARTED = { type: 'thread.started', thread_id: '01a2027c-165f-7602-a480-99aaae3e2241' };
const DONE = { type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } };

function failedWith(message: string) {
  return analyzeIn(
    codexDialect,
    jsonLines(STARTED, { type: 'error', message }, { type: 'turn.failed', error: { message } }),
  );
}

describe('what ends a call', () => {
  test.each([
    ['rate-limit', 'Quota exceeded. Check your plan and billing details.'],
    ['rate-limit', "You've hit your usage limit."],
    ['rate-limit', 'rate limit exceeded: Rate limit reached. Please try again in 1.2s.'],
    ['billing', 'To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.'],
    ['auth', 'unexpected status 403 Forbidden: no, url: http://127.0.0.1/v1/responses, request id: 1'],
    ['auth', 'Missing environment variable: `X`.'],
    ['server', 'We’re currently experiencing high demand, which may cause temporary errors.'],
    ['server', 'stream disconnected before completion: idle timeout waiting for SSE'],
    ['prompt-too-long', '{"error":{"message":"This model\'s maximum context length is 128000 tokens."}}'],
    ['other', '{"error":{"message":"bad thing"}}'],
    ['other', ''],
  ])('%s: %s', (kind, message) => {
    expect(failedWith(message).agentError).toEqual({ kind, text: message });
  });

  test('an invalid id is not handed back to the CLI', () => {
    expect(analyzeIn(codexDialect, jsonLines({ ...STARTED, thread_id: '--last' }, DONE)).sessionId).toBeNull();
  });

  test('a session that is completed after an error has not failed', () => {
    expect(analyzeIn(codexDialect, jsonLines(STARTED, { type: 'error', message: 'x' }, DONE)).agentError).toBeNull();
  });

  test('sums that overflow are unknown', () => {
    const huge = { input_tokens: 1.7e308, output_tokens: 1.7e308 };
    expect(analyzeIn(codexDialect, jsonLines(STARTED, { ...DONE, usage: huge })).tokens).toBeNull();
  });

  test('what it prints before an error of its own is not an error', () => {
    const error = 'Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)';
    const log = '2026-11-22T09:00:17.278050Z  WARN codex_core: no';
    expect(analyzeIn(codexDialect, `Reading prompt from stdin...\n${log}\n${error}\n`).agentError).toEqual({
      kind: 'unknown-session',
      text: error,
    });
  });
});
