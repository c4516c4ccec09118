import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { feedbackEvents } from '../../../testbed/feedback-events.ts';
import { addCheck, type ReportedCheck } from '../../../testbed/github/feedback/checks.ts';
import { submitReview, type WrittenAtLine } from '../../../testbed/github/feedback/reviews.ts';
import type { StoredReviewComment, StoredSuite, StoredThread } from '../../../testbed/github/feedback/stored.ts';
import type { StoredPull } from '../../../testbed/github/state.ts';
import type { HeardCall } from '../../../testbed/scripted-agent.ts';
import { expect } from 'vitest';
import { createScene, type Run, type Scene, type SceneJob } from '../e2e-fixture.ts';

/** The queue's branch in all scenes. */
export const BRANCH = 'ralph/queue';
/** A reviewer with write access, like octo. */
export const REVIEWER = 'ada';
/** The scripted agent's module for the first issue. */
export const MODULE = 'src/issue-1.mjs';
export const FIRST_LINE = '/** What was asked for in issue-1. */';

/** Creates a scene whose queue has one issue, done and waiting for its review, and a token that may read logs. */
export async function createReviewedScene(given: Parameters<typeof createScene>[0] = {}): Promise<Scene> {
  const scene = await createScene(given);
  prepareReview(scene);
  scene.openIssue('Count');
  expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
  return scene;
}

/** Gives a scene its reviewer, and its token the right to read logs. */
export function prepareReview({ testbed: { github, permissions } }: Scene): void {
  github.state.collaborators.set(REVIEWER, { permission: 'write', roleName: 'write' });
  Object.assign(permissions, { actions: 'read' });
}

/** Returns the pull request under review; its head is that of the branch. */
export function pullOf({ testbed: { github } }: Scene): StoredPull {
  const pull = github.state.pulls.find(({ head }) => head === BRANCH);
  if (pull === undefined) throw new Error(`${BRANCH} has no pull request.`);
  return pull;
}

/** Submits a review; each comment begins a thread. */
export function review(
  scene: Scene,
  comments: readonly WrittenAtLine[],
  {
    by = REVIEWER,
    state = 'CHANGES_REQUESTED',
    body = '',
  }: Partial<Pick<Parameters<typeof submitReview>[1], 'by' | 'state' | 'body'>> = {},
): { readonly threads: readonly StoredThread[]; readonly event: NonNullable<SceneJob['event']> } {
  const { state: github } = scene.testbed.github;
  const submitted = submitReview(github, { pull: pullOf(scene).number, by, state, body, comments }, Date.now());
  return { threads: submitted.threads, event: feedbackEvents.reviewed(github, submitted.review) };
}

/** Returns a comment on the first line of the module. */
export function onFirstLine(body: string): WrittenAtLine {
  return { path: MODULE, line: 1, hunk: `@@ -0,0 +1 @@\n+${FIRST_LINE}`, body };
}

/** Returns a comment with a suggested change of the first line. */
export function suggesting(line: string): WrittenAtLine {
  return onFirstLine(`\`\`\`suggestion\n${line}\n\`\`\``);
}

/** Reports a check of the newest head, failed by default; `event` is the event of the workflow run. */
export async function report(
  scene: Scene,
  check: Partial<Omit<ReportedCheck, 'head'>> = {},
): Promise<{ readonly head: string; readonly suite: StoredSuite; readonly event: NonNullable<SceneJob['event']> }> {
  const { github, git } = scene.testbed;
  const head = await git('rev-parse', BRANCH);
  // GitHub updates the head after a push.
  Object.assign(pullOf(scene), { headSha: head });
  const run = addCheck(github.state, { name: 'test', conclusion: 'FAILURE', ...check, head }, Date.now());
  const suite = github.state.suites.find(({ runs }) => runs.includes(run));
  if (suite === undefined) throw new Error('A check without a suite.');
  const event =
    suite.workflow === null
      ? feedbackEvents.checkSuite(github.state, suite)
      : feedbackEvents.workflowRun(github.state, suite);
  return { head, suite, event };
}

/** Returns the action's answers in a thread. */
export function answersIn({ comments }: StoredThread): readonly StoredReviewComment[] {
  return comments.filter(({ author }) => author.type === 'Bot');
}

/** Returns a run together with its requests. */
export async function counted(
  scene: Scene,
  job: SceneJob = {},
): Promise<Run & { readonly requests: readonly string[] }> {
  const { requests } = scene.testbed.github;
  const before = requests.length;
  const run = await scene.run(job);
  return { ...run, requests: requests.slice(before).map(({ method, path }) => `${method} ${path}`) };
}

/** Returns a run together with the prompts of its agent. */
export async function heard(scene: Scene, job: SceneJob = {}): Promise<Run & { readonly prompts: readonly string[] }> {
  const file = join(scene.testbed.folder, `heard-${String(scene.testbed.github.requests.length)}`);
  const run = await scene.run({
    ...job,
    inputs: { 'agent-env': 'RALPH_SCRIPT\nRALPH_PAUSE_MS\nRALPH_HEARD', ...job.inputs },
    env: { RALPH_HEARD: file, ...job.env },
  });
  const lines = run.calls === 0 ? [] : readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return { ...run, prompts: lines.map((line) => (JSON.parse(line) as HeardCall).prompt) };
}
