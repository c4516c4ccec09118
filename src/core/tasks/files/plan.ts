import { parseChecklist, type ChecklistItem } from '../../../markdown/checklist.ts';
import { cleanText, cleanTitle } from '../../text/clean.ts';
import type { FileTask, TaskProblem } from './form/root-plan.ts';
import { NORMAL_PRIORITY, priorityOfHeading } from '../priority.ts';
import { hashId, taskIdOfEntry, taskIdOfIssue, type TaskId } from '../ids.ts';
import { dependenciesOfText } from '../text-dependencies.ts';
import { cutLines } from '../../text/phrase.ts';

/** Maximum number of lines: the gate must answer quickly. */
const MAX_LINES = 5_000;
const MAX_TASKS = 1_000;

/**
 * Parses the boxes of a plan, in the order of the file. A box waits for those nested in it: it comes last. Ids follow
 * from titles alone (its own and those of the boxes around), so that a plan can be sorted, ticked and formatted.
 */
export function parsePlan(
  path: string,
  text: string,
  optionalSections: readonly string[],
): { readonly tasks: readonly FileTask[]; readonly problems: readonly TaskProblem[] } {
  const head = cutLines(text, MAX_LINES);
  const isOptional = createHeadingTest(optionalSections);
  const items = withIds(parseChecklist(head));
  const kept = items.length <= MAX_TASKS ? items : boxesWithinLimit(items);
  const leftOut = new Set(
    kept === items ? [] : items.filter((item) => isBoxDone(item) && !kept.includes(item)).map(({ id }) => id),
  );
  const waitsOf = dependenciesIn(items);
  const waiting = kept.map((item) => ({ item, waits: waitsOf(item) }));
  const problems = [
    ...(head === text ? [] : [tooLong]),
    ...(kept === items ? [] : [tooManyItems(items)]),
    ...duplicates(items),
    ...waiting.flatMap(({ waits }) => waits.problems),
  ];
  return {
    tasks: waiting.map(({ item, waits }) => ({
      state: isBoxDone(item) ? ('done' as const) : ('todo' as const),
      task: taskOf(
        item,
        { path, isOptional },
        waits.ids.filter((id) => !leftOut.has(id)),
      ),
    })),
    problems: problems.map((problem) => ({ file: path, column: null, ...problem })),
  };
}

/** Returns the boxes of a plan, in the order of the file, or null if the plan is longer than the part that is read. */
export function parseBoxes(text: string): readonly PlanBox[] | null {
  return cutLines(text, MAX_LINES) === text ? withIds(parseChecklist(text)) : null;
}

/** A box with the id of its task. */
export interface PlanBox extends ChecklistItem {
  readonly id: TaskId;
  /** Ids of the boxes that it is nested in. */
  readonly around: readonly TaskId[];
  /** Line of the first box with the same title in the same place. */
  readonly firstLine: number;
}

type Problem = Pick<TaskProblem, 'line' | 'message' | 'hidesTasks'>;

const tooLong: Problem = {
  line: MAX_LINES + 1,
  message: `only the first ${MAX_LINES} lines are read: split the plan, or remove what is done`,
  hidesTasks: true,
};

function tooManyItems(items: readonly PlanBox[]): Problem {
  const losesOpen = items.filter((item) => !isBoxDone(item)).length > MAX_TASKS;
  return {
    line: null,
    message: `only ${MAX_TASKS} of its ${items.length} items are tasks, open ones first: remove what is done`,
    ...(losesOpen ? { hidesTasks: true } : {}),
  };
}

/** Gives each box its id; further boxes with the same title get the suffix `-2`, `-3` and so on. */
function withIds(boxes: readonly ChecklistItem[]): readonly PlanBox[] {
  const lines = new Map<string, number[]>();
  const items: PlanBox[] = [];
  for (const box of boxes) {
    const parent = box.parent === null ? undefined : items[box.parent];
    const id = taskIdOfEntry('plan', hashId([parent?.id ?? '', stripTitleMarks(box.title)].join('\n')));
    const same = lines.get(id) ?? [];
    lines.set(id, [...same, box.line]);
    items.push({
      ...box,
      id: same.length === 0 ? id : `${id}-${same.length + 1}`,
      around: parent === undefined ? [] : [...parent.around, parent.id],
      firstLine: same[0] ?? box.line,
    });
  }
  return items;
}

/**
 * Returns the title without the marks that people and their plugins add when they plan or tick an item, so that the
 * marks never change the task's id.
 */
export function stripTitleMarks(title: string): string {
  let left = title;
  for (;;) {
    const shorter = left.replace(MARKS_BEHIND, '').trimEnd();
    if (shorter === left || shorter === '') return left;
    left = shorter;
  }
}

const DATE = String.raw`\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?`;
/**
 * Matches marks behind a title: `✅ 2026-11-26`, `📅 …` (Obsidian Tasks), `[completion:: …]` (Dataview), `@done(…)`
 * (TaskPaper), `(done)`, `✅`, `— done`.
 */
const MARKS_BEHIND = new RegExp(
  String.raw`(?:^|\s+)(?:${[
    String.raw`(?:[✅☑✔📅📆🗓⏳⌛🛫➕❌]\uFE0F?)\s*${DATE}`,
    String.raw`[✅☑✔🎉]\uFE0F?`,
    String.raw`[[(](?:done|completion|completed|due|created|scheduled|start|cancelled)::\s*[^\])]{1,40}[\])]`,
    String.raw`(?:done|completion|completed)::\s*${DATE}`,
    String.raw`@(?:done|completed)(?:\([^)]{0,40}\))?`,
    String.raw`[[(](?:done|completed?|finished|implemented)(?:[ ,:]*(?:on |in )?${DATE})?[\])]`,
    String.raw`(?:[-–—]|→)\s*(?:done|completed|finished)[.!]?(?:\s*${DATE})?`,
  ].join('|')})\s*$`,
  'iu',
);

/** Returns the items that fit, open ones before others, in the order of the file. */
function boxesWithinLimit(items: readonly PlanBox[]): readonly PlanBox[] {
  const ranked = [...items.filter((item) => !isBoxDone(item)), ...items.filter(isBoxDone)].slice(0, MAX_TASKS);
  const chosen = new Set(ranked);
  return items.filter((item) => chosen.has(item));
}

/** Returns true if a box is done: any character but an x leaves it open, since `[~]` and `[-]` are unfinished work. */
export function isBoxDone({ mark }: Pick<ChecklistItem, 'mark'>): boolean {
  return mark === 'x' || mark === 'X';
}

function taskOf(
  { id, line, title, body, headings }: PlanBox,
  { path, isOptional }: { readonly path: string; readonly isOptional: (heading: string) => boolean },
  dependsOn: readonly TaskId[],
): FileTask['task'] {
  return {
    id,
    title: cleanTitle(title).text || `Item on line ${line}`,
    body: cleanText(body).text,
    source: { kind: 'plan', path, line },
    comments: [],
    priority: headings.map(priorityOfHeading).findLast((priority) => priority !== null) ?? NORMAL_PRIORITY,
    dependsOn,
    optional: headings.some(isOptional),
    obstacle: null,
  };
}

/**
 * Creates a function that returns true for headings whose items are optional: those that begin with one of the sections
 * (`Nice to have`), in any letter case and followed by any text.
 */
export function createHeadingTest(sections: readonly string[]): (heading: string) => boolean {
  if (sections.length === 0) return () => false;
  const names = sections.map((section) => {
    const words = section
      .trim()
      .split(/[\s-]+/)
      .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
    // `Nice to haves` matches, but not `Futures`, which is another word.
    return `${words.join('[\\s-]+')}${words.length > 1 ? 's?' : ''}`;
  });
  const pattern = new RegExp(`^[^\\p{L}]*(?:${names.join('|')})(?![\\p{L}\\p{N}_])`, 'iu');
  return (heading) => pattern.test(heading);
}

function duplicates(items: readonly PlanBox[]): readonly Problem[] {
  return items
    .filter((item) => item.line !== item.firstLine && !isBoxDone(item))
    .map(({ line, firstLine }) => ({
      line,
      message: `has the same title as line ${firstLine}: only their order tells them apart`,
    }));
}

/**
 * Returns the dependencies of each item: the boxes nested in it, and the references in its text (`depends on #12`,
 * `depends on T3`).
 */
function dependenciesIn(
  items: readonly PlanBox[],
): (item: PlanBox) => { readonly ids: readonly TaskId[]; readonly problems: readonly Problem[] } {
  const nested = Map.groupBy(
    items.filter(({ around }) => around.length > 0),
    ({ around }) => around.at(-1),
  );
  // A name that several items have refers to the first of them.
  const ids = new Map(items.toReversed().map(({ id, title }) => [nameIn(title), id] as const));
  const families = new Set([...ids.keys()].flatMap((name) => (name === null ? [] : [letterPrefixOf(name)])));
  return (item) => {
    const named = dependenciesOfText(`${item.title}\n\n${item.body}`, null);
    const names = [...new Set(named.names.map(normalName))].filter((name) => families.has(letterPrefixOf(name)));
    const all = [
      ...(nested.get(item.id) ?? []).map(({ id }) => id),
      ...names.map((name) => ids.get(name) ?? taskIdOfEntry('plan', name)),
      ...named.issues.map(taskIdOfIssue),
    ];
    return {
      // An item does not wait for itself or for the boxes around it, which wait for it.
      ids: [...new Set(all)].filter((id) => id !== item.id && !item.around.includes(id)),
      problems: names
        .filter((name) => !ids.has(name))
        .map((name) => ({
          line: item.line,
          message: `depends on ${name.toUpperCase()}, but no item begins with that name, so it is not worked on`,
        })),
    };
  };
}

/** Returns the name that a title begins with: `US-001: log in`, `[T3] log in`, `Task 2 - log in`. */
function nameIn(title: string): string | null {
  const name =
    /^[[(]?([A-Za-z][A-Za-z_]{0,14}[-. ]?\d{1,9}(?:[.-]\d{1,9}){0,4})(?:[\])]|\s*[:–—]|\.\s|\s+-\s)/.exec(title)?.[1] ??
    /^([A-Z]{1,10}-\d{1,9})\s/.exec(title)?.[1];
  return name === undefined ? null : normalName(name);
}

function normalName(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}

/**
 * Returns the letters of a name. In a plan with `T1` and `T2`, a reference to `T9` is a missing task, while `HTTP2` is
 * not a reference.
 */
function letterPrefixOf(name: string): string {
  return /^[a-z_]+[-.]?/.exec(name)?.[0] ?? name;
}
