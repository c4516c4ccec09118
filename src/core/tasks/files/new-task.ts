import type { TaskProblem } from './file-task.ts';
import type { TaskProgress } from '../task.ts';
import type { TaskId } from '../ids.ts';
import type { PriorityWord } from '../priority.ts';

/** A task that a person wants in a file. */
export interface NewTask {
  /** One line. */
  readonly title: string;
  /** Empty: there is none. */
  readonly body: string;
  /** Null: wherever such a task goes. */
  readonly priority: PriorityWord | null;
  readonly optional: boolean;
}

/** What came of adding it: the file's new text with the task's place, or why the text stays as it is. */
export type AddedTask =
  | { readonly kind: 'added'; readonly text: string; readonly id: TaskId; readonly line: number }
  | { readonly kind: 'there'; readonly id: TaskId; readonly line: number; readonly state: TaskProgress['state'] }
  | { readonly kind: 'refused'; readonly problem: TaskProblem };
