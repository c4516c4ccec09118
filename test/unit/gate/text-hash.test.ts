import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { IssueText } from '../../../src/core/tasks/issue-task.ts';
import { hashOfText } from '../../../src/gate/people/trust.ts';

const hash = (text: IssueText) => hashOfText(text, (bytes) => createHash('sha256').update(bytes).digest('hex'));

test('the hash of a text differs with where its title ends', () => {
  expect(hash({ title: 'a', body: 'b' })).toMatch(/^[\da-f]{32}$/);
  expect(
    new Set(
      [
        { title: 'a', body: 'b' },
        { title: 'ab', body: '' },
        { title: '', body: 'ab' },
        { title: 'a', body: 'b ' },
      ].map(hash),
    ).size,
  ).toBe(4);
});
