import { type Feedback, type FeedbackItem, isUnposted } from '../core/feedback/memory.ts';
import type { PullRequestNow, ThreadNow } from '../core/feedback/pull-request-now.ts';
import { markPosted } from '../core/feedback/rounds.ts';
import { isAnsweredByComment } from '../core/feedback/subject.ts';
import { formatAnswerMarker } from '../core/people/command.ts';
import { listResolvedNeeds } from '../core/people/needs.ts';
import { formatNeedsMarker } from '../core/people/notifications.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { issueOfTask, type Task, type TaskProgress } from '../core/tasks/task.ts';
import { mapTexts } from '../core/text/redact.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText, UserError } from '../errors.ts';
import type { WorkedReport } from '../handover/report.ts';
import type { WishResult } from '../ports/forge.ts';
import { listDoneTasks } from '../report/facts.ts';
import { renderFeedbackAnswer } from '../report/pages/answer.ts';
import { SETTLED_BY_WORKING } from '../report/pages/notification.ts';
import {
  APPROVAL_MARKER,
  APPROVED_SINCE,
  REFUSAL_MARKER,
  NO_LONGER_REFUSED,
  renderStatusComment,
  STATUS_MARKER,
} from '../report/pages/status-comment.ts';
import type { PublishDeps } from './deps.ts';

interface ReviewAgain {
  readonly feedback: Feedback;
  readonly warnings: readonly string[];
}

/** A thread with a status comment. `taskId` is the task whose issue it is, or null for the pull request. */
interface StatusThread {
  readonly thread: number;
  readonly taskId: TaskId | null;
}

/**
 * Maximum number of answers that a run posts, because GitHub slows down heavier writers. Later runs post the others.
 */
const MAX_ANSWERS = 100;

/**
 * The answers to post. `tasks` are this run's, which name the threads. `earlier` is the lane's memory before the run,
 * which may contain answers that are not posted yet.
 */
interface AnswersGiven {
  readonly branch: string;
  readonly pullRequest: { readonly number: number };
  readonly tasks: readonly Pick<Task, 'id' | 'source'>[];
  readonly progress: Readonly<Record<TaskId, TaskProgress>>;
  readonly feedback: Feedback;
  readonly earlier: Feedback;
}

/** The result; `unposted` is the number of answers that wait for a later run. */
export interface AnswersPosted {
  readonly feedback: Feedback;
  readonly unposted: number;
  readonly warnings: readonly string[];
}

/**
 * Posts every answer that people cannot read yet, each once: in its thread, or as a comment for all other words.
 * Posts only answers about work on the remote. Safe to repeat: an answer that is in its thread is recognized. Never
 * throws; failures become warnings.
 */
export async function publishAnswers(deps: PublishDeps, given: AnswersGiven): Promise<AnswersPosted> {
  const places = placesOf(given);
  const posted = new Set<TaskId>(places.filter(({ kind }) => kind === 'page').map(({ id }) => id));
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    deps.log.warning(text);
  };
  const written = places.filter(({ kind }) => kind !== 'page');
  if (written.length > 0)
    try {
      await postAll(deps, given, { places: written.slice(0, MAX_ANSWERS), posted });
    } catch (error) {
      warn(`Answers could not be posted: ${completeSentence(getErrorText(error))}`);
    }
  const left = written.filter(({ id }) => !posted.has(id)).length;
  if (left > 0) deps.log.info(`answers: ${String(left)} not posted yet, a later run tries again`);
  return { feedback: markPosted(given.feedback, [...posted]), unposted: left, warnings };
}

/**
 * The place of an answer. `page`: the pull request's own text has the answer. `replyTo` is the REST id of the thread's
 * first comment.
 */
type Place = { readonly id: TaskId; readonly item: FeedbackItem } & (
  | { readonly kind: 'thread'; readonly replyTo: number }
  | { readonly kind: 'comment' }
  | { readonly kind: 'page' }
);

function placesOf({ tasks, progress, feedback, earlier }: AnswersGiven): readonly Place[] {
  return Object.entries(feedback.items).flatMap(([id, item]): readonly Place[] => {
    const { answer } = item;
    if (answer === null || !isUnposted(item)) return [];
    // Announce a change only once its task is done.
    if (answer.kind === 'changed' && Object.hasOwn(progress, id) && progress[id]?.state !== 'done') return [];
    const before = Object.hasOwn(earlier.items, id) ? earlier.items[id] : undefined;
    const isEarlier = before?.answer?.at === answer.at;
    // Accept only threads that tasks from the gate name, because another job's data is not trusted for that.
    const isAsked = tasks.some((task) => task.id === id && task.source.kind === 'feedback');
    if (!isAsked && !isEarlier) return [];
    if (item.kind !== 'thread') return [{ id, item, kind: isAnsweredByComment(item.kind) ? 'comment' : 'page' }];
    const first = /^thread-([1-9]\d{0,15})$/.exec(id)?.[1];
    return first === undefined ? [] : [{ id, item, kind: 'thread', replyTo: Number(first) }];
  });
}

async function postAll(
  deps: PublishDeps,
  { branch, pullRequest }: AnswersGiven,
  { places, posted }: { readonly places: readonly Place[]; readonly posted: Set<TaskId> },
): Promise<void> {
  const { forge, clock, log, stepWithinMs } = deps;
  const now = await withTimeLimit(stepWithinMs, forge.pullRequestNow(branch));
  if (now === null || now.number !== pullRequest.number) {
    // Answers on a closed pull request are no longer needed, so treat them as posted.
    for (const { id } of places) posted.add(id);
    return;
  }
  const begunAt = clock.now();
  let failures = 0;
  let resolves = deps.config.answers.resolve;
  for (const place of places) {
    // Stop here, because a run that is about to be killed must still have time to save its state.
    if (stepWithinMs !== null && clock.now() - begunAt > stepWithinMs) return;
    const answered = await withTimeLimit(stepWithinMs, postAnswer(deps, place, now));
    // GitHub is out of reach, or asks for a pause, so leave the rest to a later run.
    if (answered.kind === 'refused' && !answered.isLasting) return;
    // After a lasting refusal, as on a locked pull request, a retry is pointless, so treat it as posted. The pull
    // request's text has the answer.
    posted.add(place.id);
    if (answered.kind === 'refused') {
      failures += 1;
      continue;
    }
    const thread = resolves ? answeredThread(place, now) : null;
    if (thread === null) continue;
    const resolved = await withTimeLimit(stepWithinMs, forge.resolveThread(thread.id));
    if (resolved.kind === 'refused') resolves = false;
  }
  log.info(`answers: ${String(places.length - failures)} posted on #${String(now.number)}`);
}

async function postAnswer(
  { forge, context, redact }: PublishDeps,
  place: Place,
  now: PullRequestNow,
): Promise<WishResult<unknown>> {
  const { id } = place;
  // Redact the item like the stored state, so that a posted answer is recognized.
  const item = mapTexts(place.item, redact);
  const { owner, repo } = context.repository;
  const body = redact(renderFeedbackAnswer(item, { id, repositoryUrl: `${context.serverUrl}/${owner}/${repo}` }));
  if (place.kind === 'comment') return forge.upsertComment(now.number, formatAnswerMarker(id, item.asked), body);
  if (place.kind !== 'thread') return NOTHING_TO_RESOLVE;
  const thread = threadIn(place, now);
  // A person resolved or deleted the thread while the agent worked, so nothing is posted.
  if (thread === null && now.moreThreads === 0) return NOTHING_TO_RESOLVE;
  // Compare the whole text, because anybody can imitate the first line.
  if (thread?.comments.some(({ text }) => sameText(text, body)) === true) return NOTHING_TO_RESOLVE;
  return forge.replyInThread(now.number, { replyTo: place.replyTo, body });
}

const NOTHING_TO_RESOLVE: WishResult<null> = { kind: 'granted', value: null };

function threadIn({ replyTo }: Extract<Place, { kind: 'thread' }>, { threads }: PullRequestNow): ThreadNow | null {
  return threads.find(({ comments }) => comments[0]?.id === replyTo) ?? null;
}

/** Returns the thread that a change has answered, or null if somebody has written more since. */
function answeredThread(place: Place, now: PullRequestNow): ThreadNow | null {
  if (place.kind !== 'thread' || place.item.answer?.kind !== 'changed') return null;
  const thread = threadIn(place, now);
  const marker = formatAnswerMarker(place.id, place.item.asked);
  const newest = thread?.comments.findLast(({ text }) => !text.startsWith(marker));
  return thread !== null && newest !== undefined && newest.id <= Number(place.item.asked) ? thread : null;
}

function sameText(one: string, other: string): boolean {
  const plain = (text: string): string => text.replaceAll('\r\n', '\n').trim();
  return plain(one) === plain(other);
}

/**
 * Updates the status comment on each issue that was worked on and on the pull request, and corrects older comments that
 * are no longer true. Returns warnings.
 */
export async function publishComments(deps: PublishDeps, report: WorkedReport): Promise<readonly string[]> {
  const writeAll = async (): Promise<void> => {
    for (const { thread, taskId } of statusThreads(report)) {
      const body = deps.redact(renderStatusComment(report, taskId));
      await deps.forge.upsertComment(thread, STATUS_MARKER, body);
      await correctOlder(deps, { thread, taskId }, report);
    }
  };
  try {
    await withTimeLimit(deps.stepWithinMs, writeAll());
    return [];
  } catch (error) {
    // The work is already safe, so an error here must not cause it to be published again.
    const warning = `Some of the comments could not be written: ${completeSentence(getErrorText(error))}`;
    deps.log.warning(warning);
    return [warning];
  }
}

function statusThreads(report: WorkedReport): readonly StatusThread[] {
  // A complete run without iterations publishes what an earlier run could not, so update the comments on all done
  // tasks.
  const catchesUp = report.iterations.length === 0 && report.outcome.kind === 'complete';
  // The issue of a run that ended within an iteration still says that the run is at work, so update it.
  const said = report.shown === null ? [] : [report.shown];
  const worked = new Set(
    catchesUp
      ? listDoneTasks(report).map(({ task }) => task.id)
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

/** Corrects notices and refusals that were written before this run; newer ones are about later events. */
async function correctOlder(
  { forge }: PublishDeps,
  { thread, taskId }: StatusThread,
  worked: WorkedReport,
): Promise<void> {
  const writtenBefore = worked.startedAt;
  const approved =
    taskId === null ? [] : [formatNeedsMarker([{ kind: 'needs_approval', about: taskId }]), APPROVAL_MARKER];
  // A run without a stored state may have announced these needs, so search for the comments by their markers.
  for (const need of listResolvedNeeds(worked))
    await forge.amendComment(thread, formatNeedsMarker([need]), {
      body: SETTLED_BY_WORKING,
      writtenBefore,
      closing: true,
    });
  for (const marker of approved)
    await forge.amendComment(thread, marker, { body: APPROVED_SINCE, writtenBefore, closing: true });
  await forge.amendComment(thread, REFUSAL_MARKER, { body: NO_LONGER_REFUSED, writtenBefore, closing: false });
}

/**
 * Requests a new review, once the pull request is ready, from the people whose approval newer commits have overtaken. A
 * refused request becomes a warning.
 */
export async function requestReviewAgain(
  { forge, log, stepWithinMs }: Pick<PublishDeps, 'forge' | 'log' | 'stepWithinMs'>,
  feedback: Feedback,
  pullRequest: number,
): Promise<ReviewAgain> {
  const { overtaken } = feedback;
  const logins = overtaken?.approvedBy ?? [];
  if (overtaken === null || logins.length === 0) return { feedback, warnings: [] };
  const asked = { ...feedback, overtaken: { ...overtaken, approvedBy: [] } };
  try {
    await withTimeLimit(stepWithinMs, forge.requestReview(pullRequest, { logins, teams: [] }));
    return { feedback: asked, warnings: [] };
  } catch (error) {
    const warning = `${logins.join(', ')} approved earlier commits, and a new review could not be requested: ${completeSentence(getErrorText(error))}`;
    log.warning(warning);
    return { feedback: asked, warnings: [warning] };
  }
}

/**
 * Returns the result of `work`; rejects with a UserError if it takes longer than `limitMs` (null means no limit). The
 * work continues after that.
 */
export async function withTimeLimit<T>(limitMs: number | null, work: Promise<T>): Promise<T> {
  if (limitMs === null) return work;
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(
      new UserError(
        'infrastructure',
        `it ran out of time after ${String(limitMs / 1000)} s, because GitHub, the remote or the cache did not answer`,
      ),
    );
  }, limitMs);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
