import { describe, expect, test } from 'vitest';
import {
  recordInCircuit,
  closeCircuit,
  viewCircuit,
  type CircuitFacts,
  createClosedCircuit,
  createProbingCircuit,
  type Circuit,
} from '../../../../src/core/lane/circuit.ts';
import { MINUTE, noon, policy } from '../core-fixtures.ts';

const bounds = policy.circuit;
const idle: CircuitFacts = {
  progress: false,
  neutral: false,
  failure: null,
  questionOnly: false,
  fingerprints: [],
  countedDenials: 0,
  output: 'normal',
  taskId: 'issue-1',
  returned: false,
};
const progress: CircuitFacts = { ...idle, progress: true };
const question: CircuitFacts = { ...idle, questionOnly: true };
const neutral: CircuitFacts = { ...idle, neutral: true };
const denied: CircuitFacts = { ...idle, countedDenials: 1 };
const declined: CircuitFacts = { ...idle, output: 'declined' };
const error = (fingerprint: string, more: Partial<CircuitFacts> = {}): CircuitFacts => ({
  ...idle,
  fingerprints: [fingerprint],
  ...more,
});

const word = (circuit: Circuit, now = noon): string => {
  const seen = viewCircuit(circuit, bounds, now);
  const detail = seen.kind === 'half-open' ? seen.of : circuit.kind === 'open' ? circuit.reason : '';
  return `${seen.kind} ${detail}`.trim();
};
const after = (facts: readonly CircuitFacts[], circuit: Circuit = createClosedCircuit(0), now = noon): Circuit =>
  facts.reduce((next, fact) => recordInCircuit(next, fact, bounds, now), circuit);
const opened = (ago: number, more: Partial<Circuit & { kind: 'open' }> = {}): Circuit => ({
  kind: 'open',
  totalOpens: 1,
  reason: 'no_progress',
  openedAt: noon - ago,
  taskId: 'issue-1',
  ...more,
});

const timelines: readonly (readonly [string, readonly CircuitFacts[], string])[] = [
  ['one idle iteration', [idle], 'closed'],
  ['threshold − 1 idle iterations', [idle, idle], 'half-open diagnosis'],
  ['two idle ones, then progress', [idle, idle, progress], 'closed'],
  ['idle ones with progress between', [idle, progress, idle], 'closed'],
  ['threshold idle iterations', [idle, idle, idle], 'open no_progress'],
  [
    'the same error five times, beside progress',
    [error('a'), error('a'), error('a'), error('a'), error('a')].map((facts) => ({ ...facts, progress: true })),
    'closed',
  ],
  ['one denial', [denied], 'closed'],
  ['two denials in a row', [denied, denied], 'open permission_denied'],
  ['two denials, not in a row', [denied, progress, denied], 'closed'],
  ['output that declined once', [declined], 'closed'],
  ['output that declined twice in a row without progress', [declined, declined], 'open output_decline'],
  [
    'output that declined twice with progress',
    [
      { ...declined, progress: true },
      { ...declined, progress: true },
    ],
    'closed',
  ],
  ['a question only', [idle, question], 'closed'],
  ['a second question counts', [idle, question, question], 'half-open diagnosis'],
  ['questions between idle iterations are forgiven once', [question, idle, question, idle], 'open no_progress'],
  ['progress forgives the next question again', [question, progress, idle, question], 'closed'],
  ['neutral iterations neither raise', [idle, neutral, neutral, neutral], 'closed'],
  ['nor clear a counter', [idle, neutral, idle, neutral], 'half-open diagnosis'],
];
test.each(timelines.map(([name, facts, expected]) => ({ name, facts, expected })))(
  '$name → $expected',
  ({ facts, expected }) => {
    expect(word(after(facts))).toBe(expected);
  },
);

test.each<[string, readonly CircuitFacts[], string]>([
  ['five times', [error('a'), error('a'), error('a'), error('a'), error('a')], 'open same_error'],
  ['five times another', [error('a'), error('b'), error('c'), error('d'), error('e')], 'closed'],
  ['with one iteration free of it', [error('a'), error('a'), error('b'), error('a'), error('a'), error('a')], 'closed'],
  [
    'with one iteration of progress',
    [error('a'), error('a'), { ...error('a'), progress: true }, error('a'), error('a'), error('a')],
    'closed',
  ],
  [
    'beside changing ones',
    ['b', 'c', 'd', 'e', 'f'].map((other) => ({ ...idle, fingerprints: [other, 'a'] })),
    'open same_error',
  ],
  [
    'with a neutral iteration between',
    [error('a'), error('a'), neutral, error('a'), error('a'), error('a')],
    'open same_error',
  ],
])('the same error %s → %s', (_, facts, expected) => {
  const patient = { ...bounds, noProgress: 99 };
  const circuit = facts.reduce<Circuit>(
    (next, fact) => recordInCircuit(next, fact, patient, noon),
    createClosedCircuit(0),
  );
  expect(circuit.kind === 'open' ? `open ${circuit.reason}` : circuit.kind).toBe(expected);
});

test.each<[string, readonly CircuitFacts[], string]>([
  ['progress', [progress], 'closed'],
  ['none', [idle], 'open no_progress'],
  ['a first question holds', [question], 'half-open probe'],
  ['a second does not', [question, question], 'open no_progress'],
  ['a neutral iteration says nothing', [neutral], 'half-open probe'],
  ['nor does it spare the next', [neutral, idle], 'open no_progress'],
  ['a task that had its turn before counts here', [{ ...idle, returned: true }], 'open no_progress'],
])('the probe after a task was set aside: %s → %s', (_, facts, expected) => {
  expect(word(after(facts, createProbingCircuit(createClosedCircuit(0))))).toBe(expected);
});

test('the probe after a task was set aside is not forgiven a second question', () => {
  expect(word(after([question], createProbingCircuit({ ...createClosedCircuit(0), questionHeld: true })))).toBe(
    'open no_progress',
  );
});

test('that a task which was set aside changes nothing again is not counted', () => {
  expect(word(after([idle, ...Array.from({ length: 5 }, () => ({ ...idle, returned: true }))]))).toBe('closed');
});

test.each<[string, CircuitFacts, Circuit['kind']]>([
  ['normal output', idle, 'closed'],
  ['output that was cut off', { ...idle, output: 'unmeasured' }, 'open'],
])('output that declined twice with %s between', (_, between, expected) => {
  const patient = { ...bounds, noProgress: 9 };
  expect(
    [declined, between, declined].reduce<Circuit>(
      (next, fact) => recordInCircuit(next, fact, patient, noon),
      createClosedCircuit(0),
    ).kind,
  ).toBe(expected);
});

test('of many errors the ten longest streaks are kept', () => {
  const many = Array.from({ length: 15 }, (_, index) => `other-${String(index)}`);
  const circuit = after([error('old'), { ...idle, fingerprints: [...many, 'old'] }]);
  expect(circuit).toMatchObject({
    errorStreaks: [
      { fingerprint: 'old', count: 2 },
      ...many.slice(0, 9).map((fingerprint) => ({ fingerprint, count: 1 })),
    ],
  });
});

test('progress in a diagnosis clears every counter', () => {
  expect(after([idle, idle, { ...error('a'), progress: true }])).toEqual(createClosedCircuit(0));
  expect(after([error('a', {}), error('a', {}), progress])).toEqual(createClosedCircuit(0));
});

describe('an open circuit', () => {
  const ages: readonly (readonly [string, Circuit, string])[] = [
    ['29 minutes ago', opened(29 * MINUTE), 'open no_progress'],
    ['30 minutes ago', opened(30 * MINUTE), 'half-open probe'],
    ['31 minutes ago', opened(31 * MINUTE), 'half-open probe'],
    ['opened in the future', opened(-1), 'open no_progress'],
    ['opened far in the future', opened(-40 * MINUTE), 'open no_progress'],
    ['unreadable, so long ago', opened(noon, { reason: 'state_unreadable' }), 'half-open probe'],
  ];
  test.each(ages.map(([name, circuit, expected]) => ({ name, circuit, expected })))(
    '$name → $expected',
    ({ circuit, expected }) => {
      expect(word(circuit)).toBe(expected);
    },
  );

  test('an idle probe opens it again and counts the trip', () => {
    expect(recordInCircuit(opened(31 * MINUTE), idle, bounds, noon)).toEqual(opened(0, { totalOpens: 2 }));
  });

  test('a probe that asks a question is idle: exactly one probe', () => {
    expect(recordInCircuit(opened(31 * MINUTE), question, bounds, noon)).toEqual(opened(0, { totalOpens: 2 }));
  });

  test('a probe that was denied says so', () => {
    expect(recordInCircuit(opened(31 * MINUTE), denied, bounds, noon)).toEqual(
      opened(0, { totalOpens: 2, reason: 'permission_denied' }),
    );
  });

  test('a probe with progress closes it, and the trips stay counted', () => {
    expect(recordInCircuit(opened(31 * MINUTE), progress, bounds, noon)).toEqual(createClosedCircuit(1));
  });

  test('a neutral probe decides nothing', () => {
    const circuit = opened(31 * MINUTE);
    expect(recordInCircuit(circuit, neutral, bounds, noon)).toBe(circuit);
  });

  test('a probe ran, whatever the clock says when it ends', () => {
    expect(recordInCircuit(opened(31 * MINUTE), progress, bounds, noon - 5 * 60 * MINUTE)).toEqual(
      createClosedCircuit(1),
    );
  });

  test('circuit-auto-reset closes it at once, but not one that could not be read', () => {
    expect(viewCircuit(opened(0), { ...bounds, autoReset: true }, noon)).toEqual({ kind: 'closed' });
    expect(viewCircuit(opened(noon, { reason: 'state_unreadable' }), { ...bounds, autoReset: true }, noon)).toEqual({
      kind: 'half-open',
      of: 'probe',
    });
  });

  test('a reset closes it', () => {
    expect(closeCircuit(opened(0))).toEqual(createClosedCircuit(1));
  });
});

test.each([
  [1, ['open']],
  [2, ['half-open', 'open']],
  [4, ['closed', 'closed', 'half-open', 'open']],
])('with circuit-no-progress %i idle iterations show %j', (noProgress, expected) => {
  const own = { ...bounds, noProgress };
  let circuit: Circuit = createClosedCircuit(0);
  const shown = expected.map(() => {
    circuit = recordInCircuit(circuit, idle, own, noon);
    return viewCircuit(circuit, own, noon).kind;
  });
  expect(shown).toEqual(expected);
});
