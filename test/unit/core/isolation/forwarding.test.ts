import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  buildAnswerHeaders,
  pairHeaders,
  hostOfPage,
  parsePageRequest,
  buildRequestHeaders,
} from '../../../../src/core/isolation/page-request.ts';
import { runs } from '../../../runs.ts';

test.each([
  ['http://a.example/', 'a.example', '/'],
  ['http://a.example', 'a.example', '/'],
  ['HTTP://A.Example./x', 'a.example', '/x'],
  ['http://a.example?q=1', 'a.example', '/?q=1'],
  ['http://a.example:8080/x/../y?q=http://b@c', 'a.example:8080', '/x/../y?q=http://b@c'],
  ['http://[2606::1]:81/', '[2606:0:0:0:0:0:0:1]:81', '/'],
])('%s is asked of %s', (url, host, path) => {
  const page = parsePageRequest(url);
  expect(page && [hostOfPage(page.target), page.path]).toEqual([host, path]);
});

test.each([
  '/',
  '*',
  '',
  'a.example/',
  'https://a.example/',
  'ftp://a.example/',
  'http:/a.example/',
  'http:///a.example/',
  'http://user@a.example/',
  'http://user:password@a.example/',
  'http://allowed.example\\@a.example/',
  'http://a.example#@b.example/',
  'http://a.example/#b',
  'http://a%2eexample/',
  'http://a.example:0/',
  'http://2130706433/',
  'http://a.example/ b',
  'http://a.example/\r\nX: y',
  'http://a.example/é',
])('%j is not passed on', (url) => {
  expect(parsePageRequest(url)).toBeNull();
});

const target = { host: 'a.example', port: 80 };

test('headers about the connection to the proxy stay there', () => {
  const received = pairHeaders([
    ...['Host', 'other.example', 'Proxy-Authorization', 'Basic eA==', 'proxy-connection', 'keep-alive'],
    ...['Connection', 'close, X-Hop', 'Connection', 'x-other , te', 'X-Hop', '1', 'x-OTHER', '2', 'TE', 'trailers'],
    ...['Keep-Alive', '5', 'Upgrade', 'h2c', 'Trailer', 'x', 'Transfer-Encoding', 'chunked', 'Expect', '100-continue'],
    ...['Cookie', 'a', 'Cookie', 'b', 'Authorization', 'stays'],
  ]);
  expect(buildRequestHeaders(received, target, { kind: 'chunked' })).toEqual([
    ['Host', 'a.example'],
    ['Cookie', 'a'],
    ['Cookie', 'b'],
    ['Authorization', 'stays'],
    ['Transfer-Encoding', 'chunked'],
  ]);
});

test('a Connection header cannot take the length of a body away', () => {
  const received = pairHeaders(['Connection', 'content-length, host', 'Content-Length', '5']);
  expect(buildRequestHeaders(received, target, { kind: 'length', bytes: '5' })).toEqual([
    ['Host', 'a.example'],
    ['Content-Length', '5'],
  ]);
});

test.each([
  ['its length', ['Content-Length', '5', 'Connection', 'close'], [['Content-Length', '5']]],
  ['no length next to chunks', ['Content-Length', '5', 'Transfer-Encoding', 'chunked'], []],
  [
    'cookies',
    ['Set-Cookie', 'a', 'Set-Cookie', 'b', 'Keep-Alive', '1'],
    [
      ['Set-Cookie', 'a'],
      ['Set-Cookie', 'b'],
    ],
  ],
])('an answer keeps %s', (_, raw, kept) => {
  expect(buildAnswerHeaders(pairHeaders(raw))).toEqual(kept);
});

test('no text makes it throw, or leaves what could end a line', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: fc.constantFrom(...Array.from('ab.1-:/@?#%[]\\*')) }),
        fc.string({ unit: fc.nat(0x24f).map((code) => String.fromCharCode(code)) }),
      ),
      (text) => {
        for (const url of [text, `http://${text}`, `http://a.example/${text}`]) {
          const page = parsePageRequest(url);
          if (page !== null) expect(page.path).toMatch(/^\/[\x21-\x7e]*$/);
        }
      },
    ),
    { numRuns: runs(500) },
  );
});
