import {
  issuesToAskAbout,
  settleDependencies,
  type Awaited,
  type DependentTask,
  type IssueState,
  type SettledTasks,
} from './dependencies.ts';
import type { TaskIssue } from './issue-task.ts';
import { issueOfId, type TaskId } from './ids.ts';
import { issueOfTask, nameOfTask, type Task } from './task.ts';
import type { TextDependencies } from './text-dependencies.ts';
import { namesOf } from '../text/phrase.ts';

/** GitHub's own dependencies are asked for one by one. */
const MAX_ASKED = 30;
/** GitHub answers for so many issues in one request; a text that names more is not read. */
const MAX_NAMED = 100;
/** About so many issues that are no tasks a run asks; of the others it takes for granted that they are open. */
const MAX_STATES = 1_000;
/** Nothing that waits for an issue does without both. */
const REFERENCE = /#\d|\bGH-\d|\/(?:issues|pull)\/\d/i;
const WORDS = /depend|block|\[\s\]/i;

/** What GitHub itself says that an issue waits for. `elsewhere`: the other repository, as `owner/repo`; null: this one. */
export interface KnownDependency {
  readonly number: number;
  readonly state: IssueState;
  readonly elsewhere: string | null;
}

/** What is known of what tasks wait for, all by number of the issue. */
export interface WaitFacts {
  readonly texts: ReadonlyMap<number, TextDependencies>;
  readonly dependencies: ReadonlyMap<number, readonly KnownDependency[]>;
  readonly states: ReadonlyMap<number, IssueState>;
}

/** What must be found out next: what texts say, what GitHub itself says, or what became of issues that are no tasks. */
export type WaitQuestion =
  | { readonly kind: 'texts'; readonly of: readonly TaskIssue[] }
  | { readonly kind: 'dependencies'; readonly of: readonly number[] }
  | { readonly kind: 'states'; readonly of: readonly number[] };

/** A question with what was found, by number of the issue; what was not found is left out. */
export type WaitAnswer =
  | (Extract<WaitQuestion, { kind: 'texts' }> & { readonly found: WaitFacts['texts'] })
  | (Extract<WaitQuestion, { kind: 'dependencies' }> & { readonly found: WaitFacts['dependencies'] })
  | (Extract<WaitQuestion, { kind: 'states' }> & { readonly found: WaitFacts['states'] });

/** Tasks in the order of work, the issues that some of them are, and which wait for nothing any more. */
export interface WaitingTasks {
  readonly tasks: readonly Task[];
  readonly issues: ReadonlyMap<number, TaskIssue>;
  readonly isDone: (id: TaskId) => boolean;
}

/** Before anything was asked. */
export const nothingKnown: WaitFacts = { texts: new Map(), dependencies: new Map(), states: new Map() };

/** What tasks wait for, or what must be found out before that is known. What is known is not asked again. */
export function settleWaiting(
  facts: WaitFacts,
  { tasks, issues, isDone }: WaitingTasks,
): WaitQuestion | ({ readonly kind: 'settled' } & SettledTasks<Task>) {
  const open = tasks.filter(({ id }) => !isDone(id));
  const openIssues = open.flatMap((task) => issues.get(issueOfTask(task) ?? 0) ?? []);
  const unread = openIssues.filter(({ number }) => !facts.texts.has(number));
  if (unread.length > 0) return { kind: 'texts', of: unread };

  const unasked = openIssues
    .filter((issue) => issue.blockedBy + issue.openSubIssues > 0 && !facts.dependencies.has(issue.number))
    .map(({ number }) => number);
  const asking = unasked.slice(0, MAX_ASKED - facts.dependencies.size);
  if (asking.length > 0) return { kind: 'dependencies', of: asking };

  const dependents = tasks.map((task): DependentTask<Task> => ({
    task,
    name: nameOfTask(task),
    waitsFor: waitsFor(facts, task),
  }));
  const others = issuesToAskAbout(
    dependents.filter(({ task }) => !isDone(task.id)),
    tasks,
  ).filter((number) => !facts.states.has(number));
  const looking = others.slice(0, Math.max(0, MAX_STATES - facts.states.size));
  if (looking.length > 0) return { kind: 'states', of: looking };

  const states = new Map([...facts.states, ...others.map((number) => [number, 'open'] as const)]);
  const settled = settleDependencies(dependents, { states, isDone });
  const unknown = new Set([...unasked, ...overlong(facts)]);
  const isUnknown = (task: Task): boolean => unknown.has(issueOfTask(task) ?? 0);
  return {
    kind: 'settled',
    tasks: settled.tasks.map((task) => (isUnknown(task) ? { ...task, obstacle: task.obstacle ?? 'unchecked' } : task)),
    warnings: [
      ...settled.warnings,
      ...warnOfUnasked(unasked.length),
      ...warnOfLength(overlong(facts)),
      ...warnOfElsewhere(facts, open),
    ],
  };
}

/** The facts with an answer. An issue of which the answer says nothing counts as open, and waits for nothing. */
export function learnWaiting(facts: WaitFacts, answer: WaitAnswer): WaitFacts {
  switch (answer.kind) {
    case 'texts': {
      const texts = answer.of.map(({ number }) => [number, answer.found.get(number) ?? noDependencies] as const);
      return { ...facts, texts: new Map([...facts.texts, ...texts]) };
    }
    case 'dependencies': {
      const dependencies = answer.of.map((number) => [number, answer.found.get(number) ?? []] as const);
      const states = dependencies.flatMap(([, list]) =>
        list.filter(({ elsewhere }) => elsewhere === null).map(({ number, state }) => [number, state] as const),
      );
      return {
        ...facts,
        dependencies: new Map([...facts.dependencies, ...dependencies]),
        states: new Map([...facts.states, ...states]),
      };
    }
    case 'states': {
      const states = answer.of.map((number) => [number, answer.found.get(number) ?? 'open'] as const);
      return { ...facts, states: new Map([...facts.states, ...states]) };
    }
  }
}

const noDependencies: TextDependencies = { issues: [], elsewhere: [], names: [] };

/** Whether a text may say that it waits for an issue; most do not, and need no parser. */
export function mayWait(body: string): boolean {
  return REFERENCE.test(body) && WORDS.test(body);
}

function waitsFor({ texts, dependencies }: WaitFacts, task: Task): readonly Awaited[] {
  const number = issueOfTask(task);
  if (number === null) return task.dependsOn.map(awaitedOfFile);
  const text = texts.get(number) ?? noDependencies;
  return [
    ...(isOverlong(text) ? [] : text.issues.map((other): Awaited => ({ kind: 'issue', number: other }))),
    ...(dependencies.get(number) ?? []).filter(({ state }) => state === 'open').map(awaitedOnGitHub),
  ];
}

function awaitedOnGitHub({ elsewhere, number }: KnownDependency): Awaited {
  return elsewhere === null ? { kind: 'issue', number } : { kind: 'elsewhere', name: `${elsewhere}#${number}` };
}

/** Entries of files name others of their file, and issues by their ids. */
function awaitedOfFile(id: TaskId): Awaited {
  const number = issueOfId(id);
  return number === null ? { kind: 'task', id } : { kind: 'issue', number };
}

function isOverlong({ issues }: TextDependencies): boolean {
  return issues.length > MAX_NAMED;
}

function overlong({ texts }: WaitFacts): readonly number[] {
  return [...texts].filter(([, text]) => isOverlong(text)).map(([number]) => number);
}

function warnOfUnasked(count: number): readonly string[] {
  if (count === 0) return [];
  return [
    `${count} more ${count === 1 ? 'issue has' : 'issues have'} dependencies or sub-issues on GitHub, beyond the ${MAX_ASKED} that one run asks about; ${count === 1 ? 'it waits' : 'they wait'} until those are done.`,
  ];
}

function warnOfLength(numbers: readonly number[]): readonly string[] {
  if (numbers.length === 0) return [];
  return [
    `${namesOf(numbers.map((number) => `#${number}`))} ${numbers.length === 1 ? 'names' : 'name'} more than ${MAX_NAMED} issues to wait for, so Ralph does not work on ${numbers.length === 1 ? 'it' : 'them'}. Shorten the list.`,
  ];
}

/** Of other repositories nobody here can ask: only what GitHub knows of itself is waited for. */
function warnOfElsewhere({ texts, dependencies }: WaitFacts, open: readonly Task[]): readonly string[] {
  const known = new Set(
    [...dependencies.values()].flat().map(({ elsewhere, number }) => `${elsewhere ?? ''}#${number}`.toLowerCase()),
  );
  const unchecked = open
    .map((task) => ({
      name: nameOfTask(task),
      others: (texts.get(issueOfTask(task) ?? 0) ?? noDependencies).elsewhere.filter(
        (other) => !known.has(other.toLowerCase()),
      ),
    }))
    .filter(({ others }) => others.length > 0);
  if (unchecked.length === 0) return [];
  const [verb, it] = unchecked.length === 1 ? ['names', 'it'] : ['name', 'them'];
  return [
    `${namesOf(unchecked.map(({ name }) => name))} ${verb} issues of other repositories (${namesOf([...new Set(unchecked.flatMap(({ others }) => others))])}), which are not checked: use GitHub's own dependencies to make ${it} wait.`,
  ];
}
