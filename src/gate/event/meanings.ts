import type { z } from 'zod';
import { COMMANDS, commandIn, nearestCommand, parseCommand, type Command } from '../../core/people/command.ts';
import { hasLabel, sameLabel } from '../../core/people/labels.ts';
import { isLaneId, issueLane, QUEUE } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import type { Account, ReactionTarget } from '../../ports/forge.ts';
import type { Asker, Dismissed, EventInputs, EventMeaning, Intent, Meaning } from './intent.ts';
import type { IssuePayload, payloads, PullPayload, SuitePayload } from './payloads.ts';

export const NOBODY: Asker = { kind: 'nobody' };

/** An event that asks for nothing that is done here. */
export function notForUs(why: string): Dismissed {
  return { kind: 'not-for-us', why };
}

function ofQueue(login: string | null, intent: Intent): EventMeaning {
  const asker = { kind: 'trusted', login, thread: null } as const;
  return { kind: 'for-us', lanes: [QUEUE], mayBeOtherLane: false, asker, intent };
}

export function queueFor(login: string | null): EventMeaning {
  return ofQueue(login, { kind: 'work-queue', actor: login });
}

/** The step's own input `command` goes first; a workflow that does not pass the event's on loses no order. */
export function dispatched(
  event: { readonly field: string; readonly words: string; readonly login: string | null },
  { command }: EventInputs,
): EventMeaning {
  const [words, whence] = command === '' ? [event.words, event.field] : [command, 'The input command'];
  return words === ''
    ? queueFor(event.login)
    : ofQueue(event.login, { kind: 'dispatched-command', command: commandOf(words, whence), actor: event.login });
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

export function ofIssue(asker: Asker, intent: Extract<Intent, { readonly issue: number }>): EventMeaning {
  return { kind: 'for-us', lanes: [issueLane(intent.issue), QUEUE], mayBeOtherLane: false, asker, intent };
}

export function withdrawn(
  { action: because, label, issue }: z.output<typeof payloads.withdrawn>,
  inputs: EventInputs,
): Meaning | null {
  if (because === 'unlabeled' && typeof label?.name !== 'string') return null;
  const dismissed =
    because === 'unlabeled' ? notTheTaskLabel(label?.name ?? '', issue, inputs) : notTask(issue, inputs);
  return dismissed ?? ofIssue(NOBODY, { kind: 'withdraw', issue: issue.number, because });
}

export function isPull({ pull_request: pull }: IssuePayload): boolean {
  return pull !== undefined && pull !== null;
}

function notAnIssue(issue: IssuePayload): Dismissed | null {
  return isPull(issue) ? notForUs(`#${String(issue.number)} is a pull request, not an issue.`) : null;
}

export function notTheTaskLabel(label: string, issue: IssuePayload, { taskLabel }: EventInputs): Dismissed | null {
  const other = sameLabel(label, taskLabel) ? null : notForUs(`The label is not the task label "${taskLabel}".`);
  return notAnIssue(issue) ?? other;
}

export function notTask(issue: IssuePayload, { taskLabel }: EventInputs): Dismissed | null {
  const unlabelled = hasLabel(issue.labels, taskLabel)
    ? null
    : notForUs(`#${String(issue.number)} does not have the task label "${taskLabel}".`);
  return notAnIssue(issue) ?? unlabelled;
}

/** Returns why the pull request is not Ralph's, or null if it is. */
export function notOfRalph({ number, head, base }: PullPayload, { branchPrefix }: EventInputs): Dismissed | null {
  const name = `Pull request #${String(number)}`;
  if (head.repo?.full_name !== base.repo.full_name)
    return { kind: 'refused', why: `${name} comes from a fork. Ralph works on branches of this repository only.` };
  return head.ref.startsWith(branchPrefix)
    ? null
    : notForUs(`${name} is not one of Ralph's: its branch does not start with ${branchPrefix}.`);
}

export function pullRequestBranchOf({ number, head }: PullPayload): {
  readonly number: number;
  readonly branch: string;
  readonly head: string;
} {
  return { number, branch: head.ref, head: head.sha };
}

/** A command on a pull request may be about any of our branches, which the payload does not name. */
export function commanded(command: Omit<Extract<Intent, { kind: 'command' }>, 'kind'>): EventMeaning {
  const { thread, actor: account } = command;
  return {
    kind: 'for-us',
    lanes: [QUEUE, issueLane(thread.number)],
    mayBeOtherLane: true,
    asker: { kind: 'account', account, thread: thread.number },
    intent: { kind: 'command', ...command },
  };
}

/** What somebody said in a review. */
interface Said {
  readonly pull: PullPayload & { readonly state: string };
  readonly sender: Account;
  readonly inputs: EventInputs;
}

/** A command in a thread or in a review's own text is obeyed as in a comment. Words that are not a command are a request: they are answered as the review is. */
export function commandInReview(
  { body, reactTo }: { readonly body: string; readonly reactTo: ReactionTarget | null },
  { pull, sender: actor, inputs }: Said,
): EventMeaning | null {
  const command = commandIn(body);
  if (command === null || command.kind === 'unknown' || notOfRalph(pull, inputs) !== null) return null;
  return commanded({ command, reactTo, thread: { number: pull.number, isPullRequest: true }, actor });
}

export function reviewed({ pull, sender: actor, inputs }: Said): Meaning {
  const dismissed = notOfRalph(pull, inputs);
  if (dismissed !== null) return dismissed;
  if (pull.state !== 'open') return notForUs(`Pull request #${String(pull.number)} is closed.`);
  if (!inputs.answers.reviews) return notForUs('`answer-reviews` is `false`: reviews are not answered.');
  const asker = { kind: 'account', account: actor, thread: pull.number } as const;
  return answered(asker, { kind: 'answer', pullRequest: pullRequestBranchOf(pull), about: 'review', actor }, inputs);
}

/** GitHub's words for a check that ran, or should have, and did not pass. What waits for an approval has not failed. */
const FAILED: readonly string[] = ['failure', 'timed_out', 'startup_failure', 'error'];

/** A check of a commit, with the branches that have it; `home`: id of this repository. */
interface Checked extends Omit<SuitePayload, 'head_branch'> {
  readonly branches: readonly string[];
  readonly home: number;
}

export function checked(
  { conclusion, head_sha: head, branches, pull_requests: pulls, home }: Checked,
  inputs: EventInputs,
): Meaning {
  const { branchPrefix, answers } = inputs;
  const branch = branches.find((one) => one.startsWith(branchPrefix));
  if (branch === undefined) return notForUs(`The check is not on one of Ralph's branches (${branchPrefix}…).`);
  if (!FAILED.includes(conclusion ?? '')) return notForUs('The check did not fail.');
  if (!answers.checks) return notForUs('`answer-checks` is `false`: failed checks are not answered.');
  const thread = pulls?.find((pull) => pull.head.ref === branch && pull.head.repo.id === home)?.number ?? null;
  const pullRequest = { number: thread, branch, head };
  const asker = { kind: 'trusted', login: null, thread } as const;
  return answered(asker, { kind: 'answer', pullRequest, about: 'check', actor: null }, inputs);
}

function answered(asker: Asker, intent: Extract<Intent, { kind: 'answer' }>, { branchPrefix }: EventInputs): Meaning {
  // Every branch would look like one of Ralph's.
  if (branchPrefix === '') return notForUs('The input `branch-prefix` is not usable.');
  const lanes = [intent.pullRequest.branch.slice(branchPrefix.length)].filter(isLaneId);
  return { kind: 'for-us', lanes, mayBeOtherLane: false, asker, intent };
}
