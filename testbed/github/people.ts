import { personOf } from './accounts.ts';
import {
  ensureLabel,
  type GitHubState,
  type GivenField,
  type Gone,
  type IssueReference,
  isSameName,
  type StoredComment,
  type StoredIssue,
} from './state.ts';

/** The person who acts, and the time. */
export interface Deed {
  readonly by: string;
  readonly now: number;
}

/** Adds a label; as on the site, nothing happens if the issue already has it. */
export function labelIssue(
  state: GitHubState,
  number: number,
  { label, by, now }: Deed & { readonly label: string },
): void {
  const issue = issueOf(state, number);
  const { name } = ensureLabel(state, label);
  if (issue.labels.includes(name)) return;
  issue.labels.push(name);
  issue.events.push({ kind: 'labeled', label: name, by: personOf(state, by), at: now });
  issue.updatedAt = now;
}

/** Removes a label; returns false if the issue does not have it. */
export function unlabelIssue(
  state: GitHubState,
  number: number,
  { label, by, now }: Deed & { readonly label: string },
): boolean {
  const issue = issueOf(state, number);
  const name = issue.labels.find((present) => isSameName(present, label));
  if (name === undefined) return false;
  issue.labels = issue.labels.filter((present) => present !== name);
  issue.events.push({ kind: 'unlabeled', label: name, by: personOf(state, by), at: now });
  issue.updatedAt = now;
  return true;
}

/** Gives the issue an assignee, milestone, type or project; it has one milestone and one type. */
export function giveIssue(
  state: GitHubState,
  number: number,
  { field, what, by, now }: Deed & { readonly field: GivenField; readonly what: string },
): void {
  const issue = issueOf(state, number);
  const values = field === 'assignee' ? issue.assignees : issue.given[field];
  const before = field === 'milestone' || field === 'type' ? (values[0] ?? null) : null;
  if (before !== null) takeFromIssue(state, number, { field, what: before, by, now, isReplaced: field === 'type' });
  values.push(what);
  issue.events.push({ kind: `${field}-set`, what, before, by: personOf(state, by), at: now });
  issue.updatedAt = now;
}

/** Takes from the issue what `giveIssue` gave; GitHub records no event of its own for a type that is replaced. */
export function takeFromIssue(
  state: GitHubState,
  number: number,
  {
    field,
    what,
    by,
    now,
    isReplaced = false,
  }: Deed & { readonly field: GivenField; readonly what: string; readonly isReplaced?: boolean },
): void {
  const issue = issueOf(state, number);
  const values = field === 'assignee' ? issue.assignees : issue.given[field];
  values.splice(values.indexOf(what), 1);
  if (!isReplaced) issue.events.push({ kind: `${field}-unset`, what, before: null, by: personOf(state, by), at: now });
  issue.updatedAt = now;
}

export function editIssue(
  state: GitHubState,
  number: number,
  { title, body, by, now }: Deed & { readonly title?: string; readonly body?: string },
): void {
  const issue = issueOf(state, number);
  const person = personOf(state, by);
  if (title !== undefined && title !== issue.title) {
    issue.events.push({ kind: 'renamed', from: issue.title, to: title, by: person, at: now });
    issue.title = title;
  }
  if (body !== undefined && body !== issue.body) {
    issue.edits.push({ by: person, at: now, before: issue.body, text: body });
    issue.body = body;
  }
  issue.updatedAt = now;
}

export function closeIssue(state: GitHubState, number: number, { by, now }: Deed): void {
  const issue = issueOf(state, number);
  if (issue.state === 'closed') return;
  issue.events.push({ kind: 'closed', by: personOf(state, by), at: now });
  Object.assign(issue, { state: 'closed', closedAt: now, updatedAt: now });
}

export function reopenIssue(state: GitHubState, number: number, { by, now }: Deed): void {
  const issue = issueOf(state, number);
  if (issue.state === 'open') return;
  issue.events.push({ kind: 'reopened', by: personOf(state, by), at: now });
  Object.assign(issue, { state: 'open', closedAt: null, updatedAt: now });
}

export function deleteIssue(state: GitHubState, number: number): void {
  takeAway(state, number, { kind: 'deleted' });
}

/** Transfers an issue to `to` (`owner/name`), where it gets the number `as`. */
export function transferIssue(
  state: GitHubState,
  number: number,
  { to, as }: { readonly to: string; readonly as: number },
): void {
  takeAway(state, number, { kind: 'transferred', to, number: as });
}

/** Records that the issue is blocked by another one. */
export function blockIssue(state: GitHubState, number: number, by: IssueReference): void {
  issueOf(state, number).blockedBy.push(by);
}

export function addSubIssue(state: GitHubState, number: number, child: IssueReference): void {
  issueOf(state, number).subIssues.push(child);
}

export function editComment(state: GitHubState, id: number, { body, by, now }: Deed & { readonly body: string }): void {
  Object.assign(commentOf(state, id), { body, updatedAt: now, edited: { by: personOf(state, by), at: now } });
}

/** Hides a comment as spam, outdated, resolved etc. */
export function minimizeComment(state: GitHubState, id: number): void {
  commentOf(state, id).minimized = true;
}

/** Arms auto-merge: the pull request is merged as soon as nothing blocks it. */
export function armAutoMerge(state: GitHubState, number: number, { by, now: at }: Deed): void {
  const person = personOf(state, by);
  state.autoMerge.set(number, { by: person, at });
  state.issues.find((issue) => issue.number === number)?.events.push({ kind: 'armed', by: person, at });
}

/** Switches auto-merge off; returns false if it was not on. */
export function disarmAutoMerge(state: GitHubState, number: number, { by, now: at }: Deed): boolean {
  if (!state.autoMerge.delete(number)) return false;
  const event = { kind: 'disarmed', by: personOf(state, by), at } as const;
  state.issues.find((issue) => issue.number === number)?.events.push(event);
  return true;
}

export function enqueue(state: GitHubState, number: number): void {
  state.mergeQueue.add(number);
}

function takeAway(state: GitHubState, number: number, how: Gone): void {
  state.issues.splice(state.issues.indexOf(issueOf(state, number)), 1);
  state.gone.set(number, how);
}

function issueOf(state: GitHubState, number: number): StoredIssue {
  const issue = state.issues.find((candidate) => candidate.number === number);
  if (issue === undefined) throw new Error(`The stand-in has no issue ${String(number)}.`);
  return issue;
}

function commentOf(state: GitHubState, id: number): StoredComment {
  const comment = state.comments.find((candidate) => candidate.id === id);
  if (comment === undefined) throw new Error(`The stand-in has no comment ${String(id)}.`);
  return comment;
}
