import { expect, test } from 'vitest';
import { parseProviderWords, parseRetryAfter } from '../../../src/isolation/provider-connection.ts';

test.each<readonly [body: string, words: string | null]>([
  ['{"error":{"message":"Slow down.","type":"rate_limit"}}', 'Slow down.'],
  ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'Overloaded'],
  ['[{"error":{"code":429,"message":"Please retry in 5s."}}]', 'Please retry in 5s.'],
  ['{"error":"no such team"}', 'no such team'],
  ['{"message":"Forbidden"}', 'Forbidden'],
  ['{"detail":"not found"}', 'not found'],
  ['upstream connect error\n  reset', 'upstream connect error reset'],
  ['<html><h1>502 Bad Gateway</h1></html>', null],
  ['{"error":{"code":7}}', null],
  ['{"error":null}', null],
  ['42', null],
  ['[]', null],
  ['', null],
])('%s', (body, words) => {
  expect(parseProviderWords(body)).toBe(words);
});

test('words are no longer than a line', () => {
  expect(parseProviderWords(JSON.stringify({ message: 'x'.repeat(5_000) }))).toHaveLength(300);
});

test.each<readonly [header: string, ms: number | null]>([
  ['3600', 3_600_000],
  [' 0 ', 0],
  ['', null],
  ['-1', null],
  ['1e9', null],
  ['999999999', null],
  ['Wed, 21 Oct 2026 07:28:00 GMT', null],
])('retry-after: %s', (header, ms) => {
  expect(parseRetryAfter(header)).toBe(ms);
});
