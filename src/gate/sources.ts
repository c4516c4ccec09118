import type { Config } from '../config/config.ts';
import type { LaneState } from '../core/state.ts';
import { fileProgress, mergeFileTasks } from '../core/tasks/living-files.ts';
import { inOrderOfWork, progressOf, withinReach } from '../core/tasks/queue.ts';
import { issueOfTask, taskIdOfIssue, type Approval, type Task, type TaskId } from '../core/tasks/task.ts';
import type { Issue } from '../ports/forge.ts';
import type { LaneStart } from '../ports/repository.ts';
import { UserError } from '../user-error.ts';
import type { GateRun } from './gate-run.ts';
import { readComments } from './comments.ts';
import { readTasks, type BaseFiles } from './file-tasks.ts';
import { judgeTasks, type JudgedTasks } from './judge.ts';
import { hashOfText, holdByLabel, tasksOfIssues, withText, type IssueText } from './tasks.ts';

/** Work that is asked for; `by-name` means that a person named this very issue now. */
export interface Request {
  readonly id: string;
  readonly requested: 'by-name' | 'by-queue';
  /** What is done is to be done again. */
  readonly redo: boolean;
  readonly issues: readonly Issue[];
  /** Text of the one issue when its label was put on just now; null: not known. */
  readonly approvedText: IssueText | null;
  /** null: there are no files of tasks, or the lane does not work on them. */
  readonly files: BaseFiles | null;
}

/** A lane as it is now. `start`: null while it is not known, which it is where there are files. */
export interface LaneNow {
  readonly branch: string;
  readonly branches: Readonly<Record<string, string>>;
  readonly start: LaneStart | null;
  readonly state: LaneState;
}

/** The tasks that a lane has now: issues and files merged, consent and dependencies judged. Throws a UserError when files are all there is and none can be read. */
export async function findTasks(run: GateRun, request: Request, lane: LaneNow): Promise<JudgedTasks> {
  const { requested, files, approvedText } = request;
  const issues = issuesOfLane(request, run.config, lane.branches);
  const isByName = requested === 'by-name';
  const read = files === null ? null : await readTasks(run, files, lane.start?.kind === 'continue' ? { branch: lane.branch, head: lane.start.remoteHead } : null);
  const merged = read === null ? [] : mergeFileTasks(read.base, read.lane, lane.state.tasks);
  if (read !== null && read.problems.length > 0 && merged.length + issues.length === 0) throw unreadable(read.problems);
  const tasks = fileProgress(lane.state.tasks, merged, { beginsAnew: lane.start?.kind !== 'continue' });
  const candidates = { issues, fileTasks: merged.map(({ task }) => task), sources: isByName ? (['issues'] as const) : run.config.taskSources, isByName, approvedText };
  const judged = await judgeTasks(run, candidates, { ...lane.state, tasks });
  return { ...judged, warnings: [...(read?.problems ?? []), ...judged.warnings] };
}

/** The lane's tasks as they are listed, for people: nobody is asked who approved them or what they wait for. */
export async function listTasks(run: GateRun, request: Pick<Request, 'requested' | 'issues' | 'files'>, lane: Pick<LaneNow, 'branches' | 'state'>): Promise<{ readonly tasks: readonly Task[]; readonly state: LaneState }> {
  const base = request.files === null ? [] : (await readTasks(run, request.files, null)).base;
  const issues = tasksOfIssues(issuesOfLane(request, run.config, lane.branches)).map((task) => ({ ...task, hold: holdByLabel(task) }));
  const tasks = fileProgress(lane.state.tasks, base, { beginsAnew: false });
  return { tasks: inOrderOfWork([...issues, ...base.map(({ task }) => task)]), state: { ...lane.state, tasks } };
}

/** An issue that has its own lane is worked there, or it would be done twice. */
export function issuesOfLane({ requested, issues }: Pick<Request, 'requested' | 'issues'>, { branchPrefix }: Pick<Config, 'branchPrefix'>, branches: LaneNow['branches']): readonly Issue[] {
  return requested === 'by-name' ? issues : issues.filter(({ number }) => branches[branchPrefix + taskIdOfIssue(number)] === undefined);
}

/** Tasks that are fit for a prompt, and the state that knows who approved them. */
export interface PreparedTasks {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly warnings: readonly string[];
}

/** Gives the open tasks that are approved their texts and comments: this run may get to any of them, since what it expects to work on may fail, or be another lane's by then. */
export async function prepareTasks(run: GateRun, { requested, approvedText }: Pick<Request, 'requested' | 'approvedText'>, { tasks, state, approved }: Pick<JudgedTasks, 'tasks' | 'state' | 'approved'>): Promise<PreparedTasks> {
  const isOpen = (id: TaskId): boolean => ['todo', 'in-progress'].includes(progressOf(state.tasks, id).state);
  // Likeliest first.
  const workable = new Set([...withinReach(tasks, state.tasks, run.config.policy.maxIterations), ...tasks.map(({ id }) => id).filter((id) => approved.has(id) && isOpen(id))]);
  const saidUntil = requested === 'by-name' && approvedText === null ? run.clock.now() : 0;
  const wanted = [...workable].flatMap((id) => approved.get(id) ?? []).map(({ issue, at }) => ({ number: issue.number, until: Math.max(at, saidUntil) }));
  const comments = await readComments(run, wanted);
  let removed = 0;
  const prepared: Task[] = [];
  for (const task of tasks) {
    const consented = workable.has(task.id) ? approved.get(task.id) : undefined;
    if (consented === undefined) prepared.push(task);
    else {
      const said = comments.get(consented.issue.number);
      const clean = await withText(task, consented.text, said?.comments ?? []);
      removed += clean.removed + (said?.removed ?? 0);
      prepared.push(clean.task);
    }
  }
  const warnings = removed === 0 ? [] : [`${String(removed)} characters that a reader of the issues does not see were removed from the tasks' texts.`];
  return { tasks: prepared, state: { ...remember(state, { tasks, approved, workable }), currentTask: currentOf(state, tasks) }, warnings };
}

/** Consent to what may be worked now, and to what was settled before anybody kept it; of issues that nobody knows any more it goes. */
function remember(state: LaneState, { tasks, approved, workable }: { readonly tasks: readonly Task[]; readonly approved: JudgedTasks['approved']; readonly workable: ReadonlySet<TaskId> }): LaneState {
  const known = new Set([...tasks.filter((task) => issueOfTask(task) !== null).map(({ id }) => id), ...Object.keys(state.tasks)]);
  const kept = Object.entries(state.approvals).filter(([id]) => known.has(id));
  const given = [...approved]
    .filter(([id]) => workable.has(id) || (Object.hasOwn(state.tasks, id) && !Object.hasOwn(state.approvals, id)))
    .map(([id, { text, by, at }]): [TaskId, Approval] => [id, { text: hashOfText(text), by, at }]);
  return { ...state, approvals: Object.fromEntries([...kept, ...given]) };
}

/** A task that was closed, deleted or unlabelled meanwhile is nobody's current one. */
function currentOf({ currentTask }: LaneState, tasks: readonly Task[]): TaskId | null {
  return tasks.some(({ id }) => id === currentTask) ? currentTask : null;
}

function unreadable(problems: readonly string[]): UserError {
  return new UserError('configuration', `No task can be read:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
}
