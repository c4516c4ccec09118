import { describe, expect, test } from 'vitest';
import { LEFT_OUT_CLAUSES } from '../../../src/core/review/left-out.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { finisher, type Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { createProject, labeled, runOnce, savedState } from '../stage/run-action.ts';

const STRAY = '.claude/settings.local.json';
const CI = '.github/workflows/ci.yml';
const done = { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } as const;
const working = { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } as const;

/** Finishes its task; the iteration of #1 with number `on` (1-based, of #1) writes another file as well. */
function alsoWrites(
  path: string,
  on: (nth: number) => boolean,
  claims: (nth: number) => boolean = () => true,
): Behaviour {
  let nth = 0;
  return ({ task, turn }) => {
    if (task !== 'issue-1') return { writes: { [`src/${task}.ts`]: 'done' }, output: { signal: done } };
    nth += 1;
    return {
      writes: { [`src/${task}.ts`]: `step ${String(turn)}`, ...(on(nth) ? { [path]: `x ${String(nth)}` } : {}) },
      output: { signal: claims(nth) ? done : working },
    };
  };
}

function notificationsOf({ forge }: Project): readonly string[] {
  return [...forge.notifications.values()].flatMap((comments) => [...comments.values()]);
}

function progressOf(project: Project, id: string): readonly [string | undefined, number | undefined] {
  const task = savedState(project).tasks[id];
  return [task?.state, task?.attempts];
}

describe('a stray file that must not be published', () => {
  test('contradicts only the claim of its own iteration: it is named to the agent, and one more call finishes the task', async () => {
    const project = createProject({ issues: [1, 2], agent: [alsoWrites(STRAY, (nth) => nth === 1)] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    expect([progressOf(project, 'issue-1'), progressOf(project, 'issue-2')]).toEqual([
      ['done', 2],
      ['done', 1],
    ]);
    expect(project.script.calls[1]?.prompt).toContain(`${STRAY}: it is a protected path`);
    expect(project.forge.pulls[0]?.body).toContain(STRAY);
    expect(notificationsOf(project).join('\n')).not.toContain(STRAY);
  });

  test('is named to the agent with the reason, however long its path is', async () => {
    for (const depth of [12, 50]) {
      const path = `.claude/${'skills/'.repeat(depth)}settings.json`;
      const project = createProject({ issues: [1], agent: [alsoWrites(path, (nth) => nth === 1)] });
      expect(await runOnce(project)).toMatchObject({ calls: 2 });
      expect(project.script.calls[1]?.prompt).toContain(`/settings.json: ${LEFT_OUT_CLAUSES.protected}\n`);
    }
  });

  test('is named with the others of its kind; a flood of another kind is counted and hides none', async () => {
    const flood = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`.claude/skills/${String(n).padStart(2, '0')}.md`, 'x']),
    );
    const agent: Behaviour = ({ turn }) => ({
      writes: {
        'src/done.ts': String(turn),
        ...(turn === 1 ? { ...flood, 'node_modules/y.js': 'x', 'node_modules/z.js': 'x' } : {}),
      },
      output: { signal: done },
    });
    const project = createProject({ issues: [1], agent: [agent] });
    const run = await runOnce(project);
    const prompt = project.script.calls[1]?.prompt ?? '';
    const named = new Set(prompt.match(/\.claude\/skills\/\d+\.md/g));
    expect(named.size).toBeGreaterThan(15);
    expect(prompt).toContain(
      ` and ${String(60 - named.size)} more: ${LEFT_OUT_CLAUSES.protected.replace('it is', 'each is')}`,
    );
    expect(prompt).toContain('- node_modules/y.js, node_modules/z.js: 320 changed files are more than max-patch-files');
    const summary = run.report === null ? '' : renderSummary(run.report);
    // The section names them; the first lines only count them.
    for (const page of [summary, project.forge.pulls[0]?.body ?? '']) {
      expect(page).toContain('⚠️ 62 changed files are not in the branch: see “Left out”.');
      expect(page).toMatch(/### Left out\n\n[^]*`node_modules\/z\.js`: /);
    }
  });

  test('is named on the page and in the summary of its run until the agent removes it', async () => {
    for (const isKept of [true, false]) {
      const writes = alsoWrites(STRAY, (nth) => nth === 1);
      const agent: Behaviour = (call) => {
        if (!isKept && call.turn > 1) Reflect.deleteProperty(call.files, STRAY);
        return writes(call);
      };
      const project = createProject({ issues: [1], agent: [agent] });
      const run = await runOnce(project);
      expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
      const summary = run.report === null ? '' : renderSummary(run.report);
      const pages = [summary, project.forge.pulls[0]?.body ?? ''];
      expect(pages.map((page) => page.includes('1 changed file is not in the branch'))).toEqual([isKept, isKept]);
    }
  });

  test.each([0, 1])(
    'is removed as asked, and nothing else is changed (FILES_MODIFIED: %i): done',
    async (filesModified) => {
      const agent: Behaviour = (call) => {
        if (call.turn === 1) return { writes: { 'src/a.ts': 'x', [STRAY]: 'x' }, output: { signal: done } };
        Reflect.deleteProperty(call.files, STRAY);
        return { output: { signal: { ...done, filesModified } } };
      };
      const project = createProject({ issues: [1], agent: [agent] });
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    },
  );

  test.each([0, 1])(
    'is left where it is by an agent that claims the same work again (FILES_MODIFIED: %i): done',
    async (filesModified) => {
      const agent: Behaviour = () => ({
        writes: { 'src/a.ts': 'x', [STRAY]: 'x' },
        output: { signal: { ...done, filesModified } },
      });
      const project = createProject({ issues: [1], agent: [agent] });
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
      expect(project.forge.pulls[0]?.body).toContain(STRAY);
    },
  );

  test('notes alone are files that an agent may report', async () => {
    const agent: Behaviour = ({ turn }) =>
      turn === 1
        ? { writes: { 'src/a.ts': 'x' }, output: { signal: working } }
        : { writes: { '.ralph/learnings.md': 'x' }, output: { signal: { ...done, filesModified: 1 } } };
    const project = createProject({ issues: [1], agent: [agent] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });

  test('without a claim contradicts no later claim', async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [
        alsoWrites(
          STRAY,
          (nth) => nth === 1,
          (nth) => nth > 1,
        ),
      ],
    });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    expect(progressOf(project, 'issue-2')).toEqual(['done', 1]);
  });

  test('that the agent changes again with its second claim is for a person, once; the queue continues', async () => {
    const project = createProject({ issues: [1, 2], agent: [alsoWrites(STRAY, () => true)] });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 3 });
    expect(savedState(project).tasks).toMatchObject({
      'issue-1': { state: 'blocked', reason: 'withheld' },
      'issue-2': { state: 'done' },
    });
    expect(notificationsOf(project)).toHaveLength(1);
    expect(await runOnce(project)).toMatchObject({ calls: 0 });
    expect(notificationsOf(project)).toHaveLength(1);
  });
});

describe('too many files, which the agent can remove itself', () => {
  const packagePath = 'node_modules/left-pad/index.js';
  /** Writes only packages for #1, with a claim; then behaves like `second`. */
  const onlyPackages = (second: Behaviour): Behaviour => {
    let nth = 0;
    return (call) => {
      if (call.task !== 'issue-1') return finisher(call);
      nth += 1;
      return nth === 1 ? { writes: { [packagePath]: 'x' }, output: { signal: done } } : second(call);
    };
  };

  test('are named to it, although it changed nothing else, and its work counts once it exists', async () => {
    const agent = onlyPackages(() => ({ writes: { 'src/one.ts': 'done' }, output: { signal: done } }));
    const project = createProject({ issues: [1], agent: [agent] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(project.script.calls[1]?.prompt).toContain(`${packagePath}: 320 changed files are more than`);
    expect(notificationsOf(project).join('\n')).not.toContain(packagePath);
  });

  test.each([{ verify: '' }, { verify: 'npm test' }])(
    'are for a person, once, if it claims the task again without publishable work (%j)',
    async (inputs) => {
      const project = createProject({
        issues: [1, 2],
        agent: [onlyPackages(() => ({ output: { signal: done } }))],
        inputs,
      });
      expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 3 });
      expect(savedState(project).tasks).toMatchObject({
        'issue-1': { state: 'blocked', reason: 'withheld' },
        'issue-2': { state: 'done' },
      });
      expect(notificationsOf(project)).toHaveLength(1);
    },
  );
});

describe('a protected path in finished work', () => {
  const writesOnly =
    (path: string): Behaviour =>
    (call) =>
      call.task === 'issue-1' ? { writes: { [path]: 'x' }, output: { signal: done } } : finisher(call);
  test.each<[string, string, Behaviour]>([
    ['beside other changes', CI, alsoWrites(CI, (nth) => nth === 1)],
    ['all that was changed', CI, writesOnly(CI)],
    ["all that was changed, in an agent's own folder", STRAY, writesOnly(STRAY)],
  ])('%s: after the first claim the task waits for a person, and the queue continues', async (_, path, agent) => {
    const project = createProject({ issues: [1, 2, 3], agent: [agent] });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 3 });
    expect(savedState(project)).toMatchObject({
      circuit: { kind: 'closed', noProgress: 0 },
      tasks: {
        'issue-1': { state: 'blocked', reason: 'withheld', attempts: 1 },
        'issue-2': { state: 'done' },
        'issue-3': { state: 'done' },
      },
    });
    const [text = '', ...others] = notificationsOf(project);
    expect(others).toEqual([]);
    expect(text).toContain(`Left out: \`${path}\``);
    expect(text).toContain(`\`allow-protected-paths: '${path}'\``);
    expect(text).not.toContain('smaller or clearer');
  });

  test('an agent that reports BLOCKED because of it is also asked once', async () => {
    const project = createProject({
      issues: [1],
      agent: [() => ({ writes: { [CI]: 'x' }, output: { signal: { status: 'BLOCKED', exitSignal: false } } })],
    });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(notificationsOf(project)).toHaveLength(1);
  });

  test('is published by the next run after the setting allows it, without a command', async () => {
    const project = createProject({ issues: [1, 2], agent: [writesOnly(CI)] });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    project.inputs = { 'allow-protected-paths': '.github/workflows/release.yml' };
    expect(await runOnce(project)).toMatchObject({ calls: 0 });
    project.inputs = { 'allow-protected-paths': '.github/workflows/*' };
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(progressOf(project, 'issue-1')).toEqual(['done', 1]);
    const head = project.origin.branches.get('ralph/queue') ?? '';
    expect(project.origin.commits.get(head)?.tree).toHaveProperty([CI], 'x');
    expect(await runOnce(project)).toMatchObject({ calls: 0 });
  });

  test.each([
    ['without a branch', writesOnly(CI)],
    ['with the rest on its branch', alsoWrites(CI, () => true)],
  ])('of a labelled issue, %s, is published by the schedule after the setting allows it', async (_, agent) => {
    const project = createProject({ issues: [1], agent: [agent] });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    project.inputs = { 'allow-protected-paths': CI };
    expect(await runOnce(project)).toMatchObject({ calls: 1 });
    expect(project.forge.pulls.at(-1)?.body).toContain('Closes #1');
  });
});
