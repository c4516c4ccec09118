import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listNeedsIn } from '../../../src/core/people/notifications.ts';
import { getProgress } from '../../../src/core/tasks/queue.ts';
import { IS_DEEP } from '../../runs.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { edited, on, person } from '../stage/people.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  savedDocument,
  savedState,
  schedule,
  type Event,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const HOUR = 60 * MINUTE;

/** The behaviours on an issue until a person has helped. */
const natures: Readonly<Record<string, Behaviour>> = {
  easy: finisher,
  asks: () => ({ output: { signal: { status: 'BLOCKED', exitSignal: false, asks: 'Red or green?' } } }),
  idle: () => ({ output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1, filesModified: 0 } } }),
  stuck,
  endless: steadyWorker,
};

/** The next step; `issue` counts from the oldest open one. */
interface Step {
  readonly does: 'opens' | 'opens unlabelled' | 'waits' | 'retries' | 'labels' | 'edits' | 'merges' | 'closes';
  readonly issue: number;
  readonly nature: string;
  readonly helps: boolean;
  readonly after: number;
}

const steps = fc.array(
  fc.record<Step>({
    does: fc.constantFrom(
      'opens',
      'opens unlabelled',
      'waits',
      'waits',
      'retries',
      'labels',
      'edits',
      'merges',
      'closes',
    ),
    issue: fc.nat(3),
    nature: fc.constantFrom(...Object.keys(natures)),
    helps: fc.boolean(),
    after: fc.constantFrom(5 * MINUTE, HOUR, 3 * HOUR, 26 * HOUR),
  }),
  { minLength: 5, maxLength: 25 },
);

/** The world of a walk; `problems` collects its violations. */
function begin(jobs: 'one' | 'three') {
  const inputs = { 'max-iterations-per-task': '4', 'max-iterations': '8' };
  const kinds = new Map<string, Behaviour>();
  const project = createProject({ issues: [], inputs, agent: [(call) => (kinds.get(call.task) ?? finisher)(call)] });
  const problems: string[] = [];
  const told = (): number => project.forge.writes.filter((write) => write.startsWith('notified')).length;
  return {
    project,
    kinds,
    problems,
    async run(event: Event) {
      const before = [project.script.calls.length, told()] as const;
      await (jobs === 'one' ? runOnce(project, { event }) : runSplit(project, { event }));
      const called = project.script.calls
        .slice(before[0])
        .map(({ prompt }) => /^# Your task: (\S+)$/m.exec(prompt)?.[1]);
      problems.push(...unheard(project));
      return { called, told: told() - before[1] };
    },
  };
}

function openIssues({ forge }: Project): readonly number[] {
  return [...forge.issues.values()].filter(({ state }) => state === 'open').map(({ number }) => number);
}

/** Returns the issues that wait for a person who was not notified or no longer sees the notification. */
function unheard(project: Project): readonly string[] {
  const open = [...project.forge.notifications.values()].flatMap((shelf) => [...shelf.keys()].flatMap(listNeedsIn));
  const lanes = (id: string) => (project.origin.branches.has(`ralph/${id}`) ? [id] : ['queue', id]);
  return openIssues(project).flatMap((number) => {
    const id = `issue-${String(number)}`;
    const found = lanes(id).filter((lane) => savedDocument(project, lane) !== null);
    const states = found.map((lane) => getProgress(savedState(project, lane).tasks, id).state);
    const waits = states[0] === 'blocked' || states[0] === 'failed';
    const isKnown = open.some(({ about }) => about === id || about === `lane-${id}`);
    return waits && !states.includes('done') && !isKnown ? [`${id} is ${states[0] ?? ''}, and nobody knows`] : [];
  });
}

async function take({ project, kinds, problems, run }: ReturnType<typeof begin>, step: Step): Promise<void> {
  const { forge, origin, clock } = project;
  clock.advance(step.after);
  const numbers = openIssues(project);
  const issue = numbers[step.issue % Math.max(1, numbers.length)];
  if (step.does === 'opens' || step.does === 'opens unlabelled') {
    const number = forge.issues.size + 1;
    kinds.set(`issue-${String(number)}`, natures[step.nature] ?? finisher);
    addIssue(forge, number);
    on(forge, number).label(person('ann'), clock.now());
    if (step.does === 'opens') await run(labeled(number));
  } else if (step.does === 'waits' || issue === undefined) {
    const first = await run(schedule);
    clock.advance(MINUTE);
    const second = await run(schedule);
    if (first.called.length === 0 && second.called.length + second.told > 0)
      problems.push(
        `a run without news made ${String(second.called.length)} calls and told ${String(second.told)} times`,
      );
  } else if (step.does === 'merges') {
    const at = forge.pulls.findIndex(({ state }) => state === 'open');
    const pull = forge.pulls[at];
    if (pull === undefined) return;
    forge.pulls[at] = { ...pull, state: 'merged' };
    origin.branches.set('main', origin.branches.get(pull.branch) ?? '');
  } else if (step.does === 'closes') {
    const found = forge.issues.get(issue);
    if (found !== undefined) forge.issues.set(issue, { ...found, state: 'closed' });
  } else {
    const id = `issue-${String(issue)}`;
    if (step.helps) kinds.set(id, finisher);
    await run(eventOf(step.does, project, issue));
    if (step.does === 'retries' && !(await isTakenUp(project, id, run)))
      problems.push(`${id} was to be tried again, and was not`);
  }
}

function eventOf(does: string, { forge, clock }: Project, issue: number): Event {
  if (does === 'retries') return commented('/ralph retry', { issue });
  if (does === 'labels') {
    on(forge, issue).label(person('ann'), clock.now());
    return labeled(issue);
  }
  on(forge, issue).edit(person('ann'), clock.now(), `Body of ${String(clock.now())}`);
  return edited(issue, 'ann');
}

/** True if the run of the event, or the next one, takes the issue up. */
async function isTakenUp(project: Project, id: string, run: ReturnType<typeof begin>['run']): Promise<boolean> {
  const isCalled = project.script.calls.some(
    ({ prompt, at }) => prompt.includes(`# Your task: ${id}\n`) && project.clock.now() - at < HOUR,
  );
  if (isCalled) return true;
  project.clock.advance(MINUTE);
  const { called } = await run(schedule);
  const states = ['queue', id]
    .filter((lane) => savedDocument(project, lane) !== null)
    .map((lane) => getProgress(savedState(project, lane).tasks, id).state);
  return called.includes(id) || states.includes('done');
}

const easy = { issue: 0, nature: 'easy', helps: false, after: 5 * MINUTE } as const;

/** Walks that found a bug in the past. */
const known: readonly (readonly Step[])[] = [
  // A task waits behind the circuit that another one opened, and a person orders a retry.
  [
    { ...easy, does: 'opens' },
    { ...easy, does: 'opens unlabelled', nature: 'stuck' },
    { ...easy, does: 'waits' },
    { ...easy, does: 'opens', nature: 'stuck' },
    { ...easy, does: 'waits', after: 3 * HOUR },
    { ...easy, does: 'opens unlabelled', nature: 'stuck' },
    { ...easy, does: 'retries', issue: 1 },
  ],
  // A task that was never begun waits behind others, which open the circuit, and a person orders a retry.
  [
    { ...easy, does: 'opens unlabelled', nature: 'stuck' },
    { ...easy, does: 'opens unlabelled', nature: 'asks' },
    { ...easy, does: 'opens unlabelled' },
    { ...easy, does: 'retries', issue: 2 },
  ],
];

test.each(['one', 'three'] as const)(
  'whatever people do, everybody gets an answer, no duplicate message, and no bill for a run without news: %s job(s)',
  async (jobs) => {
    await fc.assert(
      fc.asyncProperty(steps, async (walk) => {
        const world = begin(jobs);
        for (const step of walk) await take(world, step);
        expect(world.problems).toEqual([]);
      }),
      { numRuns: IS_DEEP ? 320 : 16, examples: known.map((walk): [Step[]] => [[...walk]]) },
    );
  },
);
