import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AGENT_NAMES } from '../../../../../src/core/agent-names.ts';
import { providerTroubles } from '../../../../../src/core/agents/providers.ts';
import { hintCodes } from '../../../../../src/core/prompt/hints.ts';
import {
  createInitialState,
  type LaneState,
  parseState,
  STATE_VERSION,
} from '../../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../../src/core/lane/state/serialize-state.ts';
import { noon, play, progress } from '../../core-fixtures.ts';
import { runs } from '../../../../runs.ts';
import { notificationKinds } from '../../../../../src/core/people/notifications.ts';
import { stuckReasons } from '../../../../../src/core/tasks/task.ts';

const LANE = 'queue';
const instant = fc.integer({ min: 0, max: 8e15 });
const count = fc.nat();
const amount = fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => value + 0);
const text = fc.string({ maxLength: 30 });
const id = fc.integer({ min: 1, max: 99 }).map((number) => `issue-${String(number)}`);
const head = fc.string({ maxLength: 40 });
const objectId = fc.option(head);
// fc.webUrl() is not used because building it takes most of a second.
const url = count.map((number) => `https://github.com/owner/name/pull/${String(number)}`);
const reason = fc.constantFrom('calls_per_hour' as const, 'usage_limit' as const);
const parkedAt = { resumeAt: instant, taskId: fc.option(id), branchHead: objectId };

const sha256 = fc.stringMatching(/^[0-9a-f]{64}$/);
const check = fc.record({
  commit: head,
  commands: text,
  kind: fc.constantFrom('passed' as const, 'failed' as const),
  command: fc.option(text),
  exitCode: fc.option(fc.integer({ min: -1, max: 255 })),
});

const session = fc.record({ id: fc.uuid(), startedAt: instant, lastUsedAt: instant, taskId: fc.option(id) });
const agentName = fc.constantFrom(...AGENT_NAMES);

const mark = fc.constant(true as const);
const approval = fc.record({ text: fc.stringMatching(/^[0-9a-f]{32}$/), by: text, at: instant });

const anyState: fc.Arbitrary<LaneState> = fc.record({
  version: fc.constant(STATE_VERSION),
  lane: fc.constant(LANE),
  sequence: count,
  savedAt: instant,
  circuit: fc.oneof(
    fc.record({
      kind: fc.constant('closed' as const),
      totalOpens: count,
      noProgress: count,
      errorStreaks: fc.array(fc.record({ fingerprint: text, count }), { maxLength: 10 }),
      denials: count,
      decline: count,
      questionHeld: fc.boolean(),
      agentFailures: count,
      probes: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('open' as const),
      totalOpens: count,
      reason: fc.constantFrom('no_progress' as const, 'same_error' as const, 'state_unreadable' as const),
      openedAt: instant,
      taskId: fc.option(id),
    }),
  ),
  windows: fc.record({
    hour: fc.option(fc.record({ openedAt: instant, calls: count, tokens: count })),
    day: fc.option(fc.record({ openedAt: instant, costUsd: amount })),
  }),
  signals: fc.record({
    indicators: fc.array(fc.boolean(), { maxLength: 5 }),
    vetoed: fc.array(fc.boolean(), { maxLength: 5 }),
    outputChars: fc.array(count, { maxLength: 5 }),
    doneInARow: count,
    blockedInARow: count,
    testOnlyInARow: count,
  }),
  session: fc.option(session),
  tasks: fc.dictionary(
    id,
    fc.record(
      {
        state: fc.constantFrom(
          'todo' as const,
          'in-progress' as const,
          'finished' as const,
          'done' as const,
          'failed' as const,
          'blocked' as const,
          'stuck' as const,
        ),
        attempts: count,
        startedTree: objectId,
        doneCommit: objectId,
        reason: fc.option(fc.constantFrom(...stuckReasons)),
        setAside: fc.option(fc.record({ times: count, at: instant })),
        unproven: mark,
        unmarked: mark,
        retried: mark,
        approval,
        answer: fc.record({ lane: id, at: instant }),
      },
      { requiredKeys: ['state', 'attempts', 'startedTree', 'doneCommit', 'reason', 'setAside'] },
    ),
    { noNullPrototype: true },
  ),
  leftCircuit: fc.constantFrom(null, 'ab'.repeat(32)),
  retriesAll: fc.boolean(),
  currentTask: fc.option(id),
  park: fc.option(
    fc.oneof(
      fc.record({ reason, ...parkedAt }),
      fc.record({ reason: fc.constant('step_circuit' as const), step: fc.option(text), ...parkedAt }),
    ),
  ),
  pause: fc.option(fc.record({ by: text, at: instant })),
  ordersApplied: instant,
  ledger: fc.array(
    fc.record({ day: fc.constant('2026-11-21'), calls: count, tokens: count, costUsd: amount, minutes: amount }),
    { maxLength: 31 },
  ),
  transitions: fc.array(
    fc.record({
      at: instant,
      subject: fc.constantFrom('circuit' as const, 'task' as const),
      from: text,
      to: text,
      reason: text,
    }),
    { maxLength: 50 },
  ),
  lastRun: fc.option(
    fc.record({
      outcome: fc.constantFrom('complete' as const, 'limit' as const),
      reason: text,
      at: instant,
      published: fc.option(
        fc.record({ head, pullRequest: fc.option(fc.record({ number: fc.integer({ min: 1, max: 1_000_000 }), url })) }),
      ),
    }),
  ),
  change: fc.record({
    runs: count,
    iterations: count,
    costUsd: amount,
    unpriced: count,
    tokens: count,
    durationMs: count,
    tasks: fc.dictionary(
      id,
      fc.record({
        title: text,
        iterations: count,
        costUsd: amount,
        unpriced: count,
        tokens: count,
        durationMs: count,
        commits: fc.array(head, { maxLength: 10 }),
        commitCount: count,
        summary: fc.option(text),
        question: fc.option(text),
        recommendation: fc.option(text),
        verification: fc.constantFrom('not-run' as const, 'passed' as const, 'failed' as const),
        agents: fc.uniqueArray(agentName),
        size: fc.option(fc.record({ files: count, insertions: count, deletions: count, since: fc.option(head) })),
      }),
      { noNullPrototype: true },
    ),
    failingSince: fc.option(count),
    overruled: fc.array(text, { maxLength: 20 }),
    overruledMore: count,
    leftOut: fc.array(fc.record({ path: text, why: text }), { maxLength: 40 }),
    leftOutMore: count,
    lines: fc.option(count),
    lookAt: fc.option(fc.constant(['dependencies', 'notes'] as const)),
    reviews: fc.array(
      fc.record({
        task: id,
        step: text,
        review: fc.record({
          agent: agentName,
          hold: fc.constantFrom('none' as const, 'high' as const),
          unreadable: fc.option(text),
          findings: fc.array(
            fc.record({
              file: fc.constant('src/a.ts'),
              line: fc.option(fc.integer({ min: 1 })),
              severity: fc.constantFrom('high' as const, 'medium' as const, 'low' as const),
              text: fc.constant('It greets nobody.'),
            }),
            { maxLength: 3 },
          ),
          more: count,
          holding: count,
        }),
      }),
      { maxLength: 5 },
    ),
  }),
  notifiedAt: fc.array(instant, { maxLength: 10 }),
  feedback: fc.record({
    personHead: fc.option(id),
    items: fc.dictionary(
      id,
      fc.record({
        kind: fc.constantFrom('thread', 'review', 'check', 'conflict'),
        title: fc.string({ maxLength: 120 }),
        url: fc.option(fc.string({ maxLength: 300 })),
        rounds: fc.nat(9),
        asked: fc.string({ maxLength: 80 }),
        workedIn: fc.option(id, { nil: undefined }),
        answer: fc.option(
          fc.record({
            kind: fc.constantFrom('changed', 'unchanged', 'given-up'),
            commit: fc.option(id),
            words: fc.option(fc.string({ maxLength: 500 })),
            isOurs: fc.boolean(),
            at: instant,
            posted: fc.boolean(),
          }),
        ),
      }),
      { noNullPrototype: true, maxKeys: 120 },
    ),
    rounds: fc.array(
      fc.record({
        at: instant,
        head: id,
        asked: fc.nat(99),
        answered: fc.nat(99),
        checks: fc.option(
          fc.record({ passed: fc.nat(99), failed: fc.nat(99), running: fc.nat(99), waiting: fc.nat(99) }),
        ),
      }),
      { maxLength: 10 },
    ),
    unstarted: fc.option(id),
    overtaken: fc.option(
      fc.record({
        approvedBy: fc.array(text, { maxLength: 20 }),
        autoMerge: fc.boolean(),
        queued: fc.boolean(),
        at: instant,
        wasApproved: fc.boolean(),
      }),
    ),
  }),
  steps: fc.record({
    markers: fc.uniqueArray(text, { maxLength: 20 }),
    circuits: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,20}$/),
      fc.record({ failures: count, openedAt: fc.option(instant) }),
      { maxKeys: 20, noNullPrototype: true },
    ),
  }),
  notified: fc.array(
    fc.record({
      kind: fc.constantFrom(...notificationKinds),
      about: id,
      thread: fc.integer({ min: 1, max: 1_000_000 }),
      comment: fc.integer({ min: 1, max: 1_000_000 }),
      at: instant,
    }),
    { maxLength: 50 },
  ),
  agent: fc.option(agentName),
  resting: fc.dictionary(agentName, session, { maxKeys: 3 }),
  providers: fc.dictionary(
    agentName,
    fc.oneof(
      fc.record({ kind: fc.constant('closed' as const), failures: count }),
      fc.record({ kind: fc.constant('open' as const), why: fc.constantFrom(...providerTroubles), until: instant }),
    ),
    { maxKeys: 6 },
  ),
  transcript: fc.option(fc.record({ sha256, bytes: count })),
  journalHash: fc.option(sha256),
  baseVerification: fc.option(check),
  redBase: fc.option(
    fc.record({
      stage: fc.constantFrom('found' as const, 'tried' as const, 'reverify' as const, 'repaired' as const),
      commit: fc.string({ maxLength: 40 }),
      commands: fc.string({ maxLength: 40 }),
      command: fc.string({ maxLength: 40 }),
      failures: fc.array(fc.string({ maxLength: 16 }), { maxLength: 20 }),
      words: fc.string({ maxLength: 40 }),
    }),
  ),
  headVerification: fc.option(check),
  refusedPush: fc.option(fc.record({ why: text, at: instant })),
  lastIteration: fc.option(
    fc.record({
      taskId: fc.option(id),
      progress: fc.boolean(),
      fileCount: count,
      tree: fc.string({ maxLength: 40 }),
      verification: fc.constantFrom('not-run' as const, 'passed' as const, 'failed' as const),
      hints: fc.uniqueArray(fc.constantFrom(...hintCodes)),
    }),
  ),
});

test('parse(serialize(s)) = s', () => {
  fc.assert(
    fc.property(anyState, (any) => {
      expect(parseState(serializeState(any), LANE)).toEqual({ kind: 'state', state: any, problems: [] });
    }),
  );
});

test('no string makes parseState throw', () => {
  const state = play([progress(), {}]).state;
  const document = serializeState(state);
  const broken = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .tuple(fc.nat(document.length), fc.string({ maxLength: 5 }))
      .map(([at, noise]) => document.slice(0, at) + noise + document.slice(at + noise.length)),
    fc
      .tuple(fc.constantFrom(...Object.keys(createInitialState(LANE, noon))), fc.jsonValue())
      .map(([key, value]) => JSON.stringify({ ...state, [key]: value })),
  );
  fc.assert(
    fc.property(broken, (text) => {
      expect(['state', 'unreadable', 'newer']).toContain(parseState(text, LANE).kind);
    }),
    { numRuns: runs(500) },
  );
});
