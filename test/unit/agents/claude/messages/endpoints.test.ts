import { expect, test } from 'vitest';
import { bedrockApi, messagesApi, createVertexApi } from '../../../../../src/agents/claude/messages/protocol.ts';

const MODELS = '/projects/p-1/locations/us-east5/publishers/anthropic/models/';
const apis = { messages: messagesApi, bedrock: bedrockApi, vertex: createVertexApi(MODELS) };

test.each<[keyof typeof apis, string, string | null, boolean]>([
  ['messages', '/v1/messages', null, false],
  ['messages', '/v1/messages?beta=true', null, false],
  ['messages', '/v1/messages/count_tokens?beta=true', null, true],
  ['bedrock', '/model/eu.anthropic.claude-opus-5-5-v1:0/invoke', 'eu.anthropic.claude-opus-5-5-v1:0', false],
  ['bedrock', '/model/anthropic.claude-x%3A0/invoke-with-response-stream', 'anthropic.claude-x:0', false],
  [
    'bedrock',
    '/model/arn%3aaws%3abedrock%3aeu-west-1%3a1%3aapplication-inference-profile%2fx/invoke',
    'arn:aws:bedrock:eu-west-1:1:application-inference-profile/x',
    false,
  ],
  ['vertex', `${MODELS}claude-opus-5-5@20260101:streamRawPredict`, 'claude-opus-5-5@20260101', false],
  ['vertex', `${MODELS}claude-opus-5-5:rawPredict`, 'claude-opus-5-5', false],
  ['vertex', `${MODELS}count-tokens:rawPredict`, null, true],
])('%s: %s', (api, target, model, isFree) => {
  expect(apis[api].endpoint('POST', target)).toEqual({ target, model, isFree });
  expect(apis[api].endpoint('GET', target)).toBeNull();
});

test.each<[keyof typeof apis, string]>([
  ['messages', '/v1/messages?beta=false'],
  ['messages', '/model/x/invoke'],
  ['bedrock', '/v1/messages'],
  ['bedrock', '/model/x/converse'],
  ['bedrock', '/model/x/invoke?a=b'],
  ['bedrock', '/model/x/y/invoke'],
  ['bedrock', '/model/../async-invoke/invoke'],
  ['bedrock', '/model/x%2F..%2F..%2Fagents/invoke'],
  ['bedrock', '/model/x%2e%2e/invoke'],
  ['bedrock', '/model//invoke'],
  ['bedrock', '/guardrail/x/version/1/apply'],
  ['vertex', '/projects/another/locations/us-east5/publishers/anthropic/models/claude:rawPredict'],
  ['vertex', '/projects/p-1/locations/eu/publishers/anthropic/models/claude:rawPredict'],
  ['vertex', `${MODELS}claude:predict`],
  ['vertex', `${MODELS}claude/../../x:rawPredict`],
  ['vertex', `${MODELS}claude:rawPredict?alt=sse`],
  ['vertex', `${MODELS}:rawPredict`],
])('%s has no %s', (api, target) => {
  expect(apis[api].endpoint('POST', target)).toBeNull();
});

test.each<[keyof typeof apis, string, string, number | null]>([
  ['messages', 'HEAD', '/', 200],
  ['messages', 'GET', '/', null],
  ['bedrock', 'GET', '/inference-profiles?type=SYSTEM_DEFINED', 404],
  ['bedrock', 'GET', '/inference-profiles', 404],
  ['bedrock', 'GET', '/inference-profiles/x', null],
  ['bedrock', 'POST', '/inference-profiles', null],
  ['bedrock', 'HEAD', '/', null],
  ['vertex', 'HEAD', '/', null],
])('%s: %s %s is answered here: %s', (api, method, target, status) => {
  expect(apis[api].shortAnswer(method, target)).toBe(status);
});
