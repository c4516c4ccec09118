import { expect, test } from 'vitest';
import type { OpenAiApi } from '../../../../src/agents/openai/usage.ts';
import { forwarded, options, read } from './fixtures.ts';

test.each<[string, string, string]>([
  ['/v1', '/v1/responses', '/responses'],
  ['/v1', '/v1/chat/completions', '/chat/completions'],
  ['', '/responses', '/responses'],
  ['/api/v1', '/api/v1/chat/completions', '/chat/completions'],
])('below %j, %s is sent to %s behind the address of the provider', (basePath, target, sent) => {
  expect(forwarded({ target }, { basePath }).target).toBe(sent);
});

test.each<[string, string, readonly OpenAiApi[]]>([
  ['GET', '/v1/responses', options.apis],
  ['DELETE', '/v1/responses/resp_1', options.apis],
  ['POST', '/v1/responses/resp_1/cancel', options.apis],
  ['POST', '/v1/responses/compact', options.apis],
  ['POST', '/v1/responses?background=true', options.apis],
  ['POST', '/v1/responses/', options.apis],
  ['POST', '/v1/chat/completions/chatcmpl-1', options.apis],
  ['GET', '/v1/chat/completions', options.apis],
  ['POST', '/v1/completions', options.apis],
  ['POST', '/v1/embeddings', options.apis],
  ['POST', '/v1/files', options.apis],
  ['POST', '/v1/batches', options.apis],
  ['POST', '/v1/containers', options.apis],
  ['POST', '/v1/alpha/search', options.apis],
  ['POST', '/v1/organization/admin_api_keys', options.apis],
  ['POST', '/v1/../v1/responses', options.apis],
  ['POST', '/v1/%72esponses', options.apis],
  ['POST', '/responses', options.apis],
  ['POST', '/v1//responses', options.apis],
  ['POST', 'http://evil.example/v1/responses', options.apis],
  ['POST', '/v1/chat/completions', ['responses']],
  ['POST', '/v1/responses', ['chat']],
  ['POST', '/v1/models', options.apis],
  ['GET', '/v1/models-of-others', options.apis],
  ['GET', '/other/models', options.apis],
])('%s %s of %j is refused', (method, target, apis) => {
  const reading = read({ method, target }, { apis });
  expect(reading).toMatchObject({ kind: 'refused', answer: { status: 400 }, why: `${method} ${target}` });
});

test.each(['/v1/models', '/v1/models?client_version=0.169.0', '/v1/models/gpt-5.5'])(
  'GET %s, which nobody needs, is answered without the provider',
  (target) => {
    expect(read({ method: 'GET', target, headers: {}, body: '' })).toMatchObject({
      kind: 'answered',
      answer: { status: 404, headers: { 'x-should-retry': 'false' } },
    });
  },
);
