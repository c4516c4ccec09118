import { z } from 'zod';
import { UserError } from '../../errors.ts';
import {
  readClosedPull,
  readComment,
  readDispatch,
  readEdited,
  readLabeled,
  readPush,
  readReopened,
  readRepositoryDispatch,
  readWithdrawal,
} from './event-payloads.ts';
import type { EventInputs, Intent } from './intent.ts';

/** One event with its types, and what a run does for it. */
export interface EventRow {
  readonly event: string;
  /** null: the event has no types, or any of them will do. */
  readonly types: readonly string[] | null;
  /** One sentence for people. */
  readonly does: string;
  /** What a payload asks for; null: it does not have the shape that GitHub documents. Throws a UserError for words that are no command. */
  readonly read: (payload: unknown, inputs: EventInputs) => Intent | null;
}

/** Every supported event. */
export const EVENTS: readonly EventRow[] = [
  {
    event: 'schedule',
    types: null,
    does: 'Works the queue: all admitted tasks, on the lane `queue`.',
    read: () => ({ kind: 'work-queue' }),
  },
  {
    event: 'workflow_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in the input `command`.',
    read: readDispatch,
  },
  {
    event: 'repository_dispatch',
    types: null,
    does: 'Works the queue, or obeys the command in `client_payload.command`.',
    read: readRepositoryDispatch,
  },
  {
    event: 'push',
    types: null,
    does: 'Works the queue; pushes of tags and of branches of our own, and deletions, are not for us.',
    read: readPush,
  },
  {
    event: 'issues',
    types: ['labeled'],
    does: 'With the task label: works that issue on its own lane `issue-N`, with the text that was labelled.',
    read: readLabeled,
  },
  {
    event: 'issues',
    types: ['unlabeled', 'closed'],
    does: 'Takes the issue out of the queue and takes our labels off, but `ralph:done` of a closed one; its own lane rests until it is labelled again.',
    read: readWithdrawal,
  },
  {
    event: 'issues',
    types: ['deleted', 'transferred'],
    does: 'Takes the issue out of the queue; its own lane rests.',
    read: readWithdrawal,
  },
  {
    event: 'issues',
    types: ['reopened'],
    does: 'With the task label: puts the issue back in the queue for the next run; done work begins anew only if somebody with write permission reopened it.',
    read: readReopened,
  },
  {
    event: 'issues',
    types: ['edited'],
    does: 'With the task label: judges the consent to the new text; if it was changed by somebody who may not write, it waits for the label to be put on again, and one comment says so.',
    read: readEdited,
  },
  {
    event: 'issue_comment',
    types: ['created'],
    does: 'Obeys a command: a comment that begins with `/ralph`, on an issue or on a pull request of ours. An edited comment is none.',
    read: readComment,
  },
  {
    event: 'pull_request',
    types: ['closed'],
    does: 'Of a branch of ours. Merged: deletes the branch and ends the conversation of the lane, whose tasks are done. Not merged: the lane rests until the pull request is opened again.',
    read: readClosedPull,
  },
];

const typed = z.object({ action: z.string().max(100) });

/** Reads an event's intent; throws a UserError that names the event, or the command, when it is not supported. */
export function readIntent(event: { readonly name: string; readonly payload: unknown }, inputs: EventInputs): Intent {
  const rows = EVENTS.filter((row) => row.event === event.name);
  if (rows.length === 0) throw unsupported(`The event "${event.name}" is not supported.`);
  const type = typed.safeParse(event.payload).data?.action ?? null;
  const row = rows.find(({ types }) => types === null || (type !== null && types.includes(type)));
  if (row === undefined && type !== null)
    throw unsupported(`The event "${event.name}" with the type "${type.replace(/[^\w-]/g, '')}" is not supported.`);
  const intent = row?.read(event.payload, inputs) ?? null;
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
