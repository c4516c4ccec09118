import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { showWaits } from '../../../../src/cli/waiting-line.ts';
import { findOldestWait, withNamedWait } from '../../../../src/ports/waits.ts';

const CLEAR = '\r\u001B[2K';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Shows waits in a list of what is written. */
function shown(columns: number | null) {
  const written: string[] = [];
  const write = (text: string): number => written.push(text);
  const now = (): number => performance.now();
  return { written, ...showWaits({ write, columns: () => columns, now, wait: findOldestWait }) };
}

/** Begins a wait, and returns what ends it. */
function begin(what: string): () => Promise<void> {
  const over = Promise.withResolvers<undefined>();
  const wait = withNamedWait(what, () => over.promise);
  return async () => {
    over.resolve(undefined);
    await wait;
  };
}

test('a pipe reads after 3 s what a command waits for, and once a minute from then on', async () => {
  const { written, stop } = shown(null);
  const end = begin('git fetch');
  vi.advanceTimersByTime(2_900);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(written).toEqual(['Waiting for git fetch (3 s) …\n']);
  vi.advanceTimersByTime(1_000);
  expect(written).toEqual(['Waiting for git fetch (3 s) …\n', 'Waiting for git fetch (1 min 3 s) …\n']);
  await end();
  vi.advanceTimersByTime(120_000);
  expect(written).toHaveLength(2);
  stop();
});

test('a terminal redraws one line within its width, which makes way for other output and for the end', async () => {
  const { written, makeWay, stop } = shown(24);
  const end = begin('npm to install Claude Code');
  vi.advanceTimersByTime(4_000);
  expect(written).toEqual(Array.from({ length: 2 }, () => `${CLEAR}Waiting for npm to inst`));
  makeWay('a line\n');
  expect(written.splice(0).at(-1)).toBe(CLEAR);
  vi.advanceTimersByTime(2_000);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(2_000);
  await end();
  vi.advanceTimersByTime(1_000);
  expect(written.at(-1)).toBe(CLEAR);
  stop();
  expect(written.at(-1)).toBe(CLEAR);
});

test('nothing is written into a line that is not complete, and nothing while nothing is waited for', async () => {
  const { written, makeWay, stop } = shown(80);
  vi.advanceTimersByTime(10_000);
  const end = begin('GitHub');
  makeWay('Write 3 files? ');
  vi.advanceTimersByTime(10_000);
  expect(written).toEqual([]);
  await end();
  stop();
});

test('the outer wait is the one shown, however the inner one ends', async () => {
  await withNamedWait('the copy of your checkout', async () => {
    await withNamedWait('git', () => Promise.reject(new Error('broken'))).catch(() => undefined);
    await withNamedWait('git', async () => {
      expect(findOldestWait()?.what).toBe('the copy of your checkout');
    });
  });
  expect(findOldestWait()).toBeNull();
});
