import { expect, test } from 'vitest';
import { isCourtesy } from '../../../../src/core/feedback/reviews/threads.ts';

test.each([
  'Thanks!',
  'thank you so much',
  'LGTM',
  'LGTM, thanks!',
  'Looks good to me. 👍',
  '@ralph Great work, thank you!',
  'Perfect :tada:',
  'Nice catch',
  'Got it, thanks for the explanation',
])('asks for nothing: %s', (text) => {
  expect(isCourtesy(text)).toBe(true);
});

test.each([
  '',
  'Yes',
  'OK',
  '+1',
  '👍',
  'Agreed',
  'Thanks, but rename it',
  'Great idea, do it',
  'LGTM once it is tested',
  'Looks good?',
  'Not good',
  'Thanks for breaking it',
  `Thanks ${'so much '.repeat(20)}`,
])('may ask for something: %s', (text) => {
  expect(isCourtesy(text)).toBe(false);
});
