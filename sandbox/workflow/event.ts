import { z } from 'zod';
import { REPOSITORY, type Sandbox } from '../sandbox.ts';

const MAIN = `refs/heads/${REPOSITORY.defaultBranch}`;
const FULL_NAME = `${REPOSITORY.owner}/${REPOSITORY.name}`;

const pullRequest = z.object({
  number: z.int(),
  merged: z.boolean().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: z.object({ full_name: z.string() }).nullish() }),
  base: z.object({ ref: z.string() }),
});

/** What GitHub itself reads of an event when it looks for workflows to start. */
const read = z.object({
  action: z.string().nullish(),
  schedule: z.string().nullish(),
  ref: z.string().nullish(),
  inputs: z.record(z.string(), z.unknown()).nullish(),
  sender: z.object({ login: z.string() }).nullish(),
  pull_request: pullRequest.nullish(),
  workflow_run: z.object({ name: z.string(), head_branch: z.string().nullish() }).nullish(),
});

/** The events whose workflows may write to the cache; what anybody can bring about may only read it. */
const WRITES_TO_CACHE = ['push', 'schedule', 'workflow_dispatch', 'repository_dispatch', 'pull_request'];

/** An event in the repository of a sandbox. */
export interface Happening {
  readonly name: string;
  /** null: the event has no types. */
  readonly type: string | null;
  /** Which schedule fired; null: none did. */
  readonly cron: string | null;
  /** The branch that was pushed to, that the pull request wants to change, or that a workflow ran on; null: none of them. */
  readonly branch: string | null;
  /** Name of the workflow that ran; null: none did. */
  readonly workflow: string | null;
  readonly actor: string;
  /** What was given with a dispatch. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly headRef: string;
  readonly baseRef: string;
  /** A pull request of a fork: its workflow gets no secrets, and a token that can only read. */
  readonly isFork: boolean;
  readonly mayWriteToCache: boolean;
  /** `github.ref` and `github.sha`; null: there is none, and GitHub starts no workflow. */
  readonly source: (sandbox: Sandbox) => Promise<{ readonly ref: string; readonly sha: string } | null>;
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
    source: async (sandbox) => {
      const at = async (there: string) => ({ ref: there, sha: await sandbox.git('rev-parse', `${there}^{commit}`) });
      if (name === 'push' || name === 'workflow_dispatch') return at(ref ?? MAIN);
      if (pull == null) return at(MAIN);
      // A merged one stands for the branch that it was merged into, any other for its merge with that branch.
      if (pull.merged === true) return at(`refs/heads/${pull.base.ref}`);
      return (await mergeOf(sandbox, pull)) ? at(`refs/pull/${String(pull.number)}/merge`) : null;
    },
  };
}

/** Makes the merge commit that GitHub keeps for a pull request; false: it has conflicts. */
async function mergeOf(sandbox: Sandbox, { number, head, base }: z.output<typeof pullRequest>): Promise<boolean> {
  const into = `refs/heads/${base.ref}`;
  const tree = await sandbox.git('merge-tree', '--write-tree', into, head.sha).catch(() => null);
  if (tree === null) return false;
  const message = `Merge ${head.sha} into ${base.ref}`;
  const merge = await sandbox.git('commit-tree', tree, '-p', into, '-p', head.sha, '-m', message);
  await sandbox.git('update-ref', `refs/pull/${String(number)}/merge`, merge);
  return true;
}
