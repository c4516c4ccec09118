import { lstat, readdir } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { PRD_ARCHIVE_PATH, taskFilePaths, type FileTask, type TaskProblem } from '../../core/tasks/files/file-task.ts';
import { isRootPlan, ROOT_PLAN, withoutOtherPlan } from '../../core/tasks/files/form/root-plan.ts';
import type { FileSource } from '../../core/tasks/task-sources.ts';
import { promptPlaces } from '../../core/prompt/places.ts';
import type { Task } from '../../core/tasks/task.ts';
import { documentsNamed, promptFiles, promptTask } from '../../core/open-ended/prompt-task.ts';
import { readCheckoutFile } from '../checkout-file.ts';

/** The tasks in the files of a checkout, as they stand there, and what is wrong with these files. */
export async function readCheckoutTasks(
  folder: string,
  {
    sources,
    optionalSections,
  }: { readonly sources: readonly FileSource[]; readonly optionalSections: readonly string[] },
): Promise<{ readonly tasks: readonly FileTask[]; readonly problems: readonly TaskProblem[] }> {
  // The parsers, which no other command needs.
  const [{ fileOfSource, parseTaskFiles }, { settleDependencies }, { positionsInPrd }] = await Promise.all([
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
  return `${source.key === undefined ? 'this item' : JSON.stringify(source.key)} waits for others that wait for it, so none of them can begin`;
}

/** The prompt as a task, null where the checkout has none, and what is wrong with the files that it may stand in. `promptFile`: as the action's input. */
export async function readPromptTask(
  folder: string,
  promptFile: string,
): Promise<{ readonly task: Task | null; readonly problems: readonly TaskProblem[] }> {
  const found = await readTexts(folder, promptFiles(promptFile));
  const named = await readTexts(folder, documentsNamed(found.texts, promptFile));
  const places = promptPlaces(promptFile, Object.keys(found.texts));
  return {
    task: promptTask({ ...named.texts, ...found.texts }, { promptFile, sha256 }),
    // A picture among the specifications is nothing wrong.
    problems: found.problems.filter(({ file }) =>
      places.some((place) => place === file || place.startsWith(`${file}/`)),
    ),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Files that are there; problems with those that cannot be read. */
async function readTexts(
  folder: string,
  patterns: readonly string[],
): Promise<{ readonly texts: Readonly<Record<string, string>>; readonly problems: readonly TaskProblem[] }> {
  const texts: Record<string, string> = {};
  const problems: TaskProblem[] = [];
  for (const path of (await Promise.all(patterns.map((pattern) => matching(folder, pattern)))).flat()) {
    const link = await linkOn(folder, path);
    // As in a run, which reads the last commit, where a link is no file and no folder.
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

/** The first part of the path that is a symbolic link; null: none is, or nothing is there. */
async function linkOn(folder: string, path: string): Promise<string | null> {
  const names = path.split('/');
  for (const at of names.keys()) {
    const part = names.slice(0, at + 1).join('/');
    const found = await lstat(join(folder, part)).catch(() => null);
    if (found === null) return null;
    if (found.isSymbolicLink()) return part;
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

/** A run reads no more of them. */
const MAX_BELOW = 100;

async function allBelow(folder: string, below: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
  const found = entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => ({ entry, path: `${below}/${entry.name}` }))
    .map(async ({ entry, path }) => (entry.isDirectory() ? allBelow(folder, path) : entry.isFile() ? [path] : []));
  return (await Promise.all(found)).flat();
}
