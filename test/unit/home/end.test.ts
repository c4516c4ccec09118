import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/core/outcome.ts';
import { renderEndAtHome } from '../../../src/report/sentences/at-home.ts';
import { policy } from '../core/core-fixtures.ts';
import { END, entry, report } from '../report/fixtures.ts';

const parked: Outcome = { kind: 'parked', reason: 'calls_per_hour', resumeAt: END + 42 * 60_000 };

describe('a run at home that ended at a limit', () => {
  test('does not promise to continue by itself', () => {
    expect(renderEndAtHome(report(parked, { runUrl: '' }))).toContain('Work can continue after');
  });

  test('suggests on-limit wait where that is not set', () => {
    expect(renderEndAtHome(report(parked))).toMatch(/\nNext: run again after .+, or use --on-limit wait\.$/);
  });

  test.each([
    ['iterations', 'it has made all the iterations that max-iterations allows'],
    ['minutes', 'max-minutes would leave no time for a call'],
    ['cost', 'it has spent what max-cost-usd allows'],
  ] as const)(
    'with on-limit wait says why it did not wait, and suggests only what is not set: %s',
    (waitSkippedBy, why) => {
      const text = renderEndAtHome(report(parked, { waitSkippedBy, policy: { ...policy, onLimit: 'wait' } }));
      expect(text).toContain(`The run did not wait for that: ${why}.`);
      expect(text).not.toContain('--on-limit');
      expect(text).toMatch(/\nNext: run again after [^,]+\.$/);
    },
  );
});

describe('a run at home that was ended at once', () => {
  const cancelled: Outcome = { kind: 'cancelled', reason: 'signal' };
  const cut = entry(2, { evidence: { end: { kind: 'cancelled' } } });

  test('says that an iteration is lost where one was running', () => {
    const text = renderEndAtHome(report(cancelled, { iterations: [entry(1), cut] }));
    expect(text).toMatch(/\nNext: run again to continue; the iteration that was running is lost\.$/);
  });

  test('and not while it waited or verified', () => {
    expect(renderEndAtHome(report(cancelled, { iterations: [entry(1)] }))).toMatch(/\nNext: run again to continue\.$/);
  });
});
