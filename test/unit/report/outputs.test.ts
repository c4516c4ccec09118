import { describe, expect, test } from 'vitest';
import { buildOutputs } from '../../../src/report/pages/outputs.ts';
import { createLanelessReport } from '../../../src/handover/report.ts';
import { END, OUTCOMES, report } from './fixtures.ts';

const NO_JOURNAL = { path: null, hash: null, receipt: null, history: null };

test('every output of a run that worked', () => {
  const { 'status-json': status, ...outputs } = buildOutputs(
    report({ kind: 'parked', reason: 'calls_per_hour', resumeAt: END }),
    {
      path: '/temp/journal.jsonl',
      hash: 'ab12',
      receipt: '/temp/receipt.json.gz',
      history: '/temp/journal.jsonl.history.html',
    },
  );
  expect(outputs).toEqual({
    outcome: 'parked',
    reason: 'calls_per_hour',
    iterations: '1',
    'tasks-done': '1',
    'tasks-open': '1',
    branch: 'ralph/queue',
    'head-sha': 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334',
    'pr-number': '7',
    'pr-url': 'https://github.com/acme/shop/pull/7',
    circuit: 'closed',
    'calls-remaining': '99',
    'cost-usd': '0.1200',
    tokens: '12345',
    'resume-at': '2026-11-21T16:18:00.000Z',
    'state-saved': 'true',
    'history-path': '/temp/journal.jsonl.history.html',
    'journal-path': '/temp/journal.jsonl',
    'journal-hash': 'ab12',
    'receipt-path': '/temp/receipt.json.gz',
    'handed-over': 'false',
    'handoff-digest': '',
    'handoff-digests': '',
    'handoff-branches': '',
    'handoff-parallel': '',
  });
  expect(JSON.parse(status)).toMatchObject({ version: 1, outcome: 'parked', resumeAt: '2026-11-21T16:18:00.000Z' });
});

test('optional tasks are not open ones', () => {
  const [, open] = report({ kind: 'limit', reason: 'iterations' }).tasks;
  if (open === undefined) throw new Error('The run has no open task.');
  const optional = { ...open, task: { ...open.task, id: 'issue-14', optional: true } };
  const run = report({ kind: 'limit', reason: 'iterations' }, { tasks: [open, optional] });
  expect(buildOutputs(run, NO_JOURNAL)['tasks-open']).toBe('1');
});

test('a run that ended before it had a lane leaves the unknown empty', () => {
  const outcome = { kind: 'failed', reason: 'configuration', message: 'x' } as const;
  const outputs = buildOutputs(
    createLanelessReport({ outcome, repositoryUrl: '', runUrl: '', startedAt: END, endedAt: END }),
    NO_JOURNAL,
  );
  expect(outputs).toMatchObject({
    outcome: 'failed',
    iterations: '0',
    branch: '',
    'head-sha': '',
    'pr-number': '',
    circuit: '',
    'calls-remaining': '',
    'resume-at': '',
    'history-path': '',
    'journal-path': '',
    'journal-hash': '',
    'receipt-path': '',
    'state-saved': 'false',
  });
});

test('state-saved is false when the cache refused', () => {
  expect(
    buildOutputs(
      report({ kind: 'limit', reason: 'iterations' }, { saved: { kind: 'not-saved', why: 'read-only' } }),
      NO_JOURNAL,
    )['state-saved'],
  ).toBe('false');
});

test('an open circuit says when it is probed', () => {
  const outcome = {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: 'no_progress',
    tripped: 'earlier',
    probeAt: END,
  } as const;
  expect(buildOutputs(report(outcome), NO_JOURNAL)['resume-at']).toBe('2026-11-21T16:18:00.000Z');
});

describe('for every outcome', () => {
  test.each(OUTCOMES)('$kind ($reason): outcome and reason are the union’s words', (outcome) => {
    expect(buildOutputs(report(outcome), NO_JOURNAL)).toMatchObject({ outcome: outcome.kind, reason: outcome.reason });
  });
});
