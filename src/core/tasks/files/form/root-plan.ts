import { type ParsedJson, parseJson } from '../../../../json/parse.ts';
import { tryJson } from '../../../text/try-json.ts';
import type { FileSource, TaskId } from '../../ids.ts';
import type { PriorityWord } from '../../priority.ts';
import type { Task, TaskState } from '../../task.ts';

/** The two lists of a prd.json: `tasks` with a status, and `userStories` that pass. A file may have both. */
export const prdLists = ['tasks', 'userStories'] as const;

export type PrdList = (typeof prdLists)[number];

/** A prd at the root, recognized by its content: other projects use this name for production settings. */
export const ROOT_PRD = 'prd.json';

/** The plan of the earliest Ralphs, before they marked it with an `@`. Any project may have a file of this name. */
export const ROOT_PLAN = 'fix_plan.md';

/** State files of those Ralphs, at the root. */
export const EARLY_STATE: readonly string[] = [
  '.call_count',
  '.last_reset',
  '.exit_signals',
  '.response_analysis',
  '.circuit_breaker_state',
  '.circuit_breaker_history',
];

/** Files that those Ralphs put at the root under names that no other tool uses. */
export const EARLY_MARKS: readonly string[] = ['@AGENT.md', 'ralph_loop.sh', ...EARLY_STATE];

/** Names of files that show that a `fix_plan.md` next to them is the plan of a Ralph; one is enough. */
export const ROOT_PLAN_NEIGHBOURS: readonly string[] = ['PROMPT.md', ...EARLY_MARKS];

/**
 * Returns true if a `fix_plan.md` is the plan of a Ralph. `there` are those names of `ROOT_PLAN_NEIGHBOURS` that exist
 * next to it.
 */
export function isRootPlan(there: readonly string[]): boolean {
  return ROOT_PLAN_NEIGHBOURS.some((name) => there.includes(name));
}

/** Returns the entries by path, without a `fix_plan.md` at the root that is not a plan. */
export function withoutOtherPlan<T>(
  byPath: Readonly<Record<string, T>>,
  there: readonly string[],
): Readonly<Record<string, T>> {
  return isRootPlan(there) ? byPath : Object.fromEntries(Object.entries(byPath).filter(([path]) => path !== ROOT_PLAN));
}

/** Returns true if the JSON is a task list; false also for invalid JSON. */
export function isPrdJson(text: string): boolean {
  const json = tryJson(text.replace(/^\uFEFF/, ''));
  if (typeof json !== 'object' || json === null) return false;
  return prdLists.some((list) => Array.isArray((json as Readonly<Record<string, unknown>>)[list]));
}

/**
 * Returns the files without a JSON at the root that is not a task list. Invalid JSON stays: it may be a broken list,
 * which must be reported.
 */
export function withoutOtherJson(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const text = files[ROOT_PRD];
  if (text === undefined || isPrdJson(text) || tryJson(text.replace(/^\uFEFF/, '')) === undefined) return files;
  return Object.fromEntries(Object.entries(files).filter(([path]) => path !== ROOT_PRD));
}

/**
 * Parses the JSON of a prd or its archive. If the text is one code fence, with or without words around it, the content
 * of the fence is parsed; every offset refers to the whole text.
 */
export function parsePrdJson(text: string): ParsedJson {
  return parseJson(insideFence(text));
}

/** Returns the text with blanks in place of everything outside of its one fence; unchanged if it has no such fence. */
function insideFence(text: string): string {
  if (/^\uFEFF?\s*[[{]/.test(text)) return text;
  const fences = [...text.matchAll(/^\uFEFF? {0,3}(`{3,}|~{3,})[^`\r\n]*/gm)];
  const [open, close] = fences;
  if (open === undefined || close === undefined || fences.length > 2) return text;
  if (!isClosing(close[0], open[1] ?? '')) return text;
  const [from, to] = [open.index + open[0].length, close.index];
  return blank(text.slice(0, from)) + text.slice(from, to) + blank(text.slice(to));
}

function isClosing(line: string, opening: string): boolean {
  const mark = line.trim();
  return mark.startsWith(opening) && mark === opening.charAt(0).repeat(mark.length);
}

function blank(text: string): string {
  return text.replaceAll(/[^\r\n]/g, ' ');
}

/**
 * The paths of a source's files relative to the checkout, first choice first; `*` matches any name. The last plan is
 * used only under the conditions of `isRootPlan`. Kept apart from the parsers, which a run without such files does not
 * load.
 */
export const taskFilePaths: Readonly<Record<FileSource, readonly string[]>> = {
  plan: ['.ralph/fix_plan.md', '.ralph/@fix_plan.md', '@fix_plan.md', ROOT_PLAN],
  prd: ['.ralph/prd.json', 'scripts/ralph/prd.json', 'prd.json'],
  beads: ['.beads/*.jsonl'],
};

/**
 * The archive for done entries of `.ralph/prd.json`. Entries of snarktank/ralph's files stay where they are, because
 * that tool archives each file as a whole.
 */
export const PRD_ARCHIVE_PATH = '.ralph/prd_archive.json';

/** A task as it is written in its file. */
export interface FileTask {
  readonly task: Task;
  /** The state that the file gives. */
  readonly state: TaskState;
}

/** A mistake in a task file for a person to correct. Line and column from 1; null for the file as a whole. */
export interface TaskProblem {
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  /** Set if the unreadable part may contain open tasks, so that nothing is known to be complete. */
  readonly hidesTasks?: true;
}

/** Returns `.ralph/prd.json:3:7`, as far as the position is known. */
export function formatPosition({ file, line, column }: TaskProblem): string {
  return [file, line, line === null ? null : column].filter((part) => part !== null).join(':');
}

/** A task to add to a file. */
export interface NewTask {
  /** The title, on one line. */
  readonly title: string;
  /** The text of the task; empty if none. */
  readonly body: string;
  /** The priority; null puts the task at the default place. */
  readonly priority: PriorityWord | null;
  readonly optional: boolean;
}

/** The result of adding a task: the file's new text with the task's place, or why the text stays as it is. */
export type AddedTask =
  | { readonly kind: 'added'; readonly text: string; readonly id: TaskId; readonly line: number }
  | { readonly kind: 'there'; readonly id: TaskId; readonly line: number; readonly state: TaskState }
  | { readonly kind: 'refused'; readonly problem: TaskProblem };
