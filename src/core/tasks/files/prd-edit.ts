import { appendChildren, applyEdits, detectChildIndent, layoutOfJson, renderJsonValue } from '../../../json/edit.ts';
import { listArrayItems, findMember, type JsonNode } from '../../../json/parse.ts';
import { cleanTitle } from '../../text/clean.ts';
import { type AddedTask, type NewTask, parsePrdJson, type PrdList, prdLists } from './form/root-plan.ts';
import { parsePrd } from './prd.ts';
import { PRD_ARCHIVE_PATH } from './prd-archive.ts';
import { parsePrdFile, textOfMember } from './prd-entries.ts';
import type { PriorityWord } from '../priority.ts';

/**
 * Adds a task at the end of a prd.json, written like its neighbours; everything else stays byte for byte. The ids in
 * `archive` are not used again; null if there is no archive.
 */
export function addToPrd(
  path: string,
  { prd, archive }: { readonly prd: string; readonly archive: string | null },
  wanted: NewTask,
): AddedTask {
  const text = prd.trim() === '' ? '{\n  "tasks": []\n}\n' : prd;
  const file = parsePrdFile(path, text);
  if (file.kind === 'unreadable')
    return {
      kind: 'refused',
      problem: file.problems[0] ?? { file: path, line: null, column: null, message: 'it cannot be read' },
    };
  const title = cleanTitle(wanted.title).text;
  const same = file.entries.find((entry) => entry.title === title);
  if (same !== undefined)
    return {
      kind: 'there',
      id: same.id,
      line: file.at(same.node).line,
      state: parsePrd(path, text).tasks.find(({ task }) => task.id === same.id)?.state ?? 'todo',
    };
  const target = listFor(file.root);
  if (target === null)
    return {
      kind: 'refused',
      problem: { file: path, line: null, column: null, message: 'neither `tasks` nor `userStories` is an array' },
    };

  const archived = archive === null || archive.trim() === '' ? null : parsePrdJson(archive);
  if (archived?.kind === 'malformed')
    return {
      kind: 'refused',
      problem: { file: PRD_ARCHIVE_PATH, line: null, column: null, message: 'not valid JSON', ...archived.problems[0] },
    };

  const neighbours = listArrayItems(target.node).filter(({ type }) => type === 'object');
  const entry = { tasks: newTask, userStories: newStory }[target.list](
    idFor(target.list, file.root, archived?.root ?? null),
    wanted,
    neighbours,
  );
  const around = layoutOfJson(text, listArrayItems(target.node).length > 0 ? target.node : file.root);
  const like = neighbours.findLast(({ children }) => children?.length);
  const piece = renderJsonValue(
    entry,
    like === undefined ? around : layoutOfJson(text, like),
    detectChildIndent(text, target.node, around),
  );
  const added = applyEdits(text, [appendChildren(text, target.node, [piece], around)]);
  const after = parsePrdFile(path, added);
  const found = after.kind === 'prd' ? after.entries.findLast((candidate) => candidate.title === title) : undefined;
  if (after.kind === 'unreadable' || found === undefined)
    return {
      kind: 'refused',
      problem: { file: path, line: null, column: null, message: 'it has too many entries for one more to be read' },
    };
  return { kind: 'added', text: added, id: found.id, line: after.at(found.node).line };
}

/** Returns the list to add to; if there are two, the one with entries. */
function listFor(root: JsonNode): { readonly list: PrdList; readonly node: JsonNode } | null {
  const lists = prdLists.flatMap((list) => {
    const node = findMember(root, list);
    return node?.type === 'array' ? [{ list, node }] : [];
  });
  return lists.find(({ node }) => listArrayItems(node).length > 0) ?? lists[0] ?? null;
}

type Id = string | number;

function newTask(id: Id, { title, body, priority, optional }: NewTask, neighbours: readonly JsonNode[]): object {
  const last = neighbours.at(-1);
  const bodyName =
    last !== undefined && findMember(last, 'description') === null && findMember(last, 'details') !== null
      ? 'details'
      : 'description';
  const hasStatus = (status: string): boolean => neighbours.some((node) => textOfMember(node, 'status') === status);
  const numbers = neighbours.some((node) => findMember(node, 'priority')?.type === 'number');
  return {
    id,
    title,
    ...(body === '' ? {} : { [bodyName]: body }),
    priority: numbers ? numberFor(priority ?? 'medium', neighbours) : (priority ?? 'medium'),
    status: hasStatus('pending') && !hasStatus('todo') ? 'pending' : 'todo',
    ...(optional ? { optional: true } : {}),
  };
}

/** Returns a story. Stories are numbered in the order of work: without a priority, it is the last. */
function newStory(id: Id, { title, body, priority, optional }: NewTask, neighbours: readonly JsonNode[]): object {
  const number = priority === null ? highest(neighbours) + 1 : numberFor(priority, neighbours);
  return {
    id,
    title,
    description: body,
    acceptanceCriteria: [],
    priority: number,
    passes: false,
    notes: '',
    ...(optional ? { optional: true } : {}),
  };
}

function numberFor(priority: PriorityWord, neighbours: readonly JsonNode[]): number {
  return { high: 1, medium: 2, low: Math.max(3, highest(neighbours) + 1) }[priority];
}

function highest(neighbours: readonly JsonNode[]): number {
  const numbers = neighbours
    .map((node) => Number(findMember(node, 'priority')?.value))
    .filter((number) => Number.isSafeInteger(number));
  return Math.max(0, ...numbers);
}

/**
 * Returns the next id in the list's numbering, or else in the form `T001` or `US-001`; a number if the ids are numbers.
 */
function idFor(list: PrdList, root: JsonNode, archive: JsonNode | null): Id {
  const counted = [...(archive === null ? [] : countedIds(archive)), ...countedIds(root)];
  const last = counted.findLast((id) => id.list === list);
  const prefix = last?.prefix ?? { tasks: 'T', userStories: 'US-' }[list];
  const next = counted.reduce((top, id) => (id.prefix === prefix ? Math.max(top, id.number) : top), 0) + 1;
  return last?.isNumber === true ? next : prefix + String(next).padStart(last?.digits ?? 3, '0');
}

/** Returns the ids that end in a number. */
function countedIds(
  root: JsonNode,
): readonly {
  readonly list: PrdList;
  readonly isNumber: boolean;
  readonly prefix: string;
  readonly number: number;
  readonly digits: number;
}[] {
  return prdLists.flatMap((list) => {
    const items = findMember(root, list);
    return (items === null ? [] : listArrayItems(items)).flatMap((node) => {
      const [, prefix, digits] = /^(.*?)(\d{1,15})$/.exec(textOfMember(node, 'id') ?? '') ?? [];
      return prefix === undefined || digits === undefined
        ? []
        : [
            {
              list,
              isNumber: findMember(node, 'id')?.type === 'number',
              prefix,
              number: Number(digits),
              digits: digits.length,
            },
          ];
    });
  });
}
