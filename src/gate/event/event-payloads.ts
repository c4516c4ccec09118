import { z } from 'zod';
import {
  COMMANDS,
  commandIn,
  isOwnComment,
  nearestCommand,
  parseCommand,
  type Command,
} from '../../core/people/command.ts';
import { hasLabel, sameLabel } from '../../core/people/labels.ts';
import { UserError } from '../../errors.ts';
import { withdrawals, type EventInputs, type Intent } from './intent.ts';
import { account, ends, name, notForUs, notOfRalph, number, text } from './payload-parts.ts';

const issue = z
  .object({
    number,
    pull_request: z.unknown().optional(),
    labels: z
      .array(z.object({ name }))
      .max(1000)
      .nullish()
      .transform((labels) => labels ?? []),
    state: z.string().max(20).nullish(),
  })
  .transform(({ number: its, pull_request: pull, labels, state }) => ({
    number: its,
    isPullRequest: pull !== undefined && pull !== null,
    labels: labels.map((label) => label.name),
    state,
  }));

const label = z.object({ name });
const given = z
  .object({ command: z.string().max(1000).nullish() })
  .nullish()
  .transform((inputs) => (inputs?.command ?? '').trim());
const dispatch = z.object({ inputs: given, sender: account.optional().catch(undefined) });
const repositoryDispatch = z.object({ client_payload: given, sender: account });
const push = z.object({ ref: name, deleted: z.boolean().nullish() });
const labeled = z.object({ label, issue, sender: account });
const writtenText = z
  .object({ issue: z.object({ title: name, body: text }) })
  .transform(({ issue: { title, body } }) => ({ title, body }));
const withdrawn = z.object({ action: z.enum(withdrawals), issue });
const unlabeled = z.object({ label });
const reopened = z.object({ issue });
const edited = z.object({ issue, changes: z.object({ title: z.unknown().optional(), body: z.unknown().optional() }) });
const commented = z.object({ comment: z.object({ id: number, body: text }), issue, sender: account });
const closedPull = z.object({ pull_request: z.object({ ...ends, merged: z.boolean().nullable() }), sender: account });

/** Parses `workflow_dispatch`. A server need not say who dispatched. */
export function parseDispatch(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = dispatch.safeParse(payload);
  if (!parsed.success) return null;
  const { inputs: words, sender } = parsed.data;
  return dispatched({ field: 'inputs.command', words, actor: sender?.login ?? null }, inputs);
}

/** Parses `repository_dispatch`. */
export function parseRepositoryDispatch(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = repositoryDispatch.safeParse(payload);
  if (!parsed.success) return null;
  const { client_payload: words, sender } = parsed.data;
  return dispatched({ field: 'client_payload.command', words, actor: sender.login }, inputs);
}

/** The step's own input `command` goes first; a workflow that does not pass the event's on loses no order. */
function dispatched(
  event: { readonly field: string; readonly words: string; readonly actor: string | null },
  { command }: EventInputs,
): Intent {
  const [words, whence] = command === '' ? [event.words, event.field] : [command, 'The input command'];
  return words === ''
    ? { kind: 'work-queue', actor: event.actor }
    : { kind: 'dispatched-command', command: commandOf(words, whence), actor: event.actor };
}

function commandOf(words: string, whence: string): Command {
  const command = parseCommand(words);
  if (command.kind !== 'unknown') return command;
  const meant = nearestCommand(command.word);
  throw new UserError(
    'configuration',
    `${whence} is ${JSON.stringify(command.word)}, which is not a command.${meant === null ? '' : ` Did you mean "${meant}"?`} Commands are: ${Object.keys(COMMANDS).join(', ')}.`,
  );
}

/** Parses `push`. */
export function parsePush(payload: unknown, { branchPrefix }: EventInputs): Intent | null {
  const parsed = push.safeParse(payload);
  if (!parsed.success) return null;
  const { ref, deleted } = parsed.data;
  if (!ref.startsWith('refs/heads/')) return notForUs('What was pushed is not a branch.');
  if (deleted === true) return notForUs('The push deleted a branch.');
  if (ref.startsWith(`refs/heads/${branchPrefix}`))
    return notForUs(`The push is to one of Ralph's own branches (${branchPrefix}…).`);
  return { kind: 'work-queue', actor: null };
}

/** Parses `issues: labeled`. */
export function parseLabeled(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = labeled.safeParse(payload);
  if (!parsed.success) return null;
  const { sender, label: put, issue: about } = parsed.data;
  if (about.isPullRequest) return noIssue(about.number);
  if (!sameLabel(put.name, inputs.taskLabel)) return notForUs(`The label is not the task label "${inputs.taskLabel}".`);
  const approved = writtenText.safeParse(payload);
  return approved.success
    ? { kind: 'work-issue', issue: about.number, approvedText: approved.data, actor: sender }
    : null;
}

/** Parses `issues: unlabeled`, `closed`, `deleted` and `transferred`. */
export function parseWithdrawal(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = withdrawn.safeParse(payload);
  if (!parsed.success) return null;
  const { action: because, issue: about } = parsed.data;
  if (about.isPullRequest) return noIssue(about.number);
  if (because === 'unlabeled') {
    const removed = unlabeled.safeParse(payload);
    if (!removed.success) return null;
    if (!sameLabel(removed.data.label.name, inputs.taskLabel))
      return notForUs(`The label is not the task label "${inputs.taskLabel}".`);
  } else if (!hasTaskLabel(about, inputs)) return noTask(about.number, inputs);
  return { kind: 'withdraw', issue: about.number, because };
}

/** Parses `issues: reopened`. */
export function parseReopened(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = reopened.safeParse(payload);
  if (!parsed.success) return null;
  const { issue: about } = parsed.data;
  if (about.isPullRequest) return noIssue(about.number);
  return hasTaskLabel(about, inputs) ? { kind: 'take-back', issue: about.number } : noTask(about.number, inputs);
}

/** Parses `issues: edited`. */
export function parseEdited(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = edited.safeParse(payload);
  if (!parsed.success) return null;
  const { issue: about, changes } = parsed.data;
  if (about.isPullRequest) return noIssue(about.number);
  if (!hasTaskLabel(about, inputs)) return noTask(about.number, inputs);
  if (about.state === 'closed') return notForUs(`#${String(about.number)} is closed.`);
  if (changes.title === undefined && changes.body === undefined)
    return notForUs(`Neither title nor body of #${String(about.number)} was changed.`);
  return { kind: 'recheck', issue: about.number };
}

/** Parses `issue_comment: created`. */
export function parseComment(payload: unknown): Intent | null {
  const parsed = commented.safeParse(payload);
  if (!parsed.success) return null;
  const { comment, issue: about, sender } = parsed.data;
  if (isOwnComment(comment.body)) return notForUs("The comment is Ralph's own.");
  const command = commandIn(comment.body);
  if (command === null) return notForUs('The comment does not start with /ralph.');
  return {
    kind: 'command',
    command,
    reactTo: { kind: 'comment', id: comment.id },
    thread: { number: about.number, isPullRequest: about.isPullRequest },
    actor: sender,
  };
}

/** Parses `pull_request: closed`. */
export function parseClosedPull(payload: unknown, inputs: EventInputs): Intent | null {
  const parsed = closedPull.safeParse(payload);
  if (!parsed.success) return null;
  const { pull_request: pull, sender } = parsed.data;
  return (
    notOfRalph(pull, inputs) ?? {
      kind: 'end-lane',
      pullRequest: { number: pull.number, branch: pull.head.ref, head: pull.head.sha, merged: pull.merged === true },
      actor: sender,
    }
  );
}

function hasTaskLabel({ labels }: z.output<typeof issue>, inputs: EventInputs): boolean {
  return hasLabel(labels, inputs.taskLabel);
}

function noTask(its: number, { taskLabel }: EventInputs): Intent {
  return notForUs(`#${String(its)} does not have the task label "${taskLabel}".`);
}

function noIssue(its: number): Intent {
  return notForUs(`#${String(its)} is a pull request, not an issue.`);
}
