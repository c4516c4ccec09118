import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { addCommit } from '../stage/in-memory.ts';
import { finisher, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import { commented, createProject, labeled, runOnce } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import type { Project } from '../stage/project.ts';

/** Creates a project whose base branch has these files. */
function projectWith(
  files: Readonly<Record<string, string>>,
  setting: Parameters<typeof createProject>[0] = {},
): Project {
  const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations-per-task': '0' }, ...setting });
  const { branches } = project.origin;
  const parent = branches.get('main') ?? null;
  branches.set(
    'main',
    addCommit(project.origin, { tree: { 'README.md': 'A shop', ...files }, parent, message: 'Set up' }),
  );
  return project;
}

describe('the settings file of the base branch binds', () => {
  test('MAX_CALLS_PER_HOUR', async () => {
    const project = projectWith({ '.ralphrc': 'MAX_CALLS_PER_HOUR=2 # slowly\n' });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2 });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
  });

  test('in three jobs as in one', async () => {
    const project = projectWith({ '.ralph/.ralphrc': 'MAX_CALLS_PER_HOUR=2\n' });
    project.environment = { RALPH_MAX_CONSECUTIVE_DONE_SIGNALS: '4' };
    const { loop, publish } = await runSplit(project, {
      // Later changes of the base branch or of a job's environment do not affect what the gate has read.
      loop: {
        prepare: () => {
          project.environment = {};
        },
      },
    });
    expect(loop?.calls).toBe(2);
    for (const run of [loop, publish])
      expect(run?.report).toMatchObject({
        outcome: { kind: 'parked', reason: 'calls_per_hour' },
        policy: { maxCallsPerHour: 2, completionSignals: 4 },
      });
  });

  test('GITHUB_TASK_LABEL: it is the label of tasks', async () => {
    const project = projectWith({ '.ralphrc': 'GITHUB_TASK_LABEL="todo"\n' }, { issues: [1], agent: [finisher] });
    const issue = project.forge.issues.get(1);
    if (issue !== undefined) project.forge.issues.set(1, { ...issue, labels: ['todo'] });
    expect((await runOnce(project, { event: labeled(1, 'ann', 'todo') })).calls).toBe(1);
  });

  test('OPTIONAL_SECTIONS: items there do not keep the plan from being complete', async () => {
    const plan = '# Plan\n\n- [x] One\n\n## Some day\n\n- [ ] Two\n';
    const files = { '.ralph/fix_plan.md': plan };
    const setting = { issues: [], agent: [finisher], inputs: { 'max-iterations': '1' } };
    const strict = await runOnce(projectWith(files, setting));
    const loose = await runOnce(projectWith({ ...files, '.ralphrc': 'OPTIONAL_SECTIONS="Some day"\n' }, setting));
    const isOptional = (run: typeof strict): unknown =>
      run.work?.tasks.find(({ title }) => title === 'Two')?.optional ?? 'not worked';
    expect([isOptional(strict), isOptional(loose)]).toEqual([false, 'not worked']);
  });
});

const rewriting: Behaviour = (call) => {
  const act = steadyWorker(call);
  return { ...act, writes: { ...act.writes, '.ralphrc': 'MAX_CALLS_PER_HOUR=9999\n' } };
};

describe('only the base branch', () => {
  test('an agent that writes a settings file changes neither this run nor the next one', async () => {
    const project = projectWith({ '.ralphrc': 'MAX_CALLS_PER_HOUR=3\n' }, { agent: [rewriting, steadyWorker] });
    expect((await runOnce(project)).calls).toBe(3);
    const [first, second] = [await runOnce(project), await runOnce(project)];
    for (const run of [first, second]) expect(run).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
  });
});

describe('files of other tools are reported', () => {
  const files = {
    '.ralphrc': 'MAX_CALLS_PER_HOUR=2\nRALPH_VERBOSE=true\n',
    '@fix_plan.md': '- [ ] One\n',
    '.ralph/.claude_session_id': 'abc',
  };
  const lines = [
    'This repository is set up for ralph-claude-code.',
    '`@fix_plan.md`: used as the plan.',
    'Not used: `.ralph/.claude_session_id`: sessions are kept with the state, since one without its transcript is useless on another machine.',
    '`.ralphrc`: 1 setting used, 1 has no meaning here (RALPH_VERBOSE).',
  ];

  test('in the log and in the report, by a run that worked and by one that the gate ended', async () => {
    const project = projectWith(files, { issues: [] });
    const worked = await runOnce(project);
    expect(worked.report).toMatchObject({ kind: 'worked', found: lines });
    expect(worked.log).toEqual(expect.arrayContaining(lines.map((line) => `info: found: ${line}`)));
    expect((await runOnce(project)).report).toMatchObject({ found: lines });
  });

  test('in three jobs by the job that publishes as well', async () => {
    const { publish } = await runSplit(projectWith(files));
    expect(publish?.report).toMatchObject({ found: lines });
  });

  test('if they are symbolic links, which are not followed, even without other such files', async () => {
    const run = await runOnce(projectWith({}), {
      prepare: (checkout) => {
        const { readTexts } = checkout;
        checkout.readTexts = async (paths, lane) => ({
          ...(await readTexts(paths, lane)),
          links: paths.includes('.ralph/fix_plan.md') ? { '.ralph/fix_plan.md': 'is a symbolic link' } : {},
        });
      },
    });
    const line = '`.ralph/fix_plan.md`: not used, a symbolic link is not followed: put a file there.';
    expect(run.report).toMatchObject({ found: [line] });
    expect(run.log).toContain(`info: found: ${line}`);
  });

  test('but not without any', async () => {
    const project = projectWith({
      '.ralph/PROMPT.md': 'Work.',
      '.ralph/AGENT.md': 'Run.',
      '.ralph/fix_plan.md': '- [ ] One\n',
    });
    expect((await runOnce(project)).report).toMatchObject({ found: [] });
  });

  test('but not for an event without work', async () => {
    const run = await runOnce(projectWith(files), { event: commented('thanks', { issue: 1 }) });
    expect(run.log.filter((line) => line.startsWith('info: found:'))).toEqual([]);
  });

  test('once, by the gate, if a person must correct them', async () => {
    const why = 'The folder does not exist.';
    const run = await runOnce(projectWith({}), {
      prepare: (checkout) => {
        checkout.readTexts = () => Promise.reject(new UserError('configuration', why));
      },
    });
    expect(run.outcome).toMatchObject({ reason: 'configuration', message: why });
    expect(run.log.filter((line) => line.includes(why))).toEqual([`warning: ${why}`]);
  });

  test('and do not stop runs if they cannot be read', async () => {
    const run = await runOnce(projectWith({}), {
      prepare: (checkout) => {
        const { readTexts } = checkout;
        let asked = 0;
        checkout.readTexts = (paths, lane) =>
          (asked += 1) === 1 ? Promise.reject(new Error('the disk is broken')) : readTexts(paths, lane);
      },
    });
    expect(run.calls).toBeGreaterThan(0);
    expect(run.log).toContain('warning: The search for files of other Ralphs failed: the disk is broken');
  });
});
