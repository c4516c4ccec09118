import { nextTask } from '../core/tasks/queue.ts';
import type { OrderGiven } from '../core/orders.ts';
import type { Outcome } from '../core/outcome.ts';
import { applyOrders } from '../core/orders.ts';
import { issueLane, QUEUE, serializeState, type LaneId } from '../core/state.ts';
import type { Forge } from '../ports.ts';
import { UserError } from '../user-error.ts';
import { admit, baseBranch, withoutOwnLane, type GateRun } from './admit.ts';
import { endIntake, type Answer, type Intake } from './intake.ts';
import { readIntent, type Intent, type Thread } from './intent.ts';
import { restoreState } from './restore.ts';
import { tasksOfIssues } from './tasks.ts';

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
  if (task !== null) await forge.react({ kind: 'issue', number: task.source.number }, 'eyes');
}

async function workLabeledIssue(run: GateRun, intent: Extract<Intent, { kind: 'work-issue' }>): Promise<Intake> {
  if (!(await mayCommand(run, intent.actor))) {
    return endIntake(notAllowed(intent.actor, `label an issue "${run.config.taskLabel}" for Ralph`));
  }
  return answering(intent.issue, () => workIssue(run, intent.issue));
}

async function obey(run: GateRun, intent: Extract<Intent, { kind: 'command' }>): Promise<Intake> {
  const { forge } = run;
  const comment = { kind: 'comment', id: intent.commentId } as const;
  if (!(await mayCommand(run, intent.actor))) {
    await forge.react(comment, '-1');
    return endIntake(notAllowed(intent.actor, 'command Ralph'));
  }
  await forge.react(comment, 'eyes');
  const thread = intent.thread.number;
  const lane = await laneOfThread(run, intent.thread);
  if (lane.kind === 'none') return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why: lane.why } } };
  switch (intent.command.kind) {
    case 'run': {
      const { issue } = lane;
      return answering(thread, () => (issue === null ? workQueue(run) : workIssue(run, issue)));
    }
    case 'status':
      return tellStatus(run, lane.issue, { thread, text: { kind: 'status' } });
    case 'order': {
      const { issue } = lane;
      const given: OrderGiven = { kind: intent.command.order, by: intent.actor, from: 'comment', at: run.clock.now() };
      return answering(thread, () => giveOrder(run, issue, given));
    }
    case 'unknown':
      return tellStatus(run, lane.issue, { thread, text: { kind: 'help', word: intent.command.word } });
  }
}

/** Who asked for work hears how it stands, also when none came of it. */
async function answering(thread: number, ask: () => Promise<Intake>): Promise<Intake> {
  try {
    const intake = await ask();
    return intake.kind === 'end' && intake.answer === null ? { ...intake, answer: { thread, text: { kind: 'status' } } } : intake;
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
      return giveOrder(run, null, { kind: command.order, by: actor, from: 'dispatch', at: run.clock.now() });
    default:
      return tellStatus(run, null, null);
  }
}

/** Leaves the order for the lane's next run; a store that takes none is told the state as if it had been obeyed. Throws a UserError when it cannot be kept. */
async function giveOrder(run: GateRun, issue: number | null, given: OrderGiven): Promise<Intake> {
  const { config, store, clock } = run;
  if (config.stateStore === 'none') throw notKept(given, 'state-store is "none", so nothing is kept from run to run');
  const lane = await laneIdOf(run, issue);
  const ordered = await store.order(lane, given);
  if (ordered.kind === 'not-kept') throw notKept(given, ordered.why);
  if (ordered.kind === 'unsupported') {
    const { state } = await restoreState({ lane, expected: false, run });
    const sequence = state.sequence + 1;
    const obeyed = applyOrders({ ...state, sequence, savedAt: clock.now() }, [{ ...given, number: given.at }]);
    const saved = await store.save({ lane, sequence, document: serializeState(obeyed), sessionFolder: null });
    if (saved.kind === 'not-saved') throw notKept(given, saved.why);
  }
  run.log.info(`order: ${given.kind} of lane ${lane} by ${given.by}, kept`);
  return tellStatus(run, issue, null);
}

function notKept({ kind }: OrderGiven, why: string): UserError {
  return new UserError('infrastructure', `The order "${kind.replace('-', ' ')}" could not be kept: ${why}. Nothing was changed.`);
}

async function laneIdOf(run: GateRun, issue: number | null): Promise<LaneId> {
  if (issue === null) return QUEUE;
  const { branchPrefix } = run.config;
  const own = issueLane(issue);
  return (await run.remote.branches(branchPrefix))[branchPrefix + own] === undefined ? QUEUE : own;
}

/** How the lane stands, as an answer to who asked. An issue without a branch of its own belongs to the queue, as `issue: null` does. */
async function tellStatus(run: GateRun, issue: number | null, answer: Answer | null): Promise<Intake> {
  const { config, forge } = run;
  const branches = await run.remote.branches(config.branchPrefix);
  const hasOwnLane = issue !== null && branches[config.branchPrefix + issueLane(issue)] !== undefined;
  const id = hasOwnLane ? issueLane(issue) : QUEUE;
  const branch = config.branchPrefix + id;
  const restored = await restoreState({ lane: id, expected: false, run });
  run.log.info(`state: ${restored.note}`);
  const { tasks } = tasksOfIssues(await forge.openIssuesWithLabel(config.taskLabel));
  return {
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer,
    lane: { id, branch, baseBranch: await baseBranch(run), start: { kind: 'fresh' }, pullRequest: await forge.pullRequestOf(branch) },
    tasks: hasOwnLane ? tasks.filter((task) => task.id === id) : withoutOwnLane(tasks, config, branches),
    state: restored.state,
    notes: { restored: restored.note, warnings: restored.warnings, working: restored.workedOnBy },
  };
}

/** The lane that a comment's thread belongs to; `issue: null` is the queue. */
async function laneOfThread(run: GateRun, thread: Thread): Promise<{ readonly kind: 'lane'; readonly issue: number | null } | { readonly kind: 'none'; readonly why: string }> {
  if (!thread.isPullRequest) return { kind: 'lane', issue: thread.number };
  const { branchPrefix } = run.config;
  const head = await run.forge.pullRequestHead(thread.number);
  if (head === null || head.fromFork) return { kind: 'none', why: 'This pull request comes from a fork. Ralph works on branches of this repository only.' };
  const lane = head.branch.startsWith(branchPrefix) ? head.branch.slice(branchPrefix.length) : '';
  const issue = /^issue-(\d{1,15})$/.exec(lane)?.[1];
  if (lane === QUEUE) return { kind: 'lane', issue: null };
  if (issue !== undefined) return { kind: 'lane', issue: Number(issue) };
  return { kind: 'none', why: `This pull request is not one of Ralph's: its branch does not begin with ${branchPrefix}.` };
}

async function workIssue(run: GateRun, number: number): Promise<Intake> {
  const { taskLabel } = run.config;
  const issue = await run.forge.issue(number);
  const refused = (why: string): Intake => ({ ...endIntake({ kind: 'idle', reason: 'no_tasks' }), answer: { thread: number, text: { kind: 'refusal', why } } });
  if (issue === null) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  if (issue.isPullRequest) return refused('This is a pull request, not an issue.');
  if (issue.state === 'closed') return refused('This issue is closed. Reopen it, then label it again.');
  if (!issue.labels.some((label) => label.toLowerCase() === taskLabel.toLowerCase())) return refused(`This issue does not have the label "${taskLabel}". Add it, and the work begins.`);
  const { tasks, removed } = tasksOfIssues([issue]);
  return admit(run, { id: issueLane(number), tasks, removed, requested: 'by-name' });
}

async function workQueue(run: GateRun): Promise<Intake> {
  const issues = await run.forge.openIssuesWithLabel(run.config.taskLabel);
  if (issues.length === 0) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  const { tasks, removed } = tasksOfIssues(issues);
  return admit(run, { id: QUEUE, tasks, removed, requested: 'by-queue' });
}

async function mayCommand(run: GateRun, login: string): Promise<boolean> {
  return ['admin', 'maintain', 'write'].includes(await run.forge.permissionOf(login));
}

function notAllowed(login: string, what: string): Outcome {
  return { kind: 'refused', reason: 'not_allowed', message: `${login} may not ${what}: that takes write permission to this repository.` };
}
