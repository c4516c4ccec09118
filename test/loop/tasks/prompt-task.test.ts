import { describe, expect, test } from 'vitest';
import { type LaneState, parseState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { renderSteps } from '../../../src/report/next/step.ts';
import { describeOutcome } from '../../../src/report/sentences/outcome-text.ts';
import { isPromptTask } from '../../../src/core/tasks/ids.ts';
import { finisher, silent, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  makeRed,
  runOnce,
  savedState,
  warningsIn,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const PROMPT = '# Build the shop\n\nDo what specs/ says.\n';

/** Creates a project with a prompt and no list. */
function projectWith(
  agent: readonly Behaviour[],
  {
    files = {},
    inputs = {},
    issues = [],
  }: {
    readonly files?: Readonly<Record<string, string>>;
    readonly inputs?: Readonly<Record<string, string>>;
    readonly issues?: readonly number[];
  } = {},
): Project {
  const project = createProject({ issues, agent, inputs: { 'task-sources': 'issues,plan,prompt', ...inputs } });
  onBase(project, { 'PROMPT.md': PROMPT, 'specs/cart.md': 'A cart.', ...files });
  return project;
}

/** Commits to the base branch as a person does. */
function onBase({ origin }: Project, files: Readonly<Record<string, string>>): void {
  const main = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(main)?.tree, ...files };
  origin.branches.set('main', addCommit(origin, { tree, parent: main, message: 'By hand' }));
}

/** Returns the agent's behaviours step by step, one for each call of the project. */
const inTurn =
  (...behaviours: readonly Behaviour[]): Behaviour =>
  (call) =>
    behaviours[Math.min(call.turn, behaviours.length) - 1]?.(call) ?? {};
const says = (exitSignal: boolean | null, writes?: Readonly<Record<string, string>>): Behaviour => {
  const status = exitSignal === true ? 'COMPLETE' : 'IN_PROGRESS';
  const act = { output: { signal: { status, exitSignal, tasksCompleted: 0 } } } as const;
  return () => (writes === undefined ? act : { ...act, writes });
};
/** Reports without a status block: `All tasks are complete.` */
const speaks = (writes: Readonly<Record<string, string>> = {}): Behaviour => {
  return () => ({ writes, output: { completionIndicator: true, confidence: 80 } });
};
const marks: Behaviour = () => ({ writes: { '.ralph-complete': '' } });
const works = (turn: number): Behaviour => says(false, { 'src/shop.ts': `step ${String(turn)}` });

const idOf = (project: Project): string => Object.keys(savedState(project).tasks).find(isPromptTask) ?? '';
const promptOf = (project: Project, call: number): string => project.script.calls[call]?.prompt ?? '';

describe('a prompt without a list', () => {
  test('is worked on until the agent says twice that all is done, then rests', async () => {
    const project = projectWith([inTurn(works(1), works(2), says(true), says(true))]);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (project_complete)', calls: 4 });
    expect(savedState(project).tasks[idOf(project)]?.state).toBe('done');
    expect(run.work?.journal.map(({ taskTitle }) => taskTitle)[0]).toBe('Build the shop');
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test('continues over several runs, without a maximum number of iterations', async () => {
    const project = projectWith([steadyWorker], { inputs: { 'max-iterations': '3', 'max-iterations-per-task': '2' } });
    for (let run = 0; run < 3; run += 1)
      expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 3 });
    expect(savedState(project).tasks[idOf(project)]).toMatchObject({ state: 'in-progress', attempts: 9 });
  });

  test('is not completed by one claim, which must be confirmed', async () => {
    const project = projectWith([inTurn(works(1), says(true), works(2))], { inputs: { 'max-iterations': '3' } });
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 3 });
    expect(promptOf(project, 2)).toContain('You said that everything is done. Check it once more');
    expect(promptOf(project, 2)).not.toContain('Make one small, real step now');
    expect(promptOf(project, 3)).not.toContain('You said that everything is done.');
  });

  test('does not end with a finished piece', async () => {
    const project = projectWith([finisher], { inputs: { 'max-iterations': '4' } });
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 4 });
    expect(savedState(project).tasks[idOf(project)]?.state).toBe('in-progress');
  });

  test('waits for a person if it claims to be done with a protected path, until that is allowed', async () => {
    const path = '.github/workflows/ci.yml';
    const project = projectWith([says(true, { [path]: 'x' })]);
    for (const calls of [1, 0]) expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls });
    expect(savedState(project).tasks[idOf(project)]).toMatchObject({ state: 'blocked', reason: 'withheld' });
    project.inputs = { ...project.inputs, 'allow-protected-paths': path };
    expect(await runOnce(project)).toMatchObject({ end: 'complete (project_complete)' });
    expect(project.forge.pulls).toHaveLength(1);
  });

  test('opens the circuit if the agent does nothing', async () => {
    expect(await runOnce(projectWith([stuck]))).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
  });

  test('does not feed the circuit with honest claims, however many are needed', async () => {
    const project = projectWith([inTurn(works(1), speaks())], { inputs: { 'completion-signals': '5' } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (completion_signals)', calls: 6 });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed' });
  });

  test('is worked on again once it changes on the base branch', async () => {
    const project = projectWith([inTurn(works(1), says(true), says(true), works(2), says(true), says(true))]);
    await runOnce(project);
    onBase(project, { 'README.md': 'Something else' });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    onBase(project, { 'specs/till.md': 'A till.' });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (project_complete)', calls: 3 });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test("is not started again by the run's own changes to its documents once they are merged", async () => {
    const project = projectWith([inTurn(says(true, { 'specs/cart.md': 'A cart, as built.' }), says(true))]);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (project_complete)', calls: 2 });
    onBase(project, { 'specs/cart.md': 'A cart, as built.' });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test.each([
    ['/ralph run on its pull request', 'run'],
    ['/ralph retry', 'retry'],
  ])('is worked on again when a person asks: %s', async (_, command) => {
    const project = projectWith([inTurn(works(1), says(true), says(true), works(2), says(true), says(true))]);
    const { report } = await runOnce(project);
    const pull = report?.kind === 'worked' ? (report.pullRequest?.number ?? 0) : 0;
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)' });
    const asked = await runOnce(project, {
      event: commented(`/ralph ${command}`, { issue: pull, isPullRequest: true }),
    });
    expect(asked).toMatchObject({ end: 'complete (project_complete)', calls: 3 });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test('is worked on again when a dispatch says run, but not in a second attempt of that run', async () => {
    const project = projectWith([inTurn(works(1), says(true), says(true))]);
    await runOnce(project);
    project.inputs = { ...project.inputs, command: 'run' };
    const event = { name: 'workflow_dispatch', payload: { inputs: { command: 'run' }, sender: { login: 'ann' } } };
    const asked = await runOnce(project, { event });
    expect(asked.calls).toBeGreaterThan(0);
    expect(await runOnce(project, { event, againOf: 2 })).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });
});

describe('signs of completion', () => {
  test('phrases alone complete it by several done signals, never by the dual gate', async () => {
    const project = projectWith([inTurn(silent, speaks(), speaks())]);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (completion_signals)', calls: 3 });
  });

  test('an explicit EXIT_SIGNAL: false wins over anything else', async () => {
    const refuses: Behaviour = ({ turn }) => ({
      writes: { '.ralph-complete': '', 'src/shop.ts': `step ${String(turn)}` },
      output: { completionIndicator: true, signal: { status: 'COMPLETE', exitSignal: false } },
    });
    const project = projectWith([refuses], { inputs: { 'max-iterations': '4' } });
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 4 });
  });

  test('a marker that the agent creates counts, must be created again, and never leaves the machine', async () => {
    const project = projectWith([inTurn(works(1), marks, marks)]);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (completion_signals)', calls: 3 });
    expect(run.work?.journal.map(({ evidence }) => evidence.doneMarker)).toEqual([
      null,
      '.ralph-complete',
      '.ralph-complete',
    ]);
    const head = project.origin.branches.get('ralph/queue') ?? '';
    expect(Object.keys(project.origin.commits.get(head)?.tree ?? {})).not.toContain('.ralph-complete');
  });

  test('an older marker does not count, and is left alone', async () => {
    const project = projectWith([inTurn(marks, works(1), marks, works(2))], {
      files: { '.ralph-complete': 'of last year' },
      inputs: { 'max-iterations': '4' },
    });
    const run = await runOnce(project);
    expect(run.end).toBe('limit (iterations)');
    expect(run.work?.journal.map(({ evidence }) => evidence.doneMarker)).toEqual([null, null, null, null]);
    expect(run.machine.checkout.files['.ralph-complete']).toBe('');
  });

  test('more markers are in the base branch, whatever the lane makes of that file', async () => {
    const config = (marker: string): string => JSON.stringify({ signals: { markers: [marker] } });
    const project = projectWith(
      [
        inTurn(
          says(false, { '.ralph/config.json': config('src/shop.ts'), 'src/shop.ts': '1' }),
          () => ({ writes: { 'DONE.txt': 'yes' } }),
          () => ({ writes: { 'DONE.txt': 'yes' } }),
        ),
      ],
      { files: { '.ralph/config.json': config('DONE.txt') } },
    );
    expect(await runOnce(project)).toMatchObject({ end: 'complete (completion_signals)', calls: 3 });
  });

  test.each<[string, Behaviour, string]>([
    [
      'works on',
      ({ turn }) => says(true, { 'src/shop.ts': `step ${String(turn)}` })({ task: '', turn, resume: null, files: {} }),
      'halted (safety)',
    ],
    ['changes nothing', says(true), 'halted (circuit_open)'],
  ])('a failing verify vetoes every claim of an agent that %s, and nothing is done', async (_, agent, end) => {
    const project = projectWith([agent], { inputs: { verify: 'npm test' } });
    makeRed(project);
    expect((await runOnce(project)).end).toBe(end);
    expect(savedState(project).tasks[idOf(project)]?.state).not.toBe('done');
  });

  test('a passing verify lets the claims count', async () => {
    const project = projectWith([inTurn(works(1), says(true), says(true))], { inputs: { verify: 'npm test' } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (project_complete)', calls: 3 });
    expect(savedState(project).headVerification).toMatchObject({ kind: 'passed' });
    expect(savedState(project).tasks[idOf(project)]?.state).toBe('done');
  });
});

describe('beside a list', () => {
  test('the list comes first, and the prompt is not a task while the list has one', async () => {
    const project = projectWith([finisher], { issues: [1] });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(run.work?.tasks.map(({ id }) => id)).toEqual(['issue-1']);
    expect(promptOf(project, 0)).toContain('Do what specs/ says.');
  });

  test('a claim that everything is done, in any form, does not end an open task', async () => {
    const boasts: Behaviour = ({ turn }) => ({
      writes: { '.ralph-complete': '', 'src/shop.ts': `step ${String(turn)}` },
      output: { completionIndicator: true, confidence: 95 },
    });
    const project = projectWith([boasts], { issues: [1], inputs: { 'max-iterations': '4' } });
    const run = await runOnce(project);
    expect(run.end).toBe('limit (iterations)');
    expect(run.work?.journal.every(({ verdict }) => verdict.vetoes.length === 1)).toBe(true);
  });

  test('optional items wait behind the prompt, and do not keep it from resting', async () => {
    const files = { '.ralph/fix_plan.md': '## Optional\n\n- [ ] Add a horse\n' };
    const project = projectWith([inTurn(works(1), says(true), says(true))], { files });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (project_complete)', calls: 3 });
    expect(run.work?.journal.every(({ taskId }) => isPromptTask(taskId))).toBe(true);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test('a later issue is worked on, and then the prompt rests again', async () => {
    const project = projectWith([inTurn(works(1), says(true), says(true), finisher)]);
    await runOnce(project);
    addIssue(project.forge, 7);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe('without being named as a source', () => {
  test('is not a task, and an idle run says how to have it worked on', async () => {
    const project = projectWith([steadyWorker], { inputs: { 'task-sources': 'issues,plan' } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
    expect(warningsIn(run)).toEqual([
      'PROMPT.md has no task list. To work on what it asks for, add `prompt` to `task-sources`.',
    ]);
  });

  test('if it is named but missing, there is nothing to do', async () => {
    const project = createProject({ issues: [], agent: [steadyWorker], inputs: { 'task-sources': 'prompt' } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
    expect(warningsIn(run)).toEqual([]);
  });
});

test('a branch of the maximum size for a review waits, although the prompt is not done', async () => {
  const project = projectWith([steadyWorker], { inputs: { 'max-lines-per-pr': '1' } });
  expect((await runOnce(project)).end).toBe('idle (waiting_for_review)');
  expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
});

test('three jobs complete it as well, and then it rests', async () => {
  const project = projectWith([inTurn(works(1), says(true), says(true))]);
  const { publish } = await runSplit(project);
  expect(publish).toMatchObject({ end: 'complete (project_complete)' });
  expect(savedState(project).tasks[idOf(project)]?.state).toBe('done');
  expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
});

test('a set-up prompt is in the first iteration of the queue, and in no other', async () => {
  const files = { '.ralph/prompts/SETUP_PROMPT.md': 'Lay the foundations.' };
  const project = projectWith([steadyWorker], { files, inputs: { 'max-iterations': '2' } });
  await runOnce(project);
  await runOnce(project);
  expect(project.script.calls.map(({ prompt }) => prompt.includes('Lay the foundations.'))).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test.each<[string, readonly Behaviour[], (work: Record<string, unknown>) => void]>([
  ['ends otherwise', [inTurn(works(1), says(true))], () => undefined],
  [
    'says nothing of it',
    [steadyWorker],
    (work) => (work['outcome'] = { kind: 'complete', reason: 'project_complete' }),
  ],
])('in three jobs a prompt is not called done by a loop that %s', async (_, agent, forge) => {
  const project = projectWith(agent, { inputs: { 'max-iterations': '2' } });
  const { publish } = await runSplit(project, {
    beforePublish: (handoff) => {
      const parcel = JSON.parse(Buffer.from(handoff.get('loop/work.json') ?? '').toString()) as {
        work: Record<string, unknown> & { state: string };
      };
      const parsed = parseState(parcel.work.state, 'queue');
      if (parsed.kind !== 'state') throw new Error('It has no state.');
      const tasks = Object.entries(parsed.state.tasks).map(([id, task]) => [id, { ...task, state: 'done' as const }]);
      parcel.work.state = serializeState({ ...parsed.state, tasks: Object.fromEntries(tasks) as LaneState['tasks'] });
      forge(parcel.work);
      handoff.set('loop/work.json', Buffer.from(JSON.stringify(parcel)));
    },
  });
  expect(publish?.end).toBe('failed (infrastructure)');
  expect(JSON.stringify(publish?.outcome)).toMatch(
    /It claims that prompt-\w+ is done, but none of its iterations finished it/,
  );
  expect(savedState(project).tasks[idOf(project)]?.state).not.toBe('done');
});

test('three scheduled runs of one session replay, and people read about a prompt, not about counts', async () => {
  const project = projectWith([inTurn(works(1), works(2), works(3), says(true), says(true))], {
    inputs: { 'max-iterations': '2' },
  });
  await runOnce(project);
  expect(bodyOf(project)).toContain('`PROMPT.md` is not done yet');
  expect(titleOf(project)).toBe('Build the shop');
  await runOnce(project);
  const last = await runOnce(project);
  expect(last.end).toBe('complete (project_complete)');
  expect(last.report === null ? '' : describeOutcome(last.report).what).toContain('nothing is left of `PROMPT.md`');
  expect(bodyOf(project)).toContain('`PROMPT.md` is done');
  const idle = await runOnce(project);
  const text = idle.report === null ? null : describeOutcome(idle.report);
  expect(text?.what).toBe('Nothing to do: what the prompt asks for is done already.');
  expect(idle.report === null ? '' : renderSteps(suggestNextSteps(idle.report), 'log')).toContain(
    'when PROMPT.md or a document that it points to changes on the base branch',
  );
});

const pullOf = ({ forge }: Project) => [...forge.pulls.values()].at(-1);
const bodyOf = (project: Project): string => pullOf(project)?.body ?? '';
const titleOf = (project: Project): string => pullOf(project)?.title ?? '';

test('the branch of an issue gets no set-up', async () => {
  const project = projectWith([steadyWorker], {
    files: { '.ralph/prompts/SETUP_PROMPT.md': 'Lay the foundations.' },
    issues: [1],
    inputs: { 'max-iterations': '1' },
  });
  expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ calls: 1 });
  expect(promptOf(project, 0)).not.toContain('Lay the foundations.');
});
