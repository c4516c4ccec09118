import type { Config } from '../config/config.ts';
import { DAY_MS } from '../core/countdown.ts';
import { isFeedback } from '../core/feedback/subject.ts';
import { noChange } from '../core/lane/change.ts';
import type { ApprovalNotice } from '../core/people/consent.ts';
import { mayNotify, type NotificationPlan, planNotifications } from '../core/people/needs.ts';
import {
  subjectOfLane,
  EVERY_RUN,
  formatNeedsMarker,
  MAX_NOTIFICATIONS_PER_DAY,
  type Need,
  notifiesAnybody,
  selectMentions,
  type NotificationMemory,
  withKnownNeeds,
  withNotification,
} from '../core/people/notifications.ts';
import { type TaskId, taskIdOfIssue } from '../core/tasks/ids.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { mapTexts } from '../core/text/redact.ts';
import { getErrorText } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { RunReport } from '../handover/report.ts';
import type { PullRequest, WishResult } from '../ports/forge.ts';
import {
  SETTLED_BY_ANOTHER_REASON,
  type NotificationText,
  renderNotification,
  renderSettled,
} from '../report/pages/notification.ts';
import { buildWebhookMessage, renderWebhook } from '../report/outward/webhook.ts';
import { withTimeLimit } from './answers.ts';
import type { PublishDeps } from './deps.ts';
import {
  listAskers,
  findOpenThread,
  issueOfNeeds,
  listNeedsKnownElsewhere,
  tasksOfNeeds,
  threadOfLane,
  type WorkedEnd,
} from './recipients.ts';

/** Maximum number of issues waiting for approval about which a run notifies people. */
export const MAX_NOTICES = 10;

/** Maximum number of comments that a run settles; later runs settle the others. */
const MAX_SETTLED = 3;

/** The notifications that the state remembers, and those that could not be written. */
interface Notified extends NotificationMemory {
  /** True if a later run must try again. */
  readonly mustRetry: boolean;
  readonly warnings: readonly string[];
}

/**
 * Notifies people of this run's needs in one new comment, and settles needs that no longer exist. Runs before the state
 * is saved, because a second attempt finds the comment by its marker. Failures become warnings.
 */
export async function publishNotifications(deps: PublishDeps, end: WorkedEnd): Promise<Notified> {
  const { work, pullRequest } = end;
  const plan = planOf(deps, end);
  const { notified, notifiedAt } = work.state;
  let known: NotificationMemory = { notified, notifiedAt };
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    deps.log.warning(text);
  };
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    try {
      await withTimeLimit(deps.stepWithinMs, act());
    } catch (error) {
      warn(`${what}: ${completeSentence(getErrorText(error))}`);
    }
  };
  await attempt('Earlier notifications could not be marked as settled', async () => {
    known = await settle(deps, plan, known);
  });
  const isForReview = plan.notify.some(({ kind }) => kind === 'ready' || kind === 'waiting_for_review');
  // A request that waits for tomorrow's notifications must not be made by every run until then, so record it.
  if (isForReview && pullRequest !== null && mayNotify(notifiedAt, deps.clock.now()))
    await attempt('The review of the pull request could not be requested', () => askForReview(deps, end, pullRequest));
  let mustRetry = plan.notify.length > 0 && notifiesAnybody(deps.config);
  await attempt('Nobody could be notified', async () => {
    const elsewhere = await listNeedsKnownElsewhere(deps, end, plan.notify);
    known = withKnownNeeds(known, elsewhere, deps.clock.now());
    const needs = plan.notify.filter((need) => !elsewhere.includes(need));
    ({ mustRetry, ...known } = await notify(deps, end, { needs, known, warn }));
  });
  return { ...known, mustRetry, warnings };
}

/**
 * Returns true if this run must notify people of a task. Ignores notifications about the lane: if this run is killed,
 * the next one finds them by their marker.
 */
export function notifiesOfTask(deps: Pick<PublishDeps, 'config'>, end: WorkedEnd): boolean {
  const { id } = end.work.lane;
  return (
    notifiesAnybody(deps.config) &&
    planOf(deps, end).notify.some(({ about }) => about !== subjectOfLane(id) && about !== EVERY_RUN)
  );
}

/**
 * Selects the notices that have reached people: those whose need is among `known`. With `notify: none`, all of them,
 * because then the label alone informs people.
 */
export function selectNotices(
  { config }: { readonly config: Pick<Config, 'notify'> },
  notices: readonly ApprovalNotice[],
  known: readonly Need[],
): readonly ApprovalNotice[] {
  if (config.notify.kind === 'none') return notices;
  const isKnown = (id: TaskId): boolean => known.some(({ kind, about }) => kind === 'needs_approval' && about === id);
  return notices.filter(({ issue }) => isKnown(taskIdOfIssue(issue)));
}

function planOf({ config }: Pick<PublishDeps, 'config'>, { work, report, pullRequest }: WorkedEnd): NotificationPlan {
  return planNotifications({
    lane: work.lane.id,
    startedAt: work.startedAt,
    before: work.stateBefore,
    after: work.state,
    tasks: work.tasks,
    outcome: report.outcome,
    pullRequest: pullRequest?.number ?? null,
    addedWork: work.hasNewCommits && report.headSha === work.head && !onlyAnswers(work),
    unapproved: work.notes.notices.slice(0, MAX_NOTICES).map(({ issue }) => taskIdOfIssue(issue)),
    maxRounds: config.answers.maxRounds,
    areChecksUnread: work.notes.checks?.isTemporary === true,
  });
}

/**
 * Returns true if all commits of this run answer feedback, because the people who asked are then informed in their
 * threads.
 */
function onlyAnswers({ journal, state, stateBefore }: Work): boolean {
  const before = stateBefore.feedback.items;
  const answered = Object.entries(state.feedback.items).some(
    ([id, { answer }]) => answer !== null && answer.at !== (Object.hasOwn(before, id) ? before[id]?.answer?.at : null),
  );
  return answered && journal.every(({ taskId, commit }) => commit === null || isFeedback(taskId));
}

/** The dependencies of a notification that no state remembers. */
type Notifying = Pick<PublishDeps, 'forge' | 'redact' | 'stepWithinMs' | 'webhook' | 'sha256'> & {
  readonly config: Pick<Config, 'notify' | 'webhook'>;
};

type NotifiedOnce = Pick<NotificationText, 'needs' | 'report' | 'change' | 'lastTask' | 'notices'> & {
  /** Number of the issue or pull request; null if there is neither, so that only the webhook gets the message. */
  readonly thread: number | null;
  /** True if a state remembers the notification; otherwise, its comment does. */
  readonly isRemembered: boolean;
  readonly askers: readonly (string | null)[];
  readonly warn: (text: string) => void;
};

/**
 * A written notification. `before` is the text of a comment that already existed. It is kept unless it is corrected,
 * because GitHub sends no message for an edit. `id` is null if only the webhook was notified.
 */
type Announced = WishResult<{ readonly id: number | null; readonly before: string | null }>;

/**
 * Posts the notification as a comment, which its first line identifies. Also sends it to the webhook if the comment is
 * new or impossible, or if a state should remember the comment but does not: its run was killed, perhaps before the
 * webhook got the message.
 */
async function announce(deps: Notifying, notification: NotifiedOnce, corrects = false): Promise<Announced> {
  const { thread, needs, isRemembered } = notification;
  if (thread === null || deps.config.notify.kind === 'none')
    return (await notifyWebhook(deps, notification, null))
      ? { kind: 'granted', value: { id: null, before: null } }
      : { kind: 'refused', why: 'the message was not accepted, and there is no comment.', isLasting: false };
  const body = textOnce(deps, notification);
  const found: { text: string | null } = { text: null };
  const written = await deps.forge.upsertComment(thread, formatNeedsMarker(needs), (before) => {
    found.text = before;
    return corrects ? body : (before ?? body);
  });
  const { text: before } = found;
  if (written.kind === 'granted') {
    const { id } = written.value;
    if (before === null || isRemembered) await notifyWebhook(deps, notification, id);
    return { kind: 'granted', value: { id, before } };
  }
  const isNotified = written.isLasting && (await notifyWebhook(deps, notification, null));
  return isNotified ? { kind: 'granted', value: { id: null, before } } : written;
}

/** Returns true if the webhook has accepted the message. */
async function notifyWebhook(
  { config, webhook, redact, sha256 }: Notifying,
  { thread, warn, ...text }: NotifiedOnce,
  comment: number | null,
): Promise<boolean> {
  const { address } = config.webhook;
  if (webhook === null || address === null) return false;
  const { repositoryUrl, runUrl } = text.report;
  const id = sha256([repositoryUrl, comment ?? runUrl, formatNeedsMarker(text.needs)].join(' ')).slice(0, 32);
  const message = buildWebhookMessage(text, { id, thread, comment });
  const why = await webhook({ id, body: renderWebhook(mapTexts(message, redact), address) });
  if (why !== null) warn(`The address in \`notify-webhook\` got no message: ${completeSentence(redact(why))}`);
  return why === null;
}

/** Notifies in a comment that its first line identifies. If GitHub refuses, nobody was notified. */
export async function notifyOnce(deps: Notifying, notification: NotifiedOnce): Promise<Announced> {
  return withTimeLimit(deps.stepWithinMs, announce(deps, notification));
}

function textOnce({ config, redact }: Notifying, { askers, ...text }: NotifiedOnce): string {
  return redact(renderNotification({ ...text, mentions: selectMentions(config.notify, askers) }));
}

/** The dependencies of a notification about a configuration that stops every run before it knows its lane. */
type ConfigurationDeps = Notifying &
  Pick<PublishDeps, 'asked' | 'clock' | 'log'> & {
    readonly config: Pick<Config, 'branchPrefix' | 'taskLabel' | 'taskSources'>;
  };

/**
 * Notifies people of a configuration that stops every run before it knows a lane, once for each reason. Without a
 * comment that records the reason, the webhook gets a message from every run.
 */
export async function notifyOfConfiguration(deps: ConfigurationDeps, report: RunReport): Promise<void> {
  const { asked, config, log } = deps;
  const alone = { thread: asked.thread, askers: [asked.by] };
  const isAlone = asked.thread !== null || config.notify.kind === 'none';
  const place = isAlone
    ? alone
    : await findOpenThread(deps).catch((error: unknown) => {
        // The token may be the problem, so use at least the webhook.
        if (config.webhook.address === null) throw error;
        return alone;
      });
  await notifyOfReason(deps, { ...CONFIGURATION, report, isRemembered: false, warn: log.warning, ...place });
}

const CONFIGURATION = {
  needs: [{ kind: 'configuration', about: EVERY_RUN }],
  change: noChange,
  lastTask: null,
  notices: [],
} as const;

/**
 * Corrects an existing comment that gives another reason, and after a day posts a new one, so that people get a
 * message.
 */
async function notifyOfReason(deps: ConfigurationDeps, notification: NotifiedOnce): Promise<void> {
  const { forge, clock } = deps;
  const { thread, needs } = notification;
  const announced = await announce(deps, notification);
  const before = announced.kind === 'granted' ? announced.value.before : null;
  if (before === null || thread === null) return;
  if (comparableReason(before) === comparableReason(textOnce(deps, notification))) return;
  const writtenBefore = clock.now() - DAY_MS;
  await forge.amendComment(thread, formatNeedsMarker(needs), {
    body: SETTLED_BY_ANOTHER_REASON,
    writtenBefore,
    closing: true,
  });
  await announce(deps, notification, true);
}

/** Returns the text of a notification without mentions, numbers and links, which differ from run to run. */
function comparableReason(text: string): string {
  return text
    .replaceAll(/^@.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/\d+/g, '0')
    .replaceAll(/\s+/g, ' ');
}

/**
 * Settles the oldest comments first, up to the maximum, because each costs a request. Comments on needs that are
 * announced again now take precedence, because an open comment would be mistaken for the new one.
 */
async function settle(
  deps: PublishDeps,
  { settle: plan, notify: needs }: NotificationPlan,
  known: NotificationMemory,
): Promise<NotificationMemory> {
  const isAgain = ({ kind, about }: Need): boolean => needs.some((need) => need.kind === kind && need.about === about);
  const again = plan.filter(({ notification }) => isAgain(notification));
  const inOrder = [...again, ...plan].map(({ notification }) => notification.comment);
  const comments = [...new Set(inOrder)].slice(0, MAX_SETTLED);
  const settled = plan.filter(({ notification }) => comments.includes(notification.comment));
  const notified = known.notified.filter((one) => !settled.some(({ notification }) => notification === one));
  const written = comments.filter((id) => id !== null);
  if (written.length === 0) return { ...known, notified };
  const hidden = await deps.forge.settleComments(
    written.map((id) => ({
      id,
      words: deps.redact(renderSettled(settled.filter(({ notification }) => notification.comment === id))),
      closing: !notified.some(({ comment }) => comment === id),
    })),
  );
  // Unless the refusal is lasting, let a later run try again.
  return hidden.kind === 'refused' && !hidden.isLasting ? known : { ...known, notified };
}

async function notify(
  deps: PublishDeps,
  end: WorkedEnd,
  due: { readonly needs: readonly Need[]; readonly known: NotificationMemory; readonly warn: (text: string) => void },
): Promise<NotificationMemory & Pick<Notified, 'mustRetry'>> {
  const { needs, known, warn } = due;
  const { config, clock, log } = deps;
  const nothingMore = { ...known, mustRetry: false };
  if (needs.length === 0 || !notifiesAnybody(config)) return nothingMore;
  const now = clock.now();
  if (!mayNotify(known.notifiedAt, now)) {
    log.info(`notifications: ${String(MAX_NOTIFICATIONS_PER_DAY)} in the last 24 hours, so this waits for a later run`);
    return { ...known, mustRetry: true };
  }
  const { work, report, pullRequest } = end;
  const concerned = tasksOfNeeds(needs, work.tasks);
  const alone = issueOfNeeds(needs);
  const asked = needs.every(({ about }) => about === EVERY_RUN) ? deps.asked.thread : null;
  const thread = alone ?? asked ?? threadOfLane(pullRequest, [...concerned, ...work.tasks]);
  const isCommented = thread !== null && config.notify.kind !== 'none';
  if (!isCommented && config.webhook.address === null) {
    warn(NO_THREAD);
    return nothingMore;
  }
  const askers = isCommented ? await listAskers(deps, end, needs) : [];
  const mentions = selectMentions(config.notify, askers);
  if (isCommented && mentions.length === 0) warn(warnOfNobodyMentioned(thread));
  const written = await announce(deps, {
    ...{ needs, report, thread, askers, warn },
    isRemembered: config.stateStore !== 'none',
    change: work.state.change,
    lastTask: work.state.lastIteration?.taskId ?? null,
    notices: work.notes.notices,
  });
  if (written.kind === 'refused') {
    warn(`Nobody could be notified: ${written.why}`);
    if (!written.isLasting) return { ...known, mustRetry: true };
    // Remember `ready` as notified: later runs without a call would otherwise retry forever, as on a locked pull
    // request.
    const ready = needs.filter(({ kind }) => kind === 'ready');
    return ready.length === 0 ? nothingMore : withNotification(nothingMore, ready, { thread, comment: null, at: now });
  }
  const comment = written.value.id;
  const what = needs
    .map(({ kind, about }) => (about.startsWith('issue-') ? `${kind} (#${about.slice('issue-'.length)})` : kind))
    .join(', ');
  const where = isCommented ? `on #${String(thread)}` : 'to the webhook';
  log.info(`${mentions.length === 0 ? 'wrote of' : 'notified of'} ${what} ${where}`);
  return withNotification(nothingMore, needs, { thread, comment, at: now });
}

/** The warning if there is no place for a notification. */
export const NO_THREAD =
  'A person is needed, and nobody could be notified: this work has no pull request and no issue to write it on. The job summary says what to do.';

/** Returns the warning if a notification mentions nobody. */
export function warnOfNobodyMentioned(thread: number): string {
  return `A person is needed, and the comment on #${String(thread)} mentions nobody: nobody asked for this work by name. Set the input \`notify\` to the logins of those who should get a message.`;
}

async function askForReview(deps: PublishDeps, end: WorkedEnd, { number }: PullRequest): Promise<void> {
  const { forge, config } = deps;
  const { prReviewers: reviewers, prAssignees: assignees } = config;
  const askers = await listAskers(deps, end, []);
  const logins = selectMentions(reviewers, askers);
  const teams = reviewers.kind === 'named' ? reviewers.teams : [];
  const assigned = selectMentions(assignees, askers);
  if (assigned.length > 0) await forge.assign(number, assigned);
  if (logins.length + teams.length > 0) await forge.requestReview(number, { logins, teams });
}
