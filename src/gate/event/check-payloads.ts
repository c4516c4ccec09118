import { z } from 'zod';
import type { EventInputs, Intent } from './intent.ts';
import { name, notForUs, number, sha } from './payload-parts.ts';

/** GitHub's words for a check that ran, or should have, and did not pass. What waits for an approval has not failed. */
const FAILED: readonly string[] = ['failure', 'timed_out', 'startup_failure', 'error'];

const word = z.string().max(40).nullish();
const repository = z.object({ id: number });
const pulls = z
  .array(z.object({ number, head: z.object({ ref: name, repo: repository }) }))
  .max(1000)
  .nullish();
const suite = z.object({
  check_suite: z.object({ conclusion: word, head_branch: name.nullish(), head_sha: sha, pull_requests: pulls }),
  repository,
});
const run = z.object({
  workflow_run: z.object({
    conclusion: word,
    head_branch: name.nullish(),
    head_sha: sha,
    pull_requests: pulls,
    path: name.nullish(),
    head_repository: repository.nullish(),
  }),
  workflow: z.object({ path: name }).nullish(),
  repository,
});
const status = z.object({ state: word, sha, branches: z.array(z.object({ name })).max(1000) });

/** Parses `check_suite: completed`. */
export function parseCheckSuite(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = suite.safeParse(payload);
  if (!parsed.success) return null;
  const { check_suite: its, repository: home } = parsed.data;
  return failedOn({ ...its, result: its.conclusion, branches: [its.head_branch ?? ''], home: home.id }, inputs);
}

/** Parses `workflow_run: completed`. Its branch may be of a fork, where it means nothing here. */
export function parseWorkflowRun(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = run.safeParse(payload);
  if (!parsed.success) return null;
  const { workflow_run: its, workflow, repository: home } = parsed.data;
  const paths = [its.path, workflow?.path].map((path) => path?.replace(/@.*/, ''));
  if (inputs.ownWorkflow !== null && paths.includes(inputs.ownWorkflow)) return notForUs("The run is Ralph's own.");
  if (its.head_repository?.id !== home.id)
    return notForUs('The run is of a fork. Ralph works on branches of this repository only.');
  return failedOn({ ...its, result: its.conclusion, branches: [its.head_branch ?? ''], home: home.id }, inputs);
}

/** Parses `status`. */
export function parseStatus(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = status.safeParse(payload);
  if (!parsed.success) return null;
  const { state, sha: head, branches } = parsed.data;
  return failedOn(
    { result: state, head_sha: head, branches: branches.map((branch) => branch.name), pull_requests: [], home: 0 },
    inputs,
  );
}

interface Checked {
  readonly result: string | null | undefined;
  readonly head_sha: string;
  readonly branches: readonly string[];
  readonly pull_requests?: z.output<typeof pulls>;
  /** Id of this repository. */
  readonly home: number;
}

function failedOn(
  { result, head_sha: head, branches, pull_requests: pulled, home }: Checked,
  inputs: EventInputs,
): Intent {
  const { branchPrefix, answers } = inputs;
  const branch = branches.find((one) => one.startsWith(branchPrefix));
  if (branch === undefined) return notForUs(`The check is not on one of Ralph's branches (${branchPrefix}…).`);
  if (!FAILED.includes(result ?? '')) return notForUs('The check did not fail.');
  if (!answers.checks) return notForUs('`answer-checks` is `false`: failed checks are not answered.');
  const of = pulled?.find((pull) => pull.head.ref === branch && pull.head.repo.id === home);
  return { kind: 'answer', pullRequest: { number: of?.number ?? null, branch, head }, about: 'check', actor: null };
}
