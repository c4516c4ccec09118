import assert from 'node:assert/strict';
import test from 'node:test';
import { shelf } from '../src/shelf.mjs';

test('keeps the order', () => {
  assert.deepEqual(shelf('b', 'a'), ['b', 'a']);
});
