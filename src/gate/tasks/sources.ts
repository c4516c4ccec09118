import type { Config } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { Consent, Grant } from '../../core/people/consent.ts';
import { selectPromptTask } from '../../core/open-ended/prompt-task.ts';
import {
  type AdmissionAnswer,
  type AdmissionQuestion,
  decideAdmissionStep,
  beginAdmission,
  type Candidates,
  type JudgedTasks,
  applyAdmissionAnswer,
} from '../../core/tasks/admission.ts';
import { mergeFileProgress, mergeFileTasks } from '../../core/tasks/files/merge-file-tasks.ts';
import { reopenTasksDueInRun, isIssueTask, toIssueLane, type TaskId, taskIdOfIssue } from '../../core/tasks/ids.ts';
import { type IssueText, findLabelObstacle, type TaskIssue, tasksOfIssues } from '../../core/tasks/issue-task.ts';
import type { JudgedCandidates, PreparedTasks } from '../../core/tasks/preparation.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { TextDependencies } from '../../core/tasks/text-dependencies.ts';
import { mayNameDependency } from '../../core/tasks/waiting.ts';
import { sortByPriority, getProgress } from '../../core/tasks/queue.ts';
import { UserError } from '../../errors.ts';
import type { Dependency, Issue } from '../../ports/forge.ts';
import type { LaneStart } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';
import { countAskedAccounts, hashOfText, judgeIssues, readComments } from '../people/trust.ts';
import { type BaseFiles, readTasks, warnOfUnmarkedTasks } from './file-tasks.ts';

/**
 * A request for work on a lane. `by-name`: a person named this issue now. `by-itself`: nobody did, and its own lane
 * continues because the queue has nothing to do.
 */
export interface WorkRequest {
  readonly id: string;
  readonly requested: 'by-name' | 'by-queue' | 'by-itself';
  readonly purpose: RunPurpose;
  /** True if a person asks for it now, by a label or a command. */
  readonly asked: boolean;
  /** True if a person started this run; entries that an earlier Ralph failed are then tried again. */
  readonly byHand: boolean;
  /** True if finished work is repeated. */
  readonly redo: boolean;
  readonly issues: readonly Issue[];
  /** The text of the one issue when its label was just added, or null if it is unknown. */
  readonly approvedText: IssueText | null;
  /** False for a label: it tries no limit that an earlier call has met. */
  readonly triesLimits: boolean;
  /** The task files; null if none, or the lane does not work on them. */
  readonly files: BaseFiles | null;
  /** The user's prompt as a task; null if none, or the lane does not work on it. */
  readonly prompt: Task | null;
  /** True if the base branch is merged into the lane, because a rule requires its pull request to be up to date. */
  readonly update: boolean;
  /** True if a person asks for the prompt now, even if it is done. */
  readonly promptAgain: boolean;
}

/**
 * The purpose of a run. `answers`: the run works only if there is something to answer. `failedOn` is the commit on
 * which a check failed, or null if no check did. `of` says whether an event named the pull request (`person`: one by a
 * person), or the run found it among those that wait (for an issue that is still a task, or for a finished one).
 */
export type RunPurpose =
  | { readonly kind: 'tasks' }
  /** One call that only reads, for a proposal of sub-tasks that this person asked for. */
  | { readonly kind: 'proposal'; readonly by: string }
  | {
      readonly kind: 'answers';
      readonly failedOn: string | null;
      readonly of: 'event' | 'person' | 'waiting' | 'waiting-finished';
    };

export const TASKS_PURPOSE: RunPurpose = { kind: 'tasks' };

/** Returns the request to work on an issue's own lane when nobody asked for the issue by name. */
export function createOwnRequest(issue: Issue, purpose: RunPurpose): WorkRequest {
  return {
    id: toIssueLane(issue.number),
    requested: 'by-itself',
    purpose,
    asked: false,
    byHand: false,
    redo: false,
    update: false,
    issues: [issue],
    files: null,
    prompt: null,
    promptAgain: false,
    approvedText: null,
    triesLimits: true,
  };
}

/** A lane as it is now. `start` is null while it is unknown, which is never the case with task files. */
interface LaneNow {
  readonly branch: string;
  readonly branches: Readonly<Record<string, string>>;
  readonly start: LaneStart | null;
  readonly state: LaneState;
  /** Consents that people gave by approving proposals, by issue. */
  readonly grants: ReadonlyMap<number, Grant>;
}

/**
 * Finds the tasks that a lane has now: issues and files merged, consent and dependencies judged. Throws a UserError if
 * there are only files and none can be read.
 */
export async function findTasks(deps: GateDeps, request: WorkRequest, lane: LaneNow): Promise<JudgedTasks> {
  const { requested, files, approvedText } = request;
  const issues = issuesOfLane(request, deps.config, lane.branches);
  const isByName = requested !== 'by-queue';
  const read =
    files === null
      ? null
      : await readTasks(
          deps,
          files,
          lane.start?.kind === 'continue' ? { branch: lane.branch, head: lane.start.remoteHead } : null,
        );
  const merged = read === null ? [] : mergeFileTasks(read.base, read.lane, lane.state.tasks);
  if (read !== null && read.problems.length > 0 && merged.length + issues.length === 0)
    throw nothingReadable(read.problems);
  const unreadable = read?.unreadable ?? [];
  const beginsAgain = lane.start?.kind !== 'continue';
  const { retriesAll, tasks: known } = lane.state;
  const allFilesRead = unreadable.length === 0;
  // Without files, keep the state as it is, so that a person's request stays open until the files exist again.
  const state: LaneState =
    read === null
      ? lane.state
      : {
          ...lane.state,
          tasks: mergeFileProgress(known, merged, { beginsAgain, retriesAll, byHand: request.byHand, allFilesRead }),
          retriesAll: false,
        };
  const candidates = {
    issues,
    fileTasks: [
      ...merged.map(({ task }) => task),
      ...unreadable,
      ...(issues.length > 0
        ? []
        : selectPromptTask(request.prompt, [...unreadable, ...merged.map(({ task }) => task)])),
    ],
    sources: isByName ? (['issues'] as const) : deps.config.taskSources,
    isByName,
    approvedText,
  };
  const judged = await judgeTasks(deps, candidates, { state, grants: lane.grants, purpose: request.purpose });
  return {
    ...judged,
    warnings: [
      ...(read?.problems ?? []),
      ...(beginsAgain ? warnOfUnmarkedTasks(state.tasks, merged) : []),
      ...judged.warnings,
    ],
  };
}

/** Lists the lane's tasks for people, without looking up approvals or dependencies. */
export async function listTasks(
  deps: GateDeps,
  request: Pick<WorkRequest, 'requested' | 'issues' | 'files' | 'prompt'>,
  lane: Pick<LaneNow, 'branches' | 'state'>,
): Promise<{ readonly tasks: readonly Task[]; readonly state: LaneState }> {
  const { base, unreadable } =
    request.files === null ? { base: [], unreadable: [] } : await readTasks(deps, request.files, null);
  const issues = tasksOfIssues(issuesOfLane(request, deps.config, lane.branches)).map((task) => ({
    ...task,
    obstacle: findLabelObstacle(task),
  }));
  const tasks = mergeFileProgress(lane.state.tasks, base, {
    beginsAgain: false,
    retriesAll: lane.state.retriesAll,
    byHand: false,
    allFilesRead: unreadable.length === 0,
  });
  const listed = [...issues, ...base.map(({ task }) => task), ...unreadable];
  return {
    tasks: sortByPriority([...listed, ...selectPromptTask(request.prompt, listed)]),
    state: { ...lane.state, tasks },
  };
}

/** Returns the issues of a lane. Leaves out an issue with its own lane, which would otherwise be done twice. */
export function issuesOfLane(
  { requested, issues }: Pick<WorkRequest, 'requested' | 'issues'>,
  { branchPrefix }: Pick<Config, 'branchPrefix'>,
  branches: LaneNow['branches'],
): readonly Issue[] {
  return requested === 'by-queue'
    ? issues.filter(({ number }) => branches[branchPrefix + taskIdOfIssue(number)] === undefined)
    : issues;
}

/** Returns the issues that have their own branch. */
export function listIssuesWithBranch(
  branches: LaneNow['branches'],
  { branchPrefix }: Pick<Config, 'branchPrefix'>,
): readonly TaskId[] {
  return Object.keys(branches)
    .map((branch) => branch.slice(branchPrefix.length))
    .filter(isIssueTask);
}

/** Prepares the open, approved tasks for a prompt. */
export async function prepareOpenTasks(deps: GateDeps, judged: JudgedCandidates): Promise<PreparedTasks> {
  // Load this only here: it includes a Markdown parser, which a run without work does not need.
  const rules = await import('../../core/tasks/preparation.ts');
  const { policy } = deps.config;
  const state = { ...judged.state, tasks: reopenTasksDueInRun(judged.state.tasks, policy, deps.clock.now()) };
  const workable = rules.listWorkableIssues({ ...judged, state }, policy.maxIterations);
  const comments = await readComments(
    deps,
    workable.map(({ number, at }) => ({ number, until: at })),
  );
  return rules.prepareTasks(judged, workable, comments, (text) => hashOfText(text, deps.sha256));
}

function nothingReadable(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `No task can be read:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}

/** Judges as many issues as this run can get to. Looks up what the rules need until they know enough. */
async function judgeTasks(deps: GateDeps, candidates: Candidates, known: Known): Promise<JudgedTasks> {
  const { taskLabel, policy } = deps.config;
  const { state, purpose } = known;
  const begun = beginAdmission(candidates, state, { taskLabel, maxIterations: policy.maxIterations });
  // The person who asks for a proposal of this text consents to its being read, so the issue's labels do not matter.
  const given: Consent | null =
    purpose.kind === 'proposal' ? { kind: 'given', by: purpose.by, at: deps.clock.now() } : null;
  let admission =
    given === null ? begun : { ...begun, consents: new Map(candidates.issues.map((one) => [one.number, given])) };
  for (;;) {
    const step = decideAdmissionStep(admission);
    if (step.kind === 'judged') return step.judged;
    admission = applyAdmissionAnswer(admission, await ask(deps, step, known));
  }
}

/** The known facts about a lane before its tasks are judged. */
type Known = Pick<LaneNow, 'state' | 'grants'> & Pick<WorkRequest, 'purpose'>;

async function ask(
  deps: GateDeps,
  question: AdmissionQuestion,
  { state: { tasks }, grants }: Known,
): Promise<AdmissionAnswer> {
  switch (question.kind) {
    case 'consents': {
      const found = await judgeIssues(deps, question.of, {
        tasks,
        isFinished: (id) => getProgress(tasks, id).state === 'done',
        grants,
      });
      return { ...question, found, peopleAsked: countAskedAccounts(deps.forge), now: deps.clock.now() };
    }
    case 'texts':
      return { ...question, found: await parseIssueTexts(deps, question.of) };
    case 'dependencies': {
      const found = new Map<number, readonly Dependency[]>();
      for (const number of question.of) found.set(number, await deps.forge.dependenciesOf(number));
      return { ...question, found };
    }
    case 'states':
      return { ...question, found: await deps.forge.statesOf(question.of) };
  }
}

async function parseIssueTexts(
  { context }: Pick<GateDeps, 'context'>,
  issues: readonly TaskIssue[],
): Promise<ReadonlyMap<number, TextDependencies>> {
  const waiting = issues.filter(({ body }) => mayNameDependency(body));
  if (waiting.length === 0) return new Map();
  // Load this only here: it includes a Markdown parser, which most queues do not need.
  const { dependenciesOfText } = await import('../../core/tasks/text-dependencies.ts');
  const { owner, repo } = context.repository;
  return new Map(waiting.map(({ number, body }) => [number, dependenciesOfText(body, `${owner}/${repo}`)]));
}
