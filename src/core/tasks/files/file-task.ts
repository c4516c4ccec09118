import type { FileSource } from '../task-sources.ts';
import type { Task, TaskProgress } from '../task.ts';
import { ROOT_PLAN } from './form/root-plan.ts';

/** Where the files of a source are, relative to the checkout, first choice first; `*` stands for any name. The last plan counts only beside what `isRootPlan` asks for. Kept apart from the parsers, which a run without such files does not load. */
export const taskFilePaths: Readonly<Record<FileSource, readonly string[]>> = {
  plan: ['.ralph/fix_plan.md', '.ralph/@fix_plan.md', '@fix_plan.md', ROOT_PLAN],
  prd: ['.ralph/prd.json', 'scripts/ralph/prd.json', 'prd.json'],
  beads: ['.beads/*.jsonl'],
};

/** Where done entries of `.ralph/prd.json` go. Those of snarktank/ralph stay in their file, which it archives itself, as a whole. */
export const PRD_ARCHIVE_PATH = '.ralph/prd_archive.json';

/** A task as its file has it; `state` is what the file says. */
export interface FileTask {
  readonly task: Task;
  readonly state: TaskProgress['state'];
}

/** What a person should correct in a file of tasks. Line and column from 1; null: of the file as a whole. */
export interface TaskProblem {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  /** Open tasks may stand there that nobody can read, so that nothing is known to be complete. */
  readonly hidesTasks?: true;
}

/** `.ralph/prd.json:3:7`, as far as the position is known. */
export function positionOf({ file, line, column }: TaskProblem): string {
  return [file, line, line === null ? null : column].filter((part) => part !== null).join(':');
}
