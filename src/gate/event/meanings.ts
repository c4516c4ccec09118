import { z } from 'zod';
import { isDashboardText, findTickedBoxes } from '../../core/dashboard/boxes.ts';
import {
  type RalphCommand,
  parseCommandComment,
  COMMAND_HELP,
  findNearestCommand,
  parseCommand,
} from '../../core/people/command.ts';
import { hasLabel, isSameLabel, computeLabelChange } from '../../core/people/labels.ts';
import { isLaneId, toIssueLane, QUEUE } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import type { Account, ReactionTarget } from '../../ports/forge.ts';
import {
  type Asker,
  type DismissedEvent,
  type EventInputs,
  type EventMeaning,
  type Intent,
  type Meaning,
  withdrawalEvents,
} from './intent.ts';

// GitHub's own limits are lower, so GitHub did not send a payload that exceeds these. Each schema is built when an
// event needs it, because a run reads only one.
const name = () => z.string().max(1000);

/** A text that somebody wrote; a missing text becomes an empty one. */
const text = () =>
  z
    .string()
    .max(262_144)
    .nullish()
    .transform((body) => body ?? '');

/** A number that GitHub counts from 1. */
const number = () => z.int().positive();

const sha = () => z.string().regex(/^[\da-f]{40,64}$/);

/** GraphQL's id of a review or a comment, as the target of a reaction; an unusable id becomes null. */
const node = () =>
  z
    .string()
    .regex(/^[\w=+/-]{1,200}$/)
    .transform((id) => ({ kind: 'review', id }) as const)
    .nullable()
    .catch(null);

const account = () =>
  z
    .object({ login: z.string().max(100), id: number(), type: z.string().max(40) })
    .transform(({ login, id, type }): Account => ({ login, id, kind: type === 'Bot' ? 'bot' : 'user' }));

const issue = () =>
  z.object({
    number: number(),
    pull_request: z.unknown().optional(),
    labels: z
      .array(label())
      .max(1000)
      .nullish()
      .transform((labels) => (labels ?? []).map((label) => label.name)),
    state: z.string().max(20).nullish(),
  });

type IssuePayload = z.output<ReturnType<typeof issue>>;

const label = () => z.object({ name: name() });

const fullName = () => z.object({ full_name: z.string().max(300) });

const pull = () =>
  z.object({
    number: number(),
    user: account().nullish(),
    head: z.object({ ref: name(), sha: sha(), repo: fullName().nullable() }),
    base: z.object({ repo: fullName() }),
  });

type PullPayload = z.output<ReturnType<typeof pull>>;

const openPull = () => pull().extend({ state: z.string().max(20) });

/** The command in a dispatch; a missing command becomes an empty one. */
const given = () =>
  z
    .object({ command: z.string().max(1000).nullish() })
    .nullish()
    .transform((inputs) => (inputs?.command ?? '').trim());

const repository = () => z.object({ id: number() });

const suite = () =>
  z.object({
    conclusion: z.string().max(40).nullish(),
    head_branch: name().nullish(),
    head_sha: sha(),
    pull_requests: z
      .array(z.object({ number: number(), head: z.object({ ref: name(), repo: repository() }) }))
      .max(1000)
      .nullish(),
  });

type SuitePayload = z.output<ReturnType<typeof suite>>;

/** The fields that are read from the payload of each event, of which GitHub sends many more. */
export const payloadSchemas = {
  // Some servers do not name the person who dispatched, so the sender is optional.
  dispatch: () => z.object({ inputs: given(), sender: account().optional().catch(undefined) }),
  repositoryDispatch: () => z.object({ client_payload: given(), sender: account() }),
  push: () => z.object({ ref: name(), deleted: z.boolean().nullish() }),
  labeled: () =>
    z.object({ label: label(), issue: issue().extend({ title: name().nullish(), body: text() }), sender: account() }),
  withdrawn: () => z.object({ action: z.enum(withdrawalEvents), label: label().nullish(), issue: issue() }),
  reopened: () => z.object({ issue: issue() }),
  edited: () =>
    z.object({
      issue: issue().extend({ body: text() }),
      changes: z.object({ title: z.unknown().optional(), body: z.unknown().optional() }),
    }),
  commented: () =>
    z.object({
      comment: z.object({ id: number(), body: text(), created_at: z.iso.datetime({ offset: true }).nullish() }),
      issue: issue().extend({ title: name().nullish(), body: text(), user: account().nullish() }),
      sender: account(),
    }),
  closedPull: () =>
    z.object({
      pull_request: pull().extend({
        merged: z.boolean().nullable(),
        closed_at: z.iso.datetime().nullish().catch(null),
        merge_commit_sha: sha().nullish().catch(null),
      }),
      sender: account(),
    }),
  reviewed: () =>
    z.object({
      action: z.string().max(100),
      review: z.object({ node_id: node(), state: z.string().max(40), body: text() }),
      pull_request: openPull(),
      sender: account(),
    }),
  reviewCommented: () =>
    z.object({
      action: z.string().max(100),
      comment: z.object({ node_id: node(), body: text(), in_reply_to_id: number().nullish() }),
      pull_request: openPull(),
      sender: account(),
    }),
  suiteCompleted: () => z.object({ check_suite: suite(), repository: repository() }),
  runCompleted: () =>
    z.object({
      workflow_run: suite().extend({ path: name().nullish(), head_repository: repository().nullish() }),
      workflow: z.object({ path: name() }).nullish(),
      repository: repository(),
    }),
  status: () => z.object({ state: z.string().max(40).nullish(), sha: sha(), branches: z.array(label()).max(1000) }),
};

export const NO_ASKER: Asker = { kind: 'nobody' };

/** Returns the meaning of an event for which a run does nothing. */
export function dismissEvent(why: string): DismissedEvent {
  return { kind: 'not-for-us', why };
}

/** Returns the meaning of an event about the queue, whose sender GitHub has authorized. */
function queueMeaning(login: string | null, intent: Intent): EventMeaning {
  const asker = { kind: 'trusted', login, thread: null } as const;
  return { kind: 'for-us', lanes: [QUEUE], mayBeOtherLane: false, asker, intent };
}

/** Returns the meaning of an event that starts work on the queue. */
export function meaningOfQueueWork(login: string | null): EventMeaning {
  return queueMeaning(login, { kind: 'work-queue', actor: login });
}

/**
 * Returns the meaning of a dispatch: a command if there is one, otherwise work on the queue. The step's own input
 * `command` takes precedence over the event's, which a workflow may not pass on.
 */
export function meaningOfDispatch(
  event: { readonly field: string; readonly words: string; readonly login: string | null },
  { command }: EventInputs,
): EventMeaning {
  const [words, where] = command === '' ? [event.words, event.field] : [command, 'The input command'];
  return words === ''
    ? meaningOfQueueWork(event.login)
    : queueMeaning(event.login, { kind: 'dispatched-command', command: commandOf(words, where), actor: event.login });
}

function commandOf(words: string, where: string): RalphCommand {
  const command = parseCommand(words);
  if (command.kind !== 'unknown') return command;
  const meant = findNearestCommand(command.word);
  throw new UserError(
    'configuration',
    `${where} is ${JSON.stringify(command.word)}, which is not a command.${meant === null ? '' : ` Did you mean "${meant}"?`} Commands are: ${Object.keys(COMMAND_HELP).join(', ')}.`,
  );
}

/** Returns the meaning of an event about an issue, which is worked on in its own lane or in the queue. */
export function meaningOfIssue(asker: Asker, intent: Extract<Intent, { readonly issue: number }>): EventMeaning {
  return { kind: 'for-us', lanes: [toIssueLane(intent.issue), QUEUE], mayBeOtherLane: false, asker, intent };
}

/**
 * Returns the meaning of an event after which an issue is no longer a task, or null if the event does not name the
 * removed label.
 */
export function meaningOfWithdrawal(
  { action: because, label, issue }: z.output<ReturnType<typeof payloadSchemas.withdrawn>>,
  inputs: EventInputs,
): Meaning | null {
  if (because === 'unlabeled' && typeof label?.name !== 'string') return null;
  // A search can find tasks without the task label, so such an issue is recognized by our own labels.
  const isMarked = because === 'closed' && computeLabelChange(issue.labels, null).remove.length > 0;
  const dismissed =
    because === 'unlabeled'
      ? dismissOtherLabel(label?.name ?? '', issue, inputs)
      : isMarked
        ? dismissPullRequest(issue)
        : dismissUnlabelled(issue, inputs);
  return dismissed ?? meaningOfIssue(NO_ASKER, { kind: 'withdraw', issue: issue.number, because });
}

/** Returns the meaning of an edit of the dashboard, which may be about any branch; returns null for any other issue. */
export function meaningOfDashboard({
  number,
  body,
}: {
  readonly number: number;
  readonly body: string;
}): Meaning | null {
  if (!isDashboardText(body)) return null;
  if (findTickedBoxes(body).length === 0) return dismissEvent('No box of the dashboard is ticked.');
  const intent = { kind: 'dashboard', issue: number } as const;
  return { kind: 'for-us', lanes: [QUEUE], mayBeOtherLane: true, asker: NO_ASKER, intent };
}

/** Returns true if the payload of an issue is that of a pull request. */
export function isPullRequest({ pull_request: pull }: IssuePayload): boolean {
  return pull !== undefined && pull !== null;
}

function dismissPullRequest(issue: IssuePayload): DismissedEvent | null {
  return isPullRequest(issue) ? dismissEvent(`#${String(issue.number)} is a pull request, not an issue.`) : null;
}

/**
 * Dismisses an event about a label other than the task label, or about a pull request; returns null for any other
 * event.
 */
export function dismissOtherLabel(
  label: string,
  issue: IssuePayload,
  { taskLabel }: EventInputs,
): DismissedEvent | null {
  const other = isSameLabel(label, taskLabel) ? null : dismissEvent(`The label is not the task label "${taskLabel}".`);
  return dismissPullRequest(issue) ?? other;
}

/**
 * Dismisses an event about an issue without the task label, or about a pull request; returns null for any other event.
 */
export function dismissUnlabelled(issue: IssuePayload, { taskLabel }: EventInputs): DismissedEvent | null {
  const unlabelled = hasLabel(issue.labels, taskLabel)
    ? null
    : dismissEvent(`#${String(issue.number)} does not have the task label "${taskLabel}".`);
  return dismissPullRequest(issue) ?? unlabelled;
}

/** Dismisses an event about a pull request that does not belong to Ralph; returns null for one of Ralph's. */
export function dismissForeignPullRequest(
  { number, head, base }: PullPayload,
  { branchPrefix }: EventInputs,
): DismissedEvent | null {
  const name = `Pull request #${String(number)}`;
  if (head.repo?.full_name !== base.repo.full_name)
    return { kind: 'refused', why: `${name} comes from a fork. Ralph works on branches of this repository only.` };
  return head.ref.startsWith(branchPrefix)
    ? null
    : dismissEvent(`${name} is not one of Ralph's: its branch does not start with ${branchPrefix}.`);
}

/** Returns the number, the branch and the head of a pull request. */
export function pickPullRequestBranch({ number, head }: PullPayload): {
  readonly number: number;
  readonly branch: string;
  readonly head: string;
} {
  return { number, branch: head.ref, head: head.sha };
}

/**
 * Returns the meaning of a command on a pull request: it may be about any of Ralph's branches, which the payload does
 * not name.
 */
export function meaningOfCommand(command: Omit<Extract<Intent, { kind: 'command' }>, 'kind'>): EventMeaning {
  const { thread, actor: account } = command;
  return {
    kind: 'for-us',
    lanes: [QUEUE, toIssueLane(thread.number)],
    mayBeOtherLane: true,
    asker: { kind: 'account', account, thread: thread.number },
    intent: { kind: 'command', ...command },
  };
}

/** A review or a review comment, with its pull request and author. */
interface ReviewComment {
  readonly pull: PullPayload & { readonly state: string };
  readonly sender: Account;
  readonly inputs: EventInputs;
}

/**
 * Returns the login of the bot that opened the pull request, which comments may mention, or null if a person opened it.
 */
export function findMentionedBot({ user }: { readonly user?: Account | null | undefined }): string | null {
  return user?.kind === 'bot' ? user.login : null;
}

/**
 * Returns the meaning of a command in a review thread or in a review's own text. Returns null if there is no command,
 * because any other text, even a request, is answered as part of the review.
 */
export function meaningOfReviewCommand(
  { body, reactTo }: { readonly body: string; readonly reactTo: ReactionTarget | null },
  { pull, sender: actor, inputs }: ReviewComment,
): EventMeaning | null {
  const command = parseCommandComment(body, findMentionedBot(pull));
  if (command === null || dismissForeignPullRequest(pull, inputs) !== null) return null;
  if (command.kind === 'request' && inputs.answers.reviews) return null;
  const thread = { number: pull.number, isPullRequest: true };
  return meaningOfCommand({ command, reactTo, thread, actor, issueThen: null });
}

/** Returns the meaning of a review or a review comment. Only those on Ralph's open pull requests are answered. */
export function meaningOfReview(
  { pull, sender: actor, inputs }: ReviewComment,
  reactTo: ReactionTarget | null = null,
): Meaning {
  const dismissed = dismissForeignPullRequest(pull, inputs);
  if (dismissed !== null) return dismissed;
  if (pull.state !== 'open') return dismissEvent(`Pull request #${String(pull.number)} is closed.`);
  if (!inputs.answers.reviews) return dismissEvent('`answer-reviews` is `false`: reviews are not answered.');
  const asker = { kind: 'account', account: actor, thread: pull.number } as const;
  return feedbackMeaning(
    asker,
    { kind: 'answer', pullRequest: pickPullRequestBranch(pull), about: 'review', actor, ...(reactTo && { reactTo }) },
    inputs,
  );
}

/**
 * GitHub's words for a check that ran, or should have run, and did not pass. A check that waits for an approval has not
 * failed.
 */
const FAILED: readonly string[] = ['failure', 'timed_out', 'startup_failure', 'error'];

/** A check of a commit, with the branches that have it; `home` is the id of this repository. */
interface CheckedCommit extends Omit<SuitePayload, 'head_branch'> {
  readonly branches: readonly string[];
  readonly home: number;
}

/** Returns the meaning of a check that ended. Only failed checks on Ralph's branches are answered. */
export function meaningOfCheck(
  { conclusion, head_sha: head, branches, pull_requests: pulls, home }: CheckedCommit,
  inputs: EventInputs,
): Meaning {
  const { branchPrefix, answers } = inputs;
  const branch = branches.find((one) => one.startsWith(branchPrefix));
  if (branch === undefined) return dismissEvent(`The check is not on one of Ralph's branches (${branchPrefix}…).`);
  if (!FAILED.includes(conclusion ?? '')) return dismissEvent('The check did not fail.');
  if (!answers.checks) return dismissEvent('`answer-checks` is `false`: failed checks are not answered.');
  const thread = pulls?.find((pull) => pull.head.ref === branch && pull.head.repo.id === home)?.number ?? null;
  const pullRequest = { number: thread, branch, head };
  const asker = { kind: 'trusted', login: null, thread } as const;
  return feedbackMeaning(asker, { kind: 'answer', pullRequest, about: 'check', actor: null }, inputs);
}

/** Returns the meaning of feedback on a pull request, whose branch names the lane. */
function feedbackMeaning(
  asker: Asker,
  intent: Extract<Intent, { kind: 'answer' }>,
  { branchPrefix }: EventInputs,
): Meaning {
  // With an empty prefix, every branch would look like one of Ralph's, so nothing is answered.
  if (branchPrefix === '') return dismissEvent('The input `branch-prefix` is not usable.');
  const lanes = [intent.pullRequest.branch.slice(branchPrefix.length)].filter(isLaneId);
  return { kind: 'for-us', lanes, mayBeOtherLane: false, asker, intent };
}
