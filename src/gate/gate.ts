import { nextTask } from '../core/tasks/queue.ts';
import { applyOrders, type OrderGiven, type OrderKind } from '../core/orders.ts';
import type { Outcome } from '../core/outcome.ts';
import { issueLane, QUEUE, serializeState, type LaneId, type LaneState } from '../core/state.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import type { Forge } from '../ports.ts';
import { UserError } from '../user-error.ts';
import { baseBranch, withoutOwnLane, type GateRun } from './admit.ts';
import { endIntake, type Answer, type Intake } from './intake.ts';
import { readIntent, type Intent, type Thread } from './intent.ts';
import { restoreState } from './restore.ts';
import { tasksOfIssues } from './tasks.ts';
import { hasTaskLabel, workIssue, workQueue } from './work.ts';

/** Event → Intake: who asked for what, which tasks are admitted, whether this run may work, on which branch. Spends no agent call. */
export async function gate(run: GateRun): Promise<Intake> {
  const intent = readIntent(run.context.event, run.config);
  switch (intent.kind) {
    case 'not-for-us':
      run.log.info(`Nothing to do: ${intent.why}`);
      return endIntake({ kind: 'idle', reason: 'not_for_us' });
    case 'work-queue':
      return workQueue(run);
    case 'work-issue':
      return workLabeledIssue(run, intent);
    case 'command':
      return obey(run, intent);
    case 'dispatched-command':
      return obeyDispatch(run, intent);
  }
}

/** Shows on the issue where work begins that it does. Comes last before the first call, and throws UserError when the token may not write to issues. */
export async function acknowledge(forge: Forge, { tasks, state }: Extract<Intake, { kind: 'work' }>): Promise<void> {
  const task = nextTask(tasks, state.tasks, state.currentTask);
  const issue = task === null ? null : issueOfTask(task);
  if (issue !== null) await forge.react({ kind: 'issue', number: issue }, 'eyes');
}

async function workLabeledIssue(run: GateRun, intent: Extract<Intent, { kind: 'work-issue' }>): Promise<Intake> {
  if (!(await mayCommand(run, intent.actor))) {
    return endIntake(notAllowed(intent.actor, `label an issue "${run.config.taskLabel}" for Ralph`));
  }
  return answering(intent.issue, () => workIssue(run, { number: intent.issue, approvedText: null }));
}

async function obey(run: GateRun, intent: Extract<Intent, { kind: 'command' }>): Promise<Intake> {
  const { forge } = run;
  const comment = { kind: 'comment', id: intent.commentId } as const;
  if (!(await mayCommand(run, intent.actor))) {
    await forge.react(comment, '-1');
    return endIntake(notAllowed(intent.actor, 'command Ralph'));
  }
  await forge.react(comment, 'eyes');
  const { command, thread } = intent;
  return answering(thread.number, async () => {
    const place = await placeOfThread(run, thread);
    if (place.kind === 'none') return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread: thread.number, text: { kind: 'refusal', why: place.why } } };
    switch (command.kind) {
      case 'run':
        return place.kind === 'queue' ? workQueue(run) : workIssue(run, { number: place.issue, approvedText: null });
      case 'status':
        return tellStatus(run, await laneAt(run, place), { thread: thread.number, text: { kind: 'status', receipt: null } });
      case 'order':
        return giveOrder(run, await laneToOrder(run, place), { given: { kind: command.order, by: intent.actor, from: 'comment', at: run.clock.now() }, thread: thread.number });
      case 'help':
        return tellStatus(run, await laneAt(run, place), { thread: thread.number, text: { kind: 'help', word: '' } });
      case 'unknown':
        return tellStatus(run, await laneAt(run, place), { thread: thread.number, text: { kind: 'help', word: command.word } });
    }
  });
}

/** Who asked hears how it stands, whatever came of it. */
async function answering(thread: number, ask: () => Promise<Intake>): Promise<Intake> {
  try {
    const intake = await ask();
    return intake.kind === 'end' && intake.answer === null ? { ...intake, answer: { thread, text: { kind: 'status', receipt: null } } } : intake;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...endIntake({ kind: 'failed', reason: error.kind, message: error.message }), answer: { thread, text: { kind: 'refusal', why: error.message } } };
  }
}

/** A command that a dispatch gives to the queue. Who may dispatch may command. */
async function obeyDispatch(run: GateRun, { command, actor }: Extract<Intent, { kind: 'dispatched-command' }>): Promise<Intake> {
  switch (command.kind) {
    case 'run':
      return workQueue(run);
    case 'order':
      return giveOrder(run, QUEUE, { given: { kind: command.order, by: actor, from: 'dispatch', at: run.clock.now() }, thread: null });
    default:
      return tellStatus(run, QUEUE, null);
  }
}

/** An order, and the thread (null: none) in which it is answered. */
interface Ordering {
  readonly given: OrderGiven;
  readonly thread: number | null;
}

/** Leaves the order for the lane's next run; a store that takes none is told the state as if it had been obeyed. Throws a UserError when it cannot be kept. */
async function giveOrder(run: GateRun, lane: LaneId, { given, thread }: Ordering): Promise<Intake> {
  const { config, store } = run;
  if (config.stateStore === 'none') throw notKept(given, 'state-store is "none", so nothing is kept from run to run. Set `state-store: auto`');
  // Before anything is written: a lane that this version cannot read is not ordered either.
  const { state } = await restoreState({ lane, expected: false, run });
  const ordered = await store.order(lane, given);
  if (ordered.kind === 'not-kept') throw notKept(given, ordered.why, 'infrastructure');
  if (ordered.kind === 'unsupported') await saveObeyed(run, state, given);
  run.log.info(`order: ${given.kind} of lane ${lane} by ${given.by}, kept`);
  const receipt = { order: given.kind, changed: changesAnything(state, given.kind) };
  return tellStatus(run, lane, { thread, text: { kind: 'status', receipt } });
}

/** The cache alone keeps no orders: the state is saved as if the next run had obeyed. */
async function saveObeyed({ store, clock }: GateRun, state: LaneState, given: OrderGiven): Promise<void> {
  const sequence = state.sequence + 1;
  const obeyed = applyOrders({ ...state, sequence, savedAt: clock.now() }, [{ ...given, number: Math.max(given.at, state.ordersApplied + 1) }]);
  const saved = await store.save({ lane: state.lane, sequence, document: serializeState(obeyed), sessionFolder: null });
  if (saved.kind === 'not-saved') throw notKept(given, `with \`state-store: cache\` an order must be saved in the cache, and that failed (${saved.why}). Where the event's cache is read-only, give the order by hand (Actions → the workflow → Run workflow), or set \`state-store: auto\``);
}

/** Whether the order finds anything to do. */
function changesAnything(state: LaneState, order: OrderKind): boolean {
  switch (order) {
    case 'pause':
      return state.pause === null;
    case 'resume':
      return state.pause !== null;
    case 'reset-circuit':
      return state.circuit.kind === 'open' || state.circuit.noProgress + state.circuit.errorStreaks.length + state.circuit.denials + state.circuit.decline > 0;
    case 'reset-session':
      return state.session !== null;
  }
}

function notKept({ kind }: OrderGiven, why: string, whose: UserError['kind'] = 'configuration'): UserError {
  return new UserError(whose, `The order "${kind.replace('-', ' ')}" could not be kept: ${why}. Nothing was changed.`);
}

/** Where a comment stands, for us: the queue's or an issue lane's pull request, or an issue. */
type Place = { readonly kind: 'queue' } | { readonly kind: 'lane' | 'issue'; readonly issue: number } | { readonly kind: 'none'; readonly why: string };

async function placeOfThread(run: GateRun, thread: Thread): Promise<Place> {
  if (!thread.isPullRequest) return { kind: 'issue', issue: thread.number };
  const { branchPrefix } = run.config;
  const head = await run.forge.pullRequestHead(thread.number);
  if (head === null || head.fromFork) return { kind: 'none', why: 'This pull request comes from a fork. Ralph works on branches of this repository only.' };
  const lane = head.branch.startsWith(branchPrefix) ? head.branch.slice(branchPrefix.length) : '';
  const issue = /^issue-(\d{1,15})$/.exec(lane)?.[1];
  if (lane === QUEUE) return { kind: 'queue' };
  if (issue !== undefined) return { kind: 'lane', issue: Number(issue) };
  return { kind: 'none', why: `This pull request is not one of Ralph's: its branch does not begin with ${branchPrefix}.` };
}

/** The lane that works on what the place is about: an issue has its own from the moment in which a run claims it. */
async function laneAt(run: GateRun, place: Exclude<Place, { kind: 'none' }>): Promise<LaneId> {
  if (place.kind === 'queue') return QUEUE;
  const own = issueLane(place.issue);
  if (place.kind === 'lane') return own;
  const { branchPrefix, stateStore } = run.config;
  if ((await run.remote.branches(branchPrefix))[branchPrefix + own] !== undefined) return own;
  if (stateStore === 'none') return QUEUE;
  const kept = await run.store.restore(own);
  const isKnown = kept.kind === 'found' || kept.kind === 'newer' || (kept.kind === 'absent' && (kept.lease !== null || kept.orders.length > 0));
  return isKnown ? own : QUEUE;
}

/** As `laneAt`, but an order to the queue is given where the queue works. */
async function laneToOrder(run: GateRun, place: Exclude<Place, { kind: 'none' }>): Promise<LaneId> {
  const lane = await laneAt(run, place);
  if (lane !== QUEUE || place.kind !== 'issue') return lane;
  const issue = await run.forge.issue(place.issue);
  if (issue !== null && hasTaskLabel(run, issue)) return lane;
  throw new UserError('configuration', `This issue does not have the label "${run.config.taskLabel}", so no lane works on it. Give the order on an issue that has it, or on one of Ralph's pull requests. Nothing was changed.`);
}

/** How the lane stands, as an answer to who asked. */
async function tellStatus(run: GateRun, id: LaneId, answer: Answer | null): Promise<Intake> {
  const { config, forge } = run;
  const branches = await run.remote.branches(config.branchPrefix);
  const branch = config.branchPrefix + id;
  const restored = await restoreState({ lane: id, expected: branches[branch] !== undefined, run });
  run.log.info(`state: ${restored.note}`);
  const { tasks } = tasksOfIssues(await forge.openIssuesWithLabel(config.taskLabel));
  return {
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer,
    lane: { id, branch, baseBranch: await baseBranch(run), start: { kind: 'fresh' }, pullRequest: await forge.pullRequestOf(branch) },
    tasks: id === QUEUE ? withoutOwnLane(tasks, config, branches) : tasks.filter((task) => task.id === id),
    state: restored.state,
    notes: { restored: restored.note, notices: [], warnings: restored.warnings, working: restored.workedOnBy },
  };
}

async function mayCommand(run: GateRun, login: string): Promise<boolean> {
  return ['admin', 'maintain', 'write'].includes(await run.forge.permissionOf(login));
}

function notAllowed(login: string, what: string): Outcome {
  return { kind: 'refused', reason: 'not_allowed', message: `${login} may not ${what}: that takes write permission to this repository.` };
}
