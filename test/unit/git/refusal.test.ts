import { describe, expect, test } from 'vitest';
import { explainRefusal, parseRefusal } from '../../../src/core/refusals/refusal.ts';
import { describeReadRefusal } from '../../../src/git/refusal.ts';

const meaningOf = (words: string): string => explainRefusal(parseRefusal(words));

const PLACES = [
  'http://127.0.0.1:40179/octo/sample.git/',
  'http://127.0.0.1:401/octo/403.git/',
  'https://github.com/read-only/not found.git/',
];

describe('a status counts where git says it, never in the address', () => {
  test.each(PLACES.map((url) => [url]))('%s', (url) => {
    const words = `fatal: unable to access '${url}': The requested URL returned error`;
    for (const status of [500, 502, 503]) {
      expect(describeReadRefusal(`${words}: ${String(status)}`)).toContain('server can be reached');
      expect(meaningOf(`${words}: ${String(status)}`)).toContain('could not be reached');
    }
    expect(describeReadRefusal(`${words}: 401`)).toContain('has expired');
    for (const status of [403, 404])
      expect(describeReadRefusal(`${words}: ${String(status)}`)).toContain('contents: read');
    expect(meaningOf(`${words}: 401`)).toContain('has expired');
    expect(meaningOf(`${words}: 403`)).toContain('may not push');
    expect(meaningOf(`${words}: 418`)).toMatch(/^The server refused the push/);
  });

  test.each([
    ['error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403', true],
    ["fatal: could not read Username for 'http://127.0.0.1:8080': terminal prompts disabled", true],
    ["fatal: Authentication failed for 'http://127.0.0.1:8080/octo/sample.git/'", true],
    ["remote: Repository not found.\nfatal: repository 'https://github.com/octo/sample.git/' not found", true],
    ["fatal: unable to access 'u': Failed to connect to github.com port 443 after 403 ms: Could not connect", false],
    ['fatal: http://127.0.0.1:40179/octo/sample.git/info/refs not valid: is this a git repository?', false],
  ])('%j: the token is to blame: %s', (words, isToken) => {
    expect(describeReadRefusal(words).includes('token')).toBe(isToken);
  });
});
