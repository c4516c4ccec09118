import { overNeeds } from '../core/people/needs.ts';
import { markerOf } from '../core/people/notifications.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import type { WorkedReport } from '../handover/report.ts';
import { doneTasks } from '../report/facts.ts';
import { APPROVAL_MARKER, APPROVED_SINCE } from '../report/pages/approval-notice.ts';
import { WORKS_AGAIN } from '../report/pages/notification.ts';
import { REFUSAL_MARKER, REFUSED_BEFORE, renderStatusComment, STATUS_MARKER } from '../report/pages/status-comment.ts';
import type { PublishDeps } from './deps.ts';
import { within } from './within.ts';

/** `taskId`: the task that the thread is the issue of; null: it is the pull request. */
interface StatusThread {
  readonly thread: number;
  readonly taskId: TaskId | null;
}

/** One sticky comment on each issue that was worked on, and on the pull request. What older ones say and is not so any more is corrected in them. Returns warnings. */
export async function publishComments(deps: PublishDeps, report: WorkedReport): Promise<readonly string[]> {
  const writeAll = async (): Promise<void> => {
    for (const { thread, taskId } of statusThreads(report)) {
      const body = deps.redact(renderStatusComment(report, taskId));
      await deps.forge.upsertComment(thread, STATUS_MARKER, body);
      await correctOlder(deps, { thread, taskId }, report);
    }
  };
  try {
    await within(deps.stepWithinMs, writeAll());
    return [];
  } catch (error) {
    // The work is safe by now: nothing that goes wrong here may have it published once more.
    const warning = `Some of the comments could not be written: ${sentence(textOf(error))}`;
    deps.log.warning(warning);
    return [warning];
  }
}

function statusThreads(report: WorkedReport): readonly StatusThread[] {
  // A run without an iteration that is complete makes up for an earlier one that could not publish all it did.
  const catchesUp = report.iterations.length === 0 && report.outcome.kind === 'complete';
  // A run that ended in an iteration had said that it is at work.
  const said = report.shown === null ? [] : [report.shown];
  const worked = new Set(
    catchesUp
      ? doneTasks(report).map(({ task }) => task.id)
      : [...said, ...report.iterations.map((entry) => entry.taskId)],
  );
  const issues = report.tasks
    .filter(({ task }) => worked.has(task.id))
    .flatMap(({ task }) => {
      const thread = issueOfTask(task);
      return thread === null ? [] : [{ thread, taskId: task.id }];
    });
  return report.pullRequest === null || worked.size === 0
    ? issues
    : [...issues, { thread: report.pullRequest.number, taskId: null }];
}

/** A notice or refusal that was written while the run worked is of something that came later. */
async function correctOlder(
  { forge }: PublishDeps,
  { thread, taskId }: StatusThread,
  worked: WorkedReport,
): Promise<void> {
  const writtenBefore = worked.startedAt;
  const approved = taskId === null ? [] : [markerOf([{ kind: 'needs_approval', about: taskId }]), APPROVAL_MARKER];
  // What a run was in need of that could keep no state.
  for (const need of overNeeds(worked))
    await forge.amendComment(thread, markerOf([need]), { body: WORKS_AGAIN, writtenBefore, closing: true });
  for (const marker of approved)
    await forge.amendComment(thread, marker, { body: APPROVED_SINCE, writtenBefore, closing: true });
  await forge.amendComment(thread, REFUSAL_MARKER, { body: REFUSED_BEFORE, writtenBefore, closing: false });
}
