import { cleanTitle } from '../../text/clean.ts';
import { formatPosition, type TaskProblem } from './form/root-plan.ts';
import { fileOfSource } from './files.ts';
import { NORMAL_PRIORITY } from '../priority.ts';
import type { Task } from '../task.ts';
import type { FileSource } from '../ids.ts';

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
