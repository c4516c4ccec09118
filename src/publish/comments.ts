import { issueOfTask } from '../core/tasks/task.ts';
import type { ApprovalNotice } from '../core/people/consent-messages.ts';
import { APPROVAL_MARKER, APPROVED_SINCE, renderApprovalNotice } from '../report/pages/approval-notice.ts';
import { peopleOf } from '../core/people/recipients.ts';
import { mentionLine, WORKS_AGAIN } from '../report/pages/notification.ts';
import { markerOf } from '../core/people/notifications.ts';
import { overNeeds } from '../core/people/needs.ts';
import type { WorkedReport } from '../handover/report.ts';
import { doneTasks } from '../report/facts.ts';
import { REFUSAL_MARKER, REFUSED_BEFORE, renderStatusComment, STATUS_MARKER } from '../report/pages/status-comment.ts';
import type { PublishDeps } from './deps.ts';
import { within } from './within.ts';
import { textOf } from '../errors.ts';
import { sentence } from '../core/text/sentence.ts';

/** On so many issues a run notifies people that they wait for approval; later runs do it on the others. */
const MAX_NOTICES = 10;

/** `notified`: the notices that people can read now. */
export interface PublishedComments {
  readonly notified: readonly ApprovalNotice[];
  readonly warnings: readonly string[];
}

interface Comment {
  readonly thread: number;
  readonly marker: string;
  readonly body: string;
  readonly notice: ApprovalNotice | null;
}

/** One sticky comment on each issue that was worked on, on the pull request, and on issues that wait for approval: never two new ones on the same. What older ones say and is not so any more is corrected in them. What fails is a warning. */
export async function publishComments(
  deps: PublishDeps,
  report: WorkedReport,
  notices: readonly ApprovalNotice[],
): Promise<PublishedComments> {
  const status = statusComments(report, notices);
  const hasStatus = new Set(status.map(({ thread }) => thread));
  return writeComments(
    deps,
    [
      ...status,
      ...noticeComments(
        deps,
        notices.filter(({ issue }) => !hasStatus.has(issue)),
      ),
    ],
    report,
  );
}

/** The notices of a run that the gate ended; `answered` is the thread that has its comment of this run already. */
export async function publishNotices(
  deps: PublishDeps,
  notices: readonly ApprovalNotice[],
  answered: number | null,
): Promise<PublishedComments> {
  const { notified, warnings } = await writeComments(
    deps,
    noticeComments(
      deps,
      notices.filter(({ issue }) => issue !== answered),
    ),
    null,
  );
  return { notified: [...notified, ...notices.filter(({ issue }) => issue === answered)], warnings };
}

function statusComments(report: WorkedReport, notices: readonly ApprovalNotice[]): readonly Comment[] {
  // A run without an iteration that is complete makes up for an earlier one that could not publish all it did.
  const catchesUp = report.iterations.length === 0 && report.outcome.kind === 'complete';
  const worked = new Set(
    catchesUp ? doneTasks(report).map(({ task }) => task.id) : report.iterations.map((entry) => entry.taskId),
  );
  const issues = report.tasks
    .filter(({ task }) => worked.has(task.id))
    .flatMap(({ task }) => {
      const thread = issueOfTask(task);
      return thread === null ? [] : [{ thread, taskId: task.id }];
    });
  const pull =
    report.pullRequest === null || worked.size === 0 ? [] : [{ thread: report.pullRequest.number, taskId: null }];
  return [...issues, ...pull].map(({ thread, taskId }) => {
    const notice = notices.find(({ issue }) => issue === thread) ?? null;
    return { thread, marker: STATUS_MARKER, body: renderStatusComment(report, taskId, notice), notice };
  });
}

function noticeComments({ config }: PublishDeps, notices: readonly ApprovalNotice[]): readonly Comment[] {
  return notices
    .slice(0, MAX_NOTICES)
    .map((notice) => ({
      thread: notice.issue,
      marker: APPROVAL_MARKER,
      body: [
        APPROVAL_MARKER,
        ...mentionLine(peopleOf(config.notify, [notice.by])),
        renderApprovalNotice(notice, config.taskLabel),
      ].join('\n\n'),
      notice,
    }));
}

/** `worked`: of the run that worked on what gets a status comment; null: none did. */
async function writeComments(
  deps: PublishDeps,
  comments: readonly Comment[],
  worked: WorkedReport | null,
): Promise<PublishedComments> {
  const notified: ApprovalNotice[] = [];
  const warnings: string[] = [];
  const warn =
    (what: string) =>
    (error: unknown): void => {
      // The work is safe by now: nothing that goes wrong here may have it published once more.
      warnings.push(`${what} could not be written: ${sentence(textOf(error))}`);
      deps.log.warning(warnings.at(-1) ?? '');
    };
  const writeAll = async (): Promise<void> => {
    for (const { thread, marker, body, notice } of comments) {
      const written = deps.forge.upsertComment(thread, marker, deps.redact(body)).then(() => notice);
      const given = await written.catch(
        warn(`The ${marker === STATUS_MARKER ? 'status comment' : 'notice'} on #${String(thread)}`),
      );
      if (given) notified.push(given);
      if (marker === STATUS_MARKER && notice === null && worked !== null)
        await correctOlder(deps, thread, worked).catch(warn(`What an older comment on #${String(thread)} says`));
    }
  };
  await within(deps.stepWithinMs, writeAll()).catch(warn('Some of the comments'));
  return { notified, warnings };
}

/** A notice or refusal that was written while the run worked is of something that came later. */
async function correctOlder({ forge }: PublishDeps, thread: number, worked: WorkedReport): Promise<void> {
  const writtenBefore = worked.startedAt;
  // What a run was in need of that could keep no state.
  for (const need of overNeeds(worked))
    await forge.amendComment(thread, markerOf([need]), { body: WORKS_AGAIN, writtenBefore, closing: true });
  await forge.amendComment(thread, APPROVAL_MARKER, { body: APPROVED_SINCE, writtenBefore, closing: true });
  await forge.amendComment(thread, REFUSAL_MARKER, { body: REFUSED_BEFORE, writtenBefore, closing: false });
}
