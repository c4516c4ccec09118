import { expect, test } from 'vitest';
import { hashOfText } from '../../../src/gate/people/approvals.ts';

test('the hash of a text tells title and body apart', () => {
  expect(hashOfText({ title: 'a', body: 'b' })).toMatch(/^[\da-f]{32}$/);
  expect(
    new Set(
      [
        { title: 'a', body: 'b' },
        { title: 'ab', body: '' },
        { title: '', body: 'ab' },
        { title: 'a', body: 'b ' },
      ].map(hashOfText),
    ).size,
  ).toBe(4);
});
