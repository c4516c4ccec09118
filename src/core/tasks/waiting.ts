import {
  listIssuesToLookUp,
  settleDependencies,
  type AwaitedIssue,
  type DependentTask,
  type IssueState,
  type SettledTasks,
} from './dependencies.ts';
import type { TaskIssue } from './issue-task.ts';
import { issueOfId, type TaskId } from './ids.ts';
import { issueOfTask, nameOfTask, type Task } from './task.ts';
import type { TextDependencies } from './text-dependencies.ts';
import { listFirstNames } from '../text/phrase.ts';

/** Maximum number of issues whose GitHub dependencies are looked up, one request each. */
const MAX_ASKED = 30;
/**
 * Maximum number of issues named by a text, as many as GitHub answers for in one request; a text with more is not read.
 */
const MAX_NAMED = 100;
/** Maximum number of issues outside of the lane's tasks whose state a run looks up; the others count as open. */
const MAX_STATES = 1_000;
/** Matches a reference to an issue. A text with a dependency matches this and `WORDS`. */
const REFERENCE = /#\d|\bGH-\d|\/(?:issues|pull)\/\d/i;
const WORDS = /depend|block|\[\s\]/i;

/** A dependency that GitHub itself records. */
export interface KnownDependency {
  readonly number: number;
  readonly state: IssueState;
  /** The other repository, as `owner/repo`; null for this one. */
  readonly elsewhere: string | null;
}

/** The known facts about dependencies, all by issue number. */
export interface WaitFacts {
  readonly texts: ReadonlyMap<number, TextDependencies>;
  readonly dependencies: ReadonlyMap<number, readonly KnownDependency[]>;
  readonly states: ReadonlyMap<number, IssueState>;
}

/**
 * The next question: dependencies in texts, dependencies in GitHub's records, or states of issues that are not tasks.
 */
export type WaitQuestion =
  | { readonly kind: 'texts'; readonly of: readonly TaskIssue[] }
  | { readonly kind: 'dependencies'; readonly of: readonly number[] }
  | { readonly kind: 'states'; readonly of: readonly number[] };

/** A question with its results by issue number; missing results are left out. */
export type WaitAnswer =
  | (Extract<WaitQuestion, { kind: 'texts' }> & { readonly found: WaitFacts['texts'] })
  | (Extract<WaitQuestion, { kind: 'dependencies' }> & { readonly found: WaitFacts['dependencies'] })
  | (Extract<WaitQuestion, { kind: 'states' }> & { readonly found: WaitFacts['states'] });

/** Tasks in the order of work, with their issues. */
export interface WaitingTasks {
  readonly tasks: readonly Task[];
  readonly issues: ReadonlyMap<number, TaskIssue>;
  /** Returns true for a finished task. */
  readonly isDone: (id: TaskId) => boolean;
}

/** The facts before any question. */
export const noWaitFacts: WaitFacts = { texts: new Map(), dependencies: new Map(), states: new Map() };

/** Returns the dependencies of tasks, or the next question. Known facts are not asked for again. */
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
  const others = listIssuesToLookUp(
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

/** Returns the facts with an answer. An issue that the answer lacks counts as open and without dependencies. */
export function applyWaitAnswer(facts: WaitFacts, answer: WaitAnswer): WaitFacts {
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

/** Returns true if a text may name a dependency; most do not, and need no parser. */
export function mayNameDependency(body: string): boolean {
  return REFERENCE.test(body) && WORDS.test(body);
}

function waitsFor({ texts, dependencies }: WaitFacts, task: Task): readonly AwaitedIssue[] {
  const number = issueOfTask(task);
  if (number === null) return task.dependsOn.map(awaitedOfFile);
  const text = texts.get(number) ?? noDependencies;
  return [
    ...(isOverlong(text) ? [] : text.issues.map((other): AwaitedIssue => ({ kind: 'issue', number: other }))),
    ...(dependencies.get(number) ?? []).filter(({ state }) => state === 'open').map(awaitedOnGitHub),
  ];
}

function awaitedOnGitHub({ elsewhere, number }: KnownDependency): AwaitedIssue {
  return elsewhere === null ? { kind: 'issue', number } : { kind: 'elsewhere', name: `${elsewhere}#${number}` };
}

/** Converts a dependency of a file's entry: the id of another entry of its file, or of an issue. */
function awaitedOfFile(id: TaskId): AwaitedIssue {
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
    `${listFirstNames(numbers.map((number) => `#${number}`))} ${numbers.length === 1 ? 'names' : 'name'} more than ${MAX_NAMED} issues to wait for, so Ralph does not work on ${numbers.length === 1 ? 'it' : 'them'}. Shorten the list.`,
  ];
}

/**
 * Returns warnings about other repositories, which cannot be looked up here: only dependencies that GitHub itself
 * records are used.
 */
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
    `${listFirstNames(unchecked.map(({ name }) => name))} ${verb} issues of other repositories (${listFirstNames([...new Set(unchecked.flatMap(({ others }) => others))])}), which are not checked: use GitHub's own dependencies to make ${it} wait.`,
  ];
}
