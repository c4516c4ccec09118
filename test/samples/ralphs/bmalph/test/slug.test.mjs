import assert from 'node:assert/strict';
import test from 'node:test';
import { slug } from '../src/slug.mjs';

test('makes a slug', () => {
  assert.equal(slug('Hello, World!'), 'hello-world');
});
