import { issueLane, QUEUE, type LaneState } from '../core/state.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { taskIdOfIssue } from '../core/tasks/task.ts';
import type { Issue } from '../ports/forge.ts';
import type { GateRun } from './gate-run.ts';
import { judgeIssues, noticeFor, warnOfChanges } from './approvals.ts';
import { endIntake, type Intake } from './intake.ts';
import { restoreState } from './restore.ts';
import { hasTaskLabel } from './work.ts';

/** An issue's text was edited: whether its approval still holds is judged, and told, now. Nothing is worked. */
export async function recheckApproval(run: GateRun, number: number): Promise<Intake> {
  const issue = await run.forge.issue(number);
  if (issue === null || issue.isPullRequest || issue.state === 'closed' || !hasTaskLabel(run, issue)) return notForUs(run, `#${String(number)} is no task.`);
  const consent = await judgeAnywhere(run, issue);
  if (consent?.kind !== 'changed') return notForUs(run, `The approval of #${String(number)} holds, or there was none.`);
  const notice = noticeFor(issue, consent);
  const { notes } = endIntake({ kind: 'idle', reason: 'not_for_us' });
  const message = `The text of #${String(number)} was changed after it was approved, so no run works on it until the label "${run.config.taskLabel}" is put on again.`;
  run.log.info(message);
  return { ...endIntake({ kind: 'idle', reason: 'noted', message }), notes: { ...notes, notices: notice === null ? [] : [notice], warnings: warnOfChanges(run.config.taskLabel, [{ number, editor: consent.editor }]) } };
}

/** Judged first without any state, which costs the least and is the answer for most edits; null: it is done already. */
async function judgeAnywhere(run: GateRun, issue: Issue) {
  const judge = async (approvals: LaneState['approvals']) => (await judgeIssues(run, [issue], approvals)).get(issue.number);
  const first = await judge({});
  if (first?.kind !== 'changed') return first;
  const id = taskIdOfIssue(issue.number);
  for (const lane of [issueLane(issue.number), QUEUE]) {
    const { state } = await restoreState({ lane, expected: false, run });
    if (progressOf(state.tasks, id).state === 'done') return null;
    if (Object.hasOwn(state.approvals, id) && (await judge(state.approvals))?.kind === 'given') return { kind: 'given' } as const;
  }
  return first;
}

function notForUs({ log }: GateRun, why: string): Intake {
  log.info(`Nothing to do: ${why}`);
  return endIntake({ kind: 'idle', reason: 'not_for_us' });
}
