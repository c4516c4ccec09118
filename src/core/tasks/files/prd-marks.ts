import { appendChildren, applyEdits, layoutOfJson, renderJsonValue, type JsonEdit } from '../../../json/edit.ts';
import { findMember, type JsonNode } from '../../../json/parse.ts';
import { getProgress } from '../queue.ts';
import { computeShownProgress, type Task, type TaskProgress } from '../task.ts';
import type { TaskId } from '../ids.ts';
import { stateOfEntry } from './prd.ts';
import { parsePrdFile, textOfMember, type PrdEntry } from './prd-entries.ts';

/** A state that is written back to an entry. */
export type PrdMark = 'in-progress' | 'failed' | 'done';

/**
 * Returns the marks that a lane's own progress gives to the prd's entries. An entry without iterations is only ever
 * marked as done.
 */
export function buildPrdMarks(
  tasks: readonly Task[],
  progress: Readonly<Record<TaskId, TaskProgress>>,
): ReadonlyMap<TaskId, PrdMark> {
  return new Map(
    tasks
      .filter(({ source }) => source.kind === 'prd')
      .flatMap(({ id }): readonly (readonly [TaskId, PrdMark])[] => {
        const { state, attempts } = computeShownProgress(getProgress(progress, id));
        const isOwn = (state === 'in-progress' || state === 'failed') && attempts > 0;
        return state === 'done' || isOwn ? [[id, state]] : [];
      }),
  );
}

/**
 * Writes the states into a prd.json, each in the words of its neighbours; everything else stays byte for byte. An entry
 * that its file calls done is never marked as in progress: its mark is a claim, which is judged elsewhere. `marked` are
 * the entries that were changed. Returns null if nothing changes, or the file cannot be read.
 */
export function markPrd(
  text: string,
  marks: ReadonlyMap<TaskId, PrdMark>,
): { readonly text: string; readonly marked: ReadonlyMap<TaskId, PrdMark> } | null {
  const prd = parsePrdFile('', text);
  if (prd.kind === 'unreadable') return null;
  const marked = new Map<TaskId, PrdMark>();
  const edits: JsonEdit[] = [];
  for (const entry of prd.entries) {
    const mark = marks.get(entry.id);
    const now = stateOfEntry(entry);
    if (mark === undefined || now === mark || (now === 'done' && mark === 'in-progress')) continue;
    const changes = editsOf(text, entry, { mark, word: wordFor(mark, prd.entries) });
    if (changes.length === 0) continue;
    marked.set(entry.id, mark);
    edits.push(...changes);
  }
  return edits.length === 0 ? null : { text: applyEdits(text, edits), marked };
}

function editsOf(
  text: string,
  { node, list }: PrdEntry,
  { mark, word }: { readonly mark: PrdMark; readonly word: string },
): readonly JsonEdit[] {
  const status = presentMember(node, 'status');
  const passes = presentMember(node, 'passes');
  const isDone = mark === 'done';
  const edits = [
    ...(status === null ? [] : [replaced(status, JSON.stringify(word))]),
    // A story that is not done does not pass yet, regardless of its progress.
    ...(passes === null || passes.value === isDone ? [] : [replaced(passes, String(isDone))]),
  ];
  if (status !== null || passes !== null) return edits;
  if (list === 'userStories' && !isDone) return [];
  return [added(text, node, list === 'tasks' ? { name: 'status', value: word } : { name: 'passes', value: true })];
}

/** Returns a member unless it is missing or null; a state replaces null. */
function presentMember(node: JsonNode, name: string): JsonNode | null {
  const value = findMember(node, name);
  return value === null || value.type === 'null' ? null : value;
}

function replaced({ offset, length }: JsonNode, text: string): JsonEdit {
  return { offset, length, text };
}

function added(
  text: string,
  node: JsonNode,
  { name, value }: { readonly name: string; readonly value: string | boolean },
): JsonEdit {
  const empty = findMember(node, name);
  if (empty !== null) return replaced(empty, JSON.stringify(value));
  const layout = layoutOfJson(text, node);
  const colon = layout.indent === null && !layout.spaced ? ':' : ': ';
  return appendChildren(text, node, [`${JSON.stringify(name)}${colon}${renderJsonValue(value, layout, '')}`], layout);
}

const WORDS = { 'in-progress': 'in_progress', failed: 'failed', done: 'done' } as const;

/** Returns the word that other entries of the file use, which its readers know; else that of the Go Ralph. */
function wordFor(mark: PrdMark, entries: readonly PrdEntry[]): string {
  const like = entries.find((entry) => stateOfEntry({ ...entry, list: 'tasks' }) === mark && hasStatus(entry));
  return (like === undefined ? null : textOfMember(like.node, 'status')) ?? WORDS[mark];
}

function hasStatus({ node }: PrdEntry): boolean {
  return textOfMember(node, 'status') !== null;
}
