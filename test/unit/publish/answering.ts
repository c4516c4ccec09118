import { noFeedback, type Feedback, type FeedbackItem } from '../../../src/core/feedback/memory.ts';
import type { PullRequestNow, ThreadNow } from '../../../src/core/feedback/pull-request-now.ts';
import type { Task } from '../../../src/core/tasks/task.ts';
import type { Work } from '../../../src/handover/intake.ts';
import { publishWork } from '../../../src/publish/publish.ts';
import type { PublishDeps } from '../../../src/publish/deps.ts';
import { finisher } from '../../loop/stage/behaviours.ts';
import type { Project } from '../../loop/stage/project.ts';
import { createProject, publisherOf, runOnce, savedState } from '../../loop/stage/run-action.ts';
import { task } from '../core/core-fixtures.ts';

/** The answer to a feedback item. */
export type Answer = NonNullable<FeedbackItem['answer']>;

/** The commit that answers. */
export const COMMIT = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';

/** Returns a thread that was answered with a change and whose answer is not posted yet. */
export function item(number: number, change: Partial<FeedbackItem> = {}, answer: Partial<Answer> = {}): FeedbackItem {
  const { at, ...words } = { kind: 'changed' as const, commit: COMMIT, words: 'Renamed it.', at: 5, ...answer };
  const given = { ...words, at, isOurs: answer.isOurs ?? false, posted: answer.posted ?? false };
  const url = `https://github.com/acme/shop/pull/1#discussion_r${String(number)}`;
  return {
    kind: 'thread',
    title: `Thread ${String(number)}`,
    url,
    rounds: 1,
    asked: String(number),
    answer: given,
    ...change,
  };
}

/** Returns the task of ann's thread. */
export function threadTask(number: number): Task {
  const on = { kind: 'thread', thread: `T${String(number)}`, replyTo: number, asked: number, by: 'ann' } as const;
  const subject = { ...on, path: 'src/a.js', line: 3, suggestion: null };
  const url = `https://github.com/acme/shop/pull/1#discussion_r${String(number)}`;
  return {
    ...task(1, { title: `Thread ${String(number)}`, priority: -2 }),
    id: `thread-${String(number)}`,
    source: { kind: 'feedback', on: subject, pullRequest: 1, url },
  };
}

/** Returns the thread as GitHub shows it: ann's comment of the same number, and the later comments. */
export function threadNow(
  number: number,
  replies: readonly { readonly id: number; readonly text: string }[] = [],
): ThreadNow {
  const by = { login: 'ann', id: 1, kind: 'user' } as const;
  const said = [{ id: number, text: 'Rename it' }, ...replies];
  return {
    ...{ id: `T${String(number)}`, isOutdated: false, path: 'src/a.js', line: 3, startLine: null, originalLine: 3 },
    ...{ side: 'right', startSide: null },
    comments: said.map((comment) => ({ ...comment, review: 7, by, at: 1, hunk: '' })),
  };
}

/** A run that worked, and the work to publish. */
export interface Stage {
  readonly project: Project;
  readonly deps: PublishDeps;
  readonly work: Work;
}

/** Creates the stage after a run that finished its only issue. */
export async function stage(inputs: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const project = createProject({ issues: [1], agent: [finisher], inputs });
  const main = await runOnce(project);
  if (main.work === null) throw new Error(`The run did not work: ${main.end}`);
  return { project, deps: await publisherOf(project, main), work: main.work };
}

/** Returns the items of threads with these numbers. */
export const items = (...numbers: readonly number[]): Feedback['items'] =>
  Object.fromEntries(numbers.map((number) => [`thread-${String(number)}`, item(number)]));

/** Publishes these answers while the threads are in this state. */
export async function post(
  { project, deps, work }: Stage,
  given: {
    readonly items: Feedback['items'];
    readonly tasks?: readonly Task[];
    readonly earlier?: Feedback['items'];
    readonly progress?: Work['state']['tasks'];
    readonly now?: Partial<Omit<PullRequestNow, 'number' | 'url' | 'head'>>;
  },
) {
  const { tasks = [], earlier = {}, progress = {}, now = {} } = given;
  project.forge.saidOf.set('ralph/queue', now);
  const { report } = await publishWork(deps, {
    ...work,
    tasks: [...work.tasks, ...tasks],
    stateBefore: { ...work.stateBefore, feedback: { ...noFeedback, items: earlier } },
    state: {
      ...work.state,
      sequence: savedState(project).sequence,
      tasks: { ...work.state.tasks, ...progress },
      feedback: { ...noFeedback, items: given.items },
    },
  });
  const kept = savedState(project).feedback.items;
  return {
    replies: project.forge.replies.map(({ replyTo }) => replyTo),
    resolved: project.forge.resolved,
    posted: Object.entries(kept).flatMap(([id, { answer }]) => (answer?.posted === true ? [id] : [])),
    warnings: report.warnings,
  };
}
