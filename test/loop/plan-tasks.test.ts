import { describe, expect, test } from 'vitest';
import type { Behaviour } from './stage/behaviours.ts';
import { addCommit, history } from './stage/in-memory.ts';
import type { Project } from './stage/project.ts';
import { createProject, finishOnce, labeled, red, runOnce, savedState, type Run } from './stage/run-action.ts';
import { counting, killAt } from './stage/tap.ts';

const PLAN_PATH = '.ralph/fix_plan.md';
const PRD_PATH = '.ralph/prd.json';
const ARCHIVE_PATH = '.ralph/prd_archive.json';

/** Creates a project whose tasks are in files of its base branch. */
function projectWith(
  files: Readonly<Record<string, string>>,
  setting: Parameters<typeof createProject>[0] = {},
): Project {
  const project = createProject({ issues: [], ...setting });
  const { origin } = project;
  const main = origin.branches.get('main') ?? '';
  origin.branches.set(
    'main',
    addCommit(origin, { tree: { ...origin.commits.get(main)?.tree, ...files }, parent: main, message: 'Tasks' }),
  );
  return project;
}

/** Changes code, and writes the given plan. */
const leaves =
  (plan: string, output?: ReturnType<Behaviour>['output']): Behaviour =>
  ({ turn }) => ({
    writes: { [`src/step-${String(turn)}.ts`]: `step ${String(turn)}`, [PLAN_PATH]: plan },
    ...(output === undefined ? {} : { output }),
  });
/** Writes only the given plan. */
const ticks =
  (plan: string): Behaviour =>
  () => ({ writes: { [PLAN_PATH]: plan } });
const boxes = (...lines: readonly string[]): string => lines.map((line) => `- ${line}\n`).join('');

function published(project: Project, path: string): string | undefined {
  return project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree[path];
}
const promptOf = (project: Project, call: number): string => project.script.calls[call]?.prompt ?? '';
const journalOf = (run: Run) => run.work?.journal ?? [];

describe('a fix_plan.md at the root', () => {
  const early = 'fix_plan.md';
  const files = { [early]: boxes('[ ] Roll a die'), 'specs/a.md': 'A die has six sides.' };
  const finishes: Behaviour = () => ({ writes: { 'src/die.ts': '4', [early]: boxes('[x] Roll a die') } });

  test('is the plan of an early Ralph if its prompt is beside it, and is written back', async () => {
    const project = projectWith({ ...files, 'PROMPT.md': 'Roll.' }, { agent: [finishes] });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(promptOf(project, 0)).toContain('(fix_plan.md, line 1)');
    expect(published(project, early)).toBe(boxes('[x] Roll a die'));
    expect(run.report).toMatchObject({
      found: [
        'This repository is set up for the first Ralph in bash.',
        '`PROMPT.md`: used as the prompt.',
        '`fix_plan.md`: used as the plan.',
        '`specs/`: named in the prompt (1 file).',
      ],
    });
  });

  test('does not count if there is another plan, or if no file of an early Ralph is beside it', async () => {
    const both = projectWith({ ...files, 'PROMPT.md': 'Roll.', [PLAN_PATH]: boxes('[x] Done') }, { agent: [finishes] });
    expect((await runOnce(both)).calls).toBe(0);
    const alone = await runOnce(projectWith(files, { agent: [finishes] }));
    expect(alone).toMatchObject({ calls: 0, report: { found: [] } });
  });
});

describe('a plan', () => {
  test('is worked on box by box, from top to bottom, until it is done', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till', '[x] Open the shop') },
      {
        agent: [
          leaves(boxes('[x] Add a cart', '[ ] Add a till', '[x] Open the shop')),
          leaves(boxes('[x] Add a cart', '[x] Add a till', '[x] Open the shop')),
        ],
      },
    );
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(journalOf(run).map(({ taskTitle, verdict }) => [taskTitle, verdict.taskDone])).toEqual([
      ['Add a cart', true],
      ['Add a till', true],
    ]);
    expect(published(project, PLAN_PATH)).toBe(boxes('[x] Add a cart', '[x] Add a till', '[x] Open the shop'));
    const commits = history(project.origin.commits, project.origin.branches.get('ralph/queue') ?? '').map(
      (id) => project.origin.commits.get(id)?.message ?? '',
    );
    expect(commits[1]).toMatch(
      /^Add a cart\n\nPart of \.ralph\/fix_plan\.md:1\n\nRalph-Run: \S+\nRalph-Iteration: 1\nRalph-Task: plan-[\w-]+\nCo-authored-by: Claude <noreply@anthropic\.com>$/,
    );
  });

  test('is done box by box although the agent rewords what it ticks, in one run or in several, and after the merge', async () => {
    const first = boxes('[x] ✅ DONE: read header row.', '[ ] Write the footer row');
    const second = boxes('[x] ✅ DONE: read header row.', '[x] Write the footer row in src/footer.ts');
    for (const limit of ['10', '1']) {
      const project = projectWith(
        { [PLAN_PATH]: boxes('[ ] Read the header row', '[ ] Write the footer row') },
        { agent: [leaves(first), leaves(second)], inputs: { 'max-iterations': limit } },
      );
      let run = await runOnce(project);
      if (limit === '1') {
        project.script.behaviours = [leaves(second)];
        run = await runOnce(project);
      }
      expect([run.end, project.script.calls.length]).toEqual(['complete (plan_complete)', 2]);
      expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
      const head = project.origin.branches.get('ralph/queue') ?? '';
      project.origin.branches.set('main', head);
      Object.assign(project.forge.pulls[0] ?? {}, { state: 'merged', headSha: head });
      expect(await runOnce(project)).toMatchObject({ calls: 0 });
    }
  });

  test('the prompt says where the box is and which follow, and names them only as data', async () => {
    const project = projectWith(
      { [PLAN_PATH]: `# Plan\n\n## High\n\n${boxes('[ ] Add a cart\n\n  With a handle.', '[ ] Add a till')}` },
      { agent: [ticks('gone')], inputs: { 'max-iterations': '1' } },
    );
    await runOnce(project);
    expect(promptOf(project, 0)).toContain(
      '<<<<< BEGIN TASK-1\n(.ralph/fix_plan.md, line 5)\n\nAdd a cart\n\nWith a handle.\n>>>>> END TASK-1',
    );
    expect(promptOf(project, 0)).toContain('<<<<< BEGIN LATER-1\n- Add a till\n>>>>> END LATER-1');
    expect(promptOf(project, 0)).toContain('tick the box of that item');
  });

  test('the prompt has the current line, after the file has grown since the run began', async () => {
    const grown = boxes('[x] Add a cart', '[x] Found and done', '[ ] Add a till');
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till') },
      { agent: [leaves(grown)], inputs: { 'max-iterations': '2' } },
    );
    await runOnce(project);
    expect(promptOf(project, 1)).toContain('(.ralph/fix_plan.md, line 3)');
  });

  test('that is done before the first call needs no call, whatever optional items it has', async () => {
    const project = projectWith(
      { [PLAN_PATH]: `${boxes('[x] Add a cart')}\n## Optional (later)\n\n${boxes('[ ] Add a horse')}` },
      { agent: [] },
    );
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  });

  test('the last box and a passing verify in one iteration, without a claim: complete at once', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart') },
      { agent: [leaves(boxes('[x] Add a cart'))], inputs: { verify: 'npm test' } },
    );
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('a box that is ticked without anything else is not progress; with a verify that passes it is done', async () => {
    const plan = { [PLAN_PATH]: boxes('[ ] Add a cart') };
    const idle = await runOnce(projectWith(plan, { agent: [ticks(boxes('[x] Add a cart'))] }));
    expect(idle.end).toBe('halted (circuit_open)');
    expect(journalOf(idle).some(({ verdict }) => verdict.taskDone || verdict.progress)).toBe(false);
    expect(
      await runOnce(projectWith(plan, { agent: [ticks(boxes('[x] Add a cart'))], inputs: { verify: 'npm test' } })),
    ).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('three claimed and none ticked, or open boxes deleted: reported, and not done', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till') },
      {
        agent: [
          leaves(boxes('[ ] Add a cart', '[ ] Add a till'), {
            signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 3 },
          }),
          leaves(boxes('[x] Add a cart')),
          leaves(boxes('[x] Add a cart', '[x] Add a till')),
        ],
        inputs: { 'max-iterations': '2' },
      },
    );
    const run = await runOnce(project);
    expect(journalOf(run).map(({ verdict }) => verdict.discrepancies)).toEqual([
      ['It reported TASKS_COMPLETED_THIS_LOOP: 3, but the files of tasks show 0.'],
      ['It deleted 1 open item of the files of tasks.'],
    ]);
    expect(journalOf(run).some(({ verdict }) => verdict.taskDone)).toBe(false);
    expect(promptOf(project, 1)).toContain('You reported more finished tasks than their files show');
    // An item that was deleted on the branch is still in the base's plan.
    const next = await runOnce(project);
    expect(next.work?.tasks.map(({ title }) => title)).toEqual(['Add a cart', 'Add a till']);
  });

  test('a box that was ticked along with another, without a verify, is done once an iteration on it says so', async () => {
    const both = boxes('[x] Add a cart', '[x] Add a till');
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till') },
      {
        agent: [
          leaves(both, { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 2 } }),
          () => ({ output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } }),
        ],
      },
    );
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(journalOf(run).map(({ verdict }) => [verdict.taskDone, verdict.alsoDone, verdict.discrepancies])).toEqual([
      [true, [], []],
      [true, [], []],
    ]);
  });

  test('two boxes in one iteration are two tasks done, if a verify passes', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till') },
      {
        agent: [
          leaves(boxes('[x] Add a cart', '[x] Add a till'), {
            signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 2 },
          }),
        ],
        inputs: { verify: 'npm test' },
      },
    );
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(Object.values(savedState(project).tasks)).toEqual(
      [1, 2].map(() =>
        expect.objectContaining({ state: 'done', attempts: 1, doneCommit: expect.any(String) as string }),
      ),
    );
    expect((await runOnce(project)).calls).toBe(0);
  });

  test('a box that the agent adds is worked on in the same run, or in the next one if this one lacks the time', async () => {
    const [before, between, after] = [
      boxes('[ ] Add a cart'),
      boxes('[x] Add a cart', '[ ] Oil the wheels'),
      boxes('[x] Add a cart', '[x] Oil the wheels'),
    ];
    const project = projectWith({ [PLAN_PATH]: before }, { agent: [leaves(between), leaves(after)] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });

    const later = projectWith({ [PLAN_PATH]: before }, { agent: [leaves(between)], inputs: { 'max-iterations': '1' } });
    expect((await runOnce(later)).end).toBe('limit (iterations)');
    later.script.behaviours = [leaves(after)];
    expect(await runOnce(later)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('a box that people remove from the base is no longer worked on, although the lane still has it', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till', '[ ] Add a bell') },
      {
        agent: [leaves(boxes('[x] Add a cart', '[ ] Add a till', '[ ] Add a bell'))],
        inputs: { 'max-iterations': '1' },
      },
    );
    await runOnce(project);
    const { origin } = project;
    const main = origin.branches.get('main') ?? '';
    origin.branches.set(
      'main',
      addCommit(origin, {
        tree: { ...origin.commits.get(main)?.tree, [PLAN_PATH]: boxes('[ ] Add a big bell') },
        parent: main,
        message: 'Fewer tasks',
      }),
    );
    project.script.behaviours = [
      leaves(boxes('[x] Add a cart', '[ ] Add a till', '[ ] Add a bell'), {
        signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 },
      }),
    ];
    const next = await runOnce(project);
    expect(next.work?.tasks.map(({ title }) => title)).toEqual(['Add a cart', 'Add a big bell']);
    expect(next).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('on the lane of an issue a plan is the agent’s own', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart') },
      { issues: [1], agent: [leaves('', { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } })] },
    );
    const run = await runOnce(project, { event: labeled(1) });
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(journalOf(run)[0]?.evidence.checklist).toBeNull();
  });

  test('on a queue of issues and boxes a claim on an issue is about the issue, and deleted boxes are reported anyway', async () => {
    const claim = { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } as const;
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart') },
      {
        issues: [1],
        agent: [leaves(boxes('[ ] Add a cart'), claim), leaves('', claim)],
        inputs: { 'max-iterations': '2' },
      },
    );
    const run = await runOnce(project);
    expect(
      journalOf(run).map(({ taskId, verdict }) => [taskId.split('-')[0], verdict.taskDone, verdict.discrepancies]),
    ).toEqual([
      ['issue', true, []],
      [
        'plan',
        false,
        [
          'It reported TASKS_COMPLETED_THIS_LOOP: 1, but the files of tasks show 0.',
          'It deleted 1 open item of the files of tasks.',
        ],
      ],
    ]);
  });
});

describe('a prd', () => {
  const story = (id: string, passes: boolean) => ({ id, title: `Story ${id}`, passes, notes: 'kept' });
  const prd = (...passes: readonly boolean[]): string =>
    `${JSON.stringify({ project: 'shop', userStories: passes.map((passed, at) => story(`US-${String(at + 1)}`, passed)) }, null, 2)}\n`;
  const writes =
    (text: string): Behaviour =>
    ({ turn }) => ({ writes: { [`src/step-${String(turn)}.ts`]: 'x', [PRD_PATH]: text } });
  const idsIn = (text: string | undefined): readonly string[] =>
    (text === undefined
      ? []
      : ((JSON.parse(text) as { userStories?: readonly { readonly id: string }[] }).userStories ?? [])
    ).map(({ id }) => id);

  test('is worked on entry by entry; at the end of the run its done entries are in the archive, committed', async () => {
    const project = projectWith(
      { [PRD_PATH]: prd(false, false, false) },
      { agent: [writes(prd(true, false, false)), writes(prd(true, true, false))], inputs: { 'max-iterations': '2' } },
    );
    const run = await runOnce(project);
    expect(run.end).toBe('limit (iterations)');
    expect(idsIn(published(project, PRD_PATH))).toEqual(['US-3']);
    expect(idsIn(published(project, ARCHIVE_PATH))).toEqual(['US-1', 'US-2']);
    expect(JSON.parse(published(project, PRD_PATH) ?? '')).toMatchObject({
      project: 'shop',
      userStories: [{ notes: 'kept' }],
    });
    expect(run.machine.checkout.files[PRD_PATH]).toBe(published(project, PRD_PATH));

    project.script.behaviours = [
      writes(published(project, PRD_PATH)?.replace('"passes": false', '"passes": true') ?? ''),
    ];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(idsIn(published(project, ARCHIVE_PATH))).toEqual(['US-1', 'US-2', 'US-3']);
  });

  test('an entry that is marked but not accepted is not archived', async () => {
    const project = projectWith(
      { [PRD_PATH]: prd(false, false) },
      { agent: [writes(prd(true, true))], inputs: { verify: 'npm test', 'max-iterations': '1' } },
    );
    project.verifier = red;
    await runOnce(project);
    expect([idsIn(published(project, PRD_PATH)), published(project, ARCHIVE_PATH)]).toEqual([
      ['US-1', 'US-2'],
      undefined,
    ]);
  });

  test('an agent that moves its entry to the archive has not deleted it', async () => {
    const moves: Behaviour = () => ({
      writes: {
        'src/a.ts': 'x',
        [PRD_PATH]: `${JSON.stringify({ userStories: [story('US-2', false)] })}\n`,
        [ARCHIVE_PATH]: `${JSON.stringify({ userStories: [story('US-1', true)] })}\n`,
      },
    });
    const run = await runOnce(
      projectWith({ [PRD_PATH]: prd(false, false) }, { agent: [moves], inputs: { 'max-iterations': '1' } }),
    );
    expect(journalOf(run)[0]?.verdict).toMatchObject({ taskDone: true, discrepancies: [] });
  });

  test('that has become unreadable has lost its open entries', async () => {
    const project = projectWith(
      { [PRD_PATH]: prd(false, false) },
      { agent: [writes('{ "userStories": [')], inputs: { 'max-iterations': '1' } },
    );
    const [entry] = journalOf(await runOnce(project));
    expect(entry?.verdict).toMatchObject({
      taskDone: false,
      discrepancies: ['It deleted 2 open items of the files of tasks.'],
    });
  });

  test('that people broke in the base while the lane is open is reported, and loses none of the lane’s entries', async () => {
    const project = projectWith(
      { [PRD_PATH]: prd(false, false) },
      { agent: [writes(prd(true, false))], inputs: { 'max-iterations': '1' } },
    );
    await runOnce(project);
    const { origin } = project;
    const main = origin.branches.get('main') ?? '';
    origin.branches.set(
      'main',
      addCommit(origin, { tree: { ...origin.commits.get(main)?.tree, [PRD_PATH]: '{' }, parent: main, message: 'Oh' }),
    );
    project.script.behaviours = [
      writes(published(project, PRD_PATH)?.replace('"passes": false', '"passes": true') ?? ''),
    ];
    const next = await runOnce(project);
    expect(next.work?.tasks.map(({ id }) => id).sort()).toEqual(['prd-US-1', 'prd-US-2', 'prd-unreadable']);
    expect(next).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(next.work?.notes.warnings.join()).toContain('.ralph/prd.json:1:2 not valid JSON');
  });

  test('an archive that cannot be read leaves every entry in its file', async () => {
    const project = projectWith({ [PRD_PATH]: prd(false), [ARCHIVE_PATH]: '{' }, { agent: [writes(prd(true))] });
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(idsIn(published(project, PRD_PATH))).toEqual(['US-1']);
    expect(published(project, ARCHIVE_PATH)).toBe('{');
    const described =
      '.ralph/prd_archive.json:1:2 not valid JSON: the file ends in the middle of a value. Done entries stay in the prd until it is corrected.';
    expect(run.work?.warnings).toEqual([described]);
    expect(project.forge.pulls[0]?.body).toContain('Done entries stay in the prd until it is corrected');
  });

  test('an archive that must not be published receives no entries', async () => {
    const project = projectWith({ [PRD_PATH]: prd(false) }, { agent: [writes(prd(true))] });
    const run = await runOnce(project, {
      prepare: (checkout) => {
        const { snapshot } = checkout;
        checkout.commitTexts = async () => ({
          head: (await snapshot()).head,
          withheld: [{ path: ARCHIVE_PATH, why: 'it repeats a key' }],
        });
      },
    });
    expect(run.end).toBe('complete (plan_complete)');
    expect(idsIn(published(project, PRD_PATH))).toEqual(['US-1']);
  });

  test('killed anywhere while it is archived, a run loses nothing, and the next one continues', async () => {
    const make = (): Project =>
      projectWith(
        { [PRD_PATH]: prd(false, false) },
        { agent: [writes(prd(true, false))], inputs: { 'max-iterations': '1' } },
      );
    const counted = counting();
    await runOnce(make(), { tap: counted });
    const first = counted.calls.lastIndexOf('repository.publishedTexts');
    const steps = counted.calls.slice(first).findIndex((name) => name.startsWith('place.record'));
    expect(counted.calls.slice(first, first + steps)).toEqual(expect.arrayContaining(['repository.commitTexts']));
    for (let step = 1; step <= steps; step += 1) {
      for (const when of ['before', 'after'] as const) {
        const project = make();
        const killed = await runOnce(project, { tap: killAt((_, number) => number === first + step, when) });
        await finishOnce(project, killed);
        expect(
          idsIn(published(project, PRD_PATH))
            .concat(idsIn(published(project, ARCHIVE_PATH)))
            .sort(),
          `${when} ${String(counted.calls[first + step - 1])}`,
        ).toEqual(['US-1', 'US-2']);
        project.script.behaviours = [
          writes(published(project, PRD_PATH)?.replaceAll('"passes": false', '"passes": true') ?? ''),
        ];
        expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
        expect([idsIn(published(project, PRD_PATH)), idsIn(published(project, ARCHIVE_PATH))]).toEqual([
          [],
          ['US-1', 'US-2'],
        ]);
      }
    }
  });
});

describe('notes', () => {
  const notes = Array.from({ length: 200 }, (_, at) => `- Note ${String(at)}: ${'n'.repeat(50)}\n`).join('');
  const noting: Behaviour = () => ({
    writes: { 'src/a.ts': 'x', [PLAN_PATH]: boxes('[x] Add a cart'), '.ralph/learnings.md': notes },
  });

  test('that outgrew their cap are compacted without losing a line', async () => {
    const project = projectWith({ [PLAN_PATH]: boxes('[ ] Add a cart') }, { agent: [noting] });
    await runOnce(project);
    const [kept, archived] = [
      published(project, '.ralph/learnings.md') ?? '',
      published(project, '.ralph/learnings_archive.md') ?? '',
    ];
    expect(kept.length).toBeLessThanOrEqual(2_000);
    for (const line of notes.trimEnd().split('\n')) expect(`${archived}${kept}`).toContain(line);
  });

  test('of a run that changed nothing stay unchanged', async () => {
    const project = projectWith(
      { [PLAN_PATH]: boxes('[ ] Add a cart'), '.ralph/learnings.md': notes },
      { agent: [() => ({})] },
    );
    const run = await runOnce(project);
    expect(run.machine.checkout.files['.ralph/learnings.md'] === notes).toBe(true);
    expect(project.forge.pulls).toEqual([]);
  });

  test('of a lane with only issues are compacted as well', async () => {
    const project = projectWith(
      { '.ralph/learnings.md': notes },
      {
        issues: [1],
        agent: [
          ({ turn }) => ({
            writes: { 'src/a.ts': String(turn) },
            output: { signal: { status: 'COMPLETE', exitSignal: false } },
          }),
        ],
      },
    );
    await runOnce(project);
    expect(published(project, '.ralph/learnings.md')?.length).toBeLessThanOrEqual(2_000);
    expect(published(project, '.ralph/learnings_archive.md')).toContain('- Note 0: ');
  });
});
