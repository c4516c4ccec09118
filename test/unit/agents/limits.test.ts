import { describe, expect, test } from 'vitest';
import { codexDialect } from '../../../src/agents/codex/events/dialect.ts';
import { copilotDialect } from '../../../src/agents/copilot/events/dialect.ts';
import type { Dialect } from '../../../src/agents/reading/agent-event.ts';
import { findFailureInAnswer } from '../../../src/agents/reading/failure.ts';
import { createOutputReader } from '../../../src/agents/claude/output/reader.ts';
import { analyzeIn, jsonLines, NOW } from './reading/fixtures.ts';

/** The end of an output with an error, in the format of each CLI. */
const ends = {
  codex: (message: string): readonly [Dialect, string] => [
    codexDialect,
    jsonLines({ type: 'turn.failed', error: { message } }),
  ],
  copilot: (message: string): readonly [Dialect, string] => [
    copilotDialect,
    jsonLines({ type: 'session.error', data: { errorType: 'query', message } }, { type: 'result', exitCode: 1 }),
  ],
} satisfies Readonly<Record<string, (message: string) => readonly [Dialect, string]>>;

const failedWith = (agent: keyof typeof ends, message: string) => {
  const [dialect, output] = ends[agent](message);
  return analyzeIn(dialect, output);
};
const [MINUTE, HOUR] = [60_000, 3_600_000];
const DAY = 24 * HOUR;

describe('a limit that ends by itself', () => {
  test.each<[keyof typeof ends, string, number]>([
    [
      'copilot',
      '[API Error: You have exhausted your capacity on this model. Your quota will reset after 14h32m10s.]',
      14 * HOUR + 32 * MINUTE + 10_000,
    ],
    [
      'copilot',
      '[API Error: [{ "error": { "code": 429, "message": "You have exhausted your capacity on this model. Your quota will reset after 8h44m7s." } }]]',
      8 * HOUR + 44 * MINUTE + 7_000,
    ],
    [
      'copilot',
      "Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 58 hours. Please review our Terms of Service (https://docs.github.com/x).",
      58 * HOUR,
    ],
    [
      'copilot',
      'You have exceeded your Copilot token usage for this session. Your limit resets in 3 hours 20 minutes.',
      3 * HOUR + 20 * MINUTE,
    ],
    [
      'copilot',
      "You've hit your global rate limit. Please upgrade your plan or wait 6 seconds for your limit to reset.",
      6_000,
    ],
    [
      'codex',
      "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 3 minutes.",
      5 * DAY + 22 * HOUR + 3 * MINUTE,
    ],
    ['codex', 'You’ve hit your usage limit. Try again at 3:05 PM.', 6 * HOUR + 5 * MINUTE],
    [
      'codex',
      '{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":7200}}',
      2 * HOUR,
    ],
    ['copilot', 'The usage limit has been reached, "resets_at": 1795345200', 2 * HOUR],
    ['copilot', 'Quota exceeded. Retry-After: Wed, 25 Nov 2026 07:28:00 GMT', 2 * DAY + 22 * HOUR + 28 * MINUTE],
    ['copilot', "Sorry, you've exhausted this model's rate limit. Please try again in 58 hours.", 58 * HOUR],
    ['copilot', "You've used all your AI credits for this month. Credits reset on December 1.", 8 * DAY + 15 * HOUR],
    ['copilot', 'Free usage exceeded, subscribe to Go retrying in 6h16m - attempt #1', 6 * HOUR + 16 * MINUTE],
    [
      'copilot',
      'Error from provider (Z.ai): Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-11-23 02:06:16',
      17 * HOUR + 6 * MINUTE + 16_000,
    ],
    [
      'copilot',
      'You have used all of today’s free usage on this account. Come back in 3h 47m — your free usage resets automatically at midnight Pacific.',
      3 * HOUR + 47 * MINUTE,
    ],
    [
      'copilot',
      'Individual quota reached. Please upgrade your subscription to increase your limits. Resets in 2h39m52s.',
      2 * HOUR + 39 * MINUTE + 52_000,
    ],
  ])('%s: %s', (agent, message, ms) => {
    const { agentError, usageLimit } = failedWith(agent, message);
    expect(agentError?.kind).toBe('rate-limit');
    expect(usageLimit).toEqual({ window: 'unknown', resumeAt: new Date(NOW + ms).toISOString() });
  });

  test('a date: copilot', () => {
    const text =
      "You've reached your weekly rate limit. Please wait for your limit to reset on November 24, 2026 at 2:00 AM or switch to auto model to continue.";
    expect(failedWith('copilot', text).usageLimit?.resumeAt).toBe('2026-11-24T02:00:00.000Z');
  });
});

test.each<[keyof typeof ends, string]>([
  ['codex', 'Quota exceeded. Check your plan and billing details.'],
  ['copilot', '402 You have no quota'],
  ['copilot', "You've hit your monthly spend limit"],
  ['codex', 'You hit your spend cap set by the owner of your workspace.'],
  ['copilot', '[API Error: Your project has exceeded its monthly spending cap.]'],
  ['copilot', 'You have exceeded your premium request allowance'],
  ['codex', 'Your plan’s monthly usage is exhausted. Add credits to continue.'],
  ['codex', 'Workspace spend cap reached. Ask your admin to raise it.'],
  ['copilot', 'Organization spend limit exceeded'],
  ['copilot', '402 quota exceeded'],
  ['copilot', 'The budget for premium requests has been reached. Contact your admin.'],
  ['copilot', 'You have used up your monthly credits'],
  ['copilot', 'You have no remaining premium requests.'],
  ['codex', 'Budget has been exceeded! Current cost: 10.2, Max budget: 10.0'],
  ['copilot', '[API Error: 403 The free tier of the model has been exhausted. Disable the "use free tier only" mode.]'],
])('a limit that only a person lifts: %s, %s', (agent, message) => {
  expect(failedWith(agent, message).usageLimit).toEqual({ window: 'unknown', resumeAt: null, byPerson: true });
});

test.each<[keyof typeof ends, string]>([
  ['codex', 'You’ve hit your usage limit. Upgrade to Pro (https://x) or try again later.'],
  ['copilot', "You've hit your global rate limit. Please upgrade your plan or wait for your limit to reset."],
  ['copilot', "Sorry, you've exceeded your rate limits. Please review our Terms of Service."],
  ['copilot', 'Free usage exceeded, subscribe to Go'],
  ['copilot', 'Free usage exceeded, add credits https://opencode.ai/zen'],
  [
    'copilot',
    'Qwen OAuth quota exceeded: Your free daily quota has been reached. To continue without waiting, upgrade.',
  ],
  ['copilot', 'Key limit exceeded (daily limit). Manage it using https://openrouter.ai/settings/keys'],
])('a limit that ends later is not for a person: %s, %s', (agent, text) => {
  expect(failedWith(agent, text).usageLimit).toEqual({ window: 'unknown', resumeAt: null });
});

test.each<[string, boolean]>([
  ['Rate limit exceeded. Please try again later.', true],
  ["You've hit your usage limit. Switch to another model now, or try again at 3:05 PM.", true],
  ['API Error: 529 Overloaded', true],
  ['API Error: 503 The service is unavailable right now, please try again.', true],
  ["You've reached your usage limit, upgrade now.", true],
  [`API Error: 500 {"error":{"message":"a handled exception"}}`, true],
  ['Quota exceeded errors are now shown to the user.', false],
  ['500 tests pass now.', false],
  ['Rate limit exceeded: handled in src/limits.ts with a Retry-After header.', false],
  ["You've exceeded the daily limit is translated into German.", false],
  ['API Error: 500 responses are retried.', false],
])('an answer that is a failure, or that is about one: %s', (answer, isFailure) => {
  expect(findFailureInAnswer(answer) !== null).toBe(isFailure);
});

test.each([
  '[API Error: Resource exhausted. Please try again later.]',
  '{"code":429,"status":"RESOURCE_EXHAUSTED"}',
  'Too many tokens per day, please wait before trying again.',
  'Too many tokens, please wait before trying again.',
  '{"error":{"code":"rate_limit_exceeded"}}',
])('a limit that another sign must confirm: %s', (message) => {
  const limit = { window: 'unknown', resumeAt: null, unconfirmed: true };
  expect(failedWith('copilot', message)).toMatchObject({ agentError: { kind: 'rate-limit' }, usageLimit: limit });
});

test.each<[keyof typeof ends, string, string]>([
  ['codex', 'Selected model is at capacity. Please try a different model.', 'server'],
  ['copilot', '[API Error: No capacity available for model gemini-3-pro on the server]', 'server'],
  ['copilot', 'overloaded_error: Overloaded', 'server'],
  ['codex', "The 'gpt-9' model is not supported when using Codex with a ChatGPT account.", 'model'],
  ['copilot', 'Model "gpt-9" is not available.', 'model'],
  [
    'codex',
    'Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.',
    'auth',
  ],
  [
    'codex',
    'Failed to refresh token: 401 Unauthorized: Your refresh token has already been used to generate a new access token.',
    'auth',
  ],
  [
    'copilot',
    '[API Error: {"error":{"code":400,"status":"invalid_grant","message":"Token has been expired or revoked."}}]',
    'auth',
  ],
  ['codex', '{"detail":{"message":"Workspace credits are depleted"}}', 'billing'],
  ['copilot', 'No payment method. Add a payment method here: https://opencode.ai/x', 'billing'],
  ['copilot', 'This request requires more credits, or fewer max_tokens.', 'billing'],
  ['copilot', 'Your subscription has expired', 'billing'],
  ['copilot', 'Access denied by policy settings.', 'auth'],
  ['codex', 'budget reached', 'budget'],
  ['copilot', 'Insufficient credits. Add more at https://openrouter.ai/settings/credits', 'billing'],
  ['copilot', 'This API method requires billing to be enabled. Please enable billing on project #1', 'billing'],
  ['copilot', 'API key not valid. Please pass a valid API key.', 'auth'],
  ['copilot', 'This model has been retired. Please use gpt-8.', 'model'],
  ['codex', 'The model gpt-5 was deprecated and is no longer available', 'model'],
  ['copilot', 'ValidationException: The provided model identifier is invalid.', 'model'],
  [
    'copilot',
    'ValidationException: Invocation of model ID anthropic.claude-x with on-demand throughput isn’t supported.',
    'model',
  ],
  ['copilot', 'Your API key has been disabled.', 'auth'],
  ['copilot', 'API_KEY_INVALID', 'auth'],
  ['copilot', 'Arrearage: Access denied, please make sure your account is in good standing.', 'billing'],
  [
    'copilot',
    '429 Request too large for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Requested 50000.',
    'prompt-too-long',
  ],
  ['copilot', 'fetch failed', 'server'],
  ['copilot', 'AI_APICallError: Bad Gateway', 'server'],
  [
    'copilot',
    'Failed to get response from the AI model; retried 5 times. Last error: CAPIError: 503 {"message":"Service Unavailable"}',
    'server',
  ],
  ['codex', 'error sending request for url (https://api.openai.com/v1/responses)', 'server'],
  ['copilot', 'CAPIError: 400 prompt token count of 130000 exceeds the limit of 128000', 'prompt-too-long'],
  ['copilot', 'ProviderModelNotFoundError: anthropic/x', 'model'],
  ['codex', 'Your organization must be verified to use the model `gpt-9`.', 'auth'],
  ['codex', 'You do not have access to the organization tied to the API key.', 'auth'],
  ['copilot', 'API Error: 400 Your account does not have access to Claude Code. Please run /login.', 'auth'],
  ['copilot', 'The page says: service unavailable', 'other'],
  ['copilot', 'getaddrinfo EAI_AGAIN api.openai.com', 'server'],
  ['codex', 'stream disconnected before completion: idle timeout waiting for SSE', 'server'],
  ['copilot', 'A test fails: connect is not a function', 'other'],
  ['copilot', 'Memory usage exceeded', 'other'],
  ['copilot', 'The request exceeded the maximum size limit of 20 MB.', 'other'],
  ['copilot', 'User location is not supported for the API use.', 'auth'],
  ['codex', 'Your authentication token has been invalidated. Please try signing in again.', 'auth'],
  ['codex', 'Your input exceeds the context window of this model. Please adjust your input.', 'prompt-too-long'],
  ['copilot', "Too many tokens in the request: this model's maximum context length is 131072.", 'prompt-too-long'],
])('whose it is: %s, %s → %s', (agent, message, kind) => {
  const { agentError, usageLimit } = failedWith(agent, message);
  expect(agentError?.kind).toBe(kind);
  expect(usageLimit).toBeNull();
});

describe('Claude Code', () => {
  const read = (text: string) => {
    const reader = createOutputReader({ now: NOW, onEvent: null });
    const result = {
      type: 'result',
      subtype: 'success',
      is_error: true,
      api_error_status: 429,
      result: text,
      session_id: 's',
    };
    reader.push(new TextEncoder().encode(jsonLines(result)));
    return reader.end();
  };

  test.each([
    ["You've hit your monthly spend limit · raise it at claude.ai/settings/usage"],
    ["You've hit your monthly spend limit.\n/usage-credits to adjust your monthly spend limit."],
    ["You've hit your org's monthly usage limit"],
    ["You're out of extra usage · /usage-credits to add more"],
    ["You've used up your usage credits · add more at claude.ai/settings"],
    ['Your team has reached its monthly spend limit'],
    ["You've hit your usage limit for this billing period · upgrade at claude.ai/upgrade"],
  ])('only a person lifts: %s', (text) => {
    const { agentError, usageLimit } = read(text);
    expect(agentError?.kind).toBe('rate-limit');
    expect(usageLimit).toMatchObject({ resumeAt: null, byPerson: true });
  });

  test.each([
    [
      "You've hit your monthly spend limit · your session limit resets 2:40pm (Asia/Jakarta)",
      '2026-11-23T07:40:00.000Z',
    ],
    ["You're out of extra usage · resets 9pm (UTC)", '2026-11-22T21:00:00.000Z'],
    ["You've hit your weekly limit · resets Monday at 9am (UTC)", '2026-11-23T09:00:00.000Z'],
    ["You've reached your Fable limit · resets in 2 days", '2026-11-24T09:00:00.000Z'],
    ["You've hit your limit for Opus · resets Dec 3, 3pm", '2026-12-03T15:00:00.000Z'],
    ['Limit reached · resets in 3 hours', '2026-11-22T12:00:00.000Z'],
    ["You've hit your weekly limit · resets Nov 22, 8:54am (UTC)", '2026-11-22T08:54:00.000Z'],
    ["You've hit your weekly limit · resets Jan 3, 2027 at 5pm (UTC)", '2027-01-03T17:00:00.000Z'],
    [
      'API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      '2026-12-01T00:00:00.000Z',
    ],
    ['API Error: 429 Rate limited. Please try again in 10 minutes.', '2026-11-22T09:10:00.000Z'],
  ])('%s ends at %s', (text, resumeAt) => {
    const { usageLimit } = read(text);
    expect(usageLimit?.resumeAt).toBe(resumeAt);
    expect(usageLimit).not.toHaveProperty('byPerson');
  });
});
