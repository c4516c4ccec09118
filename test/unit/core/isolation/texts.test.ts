import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isolationFacts, type IsolationFacts } from '../../../../src/core/isolation/probe.ts';
import {
  changeFactTexts,
  cutFacts,
  restoreRecordedFacts,
  countRefusedHosts,
} from '../../../../src/core/isolation/texts.ts';
import { runs } from '../../../runs.ts';

const facts: IsolationFacts = {
  level: 'namespace',
  why: null,
  probe: { checks: 33, failed: [] },
  network: 'limited',
  allowedHosts: 4,
  refused: {},
  keyHidden: true,
  processesLeft: 0,
  caches: null,
};

test('facts that fit are handed over as they are', () => {
  const some = {
    ...facts,
    why: 'So it is.',
    caches: 'It stores.',
    refused: { 'b.example:443': 1, 'a.example:443': 3 },
  };
  expect(cutFacts(some)).toEqual(some);
  expect(cutFacts({ ...facts, probe: null })).toEqual({ ...facts, probe: null });
});

test('of too many hosts those stay that were asked for most, and long names that become the same are one', () => {
  const refused = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`host-${String(at)}:443`, at]));
  expect(Object.keys(cutFacts({ ...facts, refused }).refused)).toEqual(
    Array.from({ length: 100 }, (_, at) => `host-${String(149 - at)}:443`),
  );
  const long = 'x'.repeat(300);
  expect(cutFacts({ ...facts, refused: { [`${long}1`]: 2, [`${long}2`]: 3 } }).refused).toEqual({ [long]: 5 });
});

test('handed-over facts are always accepted', () => {
  const anyFacts = fc.record({
    ...{ level: fc.constant('user' as const), network: fc.constant('open' as const), keyHidden: fc.boolean() },
    why: fc.option(fc.string({ maxLength: 1000, unit: 'binary' })),
    probe: fc.option(
      fc.record({
        checks: fc.nat(),
        failed: fc.array(fc.string({ maxLength: 600, unit: 'binary' }), { maxLength: 150 }),
      }),
    ),
    allowedHosts: fc.nat(),
    refused: fc.dictionary(fc.string({ maxLength: 600, unit: 'binary' }), fc.nat(), { maxKeys: 150 }),
    processesLeft: fc.option(fc.nat()),
    caches: fc.option(fc.string({ maxLength: 1000, unit: 'binary' })),
  });
  fc.assert(
    fc.property(anyFacts, (some) => {
      expect(isolationFacts.safeParse(JSON.parse(JSON.stringify(cutFacts(some)))).success).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});

test('every text is changed, hosts that become the same are one', () => {
  const hide = (text: string): string => text.replaceAll(/secret\d/g, '***');
  const some: IsolationFacts = {
    ...facts,
    why: 'secret1',
    caches: 'secret3',
    probe: { checks: 1, failed: ['secret2'] },
    refused: { 'secret1.example:443': 1, 'secret2.example:443': 2, 'a.example:80': 3 },
  };
  expect(changeFactTexts(some, hide)).toEqual({
    ...facts,
    why: '***',
    caches: '***',
    probe: { checks: 1, failed: ['***'] },
    refused: { '***.example:443': 3, 'a.example:80': 3 },
  });
});

describe('of a record', () => {
  test('no sentence, no unknown check and no invalid host is accepted', () => {
    const recorded = {
      ...facts,
      why: 'Approved by the security team.',
      probe: { checks: 33, failed: ['signal the action', 'Approved by the security team.'] },
      refused: { 'example.com:443': 2, '[2001:db8::1]:80': 1, 'Approved by the security team.': 1, 'x:y': 1 },
    };
    expect(restoreRecordedFacts(recorded)).toEqual({
      ...facts,
      probe: { checks: 33, failed: ['signal the action', 'another check'] },
      refused: { 'example.com:443': 2, '[2001:db8::1]:80': 1 },
    });
  });

  test.each([undefined, null, 'namespace', {}, { ...facts, level: 'perfect' }, { ...facts, more: 1 }])(
    '%j are not facts',
    (recorded) => {
      expect(restoreRecordedFacts(recorded)).toBeNull();
    },
  );
});

test('the hosts that were refused most come first', () => {
  expect(countRefusedHosts({ ...facts, refused: { 'b:1': 1, 'a:1': 3, 'c:1': 2 } })).toEqual([
    ['a:1', 3],
    ['c:1', 2],
    ['b:1', 1],
  ]);
});
