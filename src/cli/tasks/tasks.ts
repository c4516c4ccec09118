import { readdir, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { taskSources } from '../../config/inputs.ts';
import { PRD_ARCHIVE_PATH, taskFilePaths, type FileTask, type TaskProblem } from '../../core/tasks/files/file-task.ts';
import type { FileSource } from '../../core/tasks/task-sources.ts';
import { parseArguments } from '../arguments.ts';
import { readCheckoutFile } from '../checkout-file.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { plainLine } from '../plain-line.ts';
import type { TasksReport } from './tasks-schema.ts';
import { renderTasks } from './tasks-text.ts';

/** The default of action.yml, which is not at hand where this command runs; a test compares the two. */
export const DEFAULT_SOURCES = 'issues,plan,prd';

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

/** Tasks in the order of work. */
async function readTasks(
  folder: string,
  sources: readonly FileSource[],
): Promise<{ readonly tasks: readonly FileTask[]; readonly problems: readonly TaskProblem[] }> {
  // The parsers, which no other command needs.
  const [{ parseTaskFiles }, { inWorkOrder }, { settleDependencies }, { positionsInPrd }] = await Promise.all([
    import('../../core/tasks/files/files.ts'),
    import('../../core/tasks/work-order.ts'),
    import('../../core/tasks/dependencies.ts'),
    import('../../core/tasks/files/prd-entries.ts'),
  ]);
  const { texts, problems } = await readTexts(folder, [
    ...sources.flatMap((source) => taskFilePaths[source]),
    ...(sources.includes('prd') ? [PRD_ARCHIVE_PATH] : []),
  ]);
  const parsed = parseTaskFiles(texts, sources);
  const done = new Set(parsed.tasks.filter(({ state }) => state === 'done').map(({ task }) => task.id));
  const { tasks } = settleDependencies(
    parsed.tasks.map(({ task }) => ({
      task,
      name: task.id,
      waitsFor: task.dependsOn.map((id) => ({ kind: 'task' as const, id })),
    })),
    { states: new Map(), isDone: (id) => done.has(id) },
  );
  const positions = positionsInPrd(texts[taskFilePaths.prd[0] ?? ''] ?? '');
  const circular = tasks.flatMap(({ id, obstacle, source }) =>
    obstacle === 'dependency-cycle' && source.kind !== 'issue'
      ? [
          {
            file: source.path,
            line: source.kind === 'plan' ? source.line : null,
            column: null,
            ...positions.get(id),
            message: circle(source),
          },
        ]
      : [],
  );
  return { tasks: inWorkOrder(parsed.tasks), problems: [...problems, ...parsed.problems, ...circular] };
}

function circle(source: { readonly kind: string; readonly key?: string }): string {
  return `${source.key === undefined ? 'this item' : JSON.stringify(source.key)} waits for others that wait for it, so none of them can begin`;
}

/** Files that are there; problems with those that cannot be read. */
async function readTexts(
  folder: string,
  patterns: readonly string[],
): Promise<{ readonly texts: Readonly<Record<string, string>>; readonly problems: readonly TaskProblem[] }> {
  const texts: Record<string, string> = {};
  const problems: TaskProblem[] = [];
  for (const path of (await Promise.all(patterns.map((pattern) => matching(folder, pattern)))).flat()) {
    const file = await readCheckoutFile(folder, path);
    if (file.kind === 'refused') problems.push({ file: path, line: file.line, column: null, message: file.why });
    if (file.kind === 'text') texts[path] = file.text;
  }
  return { texts, problems };
}

async function matching(folder: string, pattern: string): Promise<readonly string[]> {
  if (!pattern.includes('*')) return [pattern];
  const [before = '', after = ''] = basename(pattern).split('*');
  const names = await readdir(`${folder}/${dirname(pattern)}`).catch(() => []);
  return names
    .filter((name) => name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after))
    .sort()
    .map((name) => `${dirname(pattern)}/${name}`);
}

function rowOf({ task, state }: FileTask): TasksReport['tasks'][number] {
  const { id, title, source, priority, optional, dependsOn } = task;
  return { id, title, source: source.kind, state, priority, optional, dependsOn: [...dependsOn] };
}

function problemRow({ file, line, column, message }: TaskProblem): TasksReport['problems'][number] {
  return { file, line, message: column === null ? message : `column ${column}: ${message}` };
}
