import { z } from 'zod';
import type { Account } from '../../ports/forge.ts';
import { withdrawals } from './intent.ts';

// GitHub itself allows less than these limits: GitHub did not make a payload beyond them.
const name = z.string().max(1000);
/** What somebody wrote; empty: nothing. */
const text = z
  .string()
  .max(262_144)
  .nullish()
  .transform((body) => body ?? '');
/** A number that GitHub counts from 1. */
const number = z.int().positive();
const sha = z.string().regex(/^[\da-f]{40,64}$/);
const action = z.string().max(100);
const account = z
  .object({ login: z.string().max(100), id: number, type: z.string().max(40) })
  .transform(({ login, id, type }): Account => ({ login, id, kind: type === 'Bot' ? 'bot' : 'user' }));

const issueFields = {
  number,
  pull_request: z.unknown().optional(),
  labels: z
    .array(z.object({ name }))
    .max(1000)
    .nullish()
    .transform((labels) => (labels ?? []).map((label) => label.name)),
  state: z.string().max(20).nullish(),
};
const issue = z.object(issueFields);
export type IssuePayload = z.output<typeof issue>;
const label = z.object({ name });

const fullName = z.object({ full_name: z.string().max(300) });
const pull = z.object({
  number,
  head: z.object({ ref: name, sha, repo: fullName.nullable() }),
  base: z.object({ repo: fullName }),
});
export type PullPayload = z.output<typeof pull>;
const openPull = pull.extend({ state: z.string().max(20) });

/** The words of a command that a dispatch brings; empty: it brings none. */
const given = z
  .object({ command: z.string().max(1000).nullish() })
  .nullish()
  .transform((inputs) => (inputs?.command ?? '').trim());

const conclusion = z.string().max(40).nullish();
const repository = z.object({ id: number });
const checked = {
  conclusion,
  head_branch: name.nullish(),
  head_sha: sha,
  pull_requests: z
    .array(z.object({ number, head: z.object({ ref: name, repo: repository }) }))
    .max(1000)
    .nullish(),
};
const suite = z.object(checked);
export type SuitePayload = z.output<typeof suite>;

/** What is read of the payload of each event, of which GitHub sends much more. */
export const payloads = {
  any: z.unknown(),
  // A server need not say who dispatched.
  dispatch: z.object({ inputs: given, sender: account.optional().catch(undefined) }),
  repositoryDispatch: z.object({ client_payload: given, sender: account }),
  push: z.object({ ref: name, deleted: z.boolean().nullish() }),
  labeled: z.object({ label, issue: z.object({ ...issueFields, title: name.nullish(), body: text }), sender: account }),
  withdrawn: z.object({ action: z.enum(withdrawals), label: label.nullish(), issue }),
  reopened: z.object({ issue }),
  edited: z.object({ issue, changes: z.object({ title: z.unknown().optional(), body: z.unknown().optional() }) }),
  commented: z.object({ comment: z.object({ id: number, body: text }), issue, sender: account }),
  closedPull: z.object({ pull_request: pull.extend({ merged: z.boolean().nullable() }), sender: account }),
  reviewed: z.object({
    action,
    review: z.object({ state: z.string().max(40), body: text }),
    pull_request: openPull,
    sender: account,
  }),
  reviewCommented: z.object({
    action,
    comment: z.object({ id: number.nullish(), body: text, in_reply_to_id: number.nullish() }),
    pull_request: openPull,
    sender: account,
  }),
  suiteCompleted: z.object({ check_suite: suite, repository }),
  runCompleted: z.object({
    workflow_run: suite.extend({ path: name.nullish(), head_repository: repository.nullish() }),
    workflow: z.object({ path: name }).nullish(),
    repository,
  }),
  status: z.object({ state: conclusion, sha, branches: z.array(z.object({ name })).max(1000) }),
};
