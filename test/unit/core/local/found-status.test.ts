import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseOtherCircuit, parseProgress, parseFoundStatus } from '../../../../src/core/local/status-document.ts';
import { runs } from '../../../runs.ts';
import { runStatus } from '../../cli/monitor/monitor-fixtures.ts';

const other = {
  timestamp: '2026-11-21T12:00:00+01:00',
  loop_count: 7,
  calls_made_this_hour: 12,
  max_calls_per_hour: 100,
  last_action: 'executing',
  status: 'running',
  exit_reason: '',
  next_reset: '13:00:00',
};

test('a run of this program', () => {
  const text = JSON.stringify({ ...other, run: runStatus });
  expect(parseFoundStatus(text)).toEqual({ kind: 'ours', run: runStatus });
  expect(parseFoundStatus(text.replace('"branchId"', '"lane"'))).toEqual({ kind: 'ours', run: runStatus });
});

describe('a run of another Ralph is read as far as it goes', () => {
  const all = {
    status: 'running',
    lastAction: 'executing',
    exitReason: null,
    iteration: 7,
    calls: { used: 12, limit: 100 },
    at: '2026-11-21T12:00:00+01:00',
  };
  const none = { status: null, lastAction: null, exitReason: null, iteration: null, calls: null, at: null };
  test.each<[string, object, object]>([
    ['all of it', other, all],
    ['why it ended', { ...other, exit_reason: 'project_complete' }, { ...all, exitReason: 'project_complete' }],
    ['no limit of calls', { ...other, max_calls_per_hour: undefined }, { ...all, calls: { used: 12, limit: 0 } }],
    ['a status alone', { status: 'paused' }, { ...none, status: 'paused' }],
    ['a number alone', { loop_count: 0 }, { ...none, iteration: 0 }],
    [
      'values of other types',
      { ...other, status: 7, calls_made_this_hour: '12', last_action: [], timestamp: 'yesterday' },
      { ...all, status: null, calls: null, lastAction: null, at: null },
    ],
    ['an invalid number', { ...other, loop_count: -1 }, { ...all, iteration: null }],
  ])('%s', (_, json, run) => {
    expect(parseFoundStatus(JSON.stringify(json))).toEqual({ kind: 'other', run });
  });
});

describe('an unreadable status is reported', () => {
  test.each([
    ['nothing', '', 'is not a JSON object'],
    ['half of it', '{"run": {"version": 1, "pi', 'is not a JSON object'],
    ['a list', '[]', 'is not a JSON object'],
    ['null', 'null', 'is not a JSON object'],
    ['something else', '{"name": "shop"}', 'has no run, loop_count or status'],
    [
      'a run of a newer version',
      JSON.stringify({ ...other, run: { ...runStatus, version: 2 } }),
      'has a value that this version cannot read (run.version)',
    ],
    ['no run', '{"run": null}', 'has a value that this version cannot read (run)'],
  ])('%s', (_, text, why) => {
    expect(parseFoundStatus(text)).toEqual({ kind: 'unreadable', why });
  });
});

test.each([
  [
    '{"status":"executing","indicator":"x","elapsed_seconds":40,"last_output":"Reading","timestamp":"2026-11-21 12:00:00"}',
    { status: 'executing', elapsedSeconds: 40, lastOutput: 'Reading' },
  ],
  ['{"status":"completed"}', { status: 'completed', elapsedSeconds: null, lastOutput: null }],
  [
    '{"status":"executing","elapsed_seconds":"x","last_output":""}',
    { status: 'executing', elapsedSeconds: null, lastOutput: null },
  ],
  ['{"status":7}', null],
  ['[]', null],
  ['{"stat', null],
])('a progress.json: %s', (text, progress) => {
  expect(parseProgress(text)).toEqual(progress);
});

test.each([
  ['{"state":"CLOSED"}', 'closed'],
  ['{"state":"HALF_OPEN","reason":"x"}', 'half-open'],
  ['{"state":"OPEN"}', 'open'],
  ['{"state":"open"}', null],
  ['', null],
])('the circuit file of another Ralph: %s', (text, circuit) => {
  expect(parseOtherCircuit(text)).toBe(circuit);
});

test('no text makes a reader throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseFoundStatus(text)).toHaveProperty('kind');
      parseProgress(text);
      parseOtherCircuit(text);
    }),
    { numRuns: runs(200) },
  );
});
