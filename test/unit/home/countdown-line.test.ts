import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCountdownLine } from '../../../src/home/status-files.ts';
import { createCountdown } from '../../../src/wiring/home/home-world.ts';
import { systemClock } from '../../../src/wiring/world.ts';

const CLEAR = '\r\u001B[2K';

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Creates a line in a terminal of this width; records its output. */
function lineOf(columns = 80) {
  const written: string[] = [];
  const line = createCountdownLine({
    write: (text) => void written.push(text),
    columns: () => columns,
    words: (until) => `${String((until - Date.now()) / 1000)} s left`,
  });
  return { line, written };
}

describe('the line of a wait', () => {
  test('is drawn again each second, in its own place', () => {
    const { line, written } = lineOf();
    line.begin(10_000);
    vi.advanceTimersByTime(2_000);
    expect(written).toEqual([`${CLEAR}10 s left`, `${CLEAR}9 s left`, `${CLEAR}8 s left`]);
  });

  test('stays below what is printed in the meantime', () => {
    const { line, written } = lineOf();
    line.begin(10_000);
    line.print('! Ending.\n');
    expect(written.join('')).toBe(`${CLEAR}10 s left${CLEAR}! Ending.\n${CLEAR}10 s left`);
  });

  test('is gone once the wait is over, and before it there is nothing', () => {
    const { line, written } = lineOf();
    line.print('Before.\n');
    line.end();
    line.begin(10_000);
    line.end();
    vi.advanceTimersByTime(5_000);
    line.print('Behind.\n');
    expect(written).toEqual(['Before.\n', `${CLEAR}10 s left`, CLEAR, 'Behind.\n']);
  });

  test('says how long it takes on a narrow terminal, too', () => {
    const written: string[] = [];
    const line = createCountdown({ isTTY: true, columns: 40 }, {}, (text) => void written.push(text));
    line?.begin(systemClock.now() + 27 * 60_000);
    line?.end();
    expect(written[0]).toMatch(/27 min( 0 s)? left, waiting until/);
  });

  test('never wraps', () => {
    const { line, written } = lineOf(5);
    line.begin(10_000);
    expect(written).toEqual([`${CLEAR}10 s`]);
  });
});
