import type { Config } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state.ts';
import { namesOf } from '../../core/tasks/dependencies.ts';
import { fileProgress, mergeFileTasks, stillUnmarked } from '../../core/tasks/files/living-files.ts';
import { inOrderOfWork, progressOf, withinReach } from '../../core/tasks/queue.ts';
import { type Approval, issueOfTask, nameOfTask, type Task } from '../../core/tasks/task.ts';
import type { Issue } from '../../ports/forge.ts';
import type { LaneStart } from '../../ports/repository.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { readComments } from '../people/comments.ts';
import { readTasks, warnOfUnmarked, type BaseFiles } from './file-tasks.ts';
import { judgeTasks, type JudgedTasks } from './judge.ts';
import { taskIdOfIssue, type TaskId } from '../../core/tasks/ids.ts';
import { hashOfText, obstacleByLabel, tasksOfIssues, withText, type CleanedTask, type IssueText } from './tasks.ts';

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
export async function findTasks(run: GateDeps, request: Request, lane: LaneNow): Promise<JudgedTasks> {
  const { requested, files, approvedText } = request;
  const issues = issuesOfLane(request, run.config, lane.branches);
  const isByName = requested === 'by-name';
  const read =
    files === null
      ? null
      : await readTasks(
          run,
          files,
          lane.start?.kind === 'continue' ? { branch: lane.branch, head: lane.start.remoteHead } : null,
        );
  const merged = read === null ? [] : mergeFileTasks(read.base, read.lane, lane.state.tasks);
  if (read !== null && read.problems.length > 0 && merged.length + issues.length === 0)
    throw nothingReadable(read.problems);
  const unreadable = read?.unreadable ?? [];
  const beginsAnew = lane.start?.kind !== 'continue';
  const unmarked = stillUnmarked(lane.state.unmarked, lane.state.tasks, {
    tasks: merged,
    areWhole: unreadable.length === 0,
  });
  const tasks = fileProgress(lane.state.tasks, merged, { beginsAnew, unmarked });
  const candidates = {
    issues,
    fileTasks: [...merged.map(({ task }) => task), ...unreadable],
    sources: isByName ? (['issues'] as const) : run.config.taskSources,
    isByName,
    approvedText,
  };
  const judged = await judgeTasks(run, candidates, { ...lane.state, tasks, unmarked });
  return {
    ...judged,
    warnings: [...(read?.problems ?? []), ...(beginsAnew ? warnOfUnmarked(unmarked, merged) : []), ...judged.warnings],
  };
}

/** The lane's tasks as they are listed, for people: nobody is asked who approved them or what they wait for. */
export async function listTasks(
  run: GateDeps,
  request: Pick<Request, 'requested' | 'issues' | 'files'>,
  lane: Pick<LaneNow, 'branches' | 'state'>,
): Promise<{ readonly tasks: readonly Task[]; readonly state: LaneState }> {
  const { base, unreadable } =
    request.files === null ? { base: [], unreadable: [] } : await readTasks(run, request.files, null);
  const issues = tasksOfIssues(issuesOfLane(request, run.config, lane.branches)).map((task) => ({
    ...task,
    obstacle: obstacleByLabel(task),
  }));
  const tasks = fileProgress(lane.state.tasks, base, { beginsAnew: false, unmarked: lane.state.unmarked });
  return {
    tasks: inOrderOfWork([...issues, ...base.map(({ task }) => task), ...unreadable]),
    state: { ...lane.state, tasks },
  };
}

/** An issue that has its own lane is worked there, or it would be done twice. */
export function issuesOfLane(
  { requested, issues }: Pick<Request, 'requested' | 'issues'>,
  { branchPrefix }: Pick<Config, 'branchPrefix'>,
  branches: LaneNow['branches'],
): readonly Issue[] {
  return requested === 'by-name'
    ? issues
    : issues.filter(({ number }) => branches[branchPrefix + taskIdOfIssue(number)] === undefined);
}

/** Tasks that are fit for a prompt, and the state that knows who approved them. */
export interface PreparedTasks {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly warnings: readonly string[];
}

/** Gives the open tasks that are approved their texts and comments: this run may get to any of them, since what it expects to work on may fail, or be another lane's by then. */
export async function prepareTasks(
  run: GateDeps,
  { tasks, state, approved }: Pick<JudgedTasks, 'tasks' | 'state' | 'approved'>,
): Promise<PreparedTasks> {
  const isOpen = (id: TaskId): boolean => ['todo', 'in-progress'].includes(progressOf(state.tasks, id).state);
  // Likeliest first.
  const workable = new Set([
    ...withinReach(tasks, state.tasks, run.config.policy.maxIterations),
    ...tasks.map(({ id }) => id).filter((id) => approved.has(id) && isOpen(id)),
  ]);
  const wanted = [...workable]
    .flatMap((id) => approved.get(id) ?? [])
    .map(({ issue, at }) => ({ number: issue.number, until: at }));
  const comments = await readComments(run, wanted);
  let unseen = 0;
  const cleaned: CleanedTask[] = [];
  const prepared: Task[] = [];
  for (const task of tasks) {
    const consented = workable.has(task.id) ? approved.get(task.id) : undefined;
    if (consented === undefined) prepared.push(task);
    else {
      const said = comments.get(consented.issue.number);
      const clean = await withText(task, consented.text, said?.comments ?? []);
      unseen += clean.unseen + (said?.unseen ?? 0);
      cleaned.push(clean);
      prepared.push(clean.task);
    }
  }
  const warnings = [
    ...(unseen === 0
      ? []
      : [`${String(unseen)} characters that a reader of the issues does not see were removed from the tasks' texts.`]),
    ...warnOfTexts(cleaned),
  ];
  return {
    tasks: prepared,
    state: { ...remember(state, { tasks, approved, workable }), currentTask: currentOf(state, tasks) },
    warnings,
  };
}

/** Texts of which the agent does not get everything that people see, or that give it nothing at all. */
function warnOfTexts(cleaned: readonly CleanedTask[]): readonly string[] {
  const long = cleaned.filter(({ cut }) => cut > 0);
  const [text, is, its] = long.length === 1 ? ['text', 'is', 'its end is'] : ['texts', 'are', 'their ends are'];
  const left = long.reduce((sum, { cut }) => sum + cut, 0).toLocaleString('en-US');
  const empty = cleaned.filter(({ isEmpty }) => isEmpty);
  const names = (some: readonly CleanedTask[]): string => namesOf(some.map(({ task }) => nameOfTask(task)));
  return [
    ...(long.length === 0
      ? []
      : [`The ${text} of ${names(long)} ${is} longer than 20,000 characters: ${its} left out (${left} characters).`]),
    ...(empty.length === 0
      ? []
      : [`A reader sees nothing of title and text of ${names(empty)}: the agent is told the number alone.`]),
  ];
}

/** Consent to what may be worked now, and to what was settled before anybody kept it; of issues that nobody knows any more it goes. */
function remember(
  state: LaneState,
  {
    tasks,
    approved,
    workable,
  }: {
    readonly tasks: readonly Task[];
    readonly approved: JudgedTasks['approved'];
    readonly workable: ReadonlySet<TaskId>;
  },
): LaneState {
  const known = new Set([
    ...tasks.filter((task) => issueOfTask(task) !== null).map(({ id }) => id),
    ...Object.keys(state.tasks),
  ]);
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

function nothingReadable(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `No task can be read:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}
