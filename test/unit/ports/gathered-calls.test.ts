import { expect, test } from 'vitest';
import { gatherCalls } from '../../../src/ports/gathered-calls.ts';

/** Gathers numbers, and answers with twice as much; an odd one fails by itself, and 13 makes all fail. */
function createDoubler() {
  const asked: (readonly number[])[] = [];
  const double = gatherCalls<number, number>((numbers) => {
    asked.push(numbers);
    if (numbers.includes(13)) return Promise.reject(new Error('All failed.'));
    return Promise.resolve(
      numbers.map((one) =>
        one % 2 === 1
          ? { status: 'rejected', reason: new Error(`${String(one)} is odd.`) }
          : { status: 'fulfilled', value: 2 * one },
      ),
    );
  });
  return { asked, double };
}

test('calls of one turn are answered together, each by itself, and later ones apart', async () => {
  const { asked, double } = createDoubler();
  const results = await Promise.allSettled([2, 3, 4].map(double));
  expect(results.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    4,
    'Error: 3 is odd.',
    8,
  ]);
  expect(await double(10)).toBe(20);
  expect(asked).toEqual([[2, 3, 4], [10]]);
});

test('a failure of the whole answer is a failure of each call', async () => {
  const results = await Promise.allSettled([2, 13].map(createDoubler().double));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('a call that gets no answer fails', async () => {
  const silent = gatherCalls<number, number>(() => Promise.resolve([]));
  await expect(silent(1)).rejects.toThrow('a call got no answer');
});
