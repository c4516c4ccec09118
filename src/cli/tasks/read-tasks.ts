import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { findNamedDocuments, listPromptFiles, createPromptTask } from '../../core/open-ended/prompt-task.ts';
import { listPromptPlaces } from '../../core/prompt/places.ts';
import { type EffectiveSetting, buildSettingLines } from '../../core/settings/effective.ts';
import {
  type FileTask,
  isRootPlan,
  PRD_ARCHIVE_PATH,
  ROOT_PLAN,
  taskFilePaths,
  type TaskProblem,
  withoutOtherPlan,
} from '../../core/tasks/files/form/root-plan.ts';
import {
  type FileSource,
  isIssueTask,
  keyOfEntry,
  nameOfTaskId,
  type TaskId,
  taskSourceKinds,
} from '../../core/tasks/ids.ts';
import { nameOfTask, type Task, taskStates } from '../../core/tasks/task.ts';
import { joinNames } from '../../core/text/phrase.ts';
import { toPlainLine } from '../arguments.ts';
import { formatTaskState } from '../../report/format.ts';
import { readCheckoutFile } from '../command.ts';

const taskRow = z.object({
  id: z.string(),
  title: z.string(),
  source: z.enum(taskSourceKinds),
  state: z
    .enum(taskStates)
    .describe('The state in the file, `todo` for an issue; `ralph status` says what runs made of it.'),
  priority: z.int().positive().describe('1 is highest.'),
  optional: z.boolean().describe('Never blocks completion.'),
  dependsOn: z.array(z.string()).describe('Ids; those of issues are `issue-N`.'),
});

const problem = z.object({
  file: z
    .string()
    .describe('Relative to the checkout; `issues` for those on GitHub, `settings` for problems of settings.'),
  line: z.int().positive().nullable().describe('From 1; null: of the file as a whole.'),
  message: z.string(),
});

/** The output of `ralph tasks --json`. A change that breaks readers needs a new major version. */
export const tasksReportSchema = z.object({
  tasks: z.array(taskRow).describe('In the order in which runs work on them.'),
  problems: z.array(problem).describe('What a person should correct.'),
});

export type TasksReport = z.infer<typeof tasksReportSchema>;

const MAX_NAMED = 3;

/** Reads the tasks in the present files of a checkout, and the problems of these files. */
export async function readCheckoutTasks(
  folder: string,
  {
    sources,
    optionalSections,
  }: { readonly sources: readonly FileSource[]; readonly optionalSections: readonly string[] },
): Promise<{ readonly tasks: readonly FileTask[]; readonly problems: readonly TaskProblem[] }> {
  // Load the parsers only here, because no other command needs them.
  const [{ fileOfSource, parseTaskFiles }, { settleDependencies }, { findPrdPositions: positionsInPrd }] =
    await Promise.all([
      import('../../core/tasks/files/files.ts'),
      import('../../core/tasks/dependencies.ts'),
      import('../../core/tasks/files/prd-entries.ts'),
    ]);
  const found = await readTexts(folder, [
    ...sources.flatMap((source) => taskFilePaths[source]),
    ...(sources.includes('prd') ? [PRD_ARCHIVE_PATH] : []),
  ]);
  const beside = await readdir(folder).catch(() => []);
  const texts = withoutOtherPlan(found.texts, beside);
  const problems = found.problems.filter(({ file }) => file !== ROOT_PLAN || isRootPlan(beside));
  const parsed = parseTaskFiles(texts, sources, optionalSections);
  const done = new Set(parsed.tasks.filter(({ state }) => state === 'done').map(({ task }) => task.id));
  const { tasks } = settleDependencies(
    parsed.tasks.map(({ task }) => ({
      task,
      name: task.id,
      waitsFor: task.dependsOn.map((id) => ({ kind: 'task' as const, id })),
    })),
    { states: new Map(), isDone: (id) => done.has(id) },
  );
  const positions = positionsInPrd(texts[fileOfSource(Object.keys(texts), 'prd') ?? ''] ?? '');
  const circular = tasks.flatMap(({ id, obstacle, source }) =>
    obstacle === 'dependency-cycle' && 'path' in source
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
  return { tasks: parsed.tasks, problems: [...problems, ...parsed.problems, ...circular] };
}

function circle(source: { readonly kind: string; readonly key?: string }): string {
  return `${source.key === undefined ? 'this item' : JSON.stringify(source.key)} waits for tasks that wait for it, so none of them can begin`;
}

/**
 * Reads the prompt as a task, or null if the checkout has none, and the problems of the files that may contain it.
 * `promptFile` is the action's input.
 */
export async function readPromptTask(
  folder: string,
  promptFile: string,
): Promise<{ readonly task: Task | null; readonly problems: readonly TaskProblem[] }> {
  const found = await readTexts(folder, listPromptFiles(promptFile));
  const named = await readTexts(folder, findNamedDocuments(found.texts, promptFile));
  const places = listPromptPlaces(promptFile, Object.keys(found.texts));
  return {
    task: createPromptTask({ ...named.texts, ...found.texts }, { promptFile, sha256 }),
    // Other files among the specifications, such as pictures, are not a problem, so leave theirs out.
    problems: found.problems.filter(({ file }) =>
      places.some((place) => place === file || place.startsWith(`${file}/`)),
    ),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads the files that exist; returns problems for those that cannot be read. */
async function readTexts(
  folder: string,
  patterns: readonly string[],
): Promise<{ readonly texts: Readonly<Record<string, string>>; readonly problems: readonly TaskProblem[] }> {
  const texts: Record<string, string> = {};
  const problems: TaskProblem[] = [];
  for (const path of (await Promise.all(patterns.map((pattern) => matching(folder, pattern)))).flat()) {
    const link = await linkOn(folder, path);
    // A run reads the last commit, in which a link is neither a file nor a folder, so report the link.
    if (link !== null) {
      const message = `is a symbolic link, which no run follows for tasks: put a ${link === path ? 'file' : 'folder'} there`;
      if (problems.every(({ file }) => file !== link)) problems.push({ file: link, line: null, column: null, message });
      continue;
    }
    const file = await readCheckoutFile(folder, path);
    if (file.kind === 'refused') problems.push({ file: path, line: file.line, column: null, message: file.why });
    if (file.kind === 'text') texts[path] = file.text;
  }
  return { texts, problems };
}

/** Returns the first part of the path that is a symbolic link, or null if no part is one or the path does not exist. */
async function linkOn(folder: string, path: string): Promise<string | null> {
  const names = path.split('/');
  for (const at of names.keys()) {
    const part = names.slice(0, at + 1).join('/');
    const stats = await lstat(join(folder, part)).catch(() => null);
    if (stats === null) return null;
    if (stats.isSymbolicLink()) return part;
  }
  return null;
}

async function matching(folder: string, pattern: string): Promise<readonly string[]> {
  if (!pattern.includes('*')) return [pattern];
  if (pattern.endsWith('/**')) return (await allBelow(folder, dirname(pattern))).slice(0, MAX_BELOW);
  const [before = '', after = ''] = basename(pattern).split('*');
  const names = await readdir(`${folder}/${dirname(pattern)}`).catch(() => []);
  return names
    .filter((name) => name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after))
    .sort()
    .map((name) => `${dirname(pattern)}/${name}`);
}

/** Maximum number of files in a folder and its subfolders, the same as in a run. */
const MAX_BELOW = 100;

async function allBelow(folder: string, below: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
  const found = entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => ({ entry, path: `${below}/${entry.name}` }))
    .map(async ({ entry, path }) => (entry.isDirectory() ? allBelow(folder, path) : entry.isFile() ? [path] : []));
  return (await Promise.all(found)).flat();
}

/** Renders tasks, problems and settings that are not defaults as text, with a line for each. */
export function renderTasks(
  tasks: readonly FileTask[],
  rest: {
    readonly problems: TasksReport['problems'];
    readonly looked: readonly string[];
    readonly settings: readonly EffectiveSetting[];
  },
): string {
  const { problems, looked, settings } = rest;
  const problemLines = problems.map(
    ({ file, line, message }) =>
      `  ${toPlainLine(line === null ? file : `${file}:${line}`)}: ${toPlainLine(message, 400)}\n`,
  );
  const heading =
    tasks.length === 0 ? `No tasks found in ${looked.join(', ') || 'any file'}.\n` : `${summary(tasks)}\n\n`;
  const settingLines = buildSettingLines(settings).map((line) => `  ${toPlainLine(line, 400)}\n`);
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
    tasks.filter(({ state }) => state !== 'done').map(({ task }) => [task.id, toPlainLine(nameOfTask(task))]),
  );
  const known = new Set(tasks.map(({ task }) => task.id));
  const rows = tasks.map(({ task, state }) => {
    const waits =
      state === 'done'
        ? []
        : task.dependsOn.flatMap((id) => open.get(id) ?? (known.has(id) ? [] : toPlainLine(nameOfMissing(id))));
    const notes = [
      ...(task.optional ? ['optional'] : []),
      ...(waits.length === 0 ? [] : [`waits for ${joinNames(waits, MAX_NAMED)}`]),
    ];
    return [
      formatTaskState(state),
      String(task.priority),
      toPlainLine(task.id),
      toPlainLine(nameOfTask(task)),
      `${toPlainLine(task.title, 100)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
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

/** Returns the name of a task that a file refers to but does not contain; an issue may be on GitHub. */
function nameOfMissing(id: TaskId): string {
  return isIssueTask(id) ? nameOfTaskId(id) : `${keyOfEntry(id)}, which does not exist`;
}
