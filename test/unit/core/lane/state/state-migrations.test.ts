import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { noFeedback } from '../../../../../src/core/feedback/memory.ts';
import { type BranchChange, noChange } from '../../../../../src/core/lane/change.ts';
import { migrateState } from '../../../../../src/core/lane/state/state-migrations.ts';
import { parseState, STATE_VERSION } from '../../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../../src/core/lane/state/serialize-state.ts';
import { untouchedProgress } from '../../../../../src/core/tasks/queue.ts';

/** A document as version 1 of the state wrote it, with a value in every field. */
const version1 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v1.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 2 wrote it. */
const version2 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v2.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 3 wrote it. */
const version3 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v3.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 4 wrote it. */
const version4 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v4.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 5 wrote it. */
const version5 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v5.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 6 wrote it. */
const version6 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v6.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** A document as version 7 wrote it. */
const version7 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v7.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
/** Version 7 knew one agent, which was Claude Code, and no usage limit of its provider. */
const since7 = { redBase: null };
const since6 = { ...since7, resting: {}, providers: {}, feedback: noFeedback };
const since5 = {
  ...since6,
  change: noChange,
  notified: [],
  notifiedAt: [],
  leftCircuit: null,
  steps: { markers: [], circuits: {} },
};
const since4 = {
  ...since5,
  transcript: null,
  journalHash: null,
  baseVerification: null,
  headVerification: null,
  refusedPush: null,
};
const parkedUntil = (version5.park as { readonly resumeAt: number }).resumeAt;
/** A document as version 8 wrote it. */
const version8 = JSON.parse(
  readFileSync(new URL('../../../../samples/state-v8.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
const samples: readonly [number, Record<string, unknown>, Record<string, unknown>][] = [
  [1, version1, { ordersApplied: 0, ...since4 }],
  [2, version2, since4],
  [3, version3, since4],
  [4, version4, since5],
  [5, version5, { ...since6, providers: { claude: { kind: 'open', why: 'limit', until: parkedUntil } } }],
  [6, version6, { ...since7, feedback: noFeedback }],
  [7, version7, {}],
  [8, version8, { redBase: { ...(version8.redBase as object), stage: 'reverify' } }],
];

/** Adds the agents, which old versions did not record. */
function withAgents(change: BranchChange): object {
  const none = { agents: [], unpriced: 0 };
  const tasks = Object.entries(change.tasks).map(([id, share]) => [id, { ...none, ...share }]);
  return { ...{ unpriced: 0, lookAt: null, reviews: [] }, ...change, tasks: Object.fromEntries(tasks) as object };
}

/** Adds the fields that tasks and circuits have got since. */
function today({
  version: _,
  tasks,
  circuit,
  change,
  session,
  agent,
  baseCheck,
  headCheck,
  ...lists
}: Record<string, unknown>): object {
  const reasons: Record<string, string> = { failed: 'max_iterations_per_task', blocked: 'status_blocked' };
  return {
    tasks: recordsOf(
      Object.fromEntries(
        Object.entries(tasks as Record<string, { readonly state: string }>).map(([id, task]) => [
          id,
          { startedTree: null, doneCommit: null, reason: reasons[task.state] ?? null, setAside: null, ...task },
        ]),
      ),
      lists,
    ),
    retriesAll: lists.retried === 'all' || lists.retriesAll === true,
    ...(baseCheck === undefined ? {} : { baseVerification: baseCheck, headVerification: headCheck }),
    ...(change === undefined ? {} : { change: withAgents(change as BranchChange) }),
    // The conversation belonged to the only agent.
    agent: agent ?? (session === null ? null : 'claude'),
    circuit: {
      ...(circuit as { readonly kind: string }),
      ...((circuit as { readonly kind: string }).kind === 'open'
        ? { taskId: null }
        : { probes: false, agentFailures: 0, ...(circuit as object) }),
    },
  };
}

/** Fields that today's state keeps elsewhere or under other names. */
const gone = ['approvals', 'answers', 'unmarked', 'unverified', 'retried', 'baseCheck', 'headCheck'];

/** Moves the content of separate lists into the record of each task. */
function recordsOf(tasks: object, given: Record<string, unknown>): object {
  const {
    approvals = {},
    answers = {},
    unmarked = [],
    unverified = [],
    retried = [],
  } = given as Partial<{
    approvals: Record<string, object>;
    answers: Record<string, { readonly approval: object | null }>;
    unmarked: readonly string[];
    unverified: readonly string[];
    retried: 'all' | readonly string[];
  }>;
  const known = tasks as Record<string, { readonly state: string }>;
  const asked = retried === 'all' ? [] : retried;
  const ids = [...Object.keys({ ...known, ...approvals, ...answers }), ...asked];
  return Object.fromEntries(
    ids.map((id) => {
      const task = known[id] ?? untouchedProgress;
      const isDone = task.state === 'done';
      return [
        id,
        {
          ...task,
          ...(id in approvals ? { approval: approvals[id] } : {}),
          ...(id in answers ? answerOf(answers[id]) : {}),
          ...(isDone && unmarked.includes(id) ? { unmarked: true } : {}),
          ...(!isDone && unverified.includes(id) ? { unproven: true } : {}),
          ...(asked.includes(id) ? { retried: true } : {}),
        },
      ];
    }),
  );
}

/** Converts an answer: its approval then is the last approval now. */
function answerOf({ approval, ...answer }: { readonly approval?: object | null } = {}): object {
  return { answer, ...(approval ? { approval } : {}) };
}

function withoutGone(sample: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(sample).filter(([name]) => !gone.includes(name)));
}

describe.each(samples)('a stored document of version %i', (version, sample, added) => {
  test('is what that version wrote', () => {
    expect(sample).toMatchObject({ version, lane: 'queue' });
    // The sample of version 3 was written by a real run, which had no session.
    if (version < 3) for (const [field, value] of Object.entries(sample)) expect(value, field).not.toBeNull();
  });

  test('is read without loss', () => {
    expect(parseState(JSON.stringify(sample), 'queue')).toEqual({
      kind: 'state',
      state: { ...withoutGone(sample), ...added, ...today(sample), version: STATE_VERSION },
      problems: [],
    });
  });

  test('is written in the version of today, and read again', () => {
    const parsed = parseState(JSON.stringify(sample), 'queue');
    if (parsed.kind !== 'state') throw new Error(JSON.stringify(parsed));
    expect(parseState(serializeState(parsed.state), 'queue')).toEqual(parsed);
  });

  test.each<[string, object, object]>([
    [
      'a circuit that cannot be read gets one probe',
      { circuit: 'x' },
      {
        kind: 'state',
        state: { circuit: { kind: 'open', reason: 'state_unreadable' } },
        problems: [expect.stringContaining('circuit')],
      },
    ],
    [
      'a counter that cannot be read counts as used up',
      { windows: { hour: { calls: -1 }, day: null } },
      { kind: 'state', state: { windows: { hour: { calls: 1e15 } } }, problems: [expect.stringContaining('hour')] },
    ],
    [
      'any other part that cannot be read makes it unreadable',
      { signals: null },
      { kind: 'unreadable', why: expect.stringContaining('signals') },
    ],
    [
      'another lane stays another lane',
      { lane: 'issue-9' },
      { kind: 'unreadable', why: expect.stringContaining('another branch') },
    ],
  ])('%s', (_, change, expected) => {
    expect(parseState(JSON.stringify({ ...sample, ...change }), 'queue')).toMatchObject(expected);
  });

  test('is not changed by the migration itself', () => {
    const before = JSON.stringify(sample);
    migrateState(sample, version);
    expect(JSON.stringify(sample)).toBe(before);
  });
});

test('every version before the one of today has a sample here', () => {
  expect(samples.map(([version]) => version)).toEqual(
    Array.from({ length: STATE_VERSION - 1 }, (_, index) => index + 1),
  );
});

test.each([STATE_VERSION + 1, 99])(
  'a document of version %i was written by a newer action, whatever else it says',
  (version) => {
    expect(parseState(JSON.stringify({ ...version1, version }), 'queue')).toEqual({ kind: 'newer', version });
    expect(parseState(JSON.stringify({ version, lane: 'queue' }), 'queue')).toEqual({ kind: 'newer', version });
  },
);

test.each([0, -1, 1.5, '1', null])('version %j is not readable', (version) => {
  expect(parseState(JSON.stringify({ ...version1, version }), 'queue').kind).toBe('unreadable');
});

test.each([[null], [[]], ['text'], [7], [undefined]])('%j comes back from the migration as it is', (document) => {
  expect(migrateState(document, 1)).toEqual(document);
});

test('done tasks of a large document of version 7, which kept only their ids, are done', () => {
  const document = { ...version7, tasks: {}, finished: ['plan-1', 'issue-3'], retried: 'all' };
  const parsed = parseState(JSON.stringify(document), 'queue');
  expect(parsed).toMatchObject({
    kind: 'state',
    state: {
      tasks: { 'plan-1': { state: 'done', attempts: 1, unmarked: true }, 'issue-3': { state: 'done', attempts: 1 } },
      retriesAll: true,
    },
  });
});
