import { expect } from 'vitest';
import { finisher, type Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce, savedState, schedule, senderOf, type Event, type Run } from '../stage/river.ts';
import type { Project } from '../stage/project.ts';

export const HOUR = 3_600_000;

/** The branch of the pull request that is reviewed. */
export const BRANCH = 'ralph/queue';

/** Answers what is asked with a change, a task of the queue as ever. */
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

/** Changes nothing, and says why. */
export const explainer: Behaviour = ({ task }) =>
  /^(thread|check)-/.test(task)
    ? {
        output: {
          signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'The name is part of the API.' },
        },
      }
    : {};

/** A queue whose one task is done, with its pull request open. */
export async function reviewed(agent: Behaviour, inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({ agent: [(call) => (call.task === 'issue-1' ? worker : agent)(call)], inputs });
  expect((await runOnce(project)).end).toBe('complete (plan_complete)');
  return project;
}

/** A run an hour later. */
export async function next(project: Project, event: Event = schedule): Promise<Run> {
  project.clock.advance(HOUR);
  return runOnce(project, { event });
}

/** What the queue's state remembers of one thing that was asked. */
export function remembered(project: Project, id: string) {
  return savedState(project, 'queue').feedback.items[id];
}

/** What people were notified of, but for what is settled. */
export function notices({ forge }: Project): readonly string[] {
  return [...forge.notifications.values()]
    .flatMap((of) => [...of.values()])
    .filter((text) => !text.includes('**Settled:**'));
}

/** The pull request's text. */
export function bodyOf({ forge }: Project): string {
  return forge.pulls.at(-1)?.body ?? '';
}

/** The event of a review of the first pull request. */
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
