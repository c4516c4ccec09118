import { expect } from 'vitest';
import type { CheckNow, ReviewNow, ThreadComment, ThreadNow } from '../../../src/core/feedback/pull-request-now.ts';
import { finisher, type Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce, type Run } from '../stage/river.ts';
import type { Project } from '../stage/project.ts';

export const HOUR = 3_600_000;
export const BRANCH = 'ralph/queue';

export const person = (login: string) => ({ login, id: 7, kind: 'user' as const });
export const comment = (id: number, text: string, change: Partial<ThreadComment> = {}): ThreadComment => ({
  id,
  review: 500,
  by: person('ann'),
  text,
  at: id * 1000,
  hunk: '@@ -0,0 +1 @@\n+done 1',
  ...change,
});
export const thread = (comments: readonly ThreadComment[], change: Partial<ThreadNow> = {}): ThreadNow => ({
  id: `T_${String(comments[0]?.id)}`,
  isOutdated: false,
  path: 'src/issue-1.ts',
  line: 1,
  startLine: null,
  originalLine: 1,
  side: 'right',
  comments,
  ...change,
});
export const review = (change: Partial<ReviewNow> = {}): ReviewNow => ({
  id: 500,
  url: 'https://github.test/acme/shop/pull/1#pullrequestreview-500',
  by: person('ann'),
  state: 'changes-requested',
  text: '',
  at: 1,
  ...change,
});
export const failing = (change: Partial<CheckNow> = {}): CheckNow => ({
  of: 'check-run',
  id: 31,
  name: 'test',
  app: 'github-actions',
  workflow: { path: '.github/workflows/ci.yml', name: 'CI', run: 77, event: 'push' },
  result: 'failed',
  conclusion: 'failure',
  summary: '',
  url: null,
  began: null,
  at: 5,
  ...change,
});

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

export async function next(project: Project): Promise<Run> {
  project.clock.advance(HOUR);
  return runOnce(project);
}

export const bodyOf = (project: Project): string => project.forge.pulls.at(-1)?.body ?? '';
