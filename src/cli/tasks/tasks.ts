import { stat } from 'node:fs/promises';
import { taskSources } from '../../config/inputs.ts';
import { taskFilePaths, type FileTask, type TaskProblem } from '../../core/tasks/files/file-task.ts';
import { DEFAULT_SOURCES } from '../defaults.ts';
import { parseArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { plainLine } from '../plain-line.ts';
import { readTasks } from './read-tasks.ts';
import type { TasksReport } from './tasks-schema.ts';
import { renderTasks } from './tasks-text.ts';

const HELP = `Usage: ralph tasks [--dir FOLDER] [--task-sources LIST] [--json]

Lists the tasks that a run finds in the files of a checkout, in the order in which it would work them, and what is
wrong with these files: required tasks before optional ones, then by priority (1 is highest), then as they stand; no
task before what it waits for, and last those that wait for themselves or for what does not exist. Issues are on
GitHub and not listed.

  --dir FOLDER         the checkout; the current folder when absent
  --task-sources LIST  which files, as the action's input: plan (${taskFilePaths.plan.join(', ')}),
                       prd (${taskFilePaths.prd.join()}), beads (${taskFilePaths.beads.join()}); ${DEFAULT_SOURCES} when absent
  --json               prints one JSON object instead; its shape is schemas/ralph-tasks.schema.json

Exit codes: 0 the list is printed, problems or not; 2 no such folder or wrong arguments.
`;

/** `ralph tasks`: the tasks found in a checkout. */
export const tasksCommand: Command = {
  name: 'tasks',
  summary: 'the tasks found in a checkout, in the order of work',
  use: 'daily',
  help: HELP,
  run: listTasks,
};

async function listTasks(args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { dir: 'value', 'task-sources': 'value', json: 'flag' },
    { name: 'FOLDER', min: 0, max: 0 },
  );
  const [folder = '.'] = given.values('dir');
  const [list = DEFAULT_SOURCES] = given.values('task-sources');
  const sources = taskSources.safeParse(list);
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const misused = [
    ...given.problems,
    ...(isFolder ? [] : [`--dir: ${JSON.stringify(plainLine(folder))} is no folder.`]),
    ...(sources.success
      ? []
      : [
          ...new Set(
            sources.error.issues.map(({ message }) => `--task-sources: ${JSON.stringify(plainLine(list))} ${message}.`),
          ),
        ]),
  ];
  if (misused.length > 0 || !sources.success) throw new UsageError(misused);

  const files = sources.data.filter((source) => source !== 'issues');
  const { tasks, problems } = await readTasks(folder, files);
  const all = [...problems.map(problemRow), ...(sources.data.includes('issues') ? [offline] : [])];
  if (given.has('json'))
    terminal.out(`${JSON.stringify({ tasks: tasks.map(rowOf), problems: all } satisfies TasksReport, null, 2)}\n`);
  else
    terminal.out(
      renderTasks(
        tasks,
        all,
        files.flatMap((source) => taskFilePaths[source]),
      ),
    );
  return 'done';
}

const offline = {
  file: 'issues',
  line: null,
  message: 'needs a token: issues are on GitHub, where only a run reads them',
};

function rowOf({ task, state }: FileTask): TasksReport['tasks'][number] {
  const { id, title, source, priority, optional, dependsOn } = task;
  return { id, title, source: source.kind, state, priority, optional, dependsOn: [...dependsOn] };
}

function problemRow({ file, line, column, message }: TaskProblem): TasksReport['problems'][number] {
  return { file, line, message: column === null ? message : `column ${column}: ${message}` };
}
