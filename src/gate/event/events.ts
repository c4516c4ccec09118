import { z } from 'zod';
import type { RunContext } from '../../config/config.ts';
import { UserError } from '../../errors.ts';
import {
  parseClosedPull,
  parseComment,
  parseDispatch,
  parseEdited,
  parseLabeled,
  parsePush,
  parseReopened,
  parseRepositoryDispatch,
  parseWithdrawal,
} from './event-payloads.ts';
import { parseCheckSuite, parseStatus, parseWorkflowRun } from './check-payloads.ts';
import type { EventInputs, Intent } from './intent.ts';
import { parseReview, parseReviewComment } from './review-payloads.ts';

/** One event with its types, and what a run does for it. */
export interface EventRow {
  readonly event: string;
  /** null: the event has no types, or any of them will do. */
  readonly types: readonly string[] | null;
  /** One sentence for people. */
  readonly does: string;
  /** What a payload asks for; null: it does not have the shape that GitHub documents. Throws a UserError for words that are no command. */
  readonly parse: (payload: unknown, inputs: EventInputs) => Intent | null;
}

/** Every supported event. */
export const EVENTS: readonly EventRow[] = [
  {
    event: 'schedule',
    types: null,
    does: 'Works the queue: all tasks that may be worked on, on the branch `ralph/queue`.',
    parse: () => ({ kind: 'work-queue', actor: null }),
  },
  {
    event: 'workflow_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in the input `command`.',
    parse: parseDispatch,
  },
  {
    event: 'repository_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in `client_payload.command`.',
    parse: parseRepositoryDispatch,
  },
  {
    event: 'push',
    types: null,
    does: "Works the queue. Pushes of tags and of Ralph's own branches, and deletions, are ignored.",
    parse: parsePush,
  },
  {
    event: 'issues',
    types: ['labeled'],
    does: 'With the task label: works on that issue on its own branch, `ralph/issue-N`, with the text as it was when labelled.',
    parse: parseLabeled,
  },
  {
    event: 'issues',
    types: ['unlabeled', 'closed'],
    does: "Takes the issue out of the queue and removes Ralph's labels, except `ralph:done` from a closed issue. Work on its own branch is on hold until it is labelled again.",
    parse: parseWithdrawal,
  },
  {
    event: 'issues',
    types: ['deleted', 'transferred'],
    does: 'Takes the issue out of the queue. Work on its own branch is on hold.',
    parse: parseWithdrawal,
  },
  {
    event: 'issues',
    types: ['reopened'],
    does: 'With the task label: puts the issue back in the queue for the next run. Finished work starts again only if somebody with write permission reopened the issue.',
    parse: parseReopened,
  },
  {
    event: 'issues',
    types: ['edited'],
    does: 'With the task label: checks whether the new text is approved. If somebody without write permission changed it, the issue waits until the label is added again, and one comment says so.',
    parse: parseEdited,
  },
  {
    event: 'issue_comment',
    types: ['created'],
    does: "Obeys a command: a comment that begins with `/ralph`, on an issue or on one of Ralph's pull requests. Edited comments are ignored.",
    parse: parseComment,
  },
  {
    event: 'pull_request',
    types: ['closed'],
    does: "For one of Ralph's branches. Merged: deletes the branch and ends the agent's conversation; its tasks are done, and the next run looks at the other open pull requests. Not merged: work on the branch is on hold until the pull request is reopened.",
    parse: parseClosedPull,
  },
  {
    event: 'pull_request_review',
    types: ['submitted', 'edited', 'dismissed'],
    does: "On one of Ralph's pull requests: answers every open thread, if somebody with write permission wrote the review; a `/ralph` command in its text is obeyed. Approvals and dismissed reviews ask for nothing.",
    parse: parseReview,
  },
  {
    event: 'pull_request_review_comment',
    types: ['created', 'edited', 'deleted'],
    does: 'The same for a reply in a thread, for a comment that was edited, and for a `/ralph` command in a thread. Other comments come with their review, and deleted ones ask for nothing.',
    parse: parseReviewComment,
  },
  {
    event: 'check_suite',
    types: ['completed'],
    does: "Failed on one of Ralph's branches: works on the failure. GitHub sends it neither for GitHub Actions nor for a commit that they ran on.",
    parse: parseCheckSuite,
  },
  {
    event: 'workflow_run',
    types: ['completed'],
    does: "The same for the workflows that `workflows:` names. Runs of Ralph's own workflow and of forks are ignored.",
    parse: parseWorkflowRun,
  },
  {
    event: 'status',
    types: null,
    does: "The same for a commit status that is `failure` or `error` on one of Ralph's branches.",
    parse: parseStatus,
  },
];

/** The intent of a run's own event. */
export function intentOf({
  context,
  config,
}: {
  readonly context: Pick<RunContext, 'event' | 'workflowPath'>;
  readonly config: Omit<EventInputs, 'ownWorkflow'>;
}): Intent {
  return parseIntent(context.event, { ...config, ownWorkflow: context.workflowPath });
}

const typed = z.object({ action: z.string().max(100) });

/** The intent of an event; throws a UserError that names the event, or the command, when it is not supported. */
export function parseIntent(event: { readonly name: string; readonly payload: unknown }, inputs: EventInputs): Intent {
  const rows = EVENTS.filter((row) => row.event === event.name);
  if (rows.length === 0) throw unsupported(`The event "${event.name}" is not supported.`);
  const type = typed.safeParse(event.payload).data?.action ?? null;
  const row = rows.find(({ types }) => types === null || (type !== null && types.includes(type)));
  if (row === undefined && type !== null)
    throw unsupported(`The event "${event.name}" with the type "${type.replace(/[^\w-]/g, '')}" is not supported.`);
  const intent = row?.parse(event.payload, inputs) ?? null;
  if (intent === null)
    throw new UserError(
      'configuration',
      `The payload of the event "${event.name}" does not have the shape that GitHub documents. Check GITHUB_EVENT_PATH.`,
    );
  return intent;
}

function unsupported(what: string): UserError {
  const names = [...new Set(EVENTS.map(({ event }) => event))].map((name) => {
    const types = EVENTS.filter(({ event }) => event === name).flatMap((row) => row.types ?? []);
    return types.length === 0 ? name : `${name} (types: [${types.join(', ')}])`;
  });
  return new UserError(
    'configuration',
    `${what} Supported are ${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}: change \`on:\` in the workflow.`,
  );
}
