import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { finisher } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  createProject,
  gateOnce,
  labeled,
  runOnce,
  storedBudget,
  storedRecord,
} from '../stage/run-action.ts';
import { open, type Tap } from '../stage/tap.ts';
import { worker } from '../feedback/reviewing.ts';

const inputs = { parallel: '3', 'max-open-prs': '0' };

/** Creates a project in which the pull request of issue 1 conflicts, and the queue has issues 2 and 3. */
async function conflicting(second: string, third: string): Promise<Project> {
  const project = createProject({ issues: [1], agent: [worker, finisher], files: { 'src/b.ts': '', 'src/c.ts': '' } });
  expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)' });
  const { origin, forge } = project;
  const parent = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(parent)?.tree, 'src/issue-1.ts': 'theirs' };
  origin.branches.set('main', addCommit(origin, { tree, parent, message: 'By hand' }));
  forge.saidOf.set('ralph/issue-1', { mergeable: 'conflicting' });
  addIssue(forge, 2, { body: `Change ${second}` });
  addIssue(forge, 3, { body: `Change ${third}` });
  return project;
}

test.each<[string, string, string, readonly (readonly string[])[], readonly string[]]>([
  [
    'beside it on the queue and new branches if their files differ',
    'src/b.ts',
    'src/c.ts',
    [
      ['issue-1', 'conflict-base', 'issue-1'],
      ['queue', 'issue-2'],
      ['issue-3', 'issue-3'],
    ],
    [],
  ],
  [
    'on the queue without what touches its files',
    'src/b.ts',
    'src/issue-1.ts',
    [
      ['issue-1', 'conflict-base', 'issue-1'],
      ['queue', 'issue-2'],
    ],
    ['Issue #3 waits for a later run: it probably touches src/issue-1.ts, on which issue #1 is being worked on.'],
  ],
  [
    'on no other branch if the first task of the queue touches its files',
    'src/issue-1.ts',
    'src/c.ts',
    [['issue-1', 'conflict-base', 'issue-1']],
    [],
  ],
])(
  'a pull request that conflicts comes first, and other work continues %s',
  async (_, second, third, lanes, warnings) => {
    const project = await conflicting(second, third);
    const { intake, beside } = await gateOnce(project, { inputs });
    expect(
      [intake, ...beside.map((one) => one.intake)].map((one) => [one.lane?.id, ...one.tasks.map(({ id }) => id)]),
    ).toEqual(lanes);
    expect([intake, ...beside.map((one) => one.intake)].flatMap(({ notes }) => notes.warnings)).toEqual(warnings);
    expect(intake.notes.train?.pulls.map(({ obstacle }) => obstacle)).toEqual(['conflict']);
    expect(beside.every((one) => one.intake.notes.train !== null)).toBe(true);
    // A run that comes later does not take it for one that waits.
    expect(storedRecord(project, 'issue-1').looked).not.toBeNull();
  },
);

test('one that cannot be opened gives back what was claimed beside it, and the run continues with the queue', async () => {
  const project = await conflicting('src/b.ts', 'src/c.ts');
  let isFirst = true;
  const tap: Tap = {
    ...open,
    call: (name, call) => {
      if (name !== 'repository.openLane' || !isFirst) return open.call(name, call);
      isFirst = false;
      throw new UserError('infrastructure', 'The branch moved.');
    },
  };
  const run = await gateOnce(project, { inputs, tap });
  const lanes = [run.intake, ...run.beside.map(({ intake }) => intake)].map(({ lane }) => lane?.id ?? '');
  // The pull request still has unfinished work, so it is tried again beside the queue.
  expect(lanes).toEqual(['queue', 'issue-1', 'issue-3']);
  const held = ['queue', 'issue-1', 'issue-2', 'issue-3'].filter((lane) => storedRecord(project, lane).lease !== null);
  expect(held).toEqual(lanes);
  expect(run.claims.map(({ lane }) => lane)).toEqual(lanes);
  expect(storedBudget(project).reservations).toHaveLength(3);
});
