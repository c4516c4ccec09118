import { toRootProblem, toRootTask } from '../../core/folder.ts';
import { findNamedDocuments, listPromptFiles, createPromptTask } from '../../core/open-ended/prompt-task.ts';
import { joinNames, formatMoreLine, toOneLine } from '../../core/text/phrase.ts';
import {
  ROOT_PLAN_NEIGHBOURS,
  type FileTask,
  formatPosition,
  PRD_ARCHIVE_PATH,
  ROOT_PLAN,
  taskFilePaths,
  type TaskProblem,
  withoutOtherPlan,
} from '../../core/tasks/files/form/root-plan.ts';
import { isFileSource, type FileSource } from '../../core/tasks/ids.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { FileTexts } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';

/** The task files in the checkout as the job made it. */
export interface BaseFiles {
  readonly sources: readonly FileSource[];
  readonly base: FileTexts;
  /** The reasons why other files of the checkout are not read, by path. */
  readonly unread: FileTexts;
}

/**
 * The contents of the files: those of the base, those of the lane's branch, and those of the commit at which the lane
 * left the base. The latter two are null unless the lane continues. `problems` are sentences.
 */
export interface ReadFiles {
  readonly base: readonly FileTask[];
  readonly lane: { readonly now: readonly FileTask[]; readonly fork: readonly FileTask[] } | null;
  /** Placeholders for tasks of base files that cannot be read, or not completely. */
  readonly unreadable: readonly Task[];
  readonly problems: readonly string[];
}

/** Maximum number of problems reported. */
const MAX_PROBLEMS = 20;
/** Maximum number of tasks that a warning names for one file. */
const MAX_NAMED = 5;

/** Finds the task files in the checkout, or returns null if none. Reads only the local disk. */
export async function findTaskFiles({
  config,
  repository,
}: Pick<GateDeps, 'config' | 'repository'>): Promise<BaseFiles | null> {
  const sources = config.taskSources.filter(isFileSource);
  if (sources.length === 0) return null;
  const found = await repository.readTexts(
    [...sources.flatMap((source) => taskFilePaths[source]), ...archivesOf(sources)],
    null,
  );
  const mayBeOther = Object.hasOwn(found.base, ROOT_PLAN) || Object.hasOwn(found.unread, ROOT_PLAN);
  const beside = mayBeOther ? await repository.namesOf(ROOT_PLAN_NEIGHBOURS) : [];
  const [base, unread] = [withoutOtherPlan(found.base, beside), withoutOtherPlan(found.unread, beside)];
  const hasTasks = [...Object.keys(base), ...Object.keys(unread)].some((path) => path !== PRD_ARCHIVE_PATH);
  return hasTasks ? { sources, base, unread } : null;
}

/** Reads the tasks. `lane` is the branch with the current documents, or null if the base has all of them. */
export async function readTasks(
  { repository, config: { optionalSections, workingDirectory } }: Pick<GateDeps, 'repository' | 'config'>,
  { sources, base, unread }: BaseFiles,
  lane: { readonly branch: string; readonly head: string } | null,
): Promise<ReadFiles> {
  // Load the parsers only here, because a run without such files does not need them.
  const { createUnreadableTasks, fileOfSource, parseTaskFiles, parseTaskFilesAndArchive } =
    await import('../../core/tasks/files/files.ts');
  const ofBase = parseTaskFiles(base, sources, optionalSections);
  const counting = new Set(
    sources.map((source) => fileOfSource([...Object.keys(base), ...Object.keys(unread)], source)),
  );
  const ofUnread = Object.entries(unread).map(([file, why]): TaskProblem => ({
    file,
    line: null,
    column: null,
    message: `${why}, and none of its tasks are read`,
    ...(counting.has(file) ? { hidesTasks: true } : {}),
  }));
  const problems = [...ofUnread, ...ofBase.problems];
  const unreadable = createUnreadableTasks(problems, sources);
  // Nobody asked for tasks in a file that only the agent added, so ignore such a file.
  const texts =
    lane === null
      ? null
      : await repository.readTexts([...new Set([...Object.keys(base), ...archivesOf(sources)])], lane);
  const ofLane = texts?.lane == null ? null : parseTaskFilesAndArchive(texts.lane, sources, optionalSections);
  const sentence = (problem: TaskProblem): string => sentenceOf(toRootProblem(workingDirectory, problem));
  const placed = (item: FileTask): FileTask => ({ ...item, task: toRootTask(workingDirectory, item.task) });
  const sentences = problems.map(sentence);
  const ofBranch = (ofLane?.problems ?? [])
    .map(sentence)
    .filter((text) => !sentences.includes(text))
    .map((text) => `On ${lane?.branch ?? ''}: ${text}`);
  // While a file is broken, it is unknown which tasks people removed from it, so treat none as removed.
  const isReadable = ({ task }: FileTask): boolean =>
    !unreadable.some(({ source }) => source.kind === task.source.kind);
  const fork = parseTaskFilesAndArchive(texts?.fork ?? {}, sources, optionalSections).tasks.filter(isReadable);
  return {
    base: ofBase.tasks.map(placed),
    lane: ofLane === null ? null : { now: ofLane.tasks.map(placed), fork: fork.map(placed) },
    unreadable: unreadable.map((task) => toRootTask(workingDirectory, task)),
    problems: firstProblems([...sentences, ...ofBranch]),
  };
}

function archivesOf(sources: readonly FileSource[]): readonly string[] {
  return sources.includes('prd') ? [PRD_ARCHIVE_PATH] : [];
}

/**
 * Returns warnings about tasks that were merged without a mark: a person must say in the file whether they are done or
 * should be repeated.
 */
export function warnOfUnmarkedTasks(progress: LaneState['tasks'], tasks: readonly FileTask[]): readonly string[] {
  const open = tasks.flatMap(({ task: { id, title, source } }) =>
    getProgress(progress, id).unmarked === true && isFileSource(source.kind) && 'path' in source
      ? [{ title, ...source }]
      : [],
  );
  return [...Map.groupBy(open, ({ path }) => path)].map(([path, items]) => {
    const isOne = items.length === 1;
    const [theirs, it] = isOne ? ['its', 'it'] : ['their', 'them'];
    const [box, mark, name] = items[0]?.kind === 'plan' ? ['box', 'tick', 'title'] : ['entry', 'close', 'id'];
    const names = joinNames(
      items.map(({ title }) => JSON.stringify(toOneLine(title, 60))),
      MAX_NAMED,
    );
    return `${names} ${isOne ? 'is' : 'are'} done and merged, but ${theirs} ${box} in ${path} is still open: ${mark} ${it}, or give ${it} a new ${name} to have ${it} done again.`;
  });
}

/** Renders a problem with its position: `.ralph/prd.json:3:7 …`. */
function sentenceOf(problem: TaskProblem): string {
  return `${formatPosition(problem)} ${problem.message}`;
}

function firstProblems(problems: readonly string[]): readonly string[] {
  const more = formatMoreLine(problems.length - MAX_PROBLEMS).map((line) => `${line} problems in task files.`);
  return [...problems.slice(0, MAX_PROBLEMS), ...more];
}

/** Returns the user's prompt as a task, from the checkout as the job made it, or null if there is no prompt. */
export async function findPrompt({
  config: { promptFile, workingDirectory },
  repository,
  sha256,
}: Pick<GateDeps, 'config' | 'repository' | 'sha256'>): Promise<Task | null> {
  const { base } = await repository.readTexts(listPromptFiles(promptFile), null);
  const named = findNamedDocuments(base, promptFile);
  const documents = named.length === 0 ? {} : (await repository.readTexts(named, null)).base;
  const task = createPromptTask({ ...documents, ...base }, { promptFile, sha256 });
  return task === null ? null : toRootTask(workingDirectory, task);
}
