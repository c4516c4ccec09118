import { z } from 'zod';
import { REPOSITORY, type Testbed } from '../testbed.ts';

const MAIN = `refs/heads/${REPOSITORY.defaultBranch}`;
const FULL_NAME = `${REPOSITORY.owner}/${REPOSITORY.name}`;

const pullRequest = z.object({
  number: z.int(),
  merged: z.boolean().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: z.object({ full_name: z.string() }).nullish() }),
  base: z.object({ ref: z.string() }),
});

/** The fields of an event that GitHub itself reads when it looks for workflows to start. */
const read = z.object({
  action: z.string().nullish(),
  schedule: z.string().nullish(),
  ref: z.string().nullish(),
  inputs: z.record(z.string(), z.unknown()).nullish(),
  sender: z.object({ login: z.string() }).nullish(),
  pull_request: pullRequest.nullish(),
  workflow_run: z.object({ name: z.string(), head_branch: z.string().nullish() }).nullish(),
});

/** The events whose workflows may write to the cache; events that anyone can trigger may only read it. */
const WRITES_TO_CACHE = ['push', 'schedule', 'workflow_dispatch', 'repository_dispatch', 'pull_request'];

/** An event in the repository of the testbed. */
export interface Happening {
  readonly name: string;
  /** The event's type, or null if the event has none. */
  readonly type: string | null;
  /** The schedule that fired, or null for other events. */
  readonly cron: string | null;
  /**
   * The pushed branch, the base of the pull request, or the branch that a workflow ran on; null for other events.
   */
  readonly branch: string | null;
  /** The name of the workflow that ran, or null for other events. */
  readonly workflow: string | null;
  readonly actor: string;
  /** The inputs of a dispatch. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly headRef: string;
  readonly baseRef: string;
  /** Set for a pull request from a fork: its workflow gets no secrets, and a read-only token. */
  readonly isFork: boolean;
  readonly mayWriteToCache: boolean;
  /** Returns `github.ref` and `github.sha`, or null if there is no ref, in which case GitHub starts no workflow. */
  readonly source: (testbed: Testbed) => Promise<{ readonly ref: string; readonly sha: string } | null>;
}

/** Reads an event as GitHub does. */
export function readEvent({ name, payload }: { readonly name: string; readonly payload: unknown }): Happening {
  const { action, schedule, ref, inputs, sender, pull_request: pull, workflow_run: run } = read.parse(payload);
  const pushed = name === 'push' && ref?.startsWith('refs/heads/') === true ? ref.slice('refs/heads/'.length) : null;
  return {
    name,
    type: action ?? null,
    cron: schedule ?? null,
    branch: pull?.base.ref ?? run?.head_branch ?? pushed,
    workflow: run?.name ?? null,
    actor: sender?.login ?? REPOSITORY.owner,
    given: (name === 'workflow_dispatch' && inputs) || {},
    headRef: pull?.head.ref ?? '',
    baseRef: pull?.base.ref ?? '',
    isFork: pull != null && pull.head.repo?.full_name !== FULL_NAME,
    mayWriteToCache: WRITES_TO_CACHE.includes(name),
    source: async (testbed) => {
      const at = async (there: string) => ({ ref: there, sha: await testbed.git('rev-parse', `${there}^{commit}`) });
      if (name === 'push' || name === 'workflow_dispatch') return at(ref ?? MAIN);
      if (pull == null) return at(MAIN);
      // A merged pull request runs on its base branch, any other on its merge with that branch.
      if (pull.merged === true) return at(`refs/heads/${pull.base.ref}`);
      return (await mergeOf(testbed, pull)) ? at(`refs/pull/${String(pull.number)}/merge`) : null;
    },
  };
}

/** Makes the merge commit that GitHub keeps for a pull request; returns false if it has conflicts. */
async function mergeOf(testbed: Testbed, { number, head, base }: z.output<typeof pullRequest>): Promise<boolean> {
  const into = `refs/heads/${base.ref}`;
  const tree = await testbed.git('merge-tree', '--write-tree', into, head.sha).catch(() => null);
  if (tree === null) return false;
  const message = `Merge ${head.sha} into ${base.ref}`;
  const merge = await testbed.git('commit-tree', tree, '-p', into, '-p', head.sha, '-m', message);
  await testbed.git('update-ref', `refs/pull/${String(number)}/merge`, merge);
  return true;
}
