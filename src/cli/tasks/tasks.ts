import { findInputProblems } from '../../config/inputs.ts';
import { listPromptPlaces } from '../../core/prompt/places.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { type FileTask, ROOT_PLAN, taskFilePaths, type TaskProblem } from '../../core/tasks/files/form/root-plan.ts';
import { isFileSource } from '../../core/tasks/ids.ts';
import { nameOfTask } from '../../core/tasks/task.ts';
import { parseFolder, type LookAtGitHub, parseArguments, toPlainLine } from '../arguments.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';
import { buildTaskSettings, type TaskSettings } from './task-settings.ts';
import { readCheckoutTasks, readPromptTask, renderTasks, type TasksReport } from './read-tasks.ts';

/** Returns the settings of runs whose tasks are in a folder. */
type ReadFolderSettings = (folder: string) => Promise<ReportedSettings>;

const HELP = `Usage: ralph tasks [--dir FOLDER] [--task-sources LIST] [--task-label LABEL]
                   [--json]

Lists the tasks that a run finds in the files of a checkout, in the order in
which it would work on them, and the problems of these files. Required tasks
come before optional ones, then tasks are sorted by priority (1 is highest),
then as they are in the file. A task comes after those that it waits for; tasks
that wait for themselves or for something that does not exist come last.

The settings are those of the workflow that works in the folder (without a
workflow, those of ralph run): from an input, the environment or a committed
.ralphrc. With GITHUB_TOKEN (or GH_TOKEN) the list includes the open issues with
the label, from the repository of the remote origin.

  --dir FOLDER         the checkout, or the folder that working-directory names
                       (default: the current folder)
  --task-sources LIST  where to look, as in the action's input: see below
                       (default: as in a run)
  --task-label LABEL   which issues, as in the action's input (default: as in a
                       run)
  --json               prints one JSON object instead, described by
                       schemas/ralph-tasks.schema.json

Sources of tasks:
  issues  open issues with the label
  plan    ${taskFilePaths.plan.join(', ')}
  prd     ${taskFilePaths.prd.join(', ')}
  beads   ${taskFilePaths.beads.join(', ')}
  prompt  PROMPT.md itself, if the other sources have no
          required task

Exit codes: 0 the list is printed, problems or not; 2 no such folder or wrong
arguments.
`;

/** The access of `ralph tasks` to git and GitHub. */
interface TasksWorld {
  readonly look: LookAtGitHub;
  readonly readSettings: ReadFolderSettings;
  /** Returns those files of a folder that the last commit lacks; `ignored` marks files that git ignores. */
  readonly findUncommitted: (
    folder: string,
    paths: readonly string[],
  ) => Promise<ReadonlyMap<string, 'untracked' | 'ignored'>>;
}

/** Creates `ralph tasks`, which lists the tasks of a checkout, and those on GitHub if there is a token. */
export function createTasksCommand(world: TasksWorld): CliCommand {
  return { ...COMMAND_LIST.tasks, help: HELP, run: (args, terminal) => showTasks(args, terminal, world) };
}

async function showTasks(
  args: readonly string[],
  terminal: Terminal,
  { look, readSettings, findUncommitted }: TasksWorld,
): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { dir: 'value', 'task-sources': 'value', 'task-label': 'value', json: 'flag' },
    { name: 'FOLDER', min: 0, max: 0 },
  );
  const [list] = given.values('task-sources');
  const [asked] = given.values('task-label');
  const { folder, problems: unplaced } = await parseFolder(given);
  const misused = [
    ...given.problems,
    ...unplaced,
    ...(list === undefined
      ? []
      : findInputProblems({ 'task-sources': list }).map(
          ({ why }) => `--task-sources: ${JSON.stringify(toPlainLine(list))} ${why}.`,
        )),
  ];
  if (misused.length > 0) throw new UsageError(misused);

  const { sources, label, query, optionalSections, promptFile, set, ...settings } = buildTaskSettings(
    await readSettings(folder),
    {
      ...(list === undefined ? {} : { 'task-sources': list }),
      ...(asked === undefined ? {} : { 'task-label': asked }),
    },
  );
  const files = sources.filter(isFileSource);
  const readsPrompt = sources.includes('prompt');
  const [inFiles, onGitHub, prompt] = await Promise.all([
    readCheckoutTasks(folder, { sources: files, optionalSections }),
    sources.includes('issues') ? issuesAt(look, { folder, label, query }, terminal) : nothing,
    readsPrompt ? readPromptTask(folder, promptFile) : { task: null, problems: [] },
  ]);
  const [{ simulateWorkOrder }, { selectPromptTask: promptUnlessListed }] = await Promise.all([
    import('../../core/tasks/queue.ts'),
    import('../../core/open-ended/prompt-task.ts'),
  ]);
  const listed = [...onGitHub.tasks, ...inFiles.tasks];
  const beside = promptUnlessListed(
    prompt.task,
    listed.map(({ task }) => task),
  );
  const tasks = simulateWorkOrder([...beside.map((task): FileTask => ({ task, state: 'todo' })), ...listed]);
  const fromFiles = tasks.flatMap(({ task: { source } }) => ('path' in source ? [source.path] : []));
  const uncommitted = [...(await findUncommitted(folder, [...new Set(fromFiles)]))].map(uncommittedProblem);
  const ofSettings = settings.problems.map((message) => ({
    file: 'settings',
    line: null,
    message: message.replace(/^settings: /, ''),
  }));
  const ofPrompt = prompt.problems.filter(({ file }) => inFiles.problems.every((one) => one.file !== file));
  const all = [
    ...ofSettings,
    ...[...inFiles.problems, ...ofPrompt].map(problemRow),
    ...uncommitted,
    ...onGitHub.problems,
  ];
  if (given.has('json'))
    terminal.out(`${JSON.stringify({ tasks: tasks.map(rowOf), problems: all } satisfies TasksReport, null, 2)}\n`);
  else {
    const places = [
      // A plan at this path is read only next to files of an early Ralph, so do not name it.
      ...files.flatMap((source) => taskFilePaths[source]).filter((path) => path !== ROOT_PLAN),
      ...(readsPrompt ? listPromptPlaces(promptFile, []) : []),
    ];
    terminal.out(renderTasks(tasks, { problems: all, looked: [...places, ...onGitHub.looked], settings: set }));
  }
  return 'done';
}

interface FoundTasks {
  readonly tasks: readonly FileTask[];
  readonly problems: TasksReport['problems'];
  /** The places where tasks were looked for, as text for people. */
  readonly looked: readonly string[];
}

const nothing: FoundTasks = { tasks: [], problems: [], looked: [] };

async function issuesAt(
  look: LookAtGitHub,
  { folder, label, query }: { readonly folder: string } & Pick<TaskSettings, 'label' | 'query'>,
  terminal: Terminal,
): Promise<FoundTasks> {
  const log = (line: string): void => {
    terminal.error(`${toPlainLine(line, 300)}\n`);
  };
  const seen = await look({ folder, remote: null, log }, async (viewer) =>
    (await import('./issue-tasks.ts')).readIssueTasks(viewer, { label, query }),
  );
  const problem = (message: string): TasksReport['problems'][number] => ({ file: 'issues', line: null, message });
  if (seen.kind === 'no-token')
    return { ...nothing, problems: [problem('needs a token: set GITHUB_TOKEN to one that may read the issues')] };
  if (seen.kind === 'failed') return { ...nothing, problems: [problem(seen.why)] };
  const { tasks, warnings } = seen.value;
  const unapproved = tasks.filter(({ obstacle }) => obstacle === 'needs-approval');
  return {
    tasks: tasks.map((task) => ({ task, state: 'todo' })),
    looked: [`open issues with the label ${JSON.stringify(label)}${query === null ? '' : ', or found by issue-query'}`],
    problems: [
      ...unapproved.map((task) =>
        problem(
          `the text of ${nameOfTask(task)} was changed after it was approved: add the label, or remove and re-add it`,
        ),
      ),
      ...warnings.map(problem),
    ],
  };
}

function uncommittedProblem([file, why]: readonly [string, 'untracked' | 'ignored']): TasksReport['problems'][number] {
  const message =
    why === 'ignored'
      ? 'is ignored by git and not committed, so no run sees it: add it with "git add --force", then commit it'
      : 'is not committed, so no run sees it: commit it';
  return { file, line: null, message };
}

function rowOf({ task, state }: FileTask): TasksReport['tasks'][number] {
  const { id, title, source, priority, optional, dependsOn } = task;
  return {
    id,
    title,
    source: source.kind === 'feedback' ? 'issue' : source.kind,
    state,
    priority,
    optional,
    dependsOn: [...dependsOn],
  };
}

function problemRow({ file, line, column, message }: TaskProblem): TasksReport['problems'][number] {
  return { file, line, message: column === null ? message : `column ${column}: ${message}` };
}
