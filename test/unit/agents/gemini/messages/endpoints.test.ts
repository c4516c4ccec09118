import { expect, test } from 'vitest';
import { findEndpoint, shortenGeminiRequest } from '../../../../../src/agents/gemini/messages/protocol.ts';

test.each<[string, string, boolean]>([
  ['/v1beta/models/gemini-2.5-pro:generateContent', 'gemini-2.5-pro', false],
  ['/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse', 'gemini-2.5-pro', false],
  ['/v1beta/models/gemini-2.5-pro:streamGenerateContent', 'gemini-2.5-pro', false],
  ['/v1/models/gemini-3-flash-preview:generateContent', 'gemini-3-flash-preview', false],
  ['/v1beta/models/gemini_x.y-001:countTokens', 'gemini_x.y-001', true],
])('%s', (target, model, isFree) => {
  expect(findEndpoint('POST', target)).toMatchObject({ model, isFree });
  expect(findEndpoint('GET', target)).toBeNull();
});

test.each([
  '/v1beta/models',
  '/v1beta/models/gemini-2.5-pro',
  '/v1beta/models/:generateContent',
  '/v1beta/models/gemini-2.5-pro:embedContent',
  '/v1beta/models/gemini-2.5-pro:batchGenerateContent',
  '/v1beta/models/gemini-2.5-pro:predictLongRunning',
  '/v1beta/models/gemini-2.5-pro:GENERATECONTENT',
  '/v1beta/models/gemini-2.5-pro:generateContent/',
  '/v1beta/models/gemini-2.5-pro:generateContent?alt=sse',
  '/v1beta/models/gemini-2.5-pro:countTokens?alt=sse',
  '/v1beta/models/gemini-2.5-pro:generateContent?key=k',
  '/v1beta/models/gemini-2.5-pro:generateContent?$fields=candidates',
  '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=json',
  '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=k',
  '/v1beta/models/gemini-2.5-pro:streamGenerateContent?key=k&alt=sse',
  '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse#x',
  '/v1beta/models/../files/x:generateContent',
  '/v1beta/models/x..y:generateContent',
  '/v1beta/models/..:generateContent',
  '/v1beta/models/x%2f..%2f..%2ffiles:generateContent',
  '/v1beta/models/x/y:generateContent',
  `/v1beta/models/${'x'.repeat(101)}:generateContent`,
  '/v1beta/tunedModels/x:generateContent',
  '/v1alpha/models/gemini-2.5-pro:generateContent',
  '/v1beta/files',
  '/upload/v1beta/files',
  '/v1beta/cachedContents',
  '/v1beta/operations/x',
  'http://evil.example/v1beta/models/x:generateContent',
  '//evil.example/v1beta/models/x:generateContent',
  '/x/v1beta/models/gemini-2.5-pro:generateContent',
])('there is no %s', (target) => {
  expect(findEndpoint('POST', target)).toBeNull();
});

test.each([
  ['/v1beta/files', 'POST /v1beta/files'],
  ['/v1beta/files?key=AIza-a-key', 'POST /v1beta/files with a query'],
  ['/?', 'POST / with a query'],
  ['x'.repeat(200), `POST ${'x'.repeat(75)}`],
])('%s is reported as %s', (target, told) => {
  expect(shortenGeminiRequest('POST', target)).toBe(told);
});
