import { listArrayItems, findMember, convertNode, type JsonNode } from '../../../json/parse.ts';
import { cleanText, cleanTitle } from '../../text/clean.ts';
import type { FileTask, TaskProblem } from './form/root-plan.ts';
import { nameNodeType, quoteText, parsePrdFile, buildEntryKey, textOfMember, type PrdEntry } from './prd-entries.ts';
import { NORMAL_PRIORITY, priorityOfWord } from '../priority.ts';
import { hashId, taskIdOfEntry, type TaskId } from '../ids.ts';
import type { TaskState } from '../task.ts';

type State = TaskState;

/**
 * Parses the tasks of a prd.json, in the order of the file; `state` is the file's own. Tasks do not wait for entries
 * that are done in its archive (null if none). Never throws.
 */
export function parsePrd(
  path: string,
  text: string,
  archive: string | null = null,
): { readonly tasks: readonly FileTask[]; readonly problems: readonly TaskProblem[] } {
  const prd = parsePrdFile(path, text);
  if (prd.kind === 'unreadable') return { tasks: [], problems: prd.problems };
  const idOfKey = mapPrdKeys(prd.entries);
  const archived = doneKeys(archive);
  const problems: TaskProblem[] = [...prd.problems];
  const note: Note = (node, message) => {
    problems.push({ file: path, ...prd.at(node), message });
  };
  const tasks = prd.entries.map((entry) => ({
    state: stateOf(entry, note),
    task: {
      id: entry.id,
      title: entry.title,
      body: bodyOf(entry.node),
      source: {
        kind: 'prd' as const,
        path,
        key: cleanTitle(entry.key ?? '').text || hashId(entry.title),
        issue: issueOf(entry.node, note),
      },
      comments: [],
      priority: priorityOf(entry.node, note),
      dependsOn: dependenciesOf(entry.node, { idOfKey, archived }, note),
      optional: findMember(entry.node, 'optional')?.value === true,
      obstacle: null,
    },
  }));
  return { tasks, problems: problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
}

/** Returns the state of an entry in its file. */
export function stateOfEntry(entry: PrdEntry): State {
  return stateOf(entry, () => undefined);
}

/**
 * Returns the number of the issue that an entry is about (`12`, `"#12"`, or the Go Ralph's `{ "number": 12 }`); null if
 * none.
 */
function issueOf(entry: JsonNode, note: Note): number | null {
  const given = findMember(entry, 'issue');
  if (given === null || given.type === 'null') return null;
  const node = findMember(given, 'number') ?? given;
  const text = node.type === 'string' || node.type === 'number' ? String(node.value).trim() : '';
  const number = /^#?([1-9]\d{0,8})$/.exec(text)?.[1];
  if (number !== undefined) return Number(number);
  const isEmpty = node.type === 'string' && text === '';
  if (!isEmpty)
    note(node, `the issue${text === '' ? '' : ` ${quoteText(text)}`} is not a number, so the pull request names none`);
  return null;
}

/** Reports a mistake at a value for a person to correct. */
type Note = (node: JsonNode, message: string) => void;

/**
 * Returns the task ids of the entries by their own ids; of several with the same id the first, whose id is unchanged.
 */
export function mapPrdKeys(entries: readonly PrdEntry[]): ReadonlyMap<string, TaskId> {
  return new Map(entries.toReversed().flatMap(({ key, id }) => (key === null ? [] : [[key, id] as const])));
}

/** Returns the entry's dependencies by own id, each with its place; anything else is reported. */
export function parseDependencyKeys(
  entry: JsonNode,
  note: Note,
): readonly { readonly key: string; readonly node: JsonNode }[] {
  return ['depends_on', 'dependsOn', 'dependencies'].flatMap((name) => {
    const given = findMember(entry, name);
    if (given === null || given.type === 'null') return [];
    return (given.type === 'array' ? listArrayItems(given) : [given]).flatMap((node) => {
      if (node.type === 'string' || node.type === 'number') return [{ key: String(node.value).trim(), node }];
      note(node, `\`${name}\` names other entries by their ids, but this is ${nameNodeType(node)}`);
      return [];
    });
  });
}

/** Returns the own ids of the entries that are done in an archive. */
function doneKeys(archive: string | null): ReadonlySet<string> {
  const file = archive === null ? null : parsePrdFile('', archive);
  const done = file?.kind === 'prd' ? file.entries.filter((entry) => stateOfEntry(entry) === 'done') : [];
  return new Set(done.flatMap(({ key }) => key ?? []));
}

const states: Readonly<Record<string, State>> = {
  todo: 'todo',
  'to-do': 'todo',
  pending: 'todo',
  open: 'todo',
  'not-started': 'todo',
  'in-progress': 'in-progress',
  done: 'done',
  complete: 'done',
  completed: 'done',
  failed: 'failed',
  blocked: 'blocked',
};

/**
 * Returns the state of an entry: of `tasks` from `status`, of `userStories` from `passes`; if that is absent, from the
 * other one.
 */
function stateOf({ list, node }: PrdEntry, note: Note): State {
  const stated = { status: stateOfStatus(node, note), passes: stateOfPasses(node, note) };
  return (list === 'tasks' ? (stated.status ?? stated.passes) : (stated.passes ?? stated.status)) ?? 'todo';
}

function stateOfStatus(entry: JsonNode, note: Note): State | null {
  const status = findMember(entry, 'status');
  if (status === null || status.type === 'null') return null;
  const word =
    status.type === 'string'
      ? String(status.value)
          .trim()
          .toLowerCase()
          .replaceAll(/[\s_]+/g, '-')
      : '';
  if (Object.hasOwn(states, word)) return states[word] ?? null;
  note(
    status,
    `the status ${quoteText(String(convertNode(status)))} is unknown and counts as todo: expected todo, in_progress, done, failed or blocked`,
  );
  return null;
}

function stateOfPasses(entry: JsonNode, note: Note): State | null {
  const passes = findMember(entry, 'passes');
  if (passes === null || passes.type === 'null') return null;
  if (passes.type === 'boolean') return passes.value === true ? 'done' : 'todo';
  note(passes, `\`passes\` is ${nameNodeType(passes)} and counts as false: expected true or false`);
  return 'todo';
}

function priorityOf(entry: JsonNode, note: Note): number {
  const given = findMember(entry, 'priority');
  if (given === null || given.type === 'null') return NORMAL_PRIORITY;
  const text = given.type === 'string' || given.type === 'number' ? String(given.value).trim() : '';
  const number = /^\d+$/.test(text) ? Number(text) : priorityOfWord(text);
  if (number !== null && number >= 1 && Number.isSafeInteger(number)) return number;
  note(
    given,
    `the priority ${quoteText(JSON.stringify(convertNode(given)))} counts as ${NORMAL_PRIORITY}: expected a whole number from 1 (highest), or critical, high, medium or low`,
  );
  return NORMAL_PRIORITY;
}

/** Returns the dependencies. Unknown ones stay: working on the task without them would be wrong. */
function dependenciesOf(
  entry: JsonNode,
  { idOfKey, archived }: { readonly idOfKey: ReadonlyMap<string, TaskId>; readonly archived: ReadonlySet<string> },
  note: Note,
): readonly TaskId[] {
  const ids = new Map<string, TaskId>();
  for (const { key, node } of parseDependencyKeys(entry, note)) {
    const id = idOfKey.get(key);
    if (id === undefined && archived.has(key)) continue;
    if (id === undefined && !ids.has(key))
      note(node, `depends on ${quoteText(key)}, which is not in this file, so it is not worked on`);
    ids.set(key, id ?? taskIdOfEntry('prd', buildEntryKey(key)));
  }
  return [...new Set(ids.values())];
}

/**
 * Returns all instructions for the agent. Each part is cleaned alone, so that an unclosed comment in one does not
 * swallow the next.
 */
function bodyOf(entry: JsonNode): string {
  const criteria = [...listOf(entry, 'acceptanceCriteria'), ...listOf(entry, 'acceptance_criteria')];
  const parts = [
    textOfMember(entry, 'description'),
    textOfMember(entry, 'details'),
    criteria.length === 0
      ? null
      : `Acceptance criteria:\n\n${criteria.map((text) => `- ${text.replaceAll(/\r\n?|\n/g, '\n  ')}`).join('\n')}`,
    titled('Tests', textOfMember(entry, 'tests')),
    titled('Notes', textOfMember(entry, 'notes')),
  ];
  return cleanText(
    parts
      .flatMap((part) => (part === null ? [] : [cleanText(part).text.trim()]))
      .filter((part) => part !== '')
      .join('\n\n'),
  ).text;
}

function titled(name: string, text: string | null): string | null {
  return text === null ? null : `${name}: ${text}`;
}

/** Returns the texts of a member: of a text or an array of texts; of anything else its JSON. */
function listOf(entry: JsonNode, name: string): readonly string[] {
  const given = findMember(entry, name);
  if (given === null || given.type === 'null') return [];
  return (given.type === 'array' ? listArrayItems(given) : [given])
    .map((node) => (node.type === 'string' ? String(node.value).trim() : JSON.stringify(convertNode(node))))
    .filter((text) => text !== '');
}
