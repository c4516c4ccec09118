import { describe, expect, test } from 'vitest';
import { findCircuitOpener } from '../../../src/core/others/left-circuit.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import { addCommit, history } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  schedule,
  warningsIn,
  type Run,
} from '../stage/run-action.ts';

const PRD_PATH = '.ralph/prd.json';

/** Changes files of the base branch; null removes one. */
function changeBase({ origin }: Project, files: Readonly<Record<string, string | null>>): void {
  const main = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(main)?.tree, ...files };
  const kept = Object.fromEntries(Object.entries(tree).filter((file): file is [string, string] => file[1] !== null));
  origin.branches.set('main', addCommit(origin, { tree: kept, parent: main, message: 'By people' }));
}

function projectWith(
  files: Readonly<Record<string, string>>,
  setting: Parameters<typeof createProject>[0] = {},
): Project {
  const project = createProject({ issues: [], ...setting });
  changeBase(project, files);
  return project;
}

interface Entry {
  readonly id: string;
  readonly status?: string;
  readonly passes?: boolean;
  readonly issue?: unknown;
}
const prdOf = (...entries: readonly Entry[]): string =>
  `${JSON.stringify({ tasks: entries.map((entry) => ({ title: `Build ${entry.id}`, ...entry, x: [1] })) }, null, 2)}\n`;
const statesIn = (text: string | undefined): readonly (string | undefined)[] =>
  text === undefined ? [] : (JSON.parse(text) as { tasks: Entry[] }).tasks.map(({ status }) => status);
const published = (project: Project, path = PRD_PATH): string | undefined =>
  project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree[path];
const dispatched = (command: string) => ({
  name: 'workflow_dispatch',
  payload: { inputs: { command }, sender: { login: 'ann', id: 1, type: 'User' } },
});
const shown = ({ report }: Run): string => (report === null ? '' : renderSummary(report));
const byHand = { name: 'workflow_dispatch', payload: { inputs: {}, sender: { login: 'ann', id: 1, type: 'User' } } };

/** Merges the queue's pull request as people do. */
function merge({ origin, forge }: Project): void {
  const head = origin.branches.get('ralph/queue') ?? '';
  const main = origin.branches.get('main') ?? '';
  const { tree = {} } = origin.commits.get(head) ?? {};
  origin.branches.set('main', addCommit(origin, { tree, parent: main, message: 'Merge' }));
  forge.pulls.splice(
    0,
    forge.pulls.length,
    ...forge.pulls.map((pull) => ({ ...pull, headSha: head, state: 'merged' as const })),
  );
}

/** Changes code and does not mention the list. */
const works: Behaviour = ({ turn }) => ({ writes: { [`src/step-${String(turn)}.ts`]: String(turn) } });
/** Changes code, and marks one entry as done. */
const finishes =
  (id: string, path = PRD_PATH): Behaviour =>
  ({ turn, files }) => ({
    writes: {
      [`src/step-${String(turn)}.ts`]: String(turn),
      [path]: (files[path] ?? '').replace(new RegExp(`("id": "${id}",[^}]*?"status": )"[a-z_]+"`), '$1"done"'),
    },
  });

describe('states of a prd are written back', () => {
  test('in progress, done and failed, at each change; the rest of the file stays unchanged', async () => {
    const before = prdOf({ id: 'T1', status: 'todo' }, { id: 'T2', status: 'todo' });
    const project = projectWith(
      { [PRD_PATH]: before },
      { agent: [works], inputs: { 'max-iterations': '1', 'max-iterations-per-task': '2' } },
    );
    const first = await runOnce(project);
    expect(published(project)).toBe(before.replace('"status": "todo"', '"status": "in_progress"'));
    expect(first.machine.checkout.files[PRD_PATH]).toBe(published(project));
    expect(first.work?.head).toBe(project.origin.branches.get('ralph/queue'));
    project.script.behaviours = [works, works];
    await runOnce(project);
    expect(statesIn(published(project))).toEqual(['failed', 'todo']);
    expect(savedState(project).tasks['prd-T1']).toMatchObject({ state: 'failed', attempts: 2 });
    project.script.behaviours = [finishes('T2')];
    await runOnce(project);
    expect(statesIn(published(project))).toEqual(['failed']);
    expect(statesIn(published(project, '.ralph/prd_archive.json'))).toEqual(['done']);
    const subjects = history(project.origin.commits, project.origin.branches.get('ralph/queue') ?? '').map(
      (id) => project.origin.commits.get(id)?.message.split('\n')[0],
    );
    expect(subjects).toEqual(expect.arrayContaining(['Mark prd-T1 as in progress', 'Mark prd-T1 as failed']));
  });

  test('a run that changed nothing creates no branch for them', async () => {
    const project = projectWith(
      { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }) },
      { agent: [() => ({})], inputs: { 'max-iterations': '1' } },
    );
    expect((await runOnce(project)).work).toMatchObject({ hasNewCommits: false });
    expect(project.forge.pulls).toEqual([]);
  });

  test('an unconfirmed claim of the agent stays a claim', async () => {
    const project = projectWith(
      { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }, { id: 'T2', status: 'todo' }) },
      { agent: [finishes('T2')], inputs: { 'max-iterations': '1' } },
    );
    await runOnce(project);
    expect(statesIn(published(project))).toEqual(['in_progress', 'done']);
    expect(savedState(project).tasks['prd-T2']?.state ?? 'todo').toBe('todo');
  });

  test('an entry that the branch does not have cannot be marked there', async () => {
    const project = projectWith(
      { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }) },
      { agent: [works], inputs: { 'max-iterations': '1' } },
    );
    await runOnce(project);
    changeBase(project, { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }, { id: 'T2', status: 'todo' }) });
    project.script.behaviours = [finishes('T1'), works];
    await runOnce(project, {});
    expect(published(project)).not.toContain('T2');
  });
});

describe('an entry that an earlier Ralph failed', () => {
  const files = { [PRD_PATH]: prdOf({ id: 'T1', status: 'failed' }, { id: 'T2', status: 'blocked' }) };

  test('is not tried by the schedule', async () => {
    const project = projectWith(files, { agent: [] });
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
  });

  test('is reported to people as a failed entry', async () => {
    const project = projectWith(
      {
        [PRD_PATH]: prdOf(
          { id: 'T1', status: 'failed' },
          { id: 'T2', status: 'blocked' },
          { id: 'T3', status: 'todo' },
        ),
      },
      { agent: [finishes('T3')] },
    );
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    const said = [...project.forge.notifications.values()].flatMap((thread) => [...thread.values()]).join('\n');
    expect(said).toMatch(
      /\*\*“Build T1” is marked as failed; you are needed\.\*\* It is marked as failed in `\.ralph\/prd\.json`, and nothing was tried here yet\.\n\n\*\*Next:\*\* To try it, comment `\/ralph retry prd-T1` on the pull request\./,
    );
    expect(said).toMatch(
      /\*\*“Build T2” is marked as blocked; you are needed\.\*\* It is marked as blocked in `\.ralph\/prd\.json`, and nothing was tried here yet\.\n\n\*\*Next:\*\* To try it, comment `\/ralph retry prd-T2`/,
    );
    expect(said).not.toContain('0 iterations');
  });

  test('is tried when the workflow is run by hand, and continues with the schedule', async () => {
    const project = projectWith(files, { agent: [works], inputs: { 'max-iterations': '1' } });
    const run = await runOnce(project, { event: byHand });
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual(['prd-T1']);
    expect(statesIn(published(project))).toEqual(['in_progress', 'blocked']);
    project.script.behaviours = [finishes('T1')];
    const next = await runOnce(project);
    expect(next.work?.journal.map(({ taskId }) => taskId)).toEqual(['prd-T1']);
    expect(savedState(project).tasks['prd-T1']?.state).toBe('done');
  });

  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ['all of them', { command: 'retry' }, ['prd-T1', 'prd-T2']],
    ['the one that is named', { command: 'retry prd-T2' }, ['prd-T2']],
  ])('is tried again by the command retry: %s', async (_, inputs, expected) => {
    const project = projectWith(files, {
      agent: [works, works, works, works],
      inputs: { 'max-iterations': '4', 'max-iterations-per-task': '2' },
    });
    const run = await runOnce(project, { event: { ...byHand, payload: { ...byHand.payload, inputs } } });
    const worked = new Set(run.work?.journal.map(({ taskId }) => taskId));
    expect([...worked].sort()).toEqual(expected);
    const { tasks, retriesAll } = savedState(project);
    expect(retriesAll).toBe(false);
    expect(Object.values(tasks).filter(({ retried }) => retried)).toEqual([]);
  });

  test('that failed here and was merged as failed is tried again by a comment', async () => {
    const project = projectWith(
      { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }, { id: 'T2', status: 'todo' }) },
      { agent: [works, works], inputs: { 'max-iterations': '1', 'max-iterations-per-task': '1' } },
    );
    await runOnce(project);
    expect(statesIn(published(project))).toEqual(['failed', 'todo']);
    merge(project);
    // The base now marks the entry as failed, and so does the stored state.
    expect(await runOnce(project, { event: byHand })).toMatchObject({ calls: 1 });
    expect(savedState(project).tasks['prd-T2']?.state).toBe('failed');
    merge(project);
    project.script.behaviours = [finishes('T1')];
    const retry = { ...byHand, payload: { ...byHand.payload, inputs: { command: 'retry prd-T1' } } };
    const run = await runOnce(project, { event: retry });
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual(['prd-T1']);
    expect(savedState(project)).toMatchObject({ tasks: { 'prd-T1': { state: 'done' } } });
  });
});

test('the issue that an entry names is closed when it is done, but not one that the agent wrote', async () => {
  const project = projectWith(
    {
      [PRD_PATH]: prdOf(
        { id: 'T1', status: 'todo', issue: { number: 12, title: 'Old' } },
        { id: 'T2', status: 'todo', issue: '#13' },
      ),
    },
    { agent: [], inputs: { 'max-iterations': '2' } },
  );
  project.script.behaviours = [
    ({ files }) => ({
      writes: {
        'src/a.ts': 'a',
        [PRD_PATH]: (files[PRD_PATH] ?? '')
          .replace('"status": "todo"', '"status": "done"')
          .replace(/\n {2}\]/, ',\n    { "id": "T9", "title": "Mine", "status": "done", "issue": 99 }\n  ]'),
      },
    }),
    works,
  ];
  await runOnce(project);
  const body = project.forge.pulls[0]?.body ?? '';
  expect(body).toContain('Closes #12, Part of #13');
  expect(body).not.toContain('#99');
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['of a prd', { [PRD_PATH]: '{"tasks":[{"id":"T1","title":"a"},{"id":"T2","title":"b","depends_on":["T9"]}]}' }, 'T9'],
  ['of a plan', { '.ralph/fix_plan.md': '- [ ] T1: a\n- [ ] T2: b, depends on T9\n' }, 'T9'],
])('an entry %s that waits for a missing one is warned of once', async (_, files, name) => {
  const run = await runOnce(projectWith(files, { agent: [works], inputs: { 'max-iterations': '1' } }));
  const warned = warningsIn(run).filter((warning) => warning.includes(name));
  expect(warned).toEqual([expect.stringMatching(/^\.ralph\/\S+:\d.* depends on "?T9"?, .*so it is not worked on/)]);
});

describe('a circuit that another Ralph left open in the checkout', () => {
  const circuit = (reason: string): Record<string, string> => ({
    '.ralph/.circuit_breaker_state': JSON.stringify({ state: 'OPEN', reason, opened_at: '2026-01-01T00:00:00Z' }),
  });
  const files = { [PRD_PATH]: prdOf({ id: 'T1', status: 'todo' }), ...circuit('No progress detected') };

  test('is honoured once: one probe, which closes it permanently', async () => {
    const project = projectWith(files, { agent: [works], inputs: { 'max-iterations': '1' } });
    const first = await runOnce(project);
    expect(warningsIn(first).join()).toContain('Another Ralph left its circuit open at 2026-01-01 00:00 UTC');
    expect(project.script.calls[0]?.prompt).toContain('Circuit: half-open.');
    expect(savedState(project).circuit.kind).toBe('closed');
    project.script.behaviours = [works, works];
    const next = await runOnce(project);
    expect(warningsIn(next).join()).not.toContain('Another Ralph');
    expect(project.script.calls[1]?.prompt).toContain('Circuit: closed.');
  });

  test('a probe without progress opens it here', async () => {
    const project = projectWith(files, { agent: [() => ({}), works] });
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 1 });
  });

  describe('a moment ago', () => {
    const left = (at: number): Record<string, string> => ({
      '.ralph/.circuit_breaker_state': JSON.stringify({ state: 'OPEN', reason: 'No progress', opened_at: iso(at) }),
    });
    const iso = (at: number): string => new Date(at).toISOString();
    const held = { end: 'halted (circuit_open)', calls: 0 };

    test.each<[string, Readonly<Record<string, string>>, boolean]>([
      ['before any run', {}, false],
      ['after runs that it held up', {}, true],
      ['where a cache keeps no orders', { 'state-store': 'cache' }, true],
    ])('is closed by a reset: %s', async (_, inputs, isHeldFirst) => {
      const project = projectWith(
        { ...files, ...left(noon - MINUTE) },
        { agent: [works], inputs: { ...inputs, 'max-iterations': '1' } },
      );
      if (isHeldFirst) expect(await runOnce(project)).toMatchObject(held);
      const reset = await runOnce(project, { event: dispatched('reset circuit') });
      expect(reset.end).toBe('idle (answered)');
      expect(shown(reset)).toContain('Circuit closed.');
      expect(shown(reset)).not.toContain('already closed');
      const next = await runOnce(project);
      expect(next).toMatchObject({ end: 'limit (iterations)', calls: 1 });
      expect(warningsIn(next).join()).not.toContain('Another Ralph');
      expect(project.script.calls[0]?.prompt).toContain('Circuit: closed.');
      expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
      // After that, a reset finds nothing to close.
      expect(shown(await runOnce(project, { event: dispatched('reset circuit') }))).toContain('already closed');
      expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
      // A circuit that is left open later counts as another one.
      changeBase(project, left(project.clock.now()));
      expect(await runOnce(project)).toMatchObject(held);
    });

    test('is not closed where this job cannot sign that it is settled, and the run says how to fix it', async () => {
      const project = projectWith({ ...files, ...left(noon - MINUTE) }, { inputs: { 'state-store': 'cache' } });
      project.kept.cache.signed = false;
      const reset = await runOnce(project, { event: dispatched('reset circuit') });
      expect(reset.end).toBe('failed (configuration)');
      expect(JSON.stringify(reset.outcome)).toContain("signed with the agent's key, which this job does not have");
    });

    test('is reported by a status', async () => {
      const project = projectWith({ ...files, ...left(noon - MINUTE) });
      expect(shown(await runOnce(project, { event: dispatched('status') }))).toContain('Circuit: open');
    });

    test('is in the state once it stopped a run, which keeps nothing else from it', async () => {
      const project = projectWith(
        { ...files, ...left(noon - MINUTE) },
        { agent: [works], inputs: { 'max-iterations': '1' } },
      );
      expect(warningsIn(await runOnce(project)).join()).toContain('Another Ralph left its circuit open');
      const { circuit: kept, tasks, lastRun, sequence, transitions } = savedState(project);
      expect(kept).toMatchObject({ kind: 'open', openedAt: noon - MINUTE });
      expect({ tasks, lastRun, sequence }).toEqual({ tasks: {}, lastRun: null, sequence: 1 });
      expect(findCircuitOpener(transitions)).toBe('another-ralph');
      const again = await runOnce(project);
      expect(again).toMatchObject(held);
      expect(warningsIn(again).join()).not.toContain('Another Ralph left its circuit open');
      expect(savedState(project).sequence).toBe(1);
      project.clock.advance(31 * MINUTE);
      expect(await runOnce(project)).toMatchObject({ calls: 1 });
      expect(project.script.calls[0]?.prompt).toContain('Circuit: half-open.');
    });

    test('is probed at once by a retry, and settled by its progress', async () => {
      const project = projectWith(
        { ...files, ...left(noon - MINUTE) },
        { agent: [works, works], inputs: { 'max-iterations': '1' } },
      );
      expect(await runOnce(project)).toMatchObject(held);
      expect(await runOnce(project, { event: dispatched('retry') })).toMatchObject({ calls: 1 });
      expect(project.script.calls[0]?.prompt).toContain('Circuit: half-open.');
      expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
      expect(project.script.calls[1]?.prompt).toContain('Circuit: closed.');
    });
  });

  test('does not affect the branch of an issue that a person asked for', async () => {
    const project = projectWith(files, { issues: [7], agent: [works], inputs: { 'max-iterations': '1' } });
    const run = await runOnce(project, { event: labeled(7) });
    expect(warningsIn(run).join()).not.toContain('Another Ralph');
    expect(project.script.calls[0]?.prompt).toContain('Circuit: closed.');
  });
});

test('a comment on the pull request of the queue counts as a request, too', async () => {
  const project = projectWith(
    { [PRD_PATH]: prdOf({ id: 'T1', status: 'failed' }, { id: 'T2', status: 'todo' }) },
    { agent: [works], inputs: { 'max-iterations': '1' } },
  );
  const first = await runOnce(project);
  expect(first.work?.journal.map(({ taskId }) => taskId)).toEqual(['prd-T2']);
  expect(savedState(project).tasks['prd-T1']?.state).toBe('failed');
  const number = project.forge.pulls[0]?.number ?? 0;
  project.script.behaviours = [finishes('T2'), works];
  project.inputs = { ...project.inputs, 'max-iterations': '2' };
  const run = await runOnce(project, { event: commented('/ralph run', { issue: number, isPullRequest: true }) });
  expect(run.work?.journal.map(({ taskId }) => taskId)).toContain('prd-T1');
});

test('the branch of an issue keeps its own notes and compacts no others, so that two branches merge', async () => {
  const notes = Array.from({ length: 200 }, (_, at) => `- Note ${String(at)}: ${'n'.repeat(50)}\n`).join('');
  const project = projectWith(
    { '.ralph/learnings.md': notes },
    {
      issues: [7],
      agent: [() => ({ writes: { 'src/a.ts': 'a', '.ralph/learnings/issue-7.md': notes } })],
      inputs: { 'max-iterations': '1' },
    },
  );
  await runOnce(project, { event: labeled(7) });
  const tree = project.origin.commits.get(project.origin.branches.get('ralph/issue-7') ?? '')?.tree ?? {};
  expect(tree['.ralph/learnings.md']).toBe(notes);
  expect(tree['.ralph/learnings/issue-7.md']?.length).toBeLessThanOrEqual(2_000);
  const both = `${tree['.ralph/learnings/archive/issue-7.md'] ?? ''}${tree['.ralph/learnings/issue-7.md'] ?? ''}`;
  for (const line of notes.trimEnd().split('\n')) expect(both).toContain(line);
  expect(project.script.calls[0]?.prompt).toContain(
    'Your notes go to .ralph/learnings/issue-7.md. Do not write to .ralph/learnings.md: other work keeps its notes there.',
  );
});
