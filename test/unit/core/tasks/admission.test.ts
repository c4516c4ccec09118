import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { describe, expect, test } from 'vitest';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { Consent } from '../../../../src/core/people/consent.ts';
import {
  decideAdmissionStep,
  beginAdmission,
  applyAdmissionAnswer,
  type Admission,
  type AdmissionQuestion,
  type Candidates,
  type JudgedTasks,
} from '../../../../src/core/tasks/admission.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import type { TextDependencies } from '../../../../src/core/tasks/text-dependencies.ts';
import { noon, task } from '../core-fixtures.ts';
import { issue, textDependencies } from './issues.ts';

const upTo = (count: number, from = 1): readonly number[] => Array.from({ length: count }, (_, index) => from + index);
const issues = (count: number) => upTo(count).map((number) => issue(number));

const given = (at = noon): Consent => ({ kind: 'given', by: 'ann', at });
const changed = (change: Partial<Extract<Consent, { kind: 'changed' }>> = {}): Consent => ({
  kind: 'changed',
  by: 'ann',
  askedAt: noon - 2,
  editor: 'eve',
  at: noon - 1,
  isNoticed: false,
  ...change,
});
const never = (by: string | null = 'eve'): Consent => ({ kind: 'never', by });

const progress = (state: TaskProgress['state']): TaskProgress => ({
  state,
  attempts: 1,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
});
const stateOf = (
  tasks: Readonly<Record<number, TaskProgress['state']>>,
  approvedAt: number | null = null,
): LaneState => {
  const approval = approvedAt === null ? undefined : { text: 'hash', by: 'ann', at: approvedAt };
  const known = Object.entries(tasks).map(
    ([number, state]) => [`issue-${number}`, { ...progress(state), approval }] as const,
  );
  return { ...createInitialState('queue', noon), tasks: Object.fromEntries(known) };
};

/** Facts about the issues; by default, each one is approved and waits for nothing. */
interface World {
  readonly candidates?: Partial<Candidates>;
  readonly state?: LaneState;
  readonly maxIterations?: number;
  readonly consents?: Readonly<Record<number, Consent | 'gone'>>;
  readonly texts?: Readonly<Record<number, Partial<TextDependencies>>>;
  /** Number of people whose permission was read per judged issue. */
  readonly peopleEach?: number;
}

/** Answers every question from the world; `asked` are the numbers of the issues whose consent was read, by question. */
function judge({ candidates, state, maxIterations = 2, consents = {}, texts = {}, peopleEach = 0 }: World): {
  readonly judged: JudgedTasks;
  readonly asked: readonly (readonly number[])[];
  readonly kinds: readonly AdmissionQuestion['kind'][];
} {
  let admission: Admission = beginAdmission(
    { issues: [], fileTasks: [], sources: ['issues', 'plan'], isByName: false, approvedText: null, ...candidates },
    state ?? createInitialState('queue', noon),
    { taskLabel: 'ralph', maxIterations },
  );
  const asked: (readonly number[])[] = [];
  const kinds: AdmissionQuestion['kind'][] = [];
  for (let steps = 0; ; steps += 1) {
    if (steps > 20) throw new Error('it asks for ever');
    const step = decideAdmissionStep(admission);
    if (step.kind === 'judged') return { judged: step.judged, asked, kinds };
    kinds.push(step.kind);
    switch (step.kind) {
      case 'consents': {
        asked.push(step.of.map(({ number }) => number));
        const found = step.of.flatMap(({ number }) => {
          const consent = consents[number] ?? given();
          return consent === 'gone' ? [] : [[number, consent] as const];
        });
        const peopleAsked = asked.flat().length * peopleEach;
        admission = applyAdmissionAnswer(admission, { ...step, found: new Map(found), peopleAsked, now: noon });
        break;
      }
      case 'texts':
        admission = applyAdmissionAnswer(admission, {
          ...step,
          found: new Map(step.of.map(({ number }) => [number, textDependencies(texts[number] ?? {})])),
        });
        break;
      case 'dependencies':
        admission = applyAdmissionAnswer(admission, { ...step, found: new Map() });
        break;
      case 'states':
        admission = applyAdmissionAnswer(admission, { ...step, found: new Map() });
    }
  }
}

const ids = ({ tasks }: JudgedTasks) => tasks.map(({ id }) => id);
const obstacles = ({ tasks }: JudgedTasks) =>
  Object.fromEntries(tasks.filter(({ obstacle }) => obstacle !== null).map(({ id, obstacle }) => [id, obstacle]));

describe('which issues are judged', () => {
  test.each<[string, World, readonly (readonly number[])[]]>([
    ['none, without candidates', {}, []],
    ['those that a run can get to, and five more', { candidates: { issues: issues(9) } }, [upTo(7)]],
    [
      'by priority',
      { candidates: { issues: [...issues(8), issue(9, { labels: ['ralph', 'P0'] })] } },
      [[9, ...upTo(6)]],
    ],
    [
      'fifty at once as soon as those turn out not to be enough',
      { candidates: { issues: issues(60) }, consents: Object.fromEntries(upTo(6).map((number) => [number, never()])) },
      [upTo(7), upTo(50, 8)],
    ],
    [
      'no more once there are enough',
      { candidates: { issues: issues(60) }, consents: Object.fromEntries(upTo(5).map((number) => [number, never()])) },
      [upTo(7)],
    ],
    [
      'more than fifty if a run can get to as many',
      {
        candidates: { issues: issues(130) },
        maxIterations: 60,
        consents: Object.fromEntries(upTo(65).map((number) => [number, never()])),
      },
      [upTo(65), upTo(60, 66)],
    ],
    [
      'what is settled: somebody may have asked for it again',
      { candidates: { issues: issues(12) }, state: stateOf({ 10: 'done', 11: 'failed', 12: 'blocked' }) },
      [[1, 2, 10, 11, 12, 3, 4, 5, 6, 7]],
    ],
    [
      'that one only, and five more, when all else is done',
      { candidates: { issues: issues(2) }, state: stateOf({ 1: 'done', 2: 'done' }) },
      [[1, 2]],
    ],
    [
      'one that is named, wherever it stands',
      { candidates: { issues: [issue(1)], isByName: true }, maxIterations: 0 },
      [[1]],
    ],
    ['none but five, for a run without iterations', { candidates: { issues: issues(7) }, maxIterations: 0 }, [upTo(5)]],
    [
      'first one that waits for no other, and none with an obstacle',
      {
        candidates: { issues: issues(4) },
        maxIterations: 1,
        texts: { 1: { issues: [1, 4] }, 2: { issues: upTo(101, 500) } },
      },
      [[3, 1, 4]],
    ],
  ])('%s', (_, world, expected) => {
    expect(judge(world).asked).toEqual(expected);
  });

  test('the text says what an issue waits for before anybody is asked who approved it', () => {
    expect(judge({ candidates: { issues: issues(2) }, texts: { 1: { issues: [9] } } }).kinds).toEqual([
      'texts',
      'states',
      'consents',
    ]);
  });

  test('behind those that too many people labelled or changed, none; and that is reported', () => {
    const strangers = Object.fromEntries(upTo(60).map((number) => [number, never()]));
    const world = { candidates: { issues: issues(60) }, consents: strangers };
    const stopped = judge({ ...world, peopleEach: 15 });
    expect(stopped.asked).toEqual([upTo(7)]);
    expect(stopped.judged.warnings.at(-1)).toBe(
      'More than 100 people have labelled or changed the issues at the head of the queue, and a run checks at most 100 permissions. Remove the label from issues that Ralph should not work on; the issues behind them wait.',
    );
    expect(obstacles(stopped.judged)).toEqual(
      Object.fromEntries(upTo(53, 8).map((number) => [`issue-${String(number)}`, 'unchecked'])),
    );
    expect(judge({ ...world, peopleEach: 14 }).asked).toEqual([upTo(7), upTo(50, 8)]);
    // Enough issues are known, so no more people are looked up and no warning is needed.
    expect(judge({ candidates: { issues: issues(2) }, peopleEach: 100 }).judged.warnings).toEqual([]);
  });
});

describe('what becomes of an issue', () => {
  const one = (consent: Consent | 'gone', state?: LaneState) =>
    judge({ candidates: { issues: [issue(1)] }, consents: { 1: consent }, ...(state === undefined ? {} : { state }) })
      .judged;
  const text = { title: 'Title 1', body: 'Body 1' };

  test('that is approved: it may be worked on, with its present text', () => {
    const judged = one(given(noon - 7));
    expect(ids(judged)).toEqual(['issue-1']);
    expect(obstacles(judged)).toEqual({});
    expect([...judged.approved]).toEqual([['issue-1', { number: 1, text, by: 'ann', at: noon - 7 }]]);
    expect([judged.notices, judged.warnings]).toEqual([[], []]);
  });

  test('that is gone: it is not a task, and nobody is notified', () => {
    const judged = one('gone');
    expect([ids(judged), [...judged.approved], judged.notices, judged.warnings]).toEqual([[], [], [], []]);
  });

  test.each<[string | null, string]>([
    ['eve', '#1 (added by eve)'],
    [null, '#1 (GitHub does not say who added it)'],
  ])('whose label %s added, without permission: it is not a task', (by, named) => {
    const judged = one(never(by));
    expect([ids(judged), [...judged.approved]]).toEqual([[], []]);
    expect(judged.warnings).toEqual([
      `The label "ralph" counts only when somebody with write permission, or a bot of \`allowed-bots\`, adds it. Left out: ${named}. To have Ralph work on one, remove the label and add it again.`,
    ]);
  });

  test.each<[string | null, string]>([
    ['eve', 'eve'],
    [null, 'somebody unknown'],
  ])('whose text was changed by %s: it waits for the label, and the issue is notified', (editor, named) => {
    const judged = one(changed({ editor }));
    expect(obstacles(judged)).toEqual({ 'issue-1': 'needs-approval' });
    expect([...judged.approved]).toEqual([]);
    expect(judged.notices).toEqual([{ issue: 1, labels: ['ralph'], editor, by: 'ann', at: noon - 1 }]);
    expect(judged.warnings).toEqual([
      `Changed after approval by somebody without write permission, so not worked on: #1 (by ${named}). Read the text; if it is fine, add the label "ralph", or remove it and add it again.`,
    ]);
  });

  test('which the record already lists: nobody is notified again', () => {
    expect(one(changed({ isNoticed: true })).notices).toEqual([]);
  });

  test('that is done: a change no longer matters', () => {
    const judged = one(changed(), stateOf({ 1: 'done' }));
    expect([judged.notices, judged.warnings]).toEqual([[], []]);
  });

  test('at most ten are named', () => {
    const consents = Object.fromEntries(upTo(12).map((number) => [number, number > 11 ? given() : changed()]));
    const { judged } = judge({ candidates: { issues: issues(12) }, consents, maxIterations: 12 });
    expect(judged.warnings.join()).toContain('#10 (by eve) and 1 more. Read');
  });

  test('that was not judged: nobody works on it, and its label says why, if it does', () => {
    const labels = ['ralph', 'ralph:needs-approval'];
    const candidates = { issues: [...issues(9), issue(10, { labels })] };
    expect(obstacles(judge({ candidates, state: stateOf({ 9: 'done' }) }).judged)).toEqual({
      'issue-8': 'unchecked',
      'issue-10': 'needs-approval',
    });
  });

  test('that another obstacle keeps: it stays, whoever approved it', () => {
    const candidates = { issues: issues(2) };
    const { judged } = judge({ candidates, texts: { 1: { issues: [2] }, 2: { issues: [1] } } });
    expect(obstacles(judged)).toEqual({ 'issue-1': 'dependency-cycle', 'issue-2': 'dependency-cycle' });
    expect(judged.warnings).toEqual([
      '#1 → #2 → #1: these depend on each other, so none of them can start. Remove one of the dependencies.',
    ]);
  });
});

describe('the order of work', () => {
  const entry = (id: string, priority: number) =>
    task(1, { id, priority, source: { kind: 'plan', path: 'p', line: 1 } });
  test.each<[Candidates['sources'], readonly string[]]>([
    [
      ['issues', 'plan'],
      ['plan-a', 'issue-3', 'issue-10', 'plan-b', 'plan-c'],
    ],
    [
      ['plan', 'issues'],
      ['plan-a', 'plan-b', 'issue-3', 'issue-10', 'plan-c'],
    ],
    [['plan'], ['plan-a', 'plan-b', 'plan-c']],
  ])('of %j', (sources, expected) => {
    const candidates = {
      issues: [issue(10), issue(3)],
      fileTasks: [entry('plan-a', 1), entry('plan-b', 2), entry('plan-c', 3)],
      sources,
    };
    const { judged } = judge({ candidates, maxIterations: 9 });
    expect(ids(judged)).toEqual(expected);
    expect(obstacles(judged)).toEqual({});
  });
});

describe('work that is settled and was approved before', () => {
  const at = noon - 10;
  test.each<[TaskProgress['state'], Consent | 'gone', number | null, boolean]>([
    ['done', given(at + 1), at, true],
    ['failed', given(at + 1), at, true],
    ['blocked', given(at + 1), at, true],
    ['todo', given(at + 1), at, false],
    ['in-progress', given(at + 1), at, false],
    ['done', given(at), at, false],
    ['done', changed({ askedAt: at + 1 }), at, true],
    ['done', changed({ askedAt: at, at: at + 1 }), at, false],
    ['done', never(), at, false],
    ['done', 'gone', at, false],
    ['done', given(at + 1), null, false],
  ])('%s, then %j since %s: begins again: %s', (state, consent, approvedAt, isReopened) => {
    const before = stateOf({ 1: state }, approvedAt);
    const { judged } = judge({ candidates: { issues: [issue(1)] }, state: before, consents: { 1: consent } });
    expect(judged.state).toEqual(
      isReopened
        ? {
            ...before,
            tasks: { 'issue-1': { ...untouchedProgress, approval: before.tasks['issue-1']?.approval } },
            transitions: [{ at: noon, subject: 'task', from: `issue-1 ${state}`, to: 'todo', reason: 'asked_again' }],
          }
        : before,
    );
  });

  test('begins again each on its own', () => {
    const state = stateOf({ 1: 'done', 2: 'done', 3: 'done' }, at);
    const consents = { 1: given(at + 1), 2: given(at), 3: given(at + 1) };
    const { judged } = judge({ candidates: { issues: issues(3) }, state, consents });
    expect(Object.entries(judged.state.tasks).filter(([, task]) => task.state === 'done')).toMatchObject([
      ['issue-2', {}],
    ]);
    expect(judged.state.transitions).toHaveLength(2);
  });
});

describe('the event that began the run says which text was approved', () => {
  const approvedText = { title: 'As it was', body: 'Depends on #9' };
  const labelled = (consent: Consent | 'gone', text = approvedText) =>
    judge({ candidates: { issues: [issue(1)], isByName: true, approvedText: text }, consents: { 1: consent } });

  test('which is known first, since the text of the event says what it waits for', () => {
    const { kinds, asked } = labelled(given());
    expect(kinds).toEqual(['consents', 'texts']);
    expect(asked).toEqual([[1]]);
  });

  test('and is worked on, whatever was changed a moment later', () => {
    const { judged } = labelled(changed());
    expect(obstacles(judged)).toEqual({});
    expect(judged.approved.get('issue-1')).toEqual({ number: 1, text: approvedText, by: 'ann', at: noon - 2 });
    expect(judged.notices).toEqual([]);
    expect(judged.warnings).toEqual([
      'The text of #1 was changed after the label "ralph" was added; Ralph works on the earlier text.',
    ]);
  });

  test.each([
    [{ title: 'Title 1', body: 'Body 1' }, false],
    [{ title: 'Title 1', body: 'Another' }, true],
    [{ title: 'Another', body: 'Body 1' }, true],
  ])('%j: people hear of a change: %s', (text, isReported) => {
    expect(labelled(changed(), text).judged.warnings).toHaveLength(isReported ? 1 : 0);
  });

  test('if a person with write access corrected it since, the new text is worked on', () => {
    const { judged } = labelled(given());
    expect(judged.approved.get('issue-1')?.text).toEqual({ title: 'Title 1', body: 'Body 1' });
    expect(judged.warnings).toEqual([]);
  });

  test.each<[string, Consent | 'gone', object]>([
    ['GitHub does not list the label yet: it counts', never(null), { text: approvedText, by: '', at: noon }],
    ['GitHub lists it as one of a stranger', never('eve'), {}],
    ['the issue is gone', 'gone', {}],
  ])('%s', (_, consent, approved) => {
    expect(labelled(consent).judged.approved.get('issue-1') ?? {}).toMatchObject(approved);
    expect(labelled(consent).judged.approved.size).toBe('text' in approved ? 1 : 0);
  });

  test('without the event such a label makes no task', () => {
    const { judged } = judge({ candidates: { issues: [issue(1)] }, consents: { 1: never(null) } });
    expect([ids(judged), judged.approved.size]).toEqual([[], 0]);
  });

  test('what it waits for is read in that text', () => {
    const admission = beginAdmission(
      { issues: [issue(1)], fileTasks: [], sources: ['issues'], isByName: true, approvedText },
      createInitialState('issue-1', noon),
      { taskLabel: 'ralph', maxIterations: 2 },
    );
    const read = (consent: Consent) =>
      decideAdmissionStep(
        applyAdmissionAnswer(admission, {
          kind: 'consents',
          of: [issue(1)],
          found: new Map([[1, consent]]),
          peopleAsked: 1,
          now: noon,
        }),
      );
    expect(read(changed())).toMatchObject({ kind: 'texts', of: [{ number: 1, ...approvedText }] });
    expect(read(given())).toMatchObject({ kind: 'texts', of: [{ number: 1, title: 'Title 1', body: 'Body 1' }] });
  });
});
