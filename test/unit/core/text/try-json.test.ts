import { expect, test } from 'vitest';
import { tryJson } from '../../../../src/core/text/try-json.ts';

test('a text that is not JSON has no value', () => {
  expect([tryJson('{"a":1}'), tryJson('{')]).toEqual([{ a: 1 }, undefined]);
});
