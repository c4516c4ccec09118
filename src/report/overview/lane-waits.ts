import { z } from 'zod';
import type { Immutable } from '../../core/policy.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { QueuedEntry } from '../../core/snapshot/dashboard-record.ts';
import { computeExpiry, blocksOtherHolder, type Lease } from '../../core/sharing/lease.ts';
import { selectEffectiveOrders, listOpenOrders, type Order } from '../../core/sharing/orders.ts';
import { issueOfId, type LaneId, nameOfTaskId, type TaskId } from '../../core/tasks/ids.ts';
import { isSettled, isStuck, type ShownProgress, taskStates } from '../../core/tasks/task.ts';
import { joinNames } from '../../core/text/phrase.ts';
import { formatCount } from '../format.ts';
import { renderCommand, renderContinuation } from '../next/step.ts';

const instant = z.iso.datetime();

const wholeNumber = z.int().nonnegative();

const amount = z.number().nonnegative();

const waitKinds = ['run', 'pause', 'circuit', 'park', 'order', 'review', 'person', 'approval', 'dependency'] as const;

const wait = z.object({
  kind: z
    .enum(waitKinds)
    .describe(
      '`run`: another run works on it; `order`: the next run obeys it; `review`: people have the pull request; `person`: a task failed, is blocked or set aside; `approval`: its text changed; `dependency`: other tasks.',
    ),
  task: z.string().nullable().describe('Id of the task that waits; null: everything here waits.'),
  on: z.string().describe('Whom or what it waits for, in words.'),
  until: instant
    .nullable()
    .describe('The latest end, or the instant from which work continues; null: until somebody acts.'),
  command: z.string().nullable().describe('What ends the wait; null: no command of ralph does.'),
});

const lane = z.object({
  kind: z.literal('branch'),
  branchId: z.string().describe('`queue` or `issue-N`.'),
  place: z.string().describe('`ref` (on the remote) or `directory` (in the checkout).'),
  pullRequest: z
    .object({
      number: z.int().positive(),
      url: z.string(),
      title: z.string().nullable().describe('null: not known without a token.'),
      state: z.enum(['open', 'merged', 'closed']).nullable().describe('null: not known without a token.'),
    })
    .nullable(),
  tasks: z
    .array(
      z.object({
        id: z.string(),
        name: z.string().describe('What people call it: `#12`, `.ralph/fix_plan.md:7`, `US-001`.'),
        title: z.string().nullable(),
        state: z.enum(taskStates),
        attempts: wholeNumber.describe('Iterations.'),
        current: z.boolean(),
      }),
    )
    .describe('For the queue, also those of the files of the checkout.'),
  waits: z.array(wait),
  spend: z
    .object({ calls: wholeNumber, tokens: wholeNumber, costUsd: amount, minutes: amount })
    .describe('In the last 31 days.'),
  warnings: z.array(z.string()),
});

const unreadable = z.object({
  kind: z.enum(['unreadable', 'newer', 'unavailable']),
  branchId: z.string(),
  place: z.string(),
  why: z.string(),
});

/** The output of `ralph status --all --json`. A change that breaks readers needs a new major version. */
export const overviewSchema = z.object({
  at: instant,
  repository: z.string().nullable().describe('`owner/name`; null: GitHub was not asked.'),
  branches: z.array(z.discriminatedUnion('kind', [lane, unreadable])).describe('The queue first.'),
  spend: z
    .array(
      z.object({
        day: z.string().describe('`2026-11-21`, UTC.'),
        calls: wholeNumber,
        tokens: wholeNumber,
        costUsd: amount,
        minutes: amount,
      }),
    )
    .describe('Of all branches together, the last 31 days; without days on which nothing was used.'),
  runs: z
    .array(
      z.object({
        branchId: z.string(),
        place: z.string(),
        url: z.string().nullable().describe('null: on this machine.'),
        endedAt: instant,
        outcome: z.string().describe('`complete`, `parked`, … as in the output `outcome`.'),
        reason: z.string(),
        tasksDone: wholeNumber.describe('Of the tasks that the run worked on.'),
        iterations: wholeNumber,
        costUsd: amount.nullable().describe('As far as it is known; null: not known.'),
        unpriced: wholeNumber.describe('Iterations of unknown cost, which `costUsd` lacks.'),
      }),
    )
    .describe('The last ten that called an agent, newest first.'),
  problems: z.array(z.string()).describe('Problems of reading, as sentences.'),
});

export type Overview = Immutable<z.infer<typeof overviewSchema>>;

export type OverviewLane = Extract<Overview['branches'][number], { kind: 'branch' }>;

export type LaneWait = OverviewLane['waits'][number];

/** The known facts about a task of a lane; `task` is null if only the state contains it. */
export interface KnownTask {
  readonly id: TaskId;
  readonly task: QueuedEntry | null;
  readonly progress: ShownProgress;
}

/** The facts about a lane. */
interface LaneFacts {
  readonly state: LaneState;
  readonly stored: LaneState;
  readonly orders: readonly Order[];
  readonly lease: Lease | null;
  readonly tasks: readonly KnownTask[];
  readonly pullRequest: OverviewLane['pullRequest'];
  /** The options that select the lane in another command: ` --issue 7`, or an empty text. */
  readonly sameLane: string;
  /** The cooldown of the circuit in ms. */
  readonly cooldownMs: number;
  readonly now: number;
}

const MAX_NAMES = 3;

/** A lease holder that equals the holder of no lease. */
const nobody = { runTag: '', runId: '', runAttempt: 1 };

/** Returns all waits: first those of the whole lane, then those of each task. */
export function listLaneWaits(facts: LaneFacts): readonly LaneWait[] {
  return [...laneWaits(facts), ...facts.tasks.flatMap((known) => taskWaits(known, facts))];
}

function laneWaits(facts: LaneFacts): readonly LaneWait[] {
  const { state, stored, orders, lease, tasks, pullRequest, sameLane, cooldownMs, now } = facts;
  const { pause, circuit, park } = state;
  const wait = (kind: LaneWait['kind'], on: string, until: number | null): LaneWait => ({
    ...{ kind, task: null, on, until: until === null ? null : iso(until) },
    command: kind === 'pause' || kind === 'circuit' ? `${renderContinuation(kind, 'terminal')}${sameLane}` : null,
  });
  const isDone = tasks.length > 0 && tasks.every(({ progress }) => progress.state === 'done');
  const ordered = selectEffectiveOrders(listOpenOrders(stored, orders));
  return [
    ...(lease !== null && blocksOtherHolder(lease, nobody, now)
      ? [wait('run', lease.runUrl || `run ${lease.runId}`, computeExpiry(lease))]
      : []),
    ...(pause === null ? [] : [wait('pause', pause.by, null)]),
    ...(circuit.kind === 'open' ? [wait('circuit', circuit.reason, circuit.openedAt + cooldownMs)] : []),
    ...(park === null || park.resumeAt <= now ? [] : [wait('park', park.reason, park.resumeAt)]),
    ...ordered.map(({ kind, task, by }) =>
      wait('order', `${kind.replace('-', ' ')}${task === null ? '' : ` ${nameOfTaskId(task)}`}, by ${by}`, null),
    ),
    ...(pullRequest?.state === 'open' && isDone ? [wait('review', `#${String(pullRequest.number)}`, null)] : []),
  ];
}

function taskWaits({ id, task, progress }: KnownTask, { state, tasks, sameLane }: LaneFacts): readonly LaneWait[] {
  const wait = (kind: LaneWait['kind'], on: string, command: string | null): readonly LaneWait[] => [
    { kind, task: id, on, until: null, command },
  ];
  if (isStuck(progress)) {
    const question = Object.hasOwn(state.change.tasks, id) ? (state.change.tasks[id]?.question ?? null) : null;
    return wait(
      'person',
      whyStuck(progress, question),
      `${renderCommand(`retry ${nameToType(id)}`, 'terminal')}${sameLane}`,
    );
  }
  if (task === null || isSettled(progress)) return [];
  if (task.obstacle === 'needs-approval')
    return wait('approval', 'its text was changed after it was approved: add the label, or remove and re-add it', null);
  if (task.obstacle === 'dependency-unknown') return wait('dependency', 'a task that does not exist', null);
  const open = task.dependsOn.filter((other) => tasks.find((known) => known.id === other)?.progress.state !== 'done');
  if (open.length === 0) return [];
  const names = open.map((other) => nameOfKnownTask(tasks.find((known) => known.id === other) ?? null, other));
  const circle = task.obstacle === 'dependency-cycle' ? ', which waits for it: remove one of the dependencies' : '';
  return wait('dependency', `${joinNames(names, MAX_NAMES)}${circle}`, null);
}

/** Returns the name of a task as people know it. */
export function nameOfKnownTask(known: KnownTask | null, id: TaskId): string {
  return known === null || known.task === null ? nameOfTaskId(id) : known.task.name;
}

/** Returns a task's name as typed in a shell: `12`, because `#12` would be a comment. */
function nameToType(id: TaskId): string {
  return nameOfTaskId(id).replace(/^#/, '');
}

function whyStuck({ state, attempts, reason }: ShownProgress, question: string | null): string {
  const iterations = formatCount(attempts, 'iteration');
  if (state === 'failed')
    return attempts === 0 ? 'marked as failed by an earlier Ralph' : `gave up after ${iterations}`;
  if (question !== null) return `the agent asks: “${question}”`;
  if (state === 'stuck') return `set aside after ${iterations}, since nothing changed`;
  if (reason === 'feedback_rounds') return 'asked for again after as many rounds as `max-feedback-rounds` allows';
  if (reason === 'withheld') return 'it needs files that Ralph does not publish';
  if (reason === 'push_refused') return 'the git server refused its work';
  return reason === 'nothing_to_do'
    ? 'the agent found nothing to change'
    : 'the agent cannot continue without a person';
}

/** Returns the option that selects the lane in another command: ` --issue 7`, or an empty text for the queue. */
export function formatLaneOption(lane: LaneId): string {
  const issue = issueOfId(lane);
  return issue === null ? '' : ` --issue ${issue}`;
}

function iso(instant: number): string {
  return new Date(Math.min(instant, Date.UTC(9999, 11, 31))).toISOString();
}
