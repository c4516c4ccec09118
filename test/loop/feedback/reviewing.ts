import { expect } from 'vitest';
import { finisher, type Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce, savedState, schedule, senderOf, type Event, type Run } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';

export const HOUR = 3_600_000;

/** The branch of the reviewed pull request. */
export const BRANCH = 'ralph/queue';

/** Answers feedback with a change, and works on a task of the queue as usual. */
export const worker: Behaviour = (call) => ({
  ...finisher(call),
  output: {
    signal: {
      status: 'COMPLETE',
      exitSignal: false,
      tasksCompleted: 1,
      filesModified: 1,
      summary: `Did ${call.task}.`,
    },
  },
});

/** Changes nothing and gives the reason. */
export const explainer: Behaviour = ({ task }) =>
  /^(thread|check)-/.test(task)
    ? {
        output: {
          signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'The name is part of the API.' },
        },
      }
    : {};

/** Creates a queue whose only task is done, with its pull request open. */
export async function reviewed(agent: Behaviour, inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({ agent: [(call) => (call.task === 'issue-1' ? worker : agent)(call)], inputs });
  expect((await runOnce(project)).end).toBe('complete (plan_complete)');
  return project;
}

/** Plays a run an hour later. */
export async function next(project: Project, event: Event = schedule): Promise<Run> {
  project.clock.advance(HOUR);
  return runOnce(project, { event });
}

/** Returns the record of one feedback item in the queue's state. */
export function remembered(project: Project, id: string) {
  return savedState(project, 'queue').feedback.items[id];
}

/** Returns the notifications that are not settled. */
export function notices({ forge }: Project): readonly string[] {
  return [...forge.notifications.values()]
    .flatMap((of) => [...of.values()])
    .filter((text) => !text.includes('**Settled:**'));
}

/** Returns the text of the pull request. */
export function bodyOf({ forge }: Project): string {
  return forge.pulls.at(-1)?.body ?? '';
}

/** Returns the event of a review of the first pull request. */
export function reviewedOn(branch: string, login = 'ann'): Event {
  const repo = { full_name: 'acme/shop' };
  return {
    name: 'pull_request_review',
    payload: {
      action: 'submitted',
      review: { state: 'changes_requested', body: '' },
      pull_request: { number: 101, state: 'open', head: { ref: branch, sha: 'a'.repeat(40), repo }, base: { repo } },
      sender: senderOf(login),
    },
  };
}
