import type { Finding } from '../../core/doctor/finding.ts';
import { isFeedback, formatReviewTaskId, formatThreadTaskId } from '../../core/feedback/subject.ts';
import { measureUsageAt } from '../../core/lane/windows.ts';
import { type RalphCommand, COMMAND_HELP } from '../../core/people/command.ts';
import { describeUnknownTask } from '../../core/people/named-task.ts';
import type { OrderGiven } from '../../core/sharing/orders.ts';
import {
  isIssueTask,
  toIssueLane,
  issueOfId,
  type LaneId,
  nameOfLane,
  nameOfTaskId,
  QUEUE,
  type TaskId,
  taskIdOfIssue,
} from '../../core/tasks/ids.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import {
  type CommandAnswer,
  endIntake,
  type GateResult,
  type Intake,
  gateResultOfLane,
  type EndIntake,
} from '../../handover/intake.ts';
import type { GateDeps, KnownLane } from '../deps.ts';
import type { Intent, Thread } from '../event/intent.ts';
import { findBaseBranch, judgeLane } from '../lane/restore.ts';
import { TASKS_PURPOSE } from '../tasks/sources.ts';
import { isTaskIssue, explainNoTask } from '../tasks/queued-issues.ts';
import { startIssueWork, startQueueWork, startQueueWorkOnLanes } from '../work.ts';
import { refuseCommand, withReceipt } from './answering.ts';
import { approveProposal, requestProposal } from './proposals.ts';
import { requestOnIssue, requestOnPull } from './requests.ts';
import { readKnownTaskIds, reportStatus, saveOrder } from './save-order.ts';

/** The answer to `status`, and the facts about the lane that further findings need. */
interface LaneStatus {
  readonly intake: EndIntake;
  readonly known: Pick<KnownLane, 'state' | 'baseVerification' | 'spentTodayUsd'>;
}

/** Obeys a command that a trusted person gave in a comment. */
export async function obeyCommand(
  deps: GateDeps,
  { command, thread, actor, reactTo, issueThen }: Extract<Intent, { kind: 'command' }>,
): Promise<GateResult> {
  const threadTopic = await topicOfThread(deps, thread);
  const one = (intake: Intake): GateResult => gateResultOfLane(deps, intake);
  const refused = (why: string): GateResult => one(refuseCommand(deps, thread.number, why));
  if (threadTopic.kind === 'none') return refused(threadTopic.why);
  const by: OrderSource = { by: actor.login, from: 'comment', thread: thread.number };
  switch (command.kind) {
    case 'run':
      if (threadTopic.kind === 'queue') return startQueueWorkOnLanes(deps, QUEUE_NOW);
      // A command on a pull request is about its open work only. To repeat finished work, people ask on the issue.
      return one(
        answeredIn(
          thread,
          await startIssueWork(deps, {
            number: threadTopic.issue,
            redo: threadTopic.kind === 'issue',
            approvedText: null,
            triesLimits: true,
          }),
        ),
      );
    case 'order': {
      const lane = await laneToOrder(deps, threadTopic);
      return lane.kind === 'none'
        ? refused(lane.why)
        : one(await order(deps, lane.id, { kind: command.order, task: null, ...by }));
    }
    case 'retry': {
      const { topic, task } = retryTarget(threadTopic, command.task);
      const lane = await laneToRetry(deps, topic, task);
      return lane.kind === 'none' ? refused(lane.why) : one(await retry(deps, lane.id, { kind: 'retry', task, ...by }));
    }
    case 'plan':
    case 'approve': {
      if (threadTopic.kind !== 'issue') return refused('Give this command on an issue.');
      const asked = { number: threadTopic.issue, by: actor, then: issueThen };
      return one(await (command.kind === 'plan' ? requestProposal(deps, asked) : approveProposal(deps, asked)));
    }
    case 'doctor':
      return one(await reportSetUp(deps, await laneAt(deps, threadTopic), thread.number));
    case 'request': {
      const asked = { actor, reactTo, thread, issueThen };
      if (threadTopic.kind === 'issue') return one(await requestOnIssue(deps, asked));
      return one(await requestOnPull(deps, asked, threadTopic.kind === 'lane' ? threadTopic.issue : null));
    }
    default: {
      const answer = { thread: thread.number, text: answerTo(command) };
      return one(await reportStatus(deps, await laneAt(deps, threadTopic), answer));
    }
  }
}

/** The request of a person who asks for a run of the queue by name. */
export const QUEUE_NOW = { asked: true, byHand: true, purpose: TASKS_PURPOSE } as const;

/** Returns the intake with its answer addressed to the thread of the command. */
function answeredIn({ number }: Thread, intake: Intake): Intake {
  return intake.kind === 'end' && intake.answer !== null
    ? { ...intake, answer: { ...intake.answer, thread: number } }
    : intake;
}

/** Obeys a command that a dispatch gives to the queue. Everyone who may dispatch may command. */
export async function obeyDispatch(
  deps: GateDeps,
  intent: Extract<Intent, { kind: 'dispatched-command' }>,
): Promise<GateResult> {
  return intent.command.kind === 'run'
    ? startQueueWorkOnLanes(deps, QUEUE_NOW)
    : gateResultOfLane(deps, await obeyOnQueue(deps, intent));
}

async function obeyOnQueue(
  deps: GateDeps,
  { command, actor }: Extract<Intent, { kind: 'dispatched-command' }>,
): Promise<Intake> {
  const by: OrderSource = { by: actor ?? 'someone', from: 'dispatch', thread: null };
  switch (command.kind) {
    case 'order':
      return order(deps, QUEUE, { kind: command.order, task: null, ...by });
    case 'retry': {
      const { topic, task } = retryTarget({ kind: 'queue' }, command.task);
      const lane = await laneToRetry(deps, topic, task);
      // A dispatch has no thread for an answer, so the run itself must report the reason.
      if (lane.kind === 'none') throw new UserError('configuration', lane.why);
      return retry(deps, lane.id, { kind: 'retry', task, ...by });
    }
    case 'doctor':
      return reportSetUp(deps, QUEUE, null);
    case 'plan':
    case 'approve':
      throw new UserError('configuration', `Give the command "${command.kind}" as a comment on an issue.`);
    case 'help':
      for (const [name, what] of Object.entries(COMMAND_HELP)) deps.log.info(`${name}: ${what}`);
      return reportStatus(deps, QUEUE, null);
    default:
      return reportStatus(deps, QUEUE, null);
  }
}

/**
 * Stores an order to retry a task for the lane that has the task, and returns the lane. Throws a UserError if no lane
 * has it.
 */
export async function orderRetry(deps: GateDeps, named: TaskId, by: Pick<OrderGiven, 'by' | 'from'>): Promise<LaneId> {
  const { topic, task } = retryTarget({ kind: 'queue' }, named);
  const lane = await laneToRetry(deps, topic, task);
  if (lane.kind === 'none') throw new UserError('configuration', lane.why);
  await saveOrder(deps, lane.id, { kind: 'retry', task, ...by });
  return lane.id;
}

function answerTo(command: Extract<RalphCommand, { kind: 'status' | 'help' | 'unknown' }>): CommandAnswer['text'] {
  return command.kind === 'status'
    ? { kind: 'status', receipt: null }
    : { kind: 'help', word: command.kind === 'unknown' ? command.word : '' };
}

/** The person who gives the order, and the thread that gets the answer; `thread` is null if no thread gets one. */
type OrderSource = Pick<OrderGiven, 'by' | 'from'> & { readonly thread: number | null };

type Ordering = OrderSource & Pick<OrderGiven, 'kind' | 'task'>;

async function order(deps: GateDeps, lane: LaneId, { thread, ...given }: Ordering): Promise<Intake> {
  const receipt = await saveOrder(deps, lane, given);
  return reportStatus(deps, lane, { thread, text: { kind: 'status', receipt } });
}

/** Saves the order first. If this run cannot work now, the lane's next run obeys the order, and the answer says so. */
async function retry(deps: GateDeps, lane: LaneId, { thread, ...given }: Ordering): Promise<Intake> {
  // Without a store there is no record of an earlier failure, so there is nothing to reset and no order to save.
  const receipt = deps.config.stateStore === 'none' ? null : await saveOrder(deps, lane, given);
  const number = issueOfId(lane);
  const intake =
    number === null
      ? await startQueueWork(deps, { asked: true, byHand: given.task === null, purpose: TASKS_PURPOSE })
      : await startIssueWork(deps, { number, redo: false, approvedText: null, triesLimits: true });
  return withReceipt(intake, thread, receipt);
}

/** The subject of a comment: the queue's or an issue lane's pull request, or an issue. */
type Topic = { readonly kind: 'queue' } | { readonly kind: 'lane' | 'issue'; readonly issue: number };

/**
 * Returns the topic whose lane has the task, and the task, or null if no task is meant. On an issue, that issue is
 * meant unless another task is named.
 */
function retryTarget(topic: Topic, named: TaskId | null): { readonly topic: Topic; readonly task: TaskId | null } {
  const task = named ?? (topic.kind === 'queue' ? null : toIssueLane(topic.issue));
  const issue = task === null ? null : issueOfId(task);
  // A request on a pull request belongs to that pull request's lane, so the topic stays.
  if (task !== null && isFeedback(task)) return { topic, task };
  if (issue === null) return { topic: { kind: 'queue' }, task };
  return { topic: topic.kind === 'lane' && topic.issue === issue ? topic : { kind: 'issue', issue }, task };
}

/** Returns the subject of a comment, or `none` if it is on a pull request that does not belong to Ralph. */
export async function topicOfThread(
  deps: GateDeps,
  thread: Thread,
): Promise<Topic | { readonly kind: 'none'; readonly why: string }> {
  if (!thread.isPullRequest) return { kind: 'issue', issue: thread.number };
  const { branchPrefix } = deps.config;
  const head = await deps.forge.pullRequestHead(thread.number);
  if (head === null || head.fromFork)
    return {
      kind: 'none',
      why: 'This pull request comes from a fork. Ralph works on branches of this repository only.',
    };
  const lane = head.branch.startsWith(branchPrefix) ? head.branch.slice(branchPrefix.length) : '';
  const issue = issueOfId(lane);
  if (lane === QUEUE) return { kind: 'queue' };
  if (issue !== null) return { kind: 'lane', issue };
  return {
    kind: 'none',
    why: `This pull request is not one of Ralph's: its branch does not start with ${branchPrefix}.`,
  };
}

/**
 * Returns the lane that works on the topic. An issue has its own lane from the moment a run claims it; once the branch
 * of an issue that nothing blocks is gone, the queue works on the issue if it is still a task.
 */
async function laneAt(deps: GateDeps, topic: Topic): Promise<LaneId> {
  if (topic.kind === 'queue') return QUEUE;
  const own = toIssueLane(topic.issue);
  if (topic.kind === 'lane') return own;
  const { branchPrefix, stateStore } = deps.config;
  if ((await deps.remote.branches(branchPrefix))[branchPrefix + own] !== undefined) return own;
  if (stateStore === 'none') return QUEUE;
  const { lane: kept } = await deps.store.restore(own);
  const isKnown =
    kept.kind === 'found' ||
    kept.kind === 'unreadable' ||
    kept.kind === 'newer' ||
    (kept.kind === 'absent' && (kept.lease !== null || kept.orders.length > 0));
  if (!isKnown) return QUEUE;
  const { state, claimedBy } = judgeLane(
    { restored: kept, snapshot: null, budget: null, left: null },
    { lane: own, expected: false, elsewhere: [], deps },
  );
  const wasPublished = (state.lastRun?.published ?? null) !== null;
  const cannotWork = claimedBy !== null || state.pause !== null || state.circuit.kind === 'open';
  if (!wasPublished || cannotWork) return own;
  const issue = await deps.forge.issue(topic.issue);
  return issue !== null && issue.state === 'open' && (await isTaskIssue(deps, issue)) ? QUEUE : own;
}

/** Works like `laneToOrder`, but returns no lane for an unknown task that is not an issue. */
async function laneToRetry(deps: GateDeps, topic: Topic, task: TaskId | null): Promise<LaneToOrder> {
  const lane = await laneToOrder(deps, topic);
  if (lane.kind === 'none' || task === null || isIssueTask(task)) return lane;
  const known = await readKnownTaskIds(deps, lane.id);
  if (known === null || known.includes(task) || (await isOnPullRequest(deps, lane.id, task))) return lane;
  const what = isFeedback(task)
    ? `There is no review thread, review or check called ${nameOfTaskId(task)} on the pull request of ${nameOfLane(lane.id)}.`
    : `There is no task ${nameOfTaskId(task)} in the queue.`;
  return { kind: 'none', why: `${describeUnknownTask(task, known, what)} Nothing was changed.` };
}

/**
 * Returns true if the lane's pull request has this thread or review. Asks GitHub, because the lane's state lacks
 * threads that a run without a call left to a person.
 */
async function isOnPullRequest({ forge, config }: GateDeps, lane: LaneId, task: TaskId): Promise<boolean> {
  if (!isFeedback(task)) return false;
  const now = await forge.pullRequestNow(config.branchPrefix + lane);
  const threads = now?.threads.map(({ comments }) => formatThreadTaskId(comments[0]?.id ?? 0)) ?? [];
  const reviews = now?.reviews.map(({ id }) => formatReviewTaskId(id)) ?? [];
  return [...threads, ...reviews].includes(task);
}

type LaneToOrder = { readonly kind: 'lane'; readonly id: LaneId } | { readonly kind: 'none'; readonly why: string };

/** Works like `laneAt`, but returns a reason instead of the queue if the queue does not work on the issue. */
async function laneToOrder(deps: GateDeps, topic: Topic): Promise<LaneToOrder> {
  const id = await laneAt(deps, topic);
  if (id !== QUEUE || topic.kind !== 'issue') return { kind: 'lane', id };
  const issue = await deps.forge.issue(topic.issue);
  if (issue !== null && (await isTaskIssue(deps, issue))) return { kind: 'lane', id };
  if (issue === null) {
    const known = (await readKnownTaskIds(deps, QUEUE)) ?? [];
    const nearest = describeUnknownTask(taskIdOfIssue(topic.issue), known, `There is no task #${topic.issue}.`);
    return { kind: 'none', why: `${nearest} Nothing was changed.` };
  }
  return {
    kind: 'none',
    why: `Issue #${String(topic.issue)} ${explainNoTask(deps.config)}, so Ralph does not work on it. Give the order on one that Ralph works on, or on one of Ralph's pull requests. Nothing was changed.`,
  };
}

/**
 * Reports what would stop runs, as an answer to the person who asked. Reports an unreadable state as one more problem.
 */
async function reportSetUp(deps: GateDeps, id: LaneId, thread: number | null): Promise<Intake> {
  const looked = await tryStatus(deps, id);
  const findings = await deps.examine({
    branch: deps.config.branchPrefix + id,
    baseBranch: await findBaseBranch(deps),
    ...looked.known,
  });
  const problems = findings.filter(({ kind }) => kind === 'problem');
  return {
    ...looked.intake,
    outcome: problems.length === 0 ? looked.intake.outcome : setUpFailure(problems),
    answer: { thread, text: { kind: 'doctor', findings } },
  };
}

function setUpFailure(problems: readonly Finding[]): EndIntake['outcome'] {
  const about = [...new Set(problems.map(({ check }) => check.replaceAll('-', ' ')))];
  const message = `The check of the set-up found ${String(problems.length)} ${problems.length === 1 ? 'problem' : 'problems'}: ${listFirstNames(about)}.`;
  return { kind: 'failed', reason: 'configuration', message };
}

async function tryStatus(deps: GateDeps, id: LaneId): Promise<LaneStatus> {
  try {
    const intake = await reportStatus(deps, id, null);
    const spent = intake.state === null ? null : measureUsageAt(intake.state.windows, deps.clock.now()).day;
    return {
      intake,
      known: {
        state: { kind: 'known', value: intake.notes.restored },
        baseVerification: intake.state?.baseVerification ?? null,
        spentTodayUsd: { kind: 'known', value: spent?.costUsd ?? 0 },
      },
    };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const why = { kind: 'unknown', why: error.message } as const;
    return {
      intake: endIntake({ kind: 'idle', reason: 'answered' }),
      known: {
        state: why,
        baseVerification: null,
        spentTodayUsd: { kind: 'unknown', why: 'the state cannot be read.' },
      },
    };
  }
}
