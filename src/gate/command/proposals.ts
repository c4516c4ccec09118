import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { hashOfComment, orderOfWork, formatProposalMarker, formatSubTaskMarker } from '../../core/proposal/proposal.ts';
import {
  beginMaking,
  type MadeIssue,
  type MakingAnswer,
  findProposal,
  type ProposalRecord,
  recordMaking,
} from '../../core/snapshot/proposals.ts';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import { formatInstant } from '../../core/countdown.ts';
import { hasLabel } from '../../core/people/labels.ts';
import { createOwnRequest } from '../tasks/sources.ts';
import type { IssueText } from '../../core/tasks/issue-task.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';
import type { Account, OpenedIssue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import type { IssueThen } from '../event/intent.ts';
import { admitWork } from '../lane/side-by-side.ts';
import { hashOfText } from '../people/trust.ts';
import { refuseCommand } from './answering.ts';

const AGAIN = 'Comment `/ralph plan` to have them proposed again.';

/** A trusted person's request about an issue; `then` is null if the event does not contain the issue's text. */
interface Asked {
  readonly number: number;
  readonly by: Account;
  readonly then: IssueThen | null;
}

/** Admits one call that only reads the issue as the person saw it, and proposes sub-tasks. */
export async function requestProposal(
  deps: GateDeps,
  { number, by, then }: Omit<Asked, 'then'> & { readonly then: IssueText | null },
): Promise<Intake> {
  const issue = await deps.forge.issue(number);
  const refused = (why: string): Intake => refuseCommand(deps, number, why);
  if (issue === null || then === null) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  if (issue.isPullRequest) return refused('This is a pull request, not an issue.');
  if (isDashboardText(issue.body)) return refused('This is the dashboard, which is never a task.');
  if (issue.state === 'closed') return refused('This issue is closed. Reopen it, then ask again.');
  const { title, body } = then;
  const intake = await admitWork(deps, {
    // The call only reads the issue, so its dependencies do not matter.
    ...createOwnRequest({ ...issue, title, body, blockedBy: 0, openSubIssues: 0 }, { kind: 'proposal', by: by.login }),
    ...{ requested: 'by-name', asked: true, byHand: true, redo: true },
  });
  if (intake.kind === 'work' || intake.answer !== null) return intake;
  const unasked = 'No call was made, so no sub-tasks are proposed. Comment `/ralph plan` again later.';
  return { ...intake, notes: { ...intake.notes, warnings: [...intake.notes.warnings, unasked] } };
}

/**
 * Creates exactly the proposed sub-tasks as sub-issues, provided that the comment still shows the stored proposal and
 * nobody has changed the issue since the agent read it. Safe to repeat: finds the sub-issues of an earlier attempt.
 */
export async function approveProposal(deps: GateDeps, { number, by, then }: Asked): Promise<Intake> {
  const refused = (why: string): Intake => refuseCommand(deps, number, why);
  const read = await deps.store.read();
  if (read.kind === 'unavailable') throw unreachable(read.why);
  const record = read.kind === 'snapshot' ? findProposal(read.snapshot, number) : null;
  if (record === null) return refused('There are no proposed sub-tasks for this issue. Comment `/ralph plan` first.');
  if (record.isComplete) return approved(record, number, false);
  // An earlier approval is completed, whatever people have written since.
  const voided = record.approved === null ? await whyVoid(deps, record, then) : null;
  if (voided !== null) return refused(voided);
  const at = then?.at ?? deps.clock.now();
  const begun = await update(
    deps,
    beginMaking({ issue: number, hash: record.hash, approved: { by, at }, runTag: deps.runTag, now: deps.clock.now() }),
  );
  switch (begun.kind) {
    case 'replaced':
      return refused('Other sub-tasks were proposed in the meantime. Read them, then approve again.');
    case 'busy':
      return refused(
        `Another run is creating the sub-issues. If it was killed, comment \`/ralph approve\` again after ${formatInstant(begun.until)}: nothing is created twice.`,
      );
    case 'begun':
      return approved({ ...begun.record, made: await makeSubIssues(deps, begun.record) }, number, true);
  }
}

/** Returns the reason why the proposal can no longer be approved, or null if it can. */
async function whyVoid(
  { forge, sha256 }: GateDeps,
  record: ProposalRecord,
  then: IssueThen | null,
): Promise<string | null> {
  const issue = await forge.issue(record.issue);
  if (issue === null || issue.state === 'closed') return 'This issue is closed. Reopen it, then approve again.';
  if (hashOfText(issue, sha256) !== record.text)
    return `The text of this issue was changed since the sub-tasks were proposed, so they are void. ${AGAIN}`;
  const shown = await forge.ownComment(record.issue, formatProposalMarker(record.hash));
  if (shown === null)
    return `The comment with the proposed sub-tasks is gone, so nobody can read what they are. ${AGAIN}`;
  if (shown.isEdited || hashOfComment(shown.body, sha256) !== record.comment)
    return `The comment with the proposed sub-tasks was edited, so it may not show what would be created. ${AGAIN}`;
  return then !== null && then.at < shown.at
    ? 'The sub-tasks were proposed after this command was written. Read them, then approve again.'
    : null;
}

/** Creates and records the missing sub-issues, then adds their labels. Throws a UserError that says what to do. */
async function makeSubIssues(deps: GateDeps, record: ProposalRecord): Promise<readonly MadeIssue[]> {
  const { issue } = record;
  const own = { issue, runTag: deps.runTag };
  let made: readonly MadeIssue[] = record.made;
  try {
    made = await openSubIssues(deps, record);
    for (const { position, number } of made)
      for (const other of record.tasks[position - 1]?.dependsOn ?? []) {
        const awaited = made.find((one) => one.position === other);
        if (awaited !== undefined) await deps.forge.addDependency(number, awaited.id);
      }
    // Record the sub-issues before labelling: a label may start a run at once, which must know their dependencies.
    await update(deps, recordMaking(own, { made, isComplete: false, isOver: false }));
    for (const { number } of made) await addTaskLabel(deps, number);
  } catch (error) {
    await deps.store.update(recordMaking(own, { made, isComplete: false, isOver: true }));
    if (!(error instanceof UserError)) throw error;
    throw new UserError(
      error.kind,
      `Not all sub-issues could be created: ${completeSentence(error.message)} Then comment \`/ralph approve\` again: nothing is created twice.`,
    );
  }
  await update(deps, recordMaking(own, { made, isComplete: true, isOver: true }));
  const parent = await deps.forge.issue(issue);
  const { taskLabel } = deps.config;
  if (parent !== null && hasLabel(parent.labels, taskLabel))
    await deps.forge.changeLabels(issue, { from: parent.labels, add: [], remove: [taskLabel] });
  return made;
}

async function addTaskLabel({ forge, config }: GateDeps, number: number): Promise<void> {
  const added = await forge.addLabels(number, [config.taskLabel]);
  if (added.kind === 'refused') throw new UserError('infrastructure', added.why);
}

/** Creates the sub-issues that are missing. Existing ones are issues of this account with the task's first line. */
async function openSubIssues(
  { forge, sha256 }: GateDeps,
  { issue, hash, tasks }: ProposalRecord,
): Promise<readonly MadeIssue[]> {
  const before = await forge.ownIssues();
  const made: MadeIssue[] = [];
  for (const at of orderOfWork(tasks) ?? []) {
    const task = tasks[at];
    if (task === undefined) continue;
    const marker = formatSubTaskMarker(hash, at + 1);
    const text = { title: task.title, body: `${marker}\n${task.body}` };
    const known: OpenedIssue | null = before.find(({ body }) => body.split(/\r?\n/, 1)[0] === marker) ?? null;
    const { number, id } = await forge.openSubIssue(issue, text, known);
    made.push({ position: at + 1, number, id, text: hashOfText(text, sha256) });
  }
  return made;
}

function approved({ made }: Pick<ProposalRecord, 'made'>, thread: number, isNew: boolean): Intake {
  const issues = made.toSorted((one, other) => one.position - other.position).map((one) => one.number);
  return {
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer: { thread, text: { kind: 'approved', issues, isNew } },
  };
}

async function update<Answer extends MakingAnswer | boolean>(
  { store }: GateDeps,
  change: (snapshot: Snapshot) => { readonly snapshot: Snapshot; readonly message: string; readonly answer: Answer },
): Promise<Answer> {
  const updated = await store.update(change);
  if (updated.kind === 'updated') return updated.answer;
  throw unreachable(updated.why);
}

function unreachable(why: string): UserError {
  return new UserError(
    'infrastructure',
    `The proposed sub-tasks are kept in the state, which could not be used: ${completeSentence(why)} Comment \`/ralph approve\` again later.`,
  );
}
