import { type Config, countJobs, type RunContext } from '../config/config.ts';
import type { Outcome } from '../core/outcome.ts';
import { subjectOfLane, EVERY_RUN, formatNeedsMarker } from '../core/people/notifications.ts';
import type { Order } from '../core/sharing/orders.ts';
import { isListedTask, issueOfTask, type Task } from '../core/tasks/task.ts';
import { chooseNextTask, getProgress } from '../core/tasks/queue.ts';
import { mapTexts } from '../core/text/redact.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import { createUntouchedWork, type ClosedThread, type Work, type EndIntake } from '../handover/intake.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock } from '../ports/machine.ts';
import { countPeoplesChars, withPeoplesText } from '../report/pages/pull-request-body.ts';
import { renderFeedbackSection } from '../report/pages/feedback-section.ts';
import { renderSettled, SETTLED_BY_WORKING } from '../report/pages/notification.ts';
import { buildPullRequestText } from '../report/pages/pull-request.ts';
import {
  ANSWER_MARKER,
  APPROVAL_MARKER,
  NO_LONGER_WAITS,
  type CurrentActivity,
  NOT_ASKED_FOR,
  REFUSAL_MARKER,
  renderAnswer,
  renderLiveStatus,
  renderStatusComment,
  STATUS_MARKER,
  withAnswer,
} from '../report/pages/status-comment.ts';
import { withTimeLimit } from './answers.ts';
import { publishDashboard } from './dashboard.ts';
import type { PublishDeps } from './deps.ts';
import { labelWishesOfEnd, publishLabels } from './labels.ts';
import { buildLaneView, reportOfEnd, reportOfWork, reportTasks } from './report-of.ts';
import { notifyAtGate } from './rest.ts';
import { publishTrain } from './train.ts';

/** Minimum interval between two edits of the same comment, in ms; nobody reads faster. */
const MIN_GAP_MS = 20_000;

/** Maximum time of a run that a comment may take, in ms. */
const MAX_WAIT_MS = 10_000;

/** Number of failures after which edits are no longer tried. */
const MAX_FAILURES = 2;

interface LiveStatusDeps {
  readonly forge: Pick<Forge, 'upsertComment'>;
  readonly config: Pick<Config, 'policy' | 'handoff'>;
  readonly context: Pick<RunContext, 'runUrl' | 'serverUrl' | 'repository'>;
  readonly clock: Clock;
  readonly debug: (text: string) => void;
  readonly redact: (text: string) => string;
}

interface Beginning {
  readonly task: Task;
  readonly iteration: number;
  /** Orders that people gave since the run began. */
  readonly orders: readonly Order[];
}

/**
 * Shows the state of the run in the status comment of its task's issue, or of the pull request for a task of a file.
 * Never throws.
 */
interface LiveStatus {
  /** Shows the state as an iteration begins. */
  readonly showLive: (work: Work, begins: Beginning) => Promise<void>;
  /** Shows that the run begins with a task once one of its machines is free. */
  readonly showQueued: (work: Work, task: Task) => Promise<void>;
  /** Shows the state as a wait for the end of a limit begins. */
  readonly showWait: (work: Work, until: Extract<Outcome, { kind: 'parked' }>) => Promise<void>;
}

/**
 * Publishes the results of a run that the gate ended: the answer to the request, notices, labels. Returns the intake
 * with the failures among its warnings.
 */
export async function publishEnd(deps: PublishDeps, intake: EndIntake): Promise<EndIntake> {
  const unanswered = await publishAnswer(deps, intake).then(
    () => [],
    (error: unknown) => [`The answer could not be written: ${completeSentence(getErrorText(error))}`],
  );
  for (const warning of unanswered) deps.log.warning(warning);
  await settleClosedThread(deps, intake.over);
  await settleConfiguration(deps, intake);
  const { notified, warnings } = await notifyAtGate(deps, intake);
  const unshown = await showOutOfRounds(deps, intake);
  // Without a store, the run does not know which tasks were done, so use no state.
  const known = deps.config.stateStore === 'none' ? { ...intake, state: null } : intake;
  const failed = await publishLabels(deps, labelWishesOfEnd(known, notified));
  const { train } = intake.notes;
  // A single pull request needs no merge order on its page, but its page may still show one from before a merge, so
  // update it then.
  const shown = train === null ? null : await publishTrain(deps, train, intake.over === null ? 1 : 0);
  const unkept = await publishDashboard(deps, { ...intake.notes, tasks: intake.tasks, train: shown });
  return {
    ...intake,
    notes: {
      ...intake.notes,
      train: shown,
      warnings: [...intake.notes.warnings, ...unanswered, ...warnings, ...unshown, ...failed, ...unkept],
    },
  };
}

/**
 * Settles notifications about a closed issue or pull request at once, without waiting for the lane's next run, which
 * only removes them from the state.
 */
export async function settleClosedThread(
  { forge, redact, clock }: PublishDeps,
  over: ClosedThread | null,
): Promise<void> {
  if (over === null) return;
  const { thread, needs, why } = over;
  const [about = ''] = needs.map((need) => need.about);
  await forge.settleNotifications(thread, { needs, words: redact(renderSettled([{ notification: { about }, why }])) });
  await forge.amendComment(thread, APPROVAL_MARKER, {
    body: why === 'approved' ? NO_LONGER_WAITS : NOT_ASKED_FOR,
    writtenBefore: clock.now(),
    closing: true,
  });
}

/** Settles the notification about the configuration, because the configuration of a run that answers works. */
async function settleConfiguration(deps: PublishDeps, { outcome, answer }: EndIntake): Promise<void> {
  if (outcome.kind === 'failed' || answer === null || answer.thread === null) return;
  await deps.forge.amendComment(answer.thread, formatNeedsMarker([{ kind: 'configuration', about: EVERY_RUN }]), {
    body: SETTLED_BY_WORKING,
    writtenBefore: deps.clock.now(),
    closing: true,
  });
}

/**
 * Answers a request for work or a command in its thread: in the sticky comment, or in a separate comment while another
 * run uses that one.
 */
async function publishAnswer(deps: PublishDeps, intake: EndIntake): Promise<void> {
  const { answer } = intake;
  if (answer === null || answer.thread === null) return;
  const { config, context, redact } = deps;
  const now = deps.clock.now();
  const report = reportOfEnd({ config, context, redact, now }, intake, now);
  // A run that ended before it restored the lane cannot show its state, so answer without it.
  const view = intake.state === null ? null : buildLaneView(intake, { config, context, now });
  const notice = intake.notes.notices.find(({ issue }) => issue === answer.thread) ?? null;
  const body = renderAnswer(answer.text, report, { view, notice, forecast: intake.notes.forecast });
  if (answer.text.kind === 'refusal') await deps.forge.upsertComment(answer.thread, REFUSAL_MARKER, redact(body));
  // Another run is working on this and keeps the status comment, so write the answer into a separate one.
  else if (intake.notes.claimedBy !== null && intake.outcome.reason === 'answered')
    await deps.forge.upsertComment(answer.thread, ANSWER_MARKER, `${ANSWER_MARKER}\n\n${redact(body)}`);
  else await deps.forge.upsertComment(answer.thread, STATUS_MARKER, (current) => withAnswer(current, redact(body)));
}

/**
 * Updates the pull request, its status comment and its ready notification if feedback is out of rounds, because no
 * working run will do so. Writes nothing if they already say so. Returns warnings.
 */
async function showOutOfRounds(
  { config, context, redact, clock, forge, log }: PublishDeps,
  { outcome, lane, tasks, state, notes }: EndIntake,
): Promise<readonly string[]> {
  const pullRequest = lane?.pullRequest ?? null;
  const head = state?.lastRun?.published?.head ?? null;
  if (outcome.kind !== 'blocked' || lane === null || state === null || head === null) return [];
  if (pullRequest?.state !== 'open') return [];
  if (!tasks.some(({ id }) => getProgress(state.tasks, id).reason === 'feedback_rounds')) return [];
  const now = clock.now();
  const known = { lane, tasks, notes, state, head, remoteHead: head, shown: null, startedAt: now, proposal: null };
  const work = createUntouchedWork(known, now);
  const published = { pullRequest, headSha: head, saved: null };
  const report = reportOfWork({ config, context, redact, now }, { ...work, outcome }, published);
  if (pullRequest.body.replaceAll('\r\n', '\n').includes(redact(renderFeedbackSection(report)))) return [];
  const own = mapTexts(buildPullRequestText(report, countPeoplesChars(pullRequest)), redact);
  try {
    await forge.updatePullRequest(pullRequest.number, withPeoplesText(pullRequest, own));
    // The status comment below the pull request's text must report the same, so update it, too.
    await forge.upsertComment(pullRequest.number, STATUS_MARKER, redact(renderStatusComment(report, null)));
    const called = state.notified.find(({ kind, about }) => kind === 'ready' && about === subjectOfLane(lane.id));
    // This run does not own the lane's state, so leave the notification there; it is settled again when work continues.
    if (called?.comment != null) {
      const words = redact(renderSettled([{ notification: called, why: 'held_up' }]));
      await forge.settleComments([{ id: called.comment, words, closing: false }]);
    }
    return [];
  } catch (error) {
    const warning = `The pull request could not be updated: ${completeSentence(getErrorText(error))}`;
    log.warning(warning);
    return [warning];
  }
}

/** Creates the live status. It makes one edit per iteration, at most one in 20 s on the same comment. */
export function createLiveStatus({ forge, config, context, clock, debug, redact }: LiveStatusDeps): LiveStatus {
  let shown: { readonly thread: number; readonly at: number } | null = null;
  let failures = 0;
  return {
    showLive: (work, begins) => show(work, { kind: 'iterates', ...begins }),
    showQueued: (work, task) => show(work, { kind: 'queued', task }),
    showWait: (work, { reason, resumeAt }) => {
      const { state, tasks } = work;
      const task = chooseNextTask(tasks, state.tasks, state.currentTask);
      return task === null ? Promise.resolve() : show(work, { kind: 'waits', for: reason, task, until: resumeAt });
    },
  };

  async function show({ lane, tasks, notes, state, journal, startedAt }: Work, doing: CurrentActivity): Promise<void> {
    const thread = issueOfTask(doing.task) ?? lane.pullRequest?.number ?? null;
    const now = clock.now();
    if (thread === null || failures >= MAX_FAILURES) return;
    const isEarly = shown !== null && shown.thread === thread && now - shown.at < MIN_GAP_MS;
    // A wait is long, so show its status even if the last edit was recent.
    if (isEarly && doing.kind === 'iterates') return;
    const body = renderLiveStatus({
      doing,
      tasks: reportTasks(tasks.filter(isListedTask), state, context),
      journal,
      limits: config.policy,
      jobs: countJobs(config),
      startedAt,
      now,
      runUrl: context.runUrl,
      forecast: notes.forecast,
    });
    try {
      const written = await withTimeLimit(MAX_WAIT_MS, forge.upsertComment(thread, STATUS_MARKER, redact(body)));
      if (written.kind === 'granted') shown = { thread, at: now };
      else failures += 1;
    } catch (error) {
      failures += 1;
      debug(`The status comment on #${String(thread)} was not updated: ${getErrorText(error)}`);
    }
  }
}
