import { expect, test } from 'vitest';
import { escapeSkipWords, hasSkipWords } from '../../../../src/core/text/phrase.ts';

test.each([
  '[skip ci]',
  'x [ci skip] y',
  '[no ci]',
  '[skip actions]',
  '[actions skip]',
  '***NO_CI***',
  '** no ci **',
  'skip-checks: true',
  'request-checks : true',
  '[skip netlify]',
])('JSON with %j keeps CI from nothing, and is the same data', (words) => {
  const data = { title: words, list: { first: words, then: 'plain' }, checks: 'a' };
  const json = escapeSkipWords(JSON.stringify(data));
  expect(hasSkipWords(json)).toBe(false);
  expect(JSON.parse(json)).toEqual(data);
});

test('what skips nothing stays as it is', () => {
  const json = JSON.stringify({ tasks: ['skip'], numbers: [1, 2], text: 'a [link] * b *' });
  expect(escapeSkipWords(json)).toBe(json);
});
