import { definitionOf, labelChange } from '../../core/people/labels.ts';
import { nextTask } from '../../core/tasks/queue.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { Forge } from '../../ports/forge.ts';
import type { Intake } from '../../handover/intake.ts';

type WorkIntake = Extract<Intake, { kind: 'work' }>;

/**
 * Shows on the first issue that work on it begins. Returns the intake with the new labels. Comes last before the first
 * call.
 */
export async function acknowledge(forge: Forge, intake: WorkIntake): Promise<WorkIntake> {
  const task = nextTask(intake.tasks, intake.state.tasks, intake.state.currentTask);
  if (task?.source.kind !== 'issue') return intake;
  const { number, labels } = task.source;
  await forge.react({ kind: 'issue', number }, 'eyes');
  const { add, remove } = labelChange(labels, 'ralph:working');
  if (add.length + remove.length === 0) return intake;
  const changed = await forge.changeLabels(number, { from: labels, add: add.map(definitionOf), remove });
  if (changed.kind === 'refused') return intake;
  return {
    ...intake,
    tasks: intake.tasks.map((one) =>
      one.id === task.id ? withLabels(one, [...labels.filter((name) => !remove.includes(name)), ...add]) : one,
    ),
  };
}

function withLabels(task: Task, labels: readonly string[]): Task {
  return task.source.kind === 'issue' ? { ...task, source: { ...task.source, labels } } : task;
}
