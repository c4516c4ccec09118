import { z } from 'zod';
import { COMMANDS, nearestCommand, readCommand, type Command } from '../core/command.ts';
import { UserError } from '../user-error.ts';

/** What an event asks for. `actor` is who caused it, and in a dispatch someone who may write anyway. */
export type Intent =
  | { readonly kind: 'work-queue' }
  | { readonly kind: 'work-issue'; readonly issue: number; readonly actor: string }
  | { readonly kind: 'command'; readonly command: Command; readonly commentId: number; readonly thread: Thread; readonly actor: string }
  | { readonly kind: 'dispatched-command'; readonly command: Command; readonly actor: string }
  | { readonly kind: 'not-for-us'; readonly why: string };

/** Where a comment stands. */
export interface Thread {
  readonly number: number;
  readonly isPullRequest: boolean;
}

/** Every comment of ours begins with this, so that we recognise our own by content and not by login. */
export const OWN_COMMENT_MARKER = '<!-- ralph-action:';

const SUPPORTED = 'schedule, workflow_dispatch, issues (types: [labeled]) and issue_comment (types: [created])';

const actor = z.object({ login: z.string().max(100) });
const labeled = z.object({ action: z.literal('labeled'), label: z.object({ name: z.string() }), issue: z.object({ number: z.int().positive(), pull_request: z.unknown().optional() }), sender: actor });
const commented = z.object({
  action: z.literal('created'),
  comment: z.object({ id: z.int().positive(), body: z.string().nullish().transform((body) => body ?? '') }),
  issue: z.object({ number: z.int().positive(), pull_request: z.unknown().optional() }),
  sender: actor,
});
const action = z.object({ action: z.string().max(100) });

/** Reads an event's intent; throws a UserError that names the event, or the input `command`, when it is not supported. */
export function readIntent(event: { readonly name: string; readonly payload: unknown }, { taskLabel, command }: { readonly taskLabel: string; readonly command: string }): Intent {
  switch (event.name) {
    case 'schedule':
      return { kind: 'work-queue' };
    case 'workflow_dispatch':
      return command === '' ? { kind: 'work-queue' } : readDispatched(event, command);
    case 'issues':
      return readLabeled(event, taskLabel);
    case 'issue_comment':
      return readComment(event);
    default:
      throw unsupported(`The event "${event.name}" is not supported.`);
  }
}

function readDispatched({ payload }: { readonly payload: unknown }, text: string): Intent {
  const command = readCommand(text);
  if (command.kind === 'unknown') {
    const meant = nearestCommand(command.word);
    throw new UserError('configuration', `The input command is ${JSON.stringify(command.word)}, which is no command.${meant === null ? '' : ` Did you mean "${meant}"?`} Commands are: ${Object.keys(COMMANDS).join(', ')}.`);
  }
  const sender = z.object({ sender: actor }).safeParse(payload);
  return { kind: 'dispatched-command', command, actor: sender.data?.sender.login ?? 'someone' };
}

function readLabeled(event: { readonly name: string; readonly payload: unknown }, taskLabel: string): Intent {
  const parsed = labeled.safeParse(event.payload);
  if (!parsed.success) throw unreadable(event, 'labeled');
  const { issue, label, sender } = parsed.data;
  if (issue.pull_request !== undefined && issue.pull_request !== null) return { kind: 'not-for-us', why: `#${String(issue.number)} is a pull request, not an issue.` };
  if (label.name.toLowerCase() !== taskLabel.toLowerCase()) return { kind: 'not-for-us', why: `The label is not the task label "${taskLabel}".` };
  return { kind: 'work-issue', issue: issue.number, actor: sender.login };
}

function readComment(event: { readonly name: string; readonly payload: unknown }): Intent {
  const parsed = commented.safeParse(event.payload);
  if (!parsed.success) throw unreadable(event, 'created');
  const { comment, issue, sender } = parsed.data;
  const text = comment.body.trimStart();
  if (text.startsWith(OWN_COMMENT_MARKER)) return { kind: 'not-for-us', why: 'The comment is one of our own.' };
  const words = /^\/ralph(?:[ \t]+([^\r\n]*))?(?:\r?\n|$)/i.exec(text);
  if (!words) return { kind: 'not-for-us', why: 'The comment does not start with /ralph.' };
  return {
    kind: 'command',
    command: readCommand((words[1] ?? '').trim()),
    commentId: comment.id,
    thread: { number: issue.number, isPullRequest: issue.pull_request !== undefined && issue.pull_request !== null },
    actor: sender.login,
  };
}

function unreadable(event: { readonly name: string; readonly payload: unknown }, expected: string): UserError {
  const type = action.safeParse(event.payload);
  if (type.success && type.data.action !== expected) return unsupported(`The event "${event.name}" with the type "${type.data.action.replace(/[^\w-]/g, '')}" is not supported.`);
  return new UserError('configuration', `The payload of the event "${event.name}" does not have the shape that GitHub documents. Check GITHUB_EVENT_PATH.`);
}

function unsupported(what: string): UserError {
  return new UserError('configuration', `${what} Supported are ${SUPPORTED}: change \`on:\` in the workflow.`);
}
