import { expect, test } from 'vitest';
import { capped } from '../../../../src/core/text/capped.ts';

test('a text is cut to a length that includes the ellipsis', () => {
  expect(['abc', 'abcd'].map((text) => capped(text, 3))).toEqual(['abc', 'ab…']);
});
