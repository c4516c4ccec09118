import type { LaneState } from '../../core/lane/state.ts';
import {
  admissionStep,
  beginAdmission,
  learn,
  type AdmissionAnswer,
  type AdmissionQuestion,
  type Candidates,
  type JudgedTasks,
} from '../../core/tasks/admission.ts';
import type { TaskIssue } from '../../core/tasks/issue-task.ts';
import type { TextDependencies } from '../../core/tasks/text-dependencies.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import { mayWait } from '../../core/tasks/waiting.ts';
import type { Dependency } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { judgeIssues } from '../people/approvals.ts';
import { accountsAsked } from '../people/trust.ts';

/** Judges as many issues as this run can get to: asks what the rules want to know, until they know enough. */
export async function judgeTasks(deps: GateDeps, candidates: Candidates, restored: LaneState): Promise<JudgedTasks> {
  const { taskLabel, policy } = deps.config;
  let admission = beginAdmission(candidates, restored, { taskLabel, maxIterations: policy.maxIterations });
  for (;;) {
    const step = admissionStep(admission);
    if (step.kind === 'judged') return step.judged;
    admission = learn(admission, await ask(deps, step, restored));
  }
}

async function ask(
  deps: GateDeps,
  question: AdmissionQuestion,
  { approvals, tasks }: LaneState,
): Promise<AdmissionAnswer> {
  switch (question.kind) {
    case 'consents': {
      const found = await judgeIssues(deps, question.of, {
        approvals,
        isFinished: (id) => progressOf(tasks, id).state === 'done',
      });
      return { ...question, found, peopleAsked: accountsAsked(deps.forge), now: deps.clock.now() };
    }
    case 'texts':
      return { ...question, found: await parseTexts(deps, question.of) };
    case 'dependencies': {
      const found = new Map<number, readonly Dependency[]>();
      for (const number of question.of) found.set(number, await deps.forge.dependenciesOf(number));
      return { ...question, found };
    }
    case 'states':
      return { ...question, found: await deps.forge.statesOf(question.of) };
  }
}

async function parseTexts(
  { context }: Pick<GateDeps, 'context'>,
  issues: readonly TaskIssue[],
): Promise<ReadonlyMap<number, TextDependencies>> {
  const waiting = issues.filter(({ body }) => mayWait(body));
  if (waiting.length === 0) return new Map();
  // Brings a Markdown parser along, which most queues do not need.
  const { dependenciesOfText } = await import('../../core/tasks/text-dependencies.ts');
  const { owner, repo } = context.repository;
  return new Map(waiting.map(({ number, body }) => [number, dependenciesOfText(body, `${owner}/${repo}`)]));
}
