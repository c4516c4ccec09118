import type { LaneState } from '../../core/lane/state/state.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { toIssueLane, QUEUE, taskIdOfIssue } from '../../core/tasks/ids.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { buildApprovalNotice, warnOfChanges } from '../../core/people/consent.ts';
import { listGrants } from '../../core/snapshot/proposals.ts';
import { judgeIssues } from './trust.ts';
import type { Intake } from '../../handover/intake.ts';
import { restoreLane } from '../lane/restore.ts';
import { findLabelObstacle, taskOfIssue } from '../../core/tasks/issue-task.ts';
import { endAsUpdated, setLifecycleLabel } from '../lane/end-lane.ts';
import { isTaskIssue } from '../tasks/queued-issues.ts';

/** Judges and reports whether the approval of an edited issue is still valid. Never works on a task. */
export async function recheckApproval(deps: GateDeps, number: number): Promise<Intake> {
  const name = `#${String(number)}`;
  const issue = await deps.forge.issue(number);
  if (issue === null || issue.isPullRequest || issue.state === 'closed' || !(await isTaskIssue(deps, issue)))
    return endAsUpdated(
      deps,
      `${name} is not an open issue with the label "${deps.config.taskLabel}", so its text does not matter.`,
    );
  const consent = await judgeWithAnyState(deps, issue);
  if (consent === 'done') return endAsUpdated(deps, `${name} is already done, so its text does not matter.`);
  if (consent === undefined || consent.kind === 'never')
    return endAsUpdated(
      deps,
      `The label "${deps.config.taskLabel}" on ${name} was not added by anyone with write permission, so it is not a task.`,
    );
  if (consent.kind === 'given') return confirmApproval(deps, issue);
  const notice = buildApprovalNotice(issue, consent);
  const message = `The text of ${name} was changed after it was approved, so no run works on it until the label "${deps.config.taskLabel}" is added again.`;
  const { notes, ...end } = endAsUpdated(deps, message);
  return {
    ...end,
    notes: {
      ...notes,
      notices: notice === null ? [] : [notice],
      warnings: warnOfChanges(deps.config.taskLabel, [{ number, editor: consent.editor }]),
    },
  };
}

/** Ends the wait for a new label if the approved text is back. */
async function confirmApproval(deps: GateDeps, issue: Issue): Promise<Intake> {
  const waited = findLabelObstacle(taskOfIssue(issue)) !== null;
  if (waited) await setLifecycleLabel(deps, issue, null);
  return {
    ...endAsUpdated(
      deps,
      `The text of #${String(issue.number)} is still approved${waited ? ', so it no longer waits for the label' : ''}.`,
    ),
    over: waited
      ? {
          thread: issue.number,
          needs: [{ kind: 'needs_approval', about: taskIdOfIssue(issue.number) }],
          why: 'approved',
        }
      : null,
  };
}

/**
 * Judges the approval without a state, which is cheap and sufficient for most edits, and otherwise with the states of
 * the lanes. `done` means that the approval no longer matters.
 */
async function judgeWithAnyState(deps: GateDeps, issue: Issue) {
  let grants = listGrants(null);
  const judge = async (tasks: LaneState['tasks']) =>
    (await judgeIssues(deps, [issue], { tasks, isFinished: () => false, grants })).get(issue.number);
  let first = await judge({});
  if (first?.kind !== 'given') {
    // A person did not label the sub-issues of an approved proposal, or an issue that a comment asked for, so look up
    // these consents in the states.
    const read = await deps.store.read();
    if (read.kind === 'snapshot') grants = listGrants(read.snapshot, [issue.number]);
    if (grants.has(issue.number)) first = await judge({});
  }
  if (first?.kind !== 'changed') return first;
  const id = taskIdOfIssue(issue.number);
  for (const lane of [toIssueLane(issue.number), QUEUE]) {
    const { state } = await restoreLane({ lane, expected: false, elsewhere: [], deps });
    const known = getProgress(state.tasks, id);
    if (known.state === 'done') return 'done';
    if (known.approval !== undefined && (await judge(state.tasks))?.kind === 'given') return { kind: 'given' } as const;
  }
  return first;
}
