import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costly, cpuMs } from '../../../cpu.ts';
import {
  createLogTail,
  MAX_TAIL_CHARS,
  MAX_TAIL_LINES,
  type LogWindow,
} from '../../../../src/core/feedback/checks/log-tail.ts';

const at = (second: number, text: string) => `2026-11-21T12:00:${String(second).padStart(2, '0')}.5000000Z ${text}`;
const instant = (second: number) => Date.parse('2026-11-21T12:00:00Z') + second * 1000;
const whole: LogWindow = { from: null, to: null };

costly('lines of any length cost no more than their length', () => {
  const line = `${'x'.repeat(2100)}\n`.repeat(100);
  const spent = cpuMs(() => {
    const tail = createLogTail(whole);
    for (let count = 0; count < 50; count += 1) tail.push(line);
    expect(tail.end()).not.toBe('');
  });
  expect(spent).toBeLessThan(2_000);
});

/** Returns the end of a log that arrives in pieces. */
function endOf(pieces: readonly string[], window: LogWindow = whole): string {
  const tail = createLogTail(window);
  for (const piece of pieces) tail.push(piece);
  return tail.end();
}

describe('the end of a log', () => {
  const log = [at(1, 'set up'), at(3, 'npm test'), '  at line 7', at(4, 'not ok'), at(6, 'clean up')].join('\n');

  test.each<{ what: string; log: string; window: LogWindow; kept: string }>([
    { what: 'no text', log: '', window: whole, kept: '' },
    {
      what: 'a whole log, without instants',
      log,
      window: whole,
      kept: 'set up\nnpm test\n  at line 7\nnot ok\nclean up',
    },
    {
      what: 'one step: by its seconds, with lines that have no instant',
      log,
      window: { from: instant(3), to: instant(4) },
      kept: 'npm test\n  at line 7\nnot ok',
    },
    { what: 'a step that has not ended', log, window: { from: instant(4), to: null }, kept: 'not ok\nclean up' },
    {
      what: 'a step whose second ends with its last line',
      log: at(3, 'in time'),
      window: { from: instant(2), to: instant(3) },
      kept: 'in time',
    },
    {
      what: 'a step that none of the lines belongs to: the whole log',
      log,
      window: { from: instant(20), to: instant(30) },
      kept: 'set up\nnpm test\n  at line 7\nnot ok\nclean up',
    },
    {
      what: 'Windows line ends and a byte order mark',
      log: `\uFEFF${at(1, 'one')}\r\n${at(1, 'two')}\r\n`,
      window: whole,
      kept: 'one\ntwo',
    },
    { what: 'an invalid instant', log: '2026-99-21T12:00:00Z text', window: whole, kept: 'text' },
    { what: 'an empty line of a log', log: `2026-11-21T12:00:00Z\n${at(1, 'x')}`, window: whole, kept: '\nx' },
  ])('$what', ({ log: text, window, kept }) => {
    expect(endOf([text], window)).toBe(kept);
  });

  test('has at most 200 lines, the last ones', () => {
    const lines = Array.from({ length: 1000 }, (_none, index) => at(1, `line ${String(index)}`));
    const kept = endOf([lines.join('\n')]).split('\n');
    expect(kept).toHaveLength(MAX_TAIL_LINES);
    expect([kept[0], kept.at(-1)]).toEqual(['line 800', 'line 999']);
  });

  test('cuts a long line, and is never longer than its limit', () => {
    const kept = endOf([`${at(1, 'x'.repeat(1_000_000))}\n`.repeat(100)]);
    expect(kept.length).toBeLessThanOrEqual(MAX_TAIL_CHARS);
    expect(kept.split('\n')[0]).toBe(`${'x'.repeat(2000 - 512)}…`);
  });

  test.each([1970, 1990, 1999])('does not keep half of a word that begins at character %i', (before) => {
    const kept = endOf([
      at(1, `${'x '.repeat(before / 2).padEnd(before)}sk-0123456789-secret-of-this-job`.padEnd(9000, ' x')),
    ]);
    expect(kept).not.toContain('sk-0');
    expect(kept.length).toBeGreaterThan(1900);
  });

  test('is the same however the log is cut into pieces', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.constant(at(3, 'in the step')),
      fc.constant(at(9, 'after')),
    );
    const window = { from: instant(2), to: instant(4) };
    fc.assert(
      fc.property(fc.array(line, { maxLength: 400 }), fc.integer({ min: 1, max: 50 }), (lines, size) => {
        const text = lines.join('\n');
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_none, index) =>
          text.slice(index * size, (index + 1) * size),
        );
        const kept = endOf(pieces, window);
        expect(kept).toBe(endOf([text], window));
        expect(kept.split('\n').length).toBeLessThanOrEqual(MAX_TAIL_LINES);
        expect(kept.length).toBeLessThanOrEqual(MAX_TAIL_CHARS);
      }),
    );
  });
});
