import { z } from 'zod';
import { UserError } from '../user-error.ts';

/** What an event asks for. `actor` is who caused it. */
export type Intent =
  | { readonly kind: 'work-queue' }
  | { readonly kind: 'work-issue'; readonly issue: number; readonly actor: string }
  | { readonly kind: 'command'; readonly command: Command; readonly commentId: number; readonly thread: Thread; readonly actor: string }
  | { readonly kind: 'not-for-us'; readonly why: string };

export type Command = { readonly kind: 'run' } | { readonly kind: 'status' } | { readonly kind: 'unknown'; readonly word: string };

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

/** Reads an event's intent; throws a UserError that names the event when it is not supported. */
export function readIntent(event: { readonly name: string; readonly payload: unknown }, taskLabel: string): Intent {
  switch (event.name) {
    case 'schedule':
    case 'workflow_dispatch':
      return { kind: 'work-queue' };
    case 'issues':
      return readLabeled(event, taskLabel);
    case 'issue_comment':
      return readComment(event);
    default:
      throw unsupported(`The event "${event.name}" is not supported.`);
  }
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

function readCommand(text: string): Command {
  const word = text.toLowerCase();
  if (word === 'run' || word === 'status') return { kind: word };
  return { kind: 'unknown', word: text.slice(0, 40) };
}

function unreadable(event: { readonly name: string; readonly payload: unknown }, expected: string): UserError {
  const type = action.safeParse(event.payload);
  if (type.success && type.data.action !== expected) return unsupported(`The event "${event.name}" with the type "${type.data.action.replace(/[^\w-]/g, '')}" is not supported.`);
  return new UserError('configuration', `The payload of the event "${event.name}" does not have the shape that GitHub documents. Check GITHUB_EVENT_PATH.`);
}

function unsupported(what: string): UserError {
  return new UserError('configuration', `${what} Supported are ${SUPPORTED}: change \`on:\` in the workflow.`);
}
