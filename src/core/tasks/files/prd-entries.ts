import {
  listArrayItems,
  findMember,
  listMembers,
  indexLines,
  type JsonNode,
  type JsonPosition,
} from '../../../json/parse.ts';
import { cleanTitle } from '../../text/clean.ts';
import { parsePrdJson, type PrdList, prdLists, type TaskProblem } from './form/root-plan.ts';
import { hashId, taskIdOfEntry, type TaskId } from '../ids.ts';
import { cutText, completeSentence } from '../../text/phrase.ts';

/** An entry that is a task, with its place in the text. */
export interface PrdEntry {
  readonly id: TaskId;
  readonly list: PrdList;
  readonly node: JsonNode;
  /** The entry's own id; null if it has none. */
  readonly key: string | null;
  /** The entry's cleaned title, which is never empty. */
  readonly title: string;
}

/** A prd.json, checked for its form only. `at` returns line and column of a node. */
export type PrdFile =
  | {
      readonly kind: 'prd';
      readonly root: JsonNode;
      readonly entries: readonly PrdEntry[];
      readonly problems: readonly TaskProblem[];
      readonly at: (node: JsonNode) => JsonPosition;
    }
  | { readonly kind: 'unreadable'; readonly problems: readonly TaskProblem[] };

/** Maximum number of entries that are read, as with plans. */
const MAX_ENTRIES = 1_000;
/** Maximum length of a task's id without `prd-`. */
const MAX_KEY_CHARS = 76;

/** Finds the entries of a prd.json. Malformed JSON has no entries, since half a file is not a list. */
export function parsePrdFile(path: string, text: string): PrdFile {
  const parsed = parsePrdJson(text);
  if (parsed.kind === 'malformed')
    return {
      kind: 'unreadable',
      problems: parsed.problems.map((problem) => ({
        file: path,
        ...problem,
        message: `not valid JSON: ${completeSentence(problem.message)} None of its tasks are read`,
        hidesTasks: true,
      })),
    };
  const position = indexLines(text);
  const at = (node: JsonNode): JsonPosition => position(node.offset);
  const { root } = parsed;
  const lists = prdLists
    .flatMap((list) => ({ list, node: findMember(root, list) }))
    .filter((found): found is { list: PrdList; node: JsonNode } => found.node !== null);
  if (lists.length === 0) {
    const what =
      root.type === 'object'
        ? 'it has neither `tasks` nor `userStories`'
        : `it is ${nameNodeType(root)}, not an object with \`tasks\` or \`userStories\``;
    return { kind: 'unreadable', problems: [{ file: path, ...at(root), message: what, hidesTasks: true }] };
  }
  const noArrays = lists
    .filter(({ node }) => node.type !== 'array')
    .map(({ list, node }) => ({
      file: path,
      ...at(node),
      message: `\`${list}\` is ${nameNodeType(node)}, not an array`,
      hidesTasks: true as const,
    }));
  const { entries, problems } = withOwnIds(
    lists.flatMap(({ list, node }) => listArrayItems(node).map((item) => ({ list, node: item }))),
    (node) => ({ file: path, ...at(node) }),
  );
  return {
    kind: 'prd',
    root,
    entries,
    problems: [
      ...noArrays,
      ...repeatedLists(root).map(({ list, node }) => ({
        file: path,
        ...at(node),
        message: `there is another \`${list}\` below, and only the last one is read: put the entries into one list`,
        hidesTasks: true as const,
      })),
      ...problems,
    ],
    at,
  };
}

/** Returns repeated list names, of which JSON keeps only the last. */
function repeatedLists(root: JsonNode): readonly { readonly list: PrdList; readonly node: JsonNode }[] {
  return prdLists.flatMap((list) =>
    listMembers(root)
      .flatMap(({ children: [node] = [] }) => (node?.value === list ? [{ list, node }] : []))
      .slice(0, -1),
  );
}

/** Returns the positions of a prd.json's entries, by the ids of their tasks; empty if it cannot be read. */
export function findPrdPositions(text: string): ReadonlyMap<TaskId, JsonPosition> {
  const prd = parsePrdFile('', text);
  return new Map(prd.kind === 'prd' ? prd.entries.map(({ id, node }) => [id, prd.at(node)]) : []);
}

/** Returns a member that is a text or a number, as trimmed text; null if it is absent, empty or something else. */
export function textOfMember(node: JsonNode, name: string): string | null {
  const value = findMember(node, name);
  const text = value !== null && (value.type === 'string' || value.type === 'number') ? String(value.value).trim() : '';
  return text === '' ? null : text;
}

/** Returns the type of a value, for a person. */
export function nameNodeType(node: JsonNode): string {
  return {
    object: 'an object',
    array: 'an array',
    property: 'a member',
    string: 'a string',
    number: 'a number',
    boolean: 'true or false',
    null: 'null',
  }[node.type];
}

/** Returns the part of a task's id for the entry's own id: unchanged if possible. */
export function buildEntryKey(key: string): string {
  if (/^[A-Za-z0-9._-]+$/.test(key) && key.length <= MAX_KEY_CHARS) return key;
  return withSuffix(key.replaceAll(/[^A-Za-z0-9._-]+/g, '-'), hashId(key));
}

type FilePosition = Pick<TaskProblem, 'file' | 'line' | 'column'>;

/** Gives every entry an id of its own, and reports those that are not tasks. */
function withOwnIds(
  items: readonly { readonly list: PrdList; readonly node: JsonNode }[],
  positionOf: (node: JsonNode) => FilePosition,
): { readonly entries: readonly PrdEntry[]; readonly problems: readonly TaskProblem[] } {
  const entries = new Map<TaskId, PrdEntry>();
  const problems: TaskProblem[] = [];
  for (const { list, node } of items.slice(0, MAX_ENTRIES)) {
    const key = textOfMember(node, 'id');
    const title = entryTitle(node) || cleanTitle(key ?? '').text;
    if (node.type !== 'object' || title === '') {
      problems.push({
        ...positionOf(node),
        message:
          node.type === 'object'
            ? 'an entry without a title is not a task'
            : `an entry that is ${nameNodeType(node)} is not a task: expected an object with a title`,
        hidesTasks: true,
      });
      continue;
    }
    const own = key === null ? hashId(title) : buildEntryKey(key);
    const ownId = taskIdOfEntry('prd', own);
    const first = entries.get(ownId);
    const id = first === undefined ? ownId : freeId(own, title, entries);
    if (first !== undefined)
      problems.push({
        ...positionOf(node),
        message: `${key === null ? `the title ${quoteText(title)}` : `the id ${quoteText(key)}`} is already used on line ${positionOf(first.node).line ?? 0}: this second entry is called ${id}`,
      });
    entries.set(id, { id, list, node, key, title });
  }
  const more = items[MAX_ENTRIES];
  if (more !== undefined)
    problems.push({
      ...positionOf(more.node),
      message: `only the first ${MAX_ENTRIES} of ${items.length} entries are read`,
      hidesTasks: true,
    });
  return { entries: [...entries.values()], problems };
}

/**
 * Returns an id for an entry whose own id is already used. It is derived from the title, so that it does not depend on
 * the order.
 */
function freeId(own: string, title: string, used: ReadonlyMap<TaskId, unknown>): TaskId {
  const byTitle = taskIdOfEntry('prd', withSuffix(own, hashId(title)));
  if (!used.has(byTitle)) return byTitle;
  for (let count = 2; ; count += 1) {
    const id = taskIdOfEntry('prd', withSuffix(own, `${hashId(title)}-${count}`));
    if (!used.has(id)) return id;
  }
}

function withSuffix(key: string, suffix: string): string {
  return `${key.slice(0, MAX_KEY_CHARS - suffix.length - 1)}-${suffix}`;
}

/** Returns the title, or else the first line of the description; empty if there is neither. */
function entryTitle(node: JsonNode): string {
  const given = cleanTitle(textOfMember(node, 'title') ?? '').text;
  return given === '' ? cleanTitle(textOfMember(node, 'description')?.split(/[\r\n]/)[0] ?? '').text : given;
}

/** Returns text of the file for use in a message: one line, not too long. */
export function quoteText(text: string): string {
  return JSON.stringify(cutText(cleanTitle(text).text, 80));
}
