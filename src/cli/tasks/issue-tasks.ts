import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { findLabelObstacle, tasksOfIssues } from '../../core/tasks/issue-task.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { TextDependencies } from '../../core/tasks/text-dependencies.ts';
import {
  applyWaitAnswer,
  mayNameDependency,
  noWaitFacts,
  settleWaiting,
  type WaitAnswer,
  type WaitQuestion,
} from '../../core/tasks/waiting.ts';
import type { Issue } from '../../ports/forge.ts';
import type { RepositoryAccess } from '../arguments.ts';
import type { TaskSettings } from './task-settings.ts';

/**
 * Reads the open issues with the label, and those that a search finds, as tasks with their dependencies, and warnings
 * about what people should correct. Does not look up approvals: the labels of an issue show what runs found.
 */
export async function readIssueTasks(
  viewer: RepositoryAccess,
  { label, query }: Pick<TaskSettings, 'label' | 'query'>,
): Promise<{ readonly tasks: readonly Task[]; readonly warnings: readonly string[] }> {
  const labelled = await viewer.forge.openIssuesWithLabel(label);
  const numbers = new Set(labelled.map(({ number }) => number));
  const found = query === null || query.demands.length === 0 ? [] : await viewer.forge.searchIssues(query.text);
  const issues = [...labelled, ...found.filter(({ number }) => !numbers.has(number))].filter(
    ({ body }) => !isDashboardText(body),
  );
  const waiting = {
    tasks: tasksOfIssues(issues).map((task) => ({ ...task, obstacle: findLabelObstacle(task) })),
    issues: new Map(issues.map((issue) => [issue.number, issue])),
    isDone: () => false,
  };
  let facts = noWaitFacts;
  for (;;) {
    const step = settleWaiting(facts, waiting);
    if (step.kind === 'settled') return step;
    facts = applyWaitAnswer(facts, await answer(viewer, step, waiting.issues));
  }
}

async function answer(
  { forge, repository }: RepositoryAccess,
  question: WaitQuestion,
  issues: ReadonlyMap<number, Issue>,
): Promise<WaitAnswer> {
  switch (question.kind) {
    case 'texts': {
      const texts = question.of
        .flatMap(({ number }) => issues.get(number) ?? [])
        .filter(({ body }) => mayNameDependency(body));
      if (texts.length === 0) return { ...question, found: new Map<number, TextDependencies>() };
      // This import loads a Markdown parser, which most repositories do not need.
      const { dependenciesOfText } = await import('../../core/tasks/text-dependencies.ts');
      return {
        ...question,
        found: new Map(texts.map(({ number, body }) => [number, dependenciesOfText(body, repository)])),
      };
    }
    case 'dependencies':
      return {
        ...question,
        found: new Map(
          await Promise.all(question.of.map(async (number) => [number, await forge.dependenciesOf(number)] as const)),
        ),
      };
    case 'states':
      return { ...question, found: await forge.statesOf(question.of) };
  }
}
