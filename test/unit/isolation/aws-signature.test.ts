import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAwsSigner } from '../../../src/isolation/aws-signature.ts';

const HOST = 'https://bedrock-runtime.eu-west-1.amazonaws.com';
const keys = { region: 'eu-west-1', accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'an-example-of-a-secret' };
const BODY = '{"ü":1}';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-01-02T03:04:05Z'), toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

// These signatures were made by AWS's own library (@smithy/signature-v4 5.7.5).
test.each<[string, string, string, string]>([
  [
    "a model's id",
    '',
    '/model/eu.anthropic.claude-opus-5-5-v1:0/invoke',
    '8f2d8cf25cbfdca8d9329a43888f3f41e6e3b8b4811e6dac619727ba98bd8949',
  ],
  [
    'an ARN',
    '',
    '/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ax%2Fy/invoke',
    '4edbdcba198cb6142bc2d31cb9fb50432ed3e13caab512c74f184dfd3fdd9319',
  ],
  [
    'temporary keys',
    'a-session',
    '/model/eu.anthropic.claude-opus-5-5-v1:0/invoke',
    'dbe22170b4f305ba88ae9f5f921da8349ef62aaa36061e10902a6663284f4a34',
  ],
])('%s', async (_what, sessionToken, path, signature) => {
  const headers = await createAwsSigner({ ...keys, sessionToken })({ url: `${HOST}${path}`, body: BODY });
  const signed = `host;x-amz-date${sessionToken === '' ? '' : ';x-amz-security-token'}`;
  expect(headers).toEqual({
    authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/bedrock/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
    'x-amz-date': '20260102T030405Z',
    ...(sessionToken === '' ? {} : { 'x-amz-security-token': sessionToken }),
  });
});
