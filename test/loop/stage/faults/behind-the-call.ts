import { UserError } from '../../../../src/errors.ts';
import { steadyWorker, type Behaviour } from '../behaviours.ts';
import { addCommit } from '../in-memory.ts';
import { createProject, runOnce } from '../run-action.ts';
import { runSplit } from '../split.ts';
import type { Project } from '../project.ts';
import { open, type Tap } from '../tap.ts';

/** The job whose step fails: the only one, or one of three. */
export type FailingJob = 'one' | 'loop' | 'publish';

const STEP_FAILS = new UserError('infrastructure', 'This step fails.');

/**
 * Returns a tap at which each step of this name fails, once the run's first call has ended, or at once in a job without
 * calls. `heard` receives the names of the steps.
 */
export function failAt(
  step: string | null,
  { begun, heard }: { readonly begun: boolean; readonly heard?: (name: string) => void },
): Tap {
  let isBehindCall = begun;
  const check = (name: string): void => {
    if (!isBehindCall) return;
    heard?.(name);
    if (name === step) throw STEP_FAILS;
  };
  return {
    ...open,
    call: async (name, call) => {
      check(name);
      const answer = await call();
      isBehindCall ||= name === 'agent.call';
      return answer;
    },
    act: (name, act) => {
      check(name);
      act();
    },
  };
}

/** Works on the task, and says in a file that everything is done. */
const workerWithMarker: Behaviour = (call) => {
  const made = steadyWorker(call);
  return { ...made, writes: { ...made.writes, '.ralph-complete': 'yes' } };
};

/** Returns a project in which a task is marked in its file as in progress, and the agent leaves a marker. */
export function createMarkedProject(): Project {
  const project = createProject({
    ...{ issues: [], agent: [workerWithMarker] },
    inputs: { 'task-sources': 'prd', 'max-iterations': '1' },
  });
  const tasks = ['T1', 'T2'].map((id) => ({ id, title: `Do ${id}`, status: 'todo' }));
  const parent = project.origin.branches.get('main') ?? '';
  const tree = { ...project.origin.commits.get(parent)?.tree, '.ralph/prd.json': JSON.stringify({ tasks }) };
  project.origin.branches.set('main', addCommit(project.origin, { tree, parent, message: 'Plan' }));
  return project;
}

/** Returns the names of all steps behind the end of a call, by job, each once. */
export async function listStepsBehindCall(
  make: () => Project | Promise<Project>,
): Promise<Record<FailingJob, readonly string[]>> {
  const heard: Record<FailingJob, Set<string>> = { one: new Set(), loop: new Set(), publish: new Set() };
  const tapOf = (job: FailingJob) => ({
    tap: failAt(null, { begun: job === 'publish', heard: (name) => heard[job].add(name) }),
  });
  await runOnce(await make(), tapOf('one'));
  await runSplit(await make(), { loop: tapOf('loop'), publish: tapOf('publish') });
  return { one: [...heard.one], loop: [...heard.loop], publish: [...heard.publish] };
}
