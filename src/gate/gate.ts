import { z } from 'zod';
import type { Config, RunContext } from '../config/config.ts';
import { nextStep, startRun } from '../core/decide.ts';
import type { Outcome } from '../core/outcome.ts';
import { isPlanComplete, nextTask } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Clock, Forge, Log, Remote, Repository, StateStore } from '../ports.ts';
import { UserError } from '../user-error.ts';
import type { Answer, Intake, Lane, Notes } from './intake.ts';
import { readIntent, type Intent, type Thread } from './intent.ts';
import { reopenProgress, restoreState, type RestoredLane } from './restore.ts';
import { findStart } from './start.ts';
import { tasksOfIssues } from './tasks.ts';

/** What the gate needs of the world. */
export interface GateRun {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly repository: Repository;
  readonly remote: Remote;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Event → Intake: who asked for what, which tasks are admitted, whether this run may work, on which branch. Spends no agent call. */
export async function gate(run: GateRun): Promise<Intake> {
  const intent = readIntent(run.context.event, run.config.taskLabel);
  switch (intent.kind) {
    case 'not-for-us':
      run.log.info(`Nothing to do: ${intent.why}`);
      return end({ kind: 'idle', reason: 'not_for_us' });
    case 'work-queue':
      return workQueue(run);
    case 'work-issue':
      return workLabeledIssue(run, intent);
    case 'command':
      return obey(run, intent);
  }
}

/** Shows on the issue where work begins that it does. Comes last before the first call, and throws UserError when the token may not write to issues. */
export async function acknowledge(forge: Forge, { tasks, state }: Extract<Intake, { kind: 'work' }>): Promise<void> {
  const task = nextTask(tasks, state.tasks, state.currentTask);
  if (task !== null) await forge.react({ kind: 'issue', number: task.source.number }, 'eyes');
}

async function workLabeledIssue(run: GateRun, intent: Extract<Intent, { kind: 'work-issue' }>): Promise<Intake> {
  if (!(await mayCommand(run, intent.actor))) {
    return end(notAllowed(intent.actor, `label an issue "${run.config.taskLabel}" for Ralph`));
  }
  return answering(intent.issue, () => workIssue(run, intent.issue));
}

async function obey(run: GateRun, intent: Extract<Intent, { kind: 'command' }>): Promise<Intake> {
  const { forge } = run;
  const comment = { kind: 'comment', id: intent.commentId } as const;
  if (!(await mayCommand(run, intent.actor))) {
    await forge.react(comment, '-1');
    return end(notAllowed(intent.actor, 'command Ralph'));
  }
  await forge.react(comment, 'eyes');
  const thread = intent.thread.number;
  const lane = await laneOfThread(run, intent.thread);
  if (lane.kind === 'none') return { ...end({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why: lane.why } } };
  switch (intent.command.kind) {
    case 'run': {
      const { issue } = lane;
      return answering(thread, () => (issue === null ? workQueue(run) : workIssue(run, issue)));
    }
    case 'status':
      return tellStatus(run, lane.issue, { thread, text: { kind: 'status' } });
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
    return { ...end({ kind: 'failed', reason: error.kind, message: error.message }), answer: { thread, text: { kind: 'refusal', why: error.message } } };
  }
}

/** An answer, with how the lane stands. An issue without a branch of its own belongs to the queue, as `issue: null` does. */
async function tellStatus(run: GateRun, issue: number | null, answer: Answer): Promise<Intake> {
  const { config, forge } = run;
  const branches = await run.remote.branches(config.branchPrefix);
  const hasOwnLane = issue !== null && branches[`${config.branchPrefix}issue-${String(issue)}`] !== undefined;
  const id = hasOwnLane ? `issue-${String(issue)}` : 'queue';
  const branch = config.branchPrefix + id;
  const restored = await restoreState({ lane: id, expected: false, config, store: run.store, now: run.clock.now() });
  const { tasks } = tasksOfIssues(await forge.openIssuesWithLabel(config.taskLabel));
  return {
    ...end({ kind: 'idle', reason: 'answered' }),
    answer,
    lane: { id, branch, baseBranch: await baseBranch(run), start: { kind: 'fresh' }, pullRequest: await forge.pullRequestOf(branch) },
    tasks: hasOwnLane ? tasks.filter((task) => task.id === id) : withoutOwnLane(tasks, config, branches),
    state: restored.state,
    notes: { restored: restored.note, warnings: restored.warnings },
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
  if (lane === 'queue') return { kind: 'lane', issue: null };
  if (issue !== undefined) return { kind: 'lane', issue: Number(issue) };
  return { kind: 'none', why: `This pull request is not one of Ralph's: its branch does not begin with ${branchPrefix}.` };
}

async function workIssue(run: GateRun, number: number): Promise<Intake> {
  const { taskLabel } = run.config;
  const issue = await run.forge.issue(number);
  const refused = (why: string): Intake => ({ ...end({ kind: 'idle', reason: 'no_tasks' }), answer: { thread: number, text: { kind: 'refusal', why } } });
  if (issue === null) return end({ kind: 'idle', reason: 'no_tasks' });
  if (issue.isPullRequest) return refused('This is a pull request, not an issue.');
  if (issue.state === 'closed') return refused('This issue is closed. Reopen it, then label it again.');
  if (!issue.labels.some((label) => label.toLowerCase() === taskLabel.toLowerCase())) return refused(`This issue does not have the label "${taskLabel}". Add it, and the work begins.`);
  const { tasks, removed } = tasksOfIssues([issue]);
  return admit(run, { id: `issue-${String(number)}`, tasks, removed, requested: 'by-name' });
}

async function workQueue(run: GateRun): Promise<Intake> {
  const issues = await run.forge.openIssuesWithLabel(run.config.taskLabel);
  if (issues.length === 0) return end({ kind: 'idle', reason: 'no_tasks' });
  const { tasks, removed } = tasksOfIssues(issues);
  return admit(run, { id: 'queue', tasks, removed, requested: 'by-queue' });
}

/** Work that is asked for; `by-name` means that a person named this very issue now. */
interface Request {
  readonly id: string;
  readonly tasks: readonly Task[];
  readonly removed: number;
  readonly requested: 'by-name' | 'by-queue';
}

async function admit(run: GateRun, request: Request): Promise<Intake> {
  const { config, clock, log } = run;
  const branch = config.branchPrefix + request.id;
  const branches = await run.remote.branches(config.branchPrefix);
  const remoteHead = branches[branch] ?? null;

  const tasks = request.requested === 'by-name' ? request.tasks : withoutOwnLane(request.tasks, config, branches);
  if (tasks.length === 0) return end({ kind: 'idle', reason: 'no_tasks' });

  const restored = await restoreState({ lane: request.id, expected: remoteHead !== null, config, store: run.store, now: clock.now() });
  const warnings = [...restored.warnings, ...(request.removed > 0 ? [`${String(request.removed)} characters that a reader of the issues does not see were removed from the tasks' texts.`] : [])];
  log.info(`state: ${restored.note}`);
  const notes: Notes = { restored: restored.note, warnings };

  if (request.requested === 'by-queue' && isPublished(restored, remoteHead) && isPlanComplete(tasks, restored.state.tasks)) {
    return { ...end({ kind: 'idle', reason: 'all_done' }), tasks, state: restored.state, notes };
  }

  const base = await baseBranch(run);
  const found = await findStart({ forge: run.forge, branch, remoteHead, lastHead: restored.state.lastRun?.published?.head ?? null });
  const lane: Lane = { id: request.id, branch, baseBranch: base, start: found.start, pullRequest: found.pullRequest };
  const state = reopenProgress(restored.state, { tasks, workIsLost: found.workIsLost, requested: request.requested });
  if (found.closedBy !== null && request.requested === 'by-queue') {
    return { ...end({ kind: 'paused', reason: 'by_person', by: found.closedBy }), lane, tasks, state, notes };
  }

  // Everything was done and merged, but the issues are still open: nothing is left to publish either.
  if (found.start.kind !== 'continue' && isPlanComplete(tasks, state.tasks)) return { ...end({ kind: 'idle', reason: 'all_done' }), lane, tasks, state, notes };

  const step = nextStep({ state, tasks, run: startRun(state, clock.now()), policy: config.policy, now: clock.now() });
  if (step.kind === 'stop' && step.outcome.kind !== 'complete') return { ...end(step.outcome), lane, tasks, state, notes };

  await checkBeforeSpending(run, { base, branch });
  const opened = await run.repository.openLane(lane);
  if (found.pullRequest === null) await run.forge.checkMayOpenPullRequests(base);
  else await run.forge.checkMayUpdatePullRequest(found.pullRequest.number);
  return { kind: 'work', lane, opened, sessionFolder: restored.sessionFolder, tasks, state, notes };
}

/** Throws one UserError with everything at hand that would make this run's work impossible or its result unpublishable. */
async function checkBeforeSpending(run: GateRun, lane: { readonly base: string; readonly branch: string }): Promise<void> {
  const [found, pushObstacle] = await Promise.all([run.repository.problems(), run.remote.pushObstacle()]);
  const problems = [...found];
  if (!run.context.hasProviderKey) {
    problems.push('There is no key for the agent: ANTHROPIC_API_KEY and CLAUDE_CODE_OAUTH_TOKEN are both empty. Add a repository secret and pass it in the step, for example `env: { ANTHROPIC_API_KEY: "${{ secrets.ANTHROPIC_API_KEY }}" }`.');
  }
  if (lane.branch === lane.base) problems.push(`The lane's branch "${lane.branch}" is the base branch. Set another \`branch-prefix\` or \`base-branch\`.`);
  if (pushObstacle !== null) problems.push(pushObstacle);
  if (problems.length > 0) throw new UserError('configuration', `The run cannot work:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
}

/** An issue that has its own lane is worked there, or it would be done twice. */
function withoutOwnLane(tasks: readonly Task[], { branchPrefix }: Config, branches: Readonly<Record<string, string>>): readonly Task[] {
  return tasks.filter((task) => branches[branchPrefix + task.id] === undefined);
}

/** Whether what the state says of the tasks is what the remote branch holds. */
function isPublished(restored: RestoredLane, remoteHead: string | null): boolean {
  const head = restored.state.lastRun?.published?.head ?? null;
  return head !== null && head === remoteHead;
}

async function mayCommand(run: GateRun, login: string): Promise<boolean> {
  return ['admin', 'maintain', 'write'].includes(await run.forge.permissionOf(login));
}

function notAllowed(login: string, what: string): Outcome {
  return { kind: 'refused', reason: 'not_allowed', message: `${login} may not ${what}: that takes write permission to this repository.` };
}

const defaultBranchOfEvent = z.object({ repository: z.object({ default_branch: z.string().min(1) }) });

async function baseBranch(run: GateRun): Promise<string> {
  if (run.config.baseBranch !== null) return run.config.baseBranch;
  const event = defaultBranchOfEvent.safeParse(run.context.event.payload);
  return event.success ? event.data.repository.default_branch : run.forge.defaultBranch();
}

function end(outcome: Outcome): Extract<Intake, { kind: 'end' }> {
  return { kind: 'end', outcome, lane: null, tasks: [], state: null, answer: null, notes: { restored: 'not needed', warnings: [] } };
}
