import { z } from 'zod';
import type { RunContext } from '../../config/config.ts';
import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { isCourtesy } from '../../core/feedback/reviews/threads.ts';
import { parseCommandComment, isOwnComment, withoutCommand } from '../../core/people/command.ts';
import { isSameLabel, namePlanLabel } from '../../core/people/labels.ts';
import { QUEUE } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import type { EventInputs, Meaning } from './intent.ts';
import {
  meaningOfCheck,
  meaningOfCommand,
  meaningOfDashboard,
  meaningOfReviewCommand,
  meaningOfDispatch,
  isPullRequest,
  findMentionedBot,
  NO_ASKER,
  dismissEvent,
  dismissForeignPullRequest,
  dismissUnlabelled,
  dismissOtherLabel,
  meaningOfIssue,
  payloadSchemas,
  pickPullRequestBranch,
  meaningOfQueueWork,
  meaningOfReview,
  meaningOfWithdrawal,
} from './meanings.ts';

/** An event with its types, and the reaction of a run to it. */
export interface EventRow {
  readonly event: string;
  /** The types of the event to which runs react; null means all types, or an event without types. */
  readonly types: readonly string[] | null;
  /** The run's reaction as one sentence for people. */
  readonly does: string;
  /**
   * Returns the meaning of a payload, or null if it lacks the shape that GitHub documents. Throws a UserError for words
   * that are not a command.
   */
  readonly parse: (payload: unknown, inputs: EventInputs) => Meaning | null;
}

/**
 * Every supported event: how it is parsed, its lanes, the person who asks, and the intent. Main and post read the same
 * row.
 */
export const EVENTS: readonly EventRow[] = [
  row({
    event: 'schedule',
    types: null,
    does: 'Works the queue: all tasks that may be worked on, on the branch `ralph/queue`.',
    payload: () => z.unknown(),
    means: () => meaningOfQueueWork(null),
  }),
  row({
    event: 'workflow_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in the input `command`.',
    payload: payloadSchemas.dispatch,
    means: ({ inputs: words, sender }, inputs) =>
      meaningOfDispatch({ field: 'inputs.command', words, login: sender?.login ?? null }, inputs),
  }),
  row({
    event: 'repository_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in `client_payload.command`.',
    payload: payloadSchemas.repositoryDispatch,
    means: ({ client_payload: words, sender }, inputs) =>
      meaningOfDispatch({ field: 'client_payload.command', words, login: sender.login }, inputs),
  }),
  row({
    event: 'push',
    types: null,
    does: "Works the queue. Pushes of tags and of Ralph's own branches, and deletions, are ignored.",
    payload: payloadSchemas.push,
    means: ({ ref, deleted }, { branchPrefix }) => {
      if (!ref.startsWith('refs/heads/')) return dismissEvent('The push is not to a branch.');
      if (deleted === true) return dismissEvent('The push deleted a branch.');
      return ref.startsWith(`refs/heads/${branchPrefix}`)
        ? dismissEvent(`The push is to one of Ralph's own branches (${branchPrefix}…).`)
        : meaningOfQueueWork(null);
    },
  }),
  row({
    event: 'issues',
    types: ['labeled'],
    does: 'With the task label: works on that issue on its own branch, `ralph/issue-N`, with the text as it was when labelled. With `ralph:plan`: [proposes sub-tasks](costs-and-plans.md#a-plan-for-a-large-issue).',
    payload: payloadSchemas.labeled,
    means: ({ label, issue, sender: actor }, inputs) => {
      const planLabel = namePlanLabel(inputs.taskLabel);
      const isPlan = isSameLabel(label.name, planLabel);
      const dismissed = dismissOtherLabel(label.name, issue, isPlan ? { ...inputs, taskLabel: planLabel } : inputs);
      if (dismissed !== null) return dismissed;
      const { number, title, body } = issue;
      if (isDashboardText(body)) return dismissEvent('The dashboard is never a task.');
      if (typeof title !== 'string') return null;
      const asker = { kind: 'account', account: actor, thread: number } as const;
      const kind = isPlan ? 'propose' : 'work-issue';
      return meaningOfIssue(asker, { kind, issue: number, approvedText: { title, body }, actor });
    },
  }),
  row({
    event: 'issues',
    types: ['unlabeled', 'closed'],
    does: "Takes the issue out of the queue and removes Ralph's labels, except `ralph:done`. Work on its own branch is on hold until it is labelled again.",
    payload: payloadSchemas.withdrawn,
    means: meaningOfWithdrawal,
  }),
  row({
    event: 'issues',
    types: ['deleted', 'transferred'],
    does: 'Takes the issue out of the queue. Work on its own branch is on hold.',
    payload: payloadSchemas.withdrawn,
    means: meaningOfWithdrawal,
  }),
  row({
    event: 'issues',
    types: ['reopened'],
    does: 'With the task label: puts the issue back in the queue. Finished work starts again only if somebody with write permission reopened it.',
    payload: payloadSchemas.reopened,
    means: ({ issue }, inputs) =>
      dismissUnlabelled(issue, inputs) ?? meaningOfIssue(NO_ASKER, { kind: 'take-back', issue: issue.number }),
  }),
  row({
    event: 'issues',
    types: ['edited'],
    does: 'With the task label: checks whether [the new text is approved](#the-label-is-your-consent). On [the dashboard](merging.md#the-dashboard): obeys ticked boxes.',
    payload: payloadSchemas.edited,
    means: ({ issue, changes }, inputs) => {
      const ofDashboard = meaningOfDashboard(issue);
      if (ofDashboard !== null) return ofDashboard;
      const name = `#${String(issue.number)}`;
      const dismissed = dismissUnlabelled(issue, inputs);
      if (dismissed !== null) return dismissed;
      if (issue.state === 'closed') return dismissEvent(`${name} is closed.`);
      return changes.title === undefined && changes.body === undefined
        ? dismissEvent(`Neither title nor body of ${name} was changed.`)
        : meaningOfIssue(NO_ASKER, { kind: 'recheck', issue: issue.number });
    },
  }),
  row({
    event: 'issue_comment',
    types: ['created'],
    does: 'Obeys a [command](#commands), and works on a request. Edited comments are ignored.',
    payload: payloadSchemas.commented,
    means: ({ comment: { id, body, created_at: createdAt }, issue, sender: actor }) => {
      if (isOwnComment(body)) return dismissEvent("The comment is Ralph's own.");
      const isPull = isPullRequest(issue);
      const command = parseCommandComment(body, isPull ? findMentionedBot(issue) : null);
      if (command === null) return dismissEvent('The comment does not start with /ralph.');
      const isClosed = issue.state === 'closed';
      const thread = { number: issue.number, isPullRequest: isPull, ...(isPull && isClosed ? { isClosed } : {}) };
      const isMention = parseCommandComment(body) === null;
      if ((isMention || command.kind === 'request') && isCourtesy(withoutCommand(body)))
        return dismissEvent('The comment says thanks, and asks for nothing.');
      const { title, body: issueBody, labels } = issue;
      const isKnown = typeof title === 'string' && typeof createdAt === 'string';
      const issueThen = isKnown ? { title, body: issueBody, labels, at: Date.parse(createdAt) } : null;
      const reactTo = { kind: 'comment', id } as const;
      return meaningOfCommand({ command, reactTo, thread, actor, issueThen, ...(isMention ? { isMention } : {}) });
    },
  }),
  row({
    event: 'pull_request',
    types: ['closed'],
    does: "For one of Ralph's branches. Merged: its tasks are done, the branch is deleted, and [another pull request](merging.md) that needs work gets it. Not merged: work on the branch is on hold until the pull request is reopened.",
    payload: payloadSchemas.closedPull,
    means: ({ pull_request: pull, sender: actor }, inputs) =>
      dismissForeignPullRequest(pull, inputs) ?? {
        kind: 'for-us',
        lanes: [QUEUE],
        mayBeOtherLane: false,
        asker: NO_ASKER,
        intent: {
          kind: 'end-lane',
          pullRequest: {
            ...pickPullRequestBranch(pull),
            merged: pull.merged === true,
            closedAt: pull.closed_at == null ? null : Date.parse(pull.closed_at),
            // For an unmerged pull request, GitHub gives the commit of its own test merge here, so ignore it.
            mergeCommit: pull.merged === true ? (pull.merge_commit_sha ?? null) : null,
          },
          actor,
        },
      },
  }),
  row({
    event: 'pull_request_review',
    types: ['submitted', 'edited', 'dismissed'],
    does: "On one of Ralph's pull requests: [answers](reviews-and-checks.md) every open thread, and obeys a command in the text.",
    payload: payloadSchemas.reviewed,
    means: ({ action, review, pull_request: pull, sender }, inputs) => {
      if (isOwnComment(review.body)) return dismissEvent("The review is Ralph's own.");
      const about = { pull, sender, inputs };
      // A review without a command starts a run that reads its threads. A reply in a thread is a review without a text;
      // a reaction to it would not be visible, so none is added.
      const reactTo = review.body === '' ? null : review.node_id;
      const command = action === 'submitted' ? meaningOfReviewCommand({ body: review.body, reactTo }, about) : null;
      if (command !== null) return command;
      if (action === 'dismissed') return dismissEvent('The review was dismissed, so it asks for nothing.');
      if (review.state.toLowerCase() === 'approved' && parseCommandComment(review.body)?.kind !== 'request')
        return dismissEvent('An approval asks for nothing.');
      return meaningOfReview(about, reactTo);
    },
  }),
  row({
    event: 'pull_request_review_comment',
    types: ['created', 'edited', 'deleted'],
    does: 'The same for a reply in a thread, an edited comment, and a command in a thread. Other comments come with their review.',
    payload: payloadSchemas.reviewCommented,
    means: ({ action, comment, pull_request: pull, sender }, inputs) => {
      const { node_id: reactTo, body, in_reply_to_id: answers } = comment;
      if (isOwnComment(body)) return dismissEvent("The comment is Ralph's own.");
      const about = { pull, sender, inputs };
      const command = action === 'created' ? meaningOfReviewCommand({ body, reactTo }, about) : null;
      if (command !== null) return command;
      if (action === 'deleted') return dismissEvent('The comment was deleted, so it asks for nothing.');
      const isAddressed = action === 'created' && parseCommandComment(body, findMentionedBot(pull)) !== null;
      // A review of sixty comments sends its own event and sixty of this kind, which are dismissed: one run answers
      // them all.
      return action === 'created' && typeof answers !== 'number' && !isAddressed
        ? dismissEvent('The comment is part of a review, whose event `pull_request_review` starts the run.')
        : meaningOfReview(about, isAddressed ? reactTo : null);
    },
  }),
  row({
    event: 'check_suite',
    types: ['completed'],
    does: "Failed on one of Ralph's branches: works on the failure. GitHub sends it neither for GitHub Actions nor for a commit that they ran on.",
    payload: payloadSchemas.suiteCompleted,
    means: ({ check_suite: suite, repository }, inputs) =>
      meaningOfCheck({ ...suite, branches: [suite.head_branch ?? ''], home: repository.id }, inputs),
  }),
  row({
    event: 'workflow_run',
    types: ['completed'],
    does: "The same for the workflows that `workflows:` names. Runs of Ralph's own workflow and of forks are ignored.",
    payload: payloadSchemas.runCompleted,
    means: ({ workflow_run: run, workflow, repository }, inputs) => {
      const paths = [run.path, workflow?.path].map((path) => path?.replace(/@.*/, ''));
      if (inputs.ownWorkflow !== null && paths.includes(inputs.ownWorkflow))
        return dismissEvent("The run is Ralph's own.");
      // The branch may belong to a fork, so ignore it unless it is in this repository.
      return run.head_repository?.id === repository.id
        ? meaningOfCheck({ ...run, branches: [run.head_branch ?? ''], home: repository.id }, inputs)
        : dismissEvent('The run belongs to a fork. Ralph works on branches of this repository only.');
    },
  }),
  row({
    event: 'status',
    types: null,
    does: "The same for a commit status that is `failure` or `error` on one of Ralph's branches.",
    payload: payloadSchemas.status,
    means: ({ state: conclusion, sha, branches }, inputs) =>
      meaningOfCheck(
        { conclusion, head_sha: sha, branches: branches.map(({ name }) => name), pull_requests: [], home: 0 },
        inputs,
      ),
  }),
];

/** Returns the meaning of the event that started this run; throws as `meaningOfEvent` does. */
export function meaningOfRun({
  context,
  config,
}: {
  readonly context: Pick<RunContext, 'event' | 'workflowPath'>;
  readonly config: Omit<EventInputs, 'ownWorkflow'>;
}): Meaning {
  return meaningOfEvent(context.event, { ...config, ownWorkflow: context.workflowPath });
}

/** Returns the meaning of an event; throws a UserError that names the event, or the command, if it is not supported. */
export function meaningOfEvent(
  event: { readonly name: string; readonly payload: unknown },
  inputs: EventInputs,
): Meaning {
  const rows = EVENTS.filter((one) => one.event === event.name);
  if (rows.length === 0) throw unsupported(`The event "${event.name}" is not supported.`);
  const type =
    z.object({ action: z.string().max(100) }).safeParse(event.payload, { jitless: true }).data?.action ?? null;
  const found = rows.find(({ types }) => types === null || (type !== null && types.includes(type)));
  if (found === undefined && type !== null)
    throw unsupported(`The event "${event.name}" with the type "${type.replace(/[^\w-]/g, '')}" is not supported.`);
  const meaning = found?.parse(event.payload, inputs) ?? null;
  if (meaning === null)
    throw new UserError(
      'configuration',
      `The payload of the event "${event.name}" does not have the shape that GitHub documents. Check GITHUB_EVENT_PATH.`,
    );
  return meaning;
}

function unsupported(what: string): UserError {
  const names = [...new Set(EVENTS.map(({ event }) => event))].map((name) => {
    const types = EVENTS.filter(({ event }) => event === name).flatMap((one) => one.types ?? []);
    return types.length === 0 ? name : `${name} (types: [${types.join(', ')}])`;
  });
  return new UserError(
    'configuration',
    `${what} Supported events are ${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}: change \`on:\` in the workflow.`,
  );
}

function row<Payload>(
  event: Omit<EventRow, 'parse'> & {
    readonly payload: () => z.ZodType<Payload>;
    readonly means: (payload: Payload, inputs: EventInputs) => Meaning | null;
  },
): EventRow {
  const { payload, means, ...about } = event;
  const parse: EventRow['parse'] = (value, inputs) => {
    const parsed = payload().safeParse(value, { jitless: true });
    return parsed.success ? means(parsed.data, inputs) : null;
  };
  return { ...about, parse };
}
