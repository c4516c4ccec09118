import { splitIntoSections, type OutlineSection } from '../../../markdown/checklist.ts';
import type { AddedTask, FileTask, NewTask } from './form/root-plan.ts';
import { createHeadingTest, parsePlan } from './plan.ts';
import { NORMAL_PRIORITY, priorityOfHeading, priorityOfWord } from '../priority.ts';

/** A plan before the change. */
interface Plan {
  readonly path: string;
  readonly text: string;
  /** Prefixes of headings whose items are optional. */
  readonly optionalSections: readonly string[];
}

/** Adds a box under the heading of its priority, which is added if missing; everything else stays byte for byte. */
export function addToPlan(plan: Plan, wanted: NewTask): AddedTask {
  const [first = noPlaceIn(plan)] = listPlanAdditions(plan, wanted);
  return first;
}

/**
 * Yields the plan with the box at each place where it has the right priority, the best place first, or the reason why
 * no place was found.
 */
export function* listPlanAdditions(
  { path, text, optionalSections }: Plan,
  wanted: NewTask,
): Generator<AddedTask, void, void> {
  const parseTasksOf = (changed: string): readonly FileTask[] => parsePlan(path, changed, optionalSections).tasks;
  const isOptional = optionalSection(optionalSections);
  const [alone] = parseTasksOf(`- [ ] ${wanted.title}\n`);
  if (alone === undefined) {
    yield refuseIn(path, 'its title has no visible text');
    return;
  }
  const before = parseTasksOf(text);
  const same = before.find(({ task }) => task.title === alone.task.title);
  if (same !== undefined) {
    yield { kind: 'there', id: same.task.id, line: lineOf(same), state: same.state };
    return;
  }

  const isRight = ({ task }: FileTask): boolean =>
    task.optional === wanted.optional && (wanted.optional || task.priority === numberOf(wanted));
  const plan = text.trim() === '' ? FIRST_PLAN : text;
  for (const insertion of insertionsFor(plan, wanted, isOptional)) {
    const changed = insertItem(plan, insertion, wanted);
    const after = parseTasksOf(changed);
    const added = after.find(({ task }) => task.title === alone.task.title);
    if (added !== undefined && isRight(added) && addsExactlyOne(before, after))
      yield { kind: 'added', text: changed, id: added.task.id, line: lineOf(added) };
  }
}

function noPlaceIn({ path }: Plan): AddedTask {
  return refuseIn(
    path,
    'no place was found where it would be read as a task without changing another one: close an open code block or comment, or shorten the plan',
  );
}

function refuseIn(path: string, message: string): AddedTask {
  return { kind: 'refused', problem: { file: path, line: null, column: null, message } };
}

const FIRST_PLAN = '# Fix plan\n';

/**
 * A place for an item: below a line, with or without blank lines before it, and with or without a heading of its own.
 */
interface Insertion {
  readonly line: number;
  readonly heading: string | null;
  readonly bullet: string;
  readonly afterBlank: boolean;
}

/** Returns the places for a task, the best first. */
function insertionsFor(plan: string, wanted: NewTask, isOptional: SectionRule): readonly Insertion[] {
  const sections = splitIntoSections(plan);
  return [
    ...bestSections(sections, wanted, isOptional).flatMap(insertionsIn),
    ...insertionsForHeading(sections, wanted),
  ];
}

function bestSections(
  sections: readonly OutlineSection[],
  wanted: NewTask,
  isOptional: SectionRule,
): readonly OutlineSection[] {
  const withLists = (found: readonly OutlineSection[]): readonly OutlineSection[] => [
    ...found.filter(({ checklist }) => checklist !== null).toReversed(),
    ...found.filter(({ checklist }) => checklist === null),
  ];
  if (wanted.optional) return withLists(sections.filter(isOptional));
  const required = sections.filter((section) => !isOptional(section));
  const named = withLists(required.filter((section) => priorityOf(section) === numberOf(wanted)));
  if (numberOf(wanted) !== NORMAL_PRIORITY) return named;
  // In a plan without such a heading, the task goes where people put tasks.
  const plain = required
    .filter((section) => priorityOf(section) === null && section.checklist !== null && !isFinishedSection(section))
    .toReversed();
  return [
    ...named,
    ...plain.filter(({ checklist }) => checklist?.open),
    ...plain.filter(({ checklist }) => checklist?.open === false),
  ];
}

/** Returns the places in a section: at the end of its list, at its own end, and below its heading. */
function insertionsIn(section: OutlineSection): readonly Insertion[] {
  const { checklist, headingLine, lastLine } = section;
  const behind = { heading: null, bullet: '- ', afterBlank: true };
  return [
    ...(checklist === null
      ? []
      : [{ line: checklist.lastLine, heading: null, bullet: checklist.bullet, afterBlank: checklist.loose }]),
    { line: lastLine, ...behind },
    ...insertionsAbove(section),
    { line: headingLine, ...behind },
  ];
}

/** Maximum number of lines that a task is moved up within its list. */
const MAX_LINES_UP = 60;

/** Returns the places above the end of a section's list, the lowest first, and the one right below its heading. */
function insertionsAbove({ checklist, headingLine }: OutlineSection): readonly Insertion[] {
  if (checklist === null) return [];
  const { lastLine, bullet, loose } = checklist;
  const count = Math.min(MAX_LINES_UP, lastLine - headingLine - 1);
  return [
    ...Array.from({ length: count }, (_, index) => ({ line: lastLine - 1 - index, afterBlank: loose })),
    { line: headingLine, afterBlank: false },
  ].map((place) => ({ ...place, heading: null, bullet }));
}

/** Returns the place below the last section with open work: done items and notes stay at the end. */
function insertionsForHeading(sections: readonly OutlineSection[], wanted: NewTask): readonly Insertion[] {
  const name = wanted.optional
    ? 'Optional'
    : ({ 1: 'High Priority', 2: 'Medium Priority', 3: 'Low Priority' }[numberOf(wanted)] ?? 'Medium Priority');
  const above = sections.findLast((section) => !isFinishedSection(section));
  return [above, sections.at(-1)].flatMap((section) =>
    ['##', '#'].map((mark) => ({
      line: section?.lastLine ?? 0,
      heading: `${mark} ${name}`,
      bullet: '- ',
      afterBlank: true,
    })),
  );
}

/** Returns the plan with the item at a place, with the plan's line ends. */
function insertItem(plan: string, { line, heading, bullet, afterBlank }: Insertion, { title, body }: NewTask): string {
  const end = plan.includes('\r\n') ? '\r\n' : '\n';
  const lines = plan.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  const above = lines.slice(0, line);
  const below = lines.slice(line);
  const isBlankLine = (text: string | undefined): boolean => text === undefined || text.trim() === '';
  const indented =
    body === ''
      ? []
      : ['', ...body.split(/\r\n?|\n/)].map((text) =>
          text.trim() === '' ? '' : `${' '.repeat(bullet.length)}${text}`,
        );
  const item = [...(heading === null ? [] : [heading, '']), `${bullet}[ ] ${title}`, ...indented];
  const piece = [
    ...(afterBlank && !isBlankLine(above.at(-1)) ? [''] : []),
    ...item,
    ...((afterBlank || body !== '') && !isBlankLine(below[0]) ? [''] : []),
  ].join(end);
  const last = above.at(-1);
  if (last !== undefined && !/[\r\n]$/.test(last)) return `${above.join('')}${end}${piece}`;
  return `${above.join('')}${piece}${end}${below.join('')}`;
}

/** Returns true if exactly one task is new and all others are unchanged. */
function addsExactlyOne(before: readonly FileTask[], after: readonly FileTask[]): boolean {
  const known = new Map(after.map((task) => [task.task.id, shape(task)]));
  return after.length > before.length && before.every((task) => known.get(task.task.id) === shape(task));
}

function shape({ task, state }: FileTask): string {
  return JSON.stringify([state, task.title, task.body, task.priority, task.optional, task.dependsOn]);
}

function numberOf({ priority }: NewTask): number {
  return (priority === null ? null : priorityOfWord(priority)) ?? NORMAL_PRIORITY;
}

/** Returns the priority of the innermost heading that gives one; null if no heading does. */
function priorityOf({ headings }: OutlineSection): number | null {
  return headings.map(({ text }) => priorityOfHeading(text)).findLast((priority) => priority !== null) ?? null;
}

type SectionRule = (section: OutlineSection) => boolean;

function optionalSection(names: readonly string[]): SectionRule {
  const isOptional = createHeadingTest(names);
  return ({ headings }) => headings.some(({ text }) => isOptional(text));
}

function isFinishedSection({ headings }: OutlineSection): boolean {
  return headings.some(({ text }) => /^(?:done|completed?|finished|archived?|notes?)\b/i.test(text));
}

function lineOf({ task }: FileTask): number {
  return task.source.kind === 'plan' ? task.source.line : 0;
}
