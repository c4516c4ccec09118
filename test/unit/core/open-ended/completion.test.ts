import { describe, expect, test } from 'vitest';
import { markDoneUnder, endsOpenEnded, settleOpenEnded } from '../../../../src/core/open-ended/prompt-task.ts';
import { createInitialState, parseState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import { getProgress } from '../../../../src/core/tasks/queue.ts';
import { describeStep, idle, noon, play, policy, progress, task, type Play } from '../core-fixtures.ts';

const PROMPT = 'prompt-0123456789ab';
const OTHER = 'prompt-ba9876543210';
const open = task(0, { id: PROMPT, optional: true, source: { kind: 'prompt', path: 'PROMPT.md', documents: [] } });
const bounded = { ...policy, maxIterationsPerTask: 2 };

const yes = { signal: { status: 'COMPLETE', exitSignal: true } } as const;
const no = { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } as const;
const phrase = { completionIndicator: true, confidence: 80 } as const;
const claims: Play = { output: yes };
const denies: Play = { output: no };
const speaks: Play = { output: phrase };
const marks: Play = { doneMarker: '.ralph-complete' };
const failing = { verification: 'failed' } as const;

describe('an open-ended task', () => {
  test.each<[string, readonly Play[], string]>([
    ['one claim', [progress({ output: yes })], 'iterate'],
    ['two claims', [progress({ output: yes }), claims], 'complete (project_complete)'],
    ['two claims with work in between', [claims, progress(), claims], 'complete (project_complete)'],
    ['two claims, then no more', [claims, progress(), denies], 'iterate'],
    ['two phrases', [progress({ output: phrase }), speaks], 'complete (completion_signals)'],
    ['two phrases with work in between', [progress({ output: phrase }), progress(), speaks], 'iterate'],
    ['a phrase, then a claim', [speaks, claims], 'complete (project_complete)'],
    ['a claim, then a phrase', [claims, speaks], 'complete (completion_signals)'],
    ['two markers', [marks, marks], 'complete (completion_signals)'],
    ['a marker and a phrase', [marks, speaks], 'complete (completion_signals)'],
    ['a marker beside a block that says no', [marks, { ...denies, doneMarker: '.ralph-complete' }], 'iterate'],
    ['phrases beside a block that says no', [speaks, { output: { ...phrase, ...no } }], 'iterate'],
    ['an explicit no between two phrases', [speaks, denies, speaks], 'iterate'],
    ['a finished piece, again and again', [progress(denies), progress(denies), progress(denies)], 'iterate'],
    [
      'claims that verify vetoes',
      [progress({ output: yes, ...failing }), progress({ output: yes, ...failing })],
      'iterate',
    ],
    ['nothing at all', [idle, idle, idle], 'halted (circuit_open)'],
    [
      'BLOCKED twice',
      Array.from({ length: 2 }, () => ({ output: { signal: { status: 'BLOCKED' as const } } })),
      'blocked (needs_human)',
    ],
  ])('%s', (_, script, end) => {
    const played = play(script, { tasks: [open], policy: bounded });
    expect(describeStep(played.step)).toBe(end);
    expect(played.verdicts.every(({ taskDone, nothingToDo }) => !taskDone && !nothingToDo)).toBe(true);
  });

  test('is asked to confirm a claim that holds, and learns why one does not', () => {
    const hintsAfter = (script: readonly Play[]): readonly string[] => {
      const { step } = play(script, { tasks: [open] });
      return step.kind === 'iterate' ? step.hints : [];
    };
    expect(hintsAfter([claims])).toContain('confirm_complete');
    expect(hintsAfter([claims])).not.toContain('no_change');
    expect(hintsAfter([progress({ output: yes, ...failing })])).not.toContain('confirm_complete');
    expect(hintsAfter([progress({ output: yes, ...failing })])).toContain('veto_verify');
    expect(hintsAfter([idle])).toContain('no_change');
    expect(hintsAfter([marks])).toContain('confirm_complete');
  });

  test('begins to count again when the prompt is another one', () => {
    const first = play([claims], { tasks: [open] });
    const second = play([claims], { tasks: [{ ...open, id: OTHER }], state: first.state, tree: first.tree });
    expect(describeStep(second.step)).toBe('iterate');
    expect(describeStep(play([claims], { tasks: [open], state: first.state, tree: first.tree }).step)).toBe(
      'complete (project_complete)',
    );
  });

  test('waits where the branch is as large as a review should be, whatever it was before', () => {
    const { state } = play([progress()], { tasks: [open] });
    const full = { ...state, change: { ...state.change, lines: policy.maxLinesPerPr } };
    expect(describeStep(play([], { tasks: [open], state: full }).step)).toBe('idle (waiting_for_review)');
    expect(describeStep(play([], { tasks: [open], state: full, policy: { ...policy, maxLinesPerPr: 0 } }).step)).toBe(
      'iterate',
    );
  });
});

test('a marker beside a list is overruled while a task is open', () => {
  const { verdicts, step } = play([
    progress({ doneMarker: '.ralph-complete' }),
    progress({ doneMarker: '.ralph-complete' }),
  ]);
  expect(verdicts.map(({ vetoes }) => vetoes.length)).toEqual([1, 1]);
  expect(describeStep(step)).toBe('iterate');
});

describe('at the end of a run', () => {
  const complete: Outcome = { kind: 'complete', reason: 'project_complete' };
  const worked = play([progress()], { tasks: [open] }).state;
  const settled = (outcome: Outcome, taskId: string | null = PROMPT) =>
    settleOpenEnded(worked, { outcome, taskId, commit: 'head' }, noon);

  test.each<[Outcome, boolean]>([
    [complete, true],
    [{ kind: 'complete', reason: 'completion_signals' }, true],
    [{ kind: 'complete', reason: 'plan_complete' }, false],
    [{ kind: 'limit', reason: 'iterations' }, false],
    [{ kind: 'blocked', reason: 'needs_human' }, false],
  ])('%o makes a prompt done: %s', (outcome, isDone) => {
    expect(endsOpenEnded(outcome)).toBe(isDone);
    expect(getProgress(settled(outcome).tasks, PROMPT).state).toBe(isDone ? 'finished' : 'in-progress');
  });

  test('says when and why, can be stored, and touches no other task', () => {
    const state = settled(complete);
    expect(state.transitions.at(-1)).toMatchObject({
      from: `${PROMPT} in-progress`,
      to: 'finished',
      reason: 'project_complete',
    });
    expect(getProgress(state.tasks, PROMPT).doneCommit).toBe('head');
    expect(parseState(serializeState(state), 'queue')).toMatchObject({ kind: 'state', problems: [] });
    expect(settled(complete, 'issue-1')).toBe(worked);
    expect(settled(complete, null)).toBe(worked);
  });

  test('other texts of the same documents are done with it, and only then', () => {
    const done = settled(complete);
    expect(getProgress(markDoneUnder(done, PROMPT, OTHER).tasks, OTHER).state).toBe('finished');
    expect(markDoneUnder(worked, PROMPT, OTHER)).toBe(worked);
    expect(markDoneUnder(done, PROMPT, PROMPT)).toBe(done);
    expect(createInitialState('queue', noon).tasks).toEqual({});
  });
});
