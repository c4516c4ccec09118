import { findBeadsFile, parseBeads } from './beads.ts';
import { parsePlan } from './plan.ts';
import { parsePrd } from './prd.ts';
import {
  type FileTask,
  PRD_ARCHIVE_PATH,
  taskFilePaths,
  type TaskProblem,
  withoutOtherJson,
  formatPosition,
} from './form/root-plan.ts';
import type { FileSource } from '../ids.ts';
import { cleanTitle } from '../../text/clean.ts';
import { NORMAL_PRIORITY } from '../priority.ts';
import type { Task } from '../task.ts';

/** The result of parsing task files. */
export interface ParsedTasks {
  readonly tasks: readonly FileTask[];
  readonly problems: readonly TaskProblem[];
}

/**
 * Parses the tasks of the given files (path → text; the archive next to a prd lists done ones): required ones first, by
 * priority, in the order of `sources` and of the file. `optionalSections` are prefixes of plan headings whose items are
 * optional. Other files are ignored. Never throws.
 */
export function parseTaskFiles(
  files: Readonly<Record<string, string>>,
  sources: readonly FileSource[],
  optionalSections: readonly string[],
): ParsedTasks {
  const counting = withoutOtherJson(files);
  const parsed = sources.map((source) => parseTaskSource(counting, source, optionalSections));
  return {
    tasks: parsed
      .flatMap(({ tasks }) => tasks)
      .sort(({ task: a }, { task: b }) => Number(a.optional) - Number(b.optional) || a.priority - b.priority),
    problems: parsed.flatMap(({ problems }) => problems),
  };
}

/**
 * Works like `parseTaskFiles`, followed by the archived entries, so that they do not count as gone. Problems of an
 * archive are reported when it is written.
 */
export function parseTaskFilesAndArchive(
  files: Readonly<Record<string, string>>,
  sources: readonly FileSource[],
  optionalSections: readonly string[],
): ParsedTasks {
  const { tasks, problems } = parseTaskFiles(files, sources, optionalSections);
  const archive = sources.includes('prd') ? files[PRD_ARCHIVE_PATH] : undefined;
  if (archive === undefined) return { tasks, problems };
  const listed = new Set(tasks.map(({ task }) => task.id));
  return {
    tasks: [...tasks, ...parsePrd(PRD_ARCHIVE_PATH, archive).tasks.filter(({ task }) => !listed.has(task.id))],
    problems,
  };
}

/**
 * Returns the file with a source's tasks among all paths. Only the first one is used, so that an old copy next to it
 * does not bring tasks back.
 */
export function fileOfSource(paths: readonly string[], source: FileSource): string | undefined {
  return source === 'beads' ? findBeadsFile(paths) : taskFilePaths[source].find((path) => paths.includes(path));
}

const nothing: ParsedTasks = { tasks: [], problems: [] };

function parseTaskSource(
  files: Readonly<Record<string, string>>,
  source: FileSource,
  optionalSections: readonly string[],
): ParsedTasks {
  if (source === 'beads') return parseBeads(files);
  const path = fileOfSource(Object.keys(files), source);
  if (path === undefined) return nothing;
  return source === 'plan'
    ? parsePlan(path, files[path] ?? '', optionalSections)
    : parsePrd(path, files[path] ?? '', files[PRD_ARCHIVE_PATH] ?? null);
}

/**
 * Returns a placeholder task for each source whose file hides tasks. It cannot be worked on, and nothing is complete
 * while it exists.
 */
export function createUnreadableTasks(
  problems: readonly TaskProblem[],
  sources: readonly FileSource[],
): readonly Task[] {
  return sources.flatMap((source) => {
    const problem = problems.find(
      ({ file, hidesTasks }) => hidesTasks === true && fileOfSource([file], source) === file,
    );
    return problem === undefined ? [] : [unreadableTask(source, problem)];
  });
}

function unreadableTask(source: FileSource, problem: TaskProblem): Task {
  const { file: path, line } = problem;
  return {
    id: `${source}-unreadable`,
    title: cleanTitle(`${formatPosition(problem)} cannot be read`).text,
    body: '',
    source: unreadableSourceOf(source, path, line),
    comments: [],
    priority: NORMAL_PRIORITY,
    dependsOn: [],
    optional: false,
    obstacle: 'unreadable',
  };
}

function unreadableSourceOf(source: FileSource, path: string, line: number | null): Task['source'] {
  if (source === 'plan') return { kind: source, path, line: line ?? 1 };
  return source === 'prd' ? { kind: source, path, key: path, issue: null } : { kind: source, path, key: path };
}
