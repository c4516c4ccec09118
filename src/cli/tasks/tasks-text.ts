import { renderSettings, type EffectiveSetting } from '../../core/settings/effective.ts';
import type { FileTask } from '../../core/tasks/files/file-task.ts';
import { nameOfTask } from '../../core/tasks/task.ts';
import { plainLine } from '../plain-line.ts';
import type { TasksReport } from './tasks-schema.ts';
import { isIssueTask, keyOfEntry, nameOfTaskId, type TaskId } from '../../core/tasks/ids.ts';
import { firstNames } from '../../core/text/lists.ts';

const MAX_NAMED = 3;

/** Tasks, problems and the settings that somebody set, as a person reads them: a line each. */
export function renderTasks(
  tasks: readonly FileTask[],
  {
    problems,
    looked,
    settings,
  }: {
    readonly problems: TasksReport['problems'];
    readonly looked: readonly string[];
    readonly settings: readonly EffectiveSetting[];
  },
): string {
  const problemLines = problems.map(
    ({ file, line, message }) =>
      `  ${plainLine(line === null ? file : `${file}:${line}`)}: ${plainLine(message, 400)}\n`,
  );
  const heading =
    tasks.length === 0 ? `No tasks found in ${looked.join(', ') || 'any file'}.\n` : `${summary(tasks)}\n\n`;
  const settingLines = renderSettings(settings).map((line) => `  ${plainLine(line, 400)}\n`);
  return [
    heading,
    ...renderRows(tasks),
    ...(problemLines.length === 0 ? [] : ['\nProblems:\n', ...problemLines]),
    ...(settingLines.length === 0 ? [] : ['\nSettings:\n', ...settingLines]),
  ].join('');
}

function summary(tasks: readonly FileTask[]): string {
  const open = tasks.filter(({ state }) => state !== 'done');
  const optional = open.filter(({ task }) => task.optional).length;
  return `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}: ${tasks.length - open.length} done, ${open.length} open${optional === 0 ? '' : ` (${optional} of them optional)`}`;
}

function renderRows(tasks: readonly FileTask[]): readonly string[] {
  const open = new Map(
    tasks.filter(({ state }) => state !== 'done').map(({ task }) => [task.id, plainLine(nameOfTask(task))]),
  );
  const known = new Set(tasks.map(({ task }) => task.id));
  const rows = tasks.map(({ task, state }) => {
    const waits =
      state === 'done'
        ? []
        : task.dependsOn.flatMap((id) => open.get(id) ?? (known.has(id) ? [] : plainLine(nameOfMissing(id))));
    const notes = [
      ...(task.optional ? ['optional'] : []),
      ...(waits.length === 0 ? [] : [`waits for ${firstNames(waits, MAX_NAMED)}`]),
    ];
    return [
      state,
      String(task.priority),
      plainLine(task.id),
      plainLine(nameOfTask(task)),
      `${plainLine(task.title, 100)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
    ];
  });
  const all = [['state', 'priority', 'id', 'where', 'title'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)));
  return tasks.length === 0
    ? []
    : all.map(
        (cells) =>
          `  ${cells
            .map((cell, column) => cell.padEnd(widths[column] ?? 0))
            .join('  ')
            .trimEnd()}\n`,
      );
}

/** What a file calls a task that it does not have; an issue is on GitHub. */
function nameOfMissing(id: TaskId): string {
  return isIssueTask(id) ? nameOfTaskId(id) : `${keyOfEntry(id)}, which does not exist`;
}
