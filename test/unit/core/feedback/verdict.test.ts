import { describe, expect, test } from 'vitest';
import { hashId } from '../../../../src/core/tasks/ids.ts';
import { CONFLICT_TASK } from '../../../../src/core/feedback/subject.ts';
import { play, policy, progress, task, type Play, type Played } from '../core-fixtures.ts';

const verifies = { ...policy, verifies: true };
const WHY = 'The name is the one of the interface.';
const claims = { status: 'COMPLETE', tasksCompleted: 1, exitSignal: false, summary: WHY } as const;
const says: Play = { output: { signal: claims } };
const silent: Play = { output: { signal: { ...claims, summary: null } } };
const working: Play = { output: { signal: { status: 'IN_PROGRESS', exitSignal: false, summary: WHY } } };
const blocked: Play = { output: { signal: { ...claims, status: 'BLOCKED' } } };

function playOn(id: string, script: readonly Play[], bounds = policy): Played {
  return play(script, { tasks: [task(1, { id }), task(2)], policy: bounds });
}

/** Returns true if the last of these iterations finished the task, and the task's progress. */
function ended(id: string, script: readonly Play[], bounds = policy): readonly [boolean, string | undefined] {
  const played = playOn(id, script, bounds);
  expect(played.verdicts).toHaveLength(script.length);
  return [played.verdicts.at(-1)?.taskDone ?? false, played.state.tasks[id]?.state];
}

describe.each(['thread-5', 'review-6', `check-${hashId('test')}`])('%s is answered', (id) => {
  test.each<[string, readonly Play[], typeof policy, boolean, string]>([
    ['by a change and a claim', [progress(says)], policy, true, 'finished'],
    ['by a change that needs no words', [progress(silent)], policy, true, 'finished'],
    ['by an earlier change, claimed now', [progress(working), silent], policy, true, 'finished'],
    ['by words on why nothing changes', [says], policy, true, 'finished'],
    [
      'by such words, whatever the verification says',
      [{ ...says, verification: 'failed' }],
      verifies,
      true,
      'finished',
    ],
    ['by such words, where it did not run', [says], verifies, true, 'finished'],
    ['not by a change that fails', [progress({ ...says, verification: 'failed' })], verifies, false, 'in-progress'],
    ['by a change that passes', [progress({ ...says, verification: 'passed' })], verifies, true, 'finished'],
    ['not by a change alone', [progress(working)], policy, false, 'in-progress'],
    ['not by words without a claim', [working], policy, false, 'in-progress'],
    ['not by a claim without words', [silent], policy, false, 'blocked'],
    [
      'not by a claim without words on what passes',
      [{ ...silent, verification: 'passed' }],
      verifies,
      false,
      'blocked',
    ],
    ['not by a claim of blanks', [{ output: { signal: { ...claims, summary: ' \n' } } }], policy, false, 'blocked'],
    ['not when it is blocked', [blocked], policy, false, 'in-progress'],
    [
      'not when its change is not published',
      [{ ...says, withheld: ['.github/workflows/ci.yml'] }],
      policy,
      false,
      'in-progress',
    ],
    [
      'not when it claims changes that are not there',
      [{ output: { signal: { ...claims, filesModified: 2 } } }],
      policy,
      false,
      'in-progress',
    ],
    ['not when it is cancelled', [{ ...says, end: { kind: 'cancelled' } }], policy, false, 'in-progress'],
    [
      'not when it says that failing tests pass',
      [{ output: { signal: { ...claims, testsStatus: 'PASSING' } }, verification: 'failed' }],
      verifies,
      false,
      'in-progress',
    ],
  ])('%s', (_, script, bounds, done, state) => {
    expect(ended(id, script, bounds)).toEqual([done, state]);
  });

  test('an answer without a change is nothing to the circuit, and nobody is urged to change something', () => {
    const { state, verdicts } = playOn(id, [says]);
    expect(verdicts[0]).toMatchObject({ progress: false, nothingToDo: true, setAside: null, circuit: 'closed' });
    expect(state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
    expect(state.lastIteration?.hints).toEqual([]);
    expect(state.tasks[id]?.unmarked).toBeUndefined();
  });
});

test('words on why nothing changes finish no other task', () => {
  expect(ended('issue-1', [says])).toEqual([false, 'blocked']);
});

describe('a conflict is resolved', () => {
  test.each<[string, readonly Play[], typeof policy, boolean]>([
    ['by a merge that it claims', [progress({ ...says, merge: 'made' })], policy, true],
    ['by a merge with the very content of the lane', [{ ...says, merge: 'made' }], policy, true],
    ['by a merge that passes', [progress({ ...working, merge: 'made', verification: 'passed' })], verifies, true],
    ['not by a merge that it does not claim', [progress({ ...working, merge: 'made' })], policy, false],
    ['by one that it claims later', [progress({ ...working, merge: 'made' }), says], policy, true],
    ['not by a merge that fails', [progress({ ...says, merge: 'made', verification: 'failed' })], verifies, false],
    [
      'not by a merge that passes while it asks a person',
      [progress({ ...blocked, output: { signal: { status: 'BLOCKED' } }, merge: 'made', verification: 'passed' })],
      verifies,
      false,
    ],
    ['not while files have markers', [progress({ ...says, merge: 'open' })], policy, false],
    [
      'not while files have markers, although it passes',
      [progress({ ...says, merge: 'open', verification: 'passed' })],
      verifies,
      false,
    ],
    ['not by words', [says], policy, false],
    ['by words where it was made before, and passes', [{ ...says, verification: 'passed' }], verifies, true],
  ])('%s', (_, script, bounds, done) => {
    expect(ended(CONFLICT_TASK, script, bounds)[0]).toBe(done);
  });

  test('a claim while files have markers is overruled, and the next prompt says what is left', () => {
    const { state, verdicts } = playOn(CONFLICT_TASK, [
      { output: { signal: { ...claims, filesModified: 3 } }, merge: 'open', withheld: ['src/a.ts'] },
    ]);
    expect(verdicts[0]?.discrepancies).toEqual([
      'It claimed finished work, but the merge is not finished: files still have conflict markers.',
    ]);
    expect(state.lastIteration?.hints).toEqual(['merge_open']);
  });

  test('a merge is progress even where its content is that of the lane', () => {
    const verdictOf = (merge: 'open' | 'made'): unknown => playOn(CONFLICT_TASK, [{ ...working, merge }]).verdicts[0];
    expect(verdictOf('made')).toMatchObject({ progress: true, discrepancies: [] });
    expect(verdictOf('open')).toMatchObject({ progress: false });
  });
});
