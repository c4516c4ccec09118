import {
  issuesToAskAbout,
  namesOf,
  settleDependencies,
  type Awaited,
  type DependentTask,
  type SettledTasks,
} from '../../core/tasks/dependencies.ts';
import { nameOfTask, type Task } from '../../core/tasks/task.ts';
import type { Dependency, Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { issueOfId, nameOfTaskId, taskIdOfIssue, type TaskId } from '../../core/tasks/ids.ts';

/** GitHub's own dependencies are asked for one by one. */
const MAX_ASKED = 30;
/** What becomes of so many issues GitHub tells in one request; a text that names more is not read. */
const MAX_NAMED = 100;
/** About so many issues that are no tasks a run asks; of the others it takes for granted that they are open. */
const MAX_STATES = 1_000;
/** Nothing that waits for an issue does without both. */
const REFERENCE = /#\d|\bGH-\d|\/(?:issues|pull)\/\d/i;
const WORDS = /depend|block|\[\s\]/i;

/** Finds out what tasks wait for; what is known already is not asked again in the same run. */
export interface Waiting {
  /** Tasks with what they wait for. `issues`: what they are made of, by task; `isDone`: tasks that wait for nothing any more. */
  settle(
    tasks: readonly Task[],
    issues: ReadonlyMap<TaskId, Issue>,
    isDone: (id: TaskId) => boolean,
  ): Promise<SettledTasks<Task>>;
}

export function createWaiting(run: Pick<GateDeps, 'forge' | 'context'>): Waiting {
  const awaited = new Map<TaskId, readonly Awaited[]>();
  const states = new Map<number, Dependency['state']>();
  /** Issues whose own dependencies are not known. */
  const unasked = new Set<TaskId>();
  /** Issues whose texts name too many others. */
  const overlong = new Set<TaskId>();
  /** Issues of other repositories that texts name, and those that GitHub itself knows of, in lower case. */
  const named = new Map<TaskId, readonly string[]>();
  const known = new Set<string>();
  let asked = 0;

  return {
    async settle(tasks, issues, isDone) {
      const open = tasks.filter(({ id }) => !isDone(id));
      for (const { id } of open) {
        const issue = issues.get(id);
        if (issue !== undefined && !awaited.has(id))
          awaited.set(id, [...(await saidInText(issue)), ...(await saidByGitHub(issue))]);
      }
      const dependents = tasks.map((task): DependentTask<Task> => ({
        task,
        name: nameOfTask(task),
        waitsFor: awaited.get(task.id) ?? task.dependsOn.map(ofFile),
      }));
      await askAbout(
        issuesToAskAbout(
          dependents.filter(({ task }) => !isDone(task.id)),
          tasks,
        ).filter((number) => !states.has(number)),
      );
      const settled = settleDependencies(dependents, { states, isDone });
      const isUnknown = ({ id }: Task): boolean => unasked.has(id) || overlong.has(id);
      return {
        tasks: settled.tasks.map((task) =>
          isUnknown(task) ? { ...task, obstacle: task.obstacle ?? 'unchecked' } : task,
        ),
        warnings: [...settled.warnings, ...warnOfUnasked(), ...warnOfLength(), ...warnOfElsewhere(open)],
      };
    },
  };

  async function askAbout(numbers: readonly number[]): Promise<void> {
    const asking = numbers.slice(0, Math.max(0, MAX_STATES - states.size));
    if (asking.length > 0) for (const [number, state] of await run.forge.statesOf(asking)) states.set(number, state);
    for (const number of numbers) if (!states.has(number)) states.set(number, 'open');
  }

  async function saidInText({ number, body }: Issue): Promise<readonly Awaited[]> {
    if (!REFERENCE.test(body) || !WORDS.test(body)) return [];
    // Brings a Markdown parser along.
    const { dependenciesOfText } = await import('../../core/tasks/text-dependencies.ts');
    const { owner, repo } = run.context.repository;
    const { issues, elsewhere } = dependenciesOfText(body, `${owner}/${repo}`);
    if (elsewhere.length > 0) named.set(taskIdOfIssue(number), elsewhere);
    if (issues.length <= MAX_NAMED) return issues.map((other) => ({ kind: 'issue', number: other }));
    overlong.add(taskIdOfIssue(number));
    return [];
  }

  async function saidByGitHub({ number, blockedBy, openSubIssues }: Issue): Promise<readonly Awaited[]> {
    if (blockedBy + openSubIssues <= 0) return [];
    if (asked >= MAX_ASKED) {
      unasked.add(taskIdOfIssue(number));
      return [];
    }
    asked += 1;
    const dependencies = await run.forge.dependenciesOf(number);
    for (const { elsewhere, number: other, state } of dependencies) {
      if (elsewhere === null) states.set(other, state);
      else known.add(`${elsewhere}#${String(other)}`.toLowerCase());
    }
    return dependencies
      .filter(({ state }) => state === 'open')
      .map(({ elsewhere, number: other }) =>
        elsewhere === null
          ? { kind: 'issue', number: other }
          : { kind: 'elsewhere', name: `${elsewhere}#${String(other)}` },
      );
  }

  /** Of other repositories nobody here can ask: only what GitHub knows of itself is waited for. */
  function warnOfElsewhere(tasks: readonly Task[]): readonly string[] {
    const unchecked = tasks
      .map((task) => ({
        name: nameOfTask(task),
        others: (named.get(task.id) ?? []).filter((other) => !known.has(other.toLowerCase())),
      }))
      .filter(({ others }) => others.length > 0);
    if (unchecked.length === 0) return [];
    const [verb, it] = unchecked.length === 1 ? ['names', 'it'] : ['name', 'them'];
    return [
      `${namesOf(unchecked.map(({ name }) => name))} ${verb} issues of other repositories (${namesOf([...new Set(unchecked.flatMap(({ others }) => others))])}), which are not checked: use GitHub's own dependencies to have ${it} wait.`,
    ];
  }

  function warnOfUnasked(): readonly string[] {
    if (unasked.size === 0) return [];
    return [
      `${String(unasked.size)} issues more have dependencies or sub-issues on GitHub than the ${String(MAX_ASKED)} that one run asks about; they are not worked before these are done.`,
    ];
  }

  function warnOfLength(): readonly string[] {
    return overlong.size === 0
      ? []
      : [
          `More than ${String(MAX_NAMED)} issues to wait for are named by ${namesOf([...overlong].map(nameOfTaskId))}, so nobody works on that. Shorten the list.`,
        ];
  }
}

/** Entries of files name others of their file, and issues by their ids. */
function ofFile(id: TaskId): Awaited {
  const number = issueOfId(id);
  return number === null ? { kind: 'task', id } : { kind: 'issue', number };
}
