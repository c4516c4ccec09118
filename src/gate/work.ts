import {
  describeLayout,
  describeUnusedRootFiles,
  FIRST_PATHS,
  FURTHER_PATHS,
  ROOT_PATHS,
  SPECS_PATTERNS,
} from '../core/layouts/found-files.ts';
import { identifyLayout } from '../core/layouts/layouts.ts';
import type { Outcome } from '../core/outcome.ts';
import { warnOfMissingLabel } from '../core/people/labels.ts';
import { isDashboardText } from '../core/dashboard/boxes.ts';
import { PIPELINE_FILES } from '../core/pipeline/pipeline.ts';
import { type ListedQueue, toQueuedEntry } from '../core/snapshot/dashboard-record.ts';
import { mayServeOtherLanes } from '../core/sharing/elsewhere.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { type IssueText, tasksOfIssues } from '../core/tasks/issue-task.ts';
import { isListedTask, nameOfTask } from '../core/tasks/task.ts';
import { getErrorText, UserError } from '../errors.ts';
import { endIntake, type GateResult, type Intake, gateResultOfLane } from '../handover/intake.ts';
import type { Issue } from '../ports/forge.ts';
import { refuseCommand } from './command/answering.ts';
import type { GateDeps } from './deps.ts';
import type { Preview } from './lane/admit.ts';
import { admitQueue, admitUrgent, admitWork, previewLanes } from './lane/side-by-side.ts';
import { examineWaiting, type ExaminedWaiting, NOTHING_EXAMINED } from './lane/waiting-pulls.ts';
import { type BaseFiles, findPrompt, findTaskFiles } from './tasks/file-tasks.ts';
import { isTaskIssue, type ListedIssues, listTaskIssues, explainNoTask } from './tasks/queued-issues.ts';
import { TASKS_PURPOSE, createOwnRequest, type RunPurpose, type WorkRequest } from './tasks/sources.ts';

/**
 * An issue that a person asks for now. `approvedText` is its text when they added the label, or null if the event does
 * not contain it.
 */
interface AskedIssue {
  readonly number: number;
  /** True if finished work is repeated, which only a run's first attempt does. */
  readonly redo: boolean;
  readonly approvedText: IssueText | null;
  /** True if the person asks by a command, which tries a known limit. */
  readonly triesLimits: boolean;
}

const FOR_WAITING: RunPurpose = { kind: 'answers', failedOn: null, of: 'waiting' };

/**
 * Starts work on every eligible task of the queue. `asked`: a person asks for it now; `byHand`: a person started the
 * run.
 */
export async function startQueueWork(
  deps: GateDeps,
  by: Pick<WorkRequest, 'asked' | 'byHand' | 'purpose'>,
): Promise<Intake> {
  return (await startQueueWorkOnLanes({ ...deps, config: { ...deps.config, parallel: 1 } }, by)).intake;
}

/** Starts work on the queue like `startQueueWork`, on up to `parallel` lanes in parallel. */
export async function startQueueWorkOnLanes(
  deps: GateDeps,
  by: Pick<WorkRequest, 'asked' | 'byHand' | 'purpose'>,
): Promise<GateResult> {
  const listed = await listTaskIssues(deps);
  const request = await queueRequest(deps, by, listed);
  const issues = listed.kind === 'listed' ? tasksOfIssues(listed.issues).map(toQueuedEntry) : [];
  const part: ListedQueue = { tasks: issues, isWhole: false };
  const examined: GateResult[] = [];
  const admit = async (own: GateDeps, asked: WorkRequest): Promise<Intake> => {
    const result = await admitUrgent(own, asked, request);
    examined.push(result);
    return result.intake;
  };
  const examine = (): Promise<ExaminedWaiting> => examineWaitingOfQueue(deps, by, { listed, request, admit });
  const workOn = (found: Intake): GateResult => {
    const work = { ...found, notes: { ...found.notes, queue: part } };
    return { ...(examined.at(-1) ?? gateResultOfLane(deps, work)), intake: work };
  };
  const first = by.asked ? NOTHING_EXAMINED : await examine();
  if (first.work !== null) return workOn(first.work);
  const admitted =
    request === null
      ? gateResultOfLane(deps, await withUnusedPrompt(deps, endIntake(await outcomeWithoutTasks(deps))))
      : await admitQueue(deps, { ...request, update: first.updatesQueue });
  const own = admitted.intake;
  const isOver = own.kind === 'end' && mayServeOtherLanes(own.outcome);
  // A person who asks for the queue gets it first, and hears why it cannot continue.
  const isIdle = own.kind === 'end' && own.outcome.kind === 'idle' && own.outcome.reason !== 'waiting_for_review';
  const waiting = by.asked && isIdle && isOver ? await examine() : first;
  if (waiting.work !== null) return workOn(waiting.work);
  const { train } = waiting;
  const isWhole = own.lane?.id === QUEUE && own.tasks.length > 0;
  const queue = isWhole ? { tasks: own.tasks.filter(isListedTask).map(toQueuedEntry), isWhole } : part;
  const closed = listed.kind === 'closed' && own.kind === 'end' ? [listed.error.message] : [];
  const isUnlisted = listed.kind === 'listed' && listed.issues.length === 0 && by.purpose.kind === 'tasks';
  // Other tasks are worked on without the label, so a person who renamed it would wait for the issues in vain.
  const missing = request !== null && isUnlisted ? await explainMissingLabel(deps) : null;
  const named = [...waiting.warnings, ...closed, ...(missing === null ? [] : [missing])];
  const notes = { ...own.notes, train, queue, warnings: [...own.notes.warnings, ...named] };
  if (!isOver) return { ...admitted, intake: { ...own, notes } };
  if (waiting.problem !== null && !by.asked) throw waiting.problem;
  return waiting.unnotified === null || by.asked
    ? gateResultOfLane(deps, { ...own, notes })
    : gateResultOfLane(deps, { ...waiting.unnotified, notes: { ...waiting.unnotified.notes, train, queue } });
}

/** Examines waiting pull requests, which come before new tasks, unless a person asks for the queue by name. */
async function examineWaitingOfQueue(
  deps: GateDeps,
  { asked, purpose, byHand }: Pick<WorkRequest, 'asked' | 'byHand' | 'purpose'>,
  found: Pick<Parameters<typeof examineWaiting>[1], 'admit'> & {
    readonly listed: ListedIssues;
    readonly request: WorkRequest | null;
  },
): Promise<ExaminedWaiting> {
  const { listed, request, admit } = found;
  if (purpose.kind !== 'tasks') return NOTHING_EXAMINED;
  // Without a task, the queue has no request yet, so make one without issues, files and prompt.
  const none = { issues: [], files: null, prompt: null };
  const queue = request === null ? requestWith(deps, { asked, byHand, purpose: FOR_WAITING }, none) : null;
  const issues = listed.kind === 'listed' ? listed.issues : [];
  return examineWaiting(deps, { issues, request: () => Promise.resolve(queue), admit });
}

/** Takes up the first open pull request that needs work, and nothing else: without one, no new task begins. */
export async function startWaitingPull(deps: GateDeps): Promise<ExaminedWaiting> {
  const by = { asked: false, byHand: false, purpose: FOR_WAITING };
  const request = async (): Promise<WorkRequest | null> => queueRequest(deps, by, await listTaskIssues(deps));
  return examineWaiting(deps, { issues: [], request, admit: admitWork });
}

async function outcomeWithoutTasks(deps: GateDeps): Promise<Outcome> {
  const message = await explainMissingLabel(deps);
  return message === null ? { kind: 'idle', reason: 'no_tasks' } : { kind: 'idle', reason: 'no_such_label', message };
}

/** Explains that the repository lacks the task label; returns null if the label exists or that is unknown. */
async function explainMissingLabel({ config, forge }: GateDeps): Promise<string | null> {
  if (!config.taskSources.includes('issues') || config.issueQuery !== null) return null;
  try {
    return warnOfMissingLabel(config.taskLabel, await forge.labelNames());
  } catch {
    return null;
  }
}

/** Returns the decision of a queue run that a person would start now. Claims, reserves and opens nothing. */
export async function previewQueue(deps: GateDeps): Promise<Preview> {
  const by = { asked: false, byHand: true, purpose: TASKS_PURPOSE };
  const request = await queueRequest(deps, by, await listTaskIssues(deps));
  return request === null
    ? { kind: 'end', intake: await withUnusedPrompt(deps, endIntake({ kind: 'idle', reason: 'no_tasks' })) }
    : previewLanes(deps, request);
}

async function queueRequest(
  deps: GateDeps,
  { asked, byHand, purpose }: Pick<WorkRequest, 'asked' | 'byHand' | 'purpose'>,
  listed: ListedIssues,
): Promise<WorkRequest | null> {
  const issues = listed.kind === 'listed' ? listed.issues : [];
  const files = await taskFilesBeside(deps, issues);
  const prompt = deps.config.taskSources.includes('prompt') ? await findPrompt(deps) : null;
  // Do not fail without issues if there can still be tasks in files or in a prompt.
  if (listed.kind === 'closed' && files === null && prompt === null) throw listed.error;
  // Answer feedback on the queue's pull request even if no task is left.
  if (purpose.kind === 'tasks' && issues.length === 0 && files === null && prompt === null) {
    await needCheckout(deps);
    return null;
  }
  return requestWith(deps, { asked, byHand, purpose }, { issues, files, prompt });
}

function requestWith(
  { context }: Pick<GateDeps, 'context'>,
  { asked, byHand, purpose }: Pick<WorkRequest, 'asked' | 'byHand' | 'purpose'>,
  tasks: Pick<WorkRequest, 'issues' | 'files' | 'prompt'>,
): WorkRequest {
  // Running a job again is not a second request, so later attempts do not repeat finished work.
  const again = asked && context.runAttempt === 1;
  const request = { ...tasks, promptAgain: again, approvedText: null, triesLimits: true };
  return { id: QUEUE, requested: 'by-queue', purpose, asked, byHand, redo: false, update: false, ...request };
}

/** Adds a warning that says how to enable the prompt if it is the only possible work. */
async function withUnusedPrompt(
  deps: GateDeps,
  end: ReturnType<typeof endIntake>,
): Promise<ReturnType<typeof endIntake>> {
  if (deps.config.taskSources.includes('prompt')) return end;
  const prompt = await findPrompt(deps).catch(() => null);
  if (prompt === null) return end;
  const unused = `${nameOfTask(prompt)} has no task list. To work on what it asks for, add \`prompt\` to \`task-sources\`.`;
  return { ...end, notes: { ...end.notes, warnings: [...end.notes.warnings, unused] } };
}

/**
 * Requires a checkout, without which no task of a file is found. If there are no other sources, throws a UserError,
 * otherwise warns.
 */
async function needCheckout({ config, repository, log }: GateDeps): Promise<void> {
  const missing = config.taskSources.every((source) => source === 'issues') ? null : await repository.missing();
  if (missing === null) return;
  if (!config.taskSources.includes('issues')) throw new UserError('configuration', missing);
  log.warning(missing);
}

/**
 * Finds task files. If the checkout cannot be read, warns and returns null, so that the issues are worked on; throws if
 * there are no issues.
 */
async function taskFilesBeside(deps: GateDeps, issues: readonly Issue[]): Promise<BaseFiles | null> {
  try {
    return await findTaskFiles(deps);
  } catch (error) {
    if (!(error instanceof UserError) || issues.length === 0) throw error;
    deps.log.warning(error.message);
    return null;
  }
}

/** Starts work on one issue, on its own lane. */
export async function startIssueWork(deps: GateDeps, asked: AskedIssue): Promise<Intake> {
  const { number, redo, approvedText, triesLimits } = asked;
  const issue = await deps.forge.issue(number);
  const refused = (why: string): Intake => refuseCommand(deps, number, why);
  if (issue === null) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  if (issue.isPullRequest) return refused('This is a pull request, not an issue.');
  if (isDashboardText(issue.body)) return refused('This is the dashboard, which is never a task.');
  if (issue.state === 'closed') return refused('This issue is closed. Reopen it, then label it again.');
  if (!(await isTaskIssue(deps, issue)))
    return refused(`This issue ${explainNoTask(deps.config)}. Add the label to start the work.`);
  return admitWork(deps, {
    ...createOwnRequest(issue, TASKS_PURPOSE),
    ...{ requested: 'by-name', byHand: true, approvedText, triesLimits },
    asked: deps.context.runAttempt === 1,
    redo: redo && deps.context.runAttempt === 1,
  });
}

/**
 * Lists files and settings of other Ralphs, one line each, for log and summary; empty if none. Never throws,
 * because an unreadable file must not keep a run from working.
 */
export async function detectOtherRalphs(
  deps: Pick<GateDeps, 'config' | 'repository' | 'log'>,
): Promise<readonly string[]> {
  const { config, repository, log } = deps;
  const lines = [...config.settings.lines];
  try {
    const { promptFile, taskSources, workingDirectory: folder } = config;
    const found = await repository.readTexts([...new Set([...FIRST_PATHS, promptFile])], null);
    const there = [...Object.keys(found.base), ...Object.keys(found.unread)];
    const links = Object.keys(found.links);
    const layout = identifyLayout([...there, ...links]);
    if (layout !== null || links.length > 0) {
      const specs = layout === null ? null : await repository.readTexts(SPECS_PATTERNS, null);
      const further = layout === null ? [] : await repository.namesOf(FURTHER_PATHS);
      const paths = [...there, ...Object.keys(specs?.base ?? {}), ...Object.keys(specs?.unread ?? {}), ...further];
      const steps = await stepsIn(found.base);
      lines.unshift(
        ...describeLayout(layout, { paths, links, texts: found.base, steps, promptFile, taskSources, folder }),
      );
    }
    if (folder !== '') lines.push(...describeUnusedRootFiles(await repository.namesAtRoot(ROOT_PATHS), folder));
  } catch (error) {
    // Ignore mistakes in the configuration, because the gate reports them when it looks for tasks.
    if (!(error instanceof UserError && error.kind === 'configuration'))
      log.warning(`The search for files of other Ralphs failed: ${getErrorText(error)}`);
  }
  for (const line of lines) log.info(`found: ${line}`);
  return lines;
}

/** Returns the number of steps in each pipeline file. Loads parsers only if there is one. */
async function stepsIn(texts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, number | null>>> {
  if (!PIPELINE_FILES.some((file) => Object.hasOwn(texts, file))) return {};
  const { countStepsByFile: stepCounts } = await import('../core/pipeline/reading/file-data.ts');
  return stepCounts(texts);
}
