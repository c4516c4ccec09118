import type { RunReport } from '../../handover/report.ts';
import { settingOf } from '../facts.ts';
import { step, type NextStep } from '../next/step.ts';

/** Where a run looks for tasks: its sources, and what people call the label (`the label ralph`). */
export interface TaskSources {
  readonly sources: readonly string[];
  readonly label: string;
}

/** `no open issue has the label ralph, and no task is open in .ralph/fix_plan.md or .ralph/prd.json`. `leftOut`: some may be there that this run may not work. */
export function noTasks(where: TaskSources, leftOut: boolean): string {
  const files = filesOf(where);
  const inFiles = files.length < 2 ? files.join('') : `${files.slice(0, -1).join(', ')} or ${files.at(-1) ?? ''}`;
  return [
    ...(looksAtIssues(where)
      ? [leftOut ? `no open issue with ${where.label} is for this run` : `no open issue has ${where.label}`]
      : []),
    ...(files.length === 0 ? [] : [`no task is open in ${inFiles}`]),
    ...(looksAtPrompt(where) ? ['there is no `PROMPT.md`'] : []),
  ].join(', and ');
}

/** Returns the ways to give Ralph another task. */
export function stepsToAddTask(where: TaskSources): readonly NextStep[] {
  const [file] = filesOf(where);
  const ways = [
    ...(looksAtIssues(where) ? [step('label', `${where.label} on an issue that an agent should work on`)] : []),
    ...(file === undefined ? [] : [step('write', `a task into ${file}`)]),
    ...(looksAtPrompt(where) ? [step('write', 'what you want into `PROMPT.md` on the base branch')] : []),
  ];
  return ways.map((way, at) => (at === 0 ? way : { ...way, joint: ', or ' }));
}

/** Returns where the run looked for tasks. */
export function sourcesOf(report: RunReport): TaskSources {
  const setting = settingOf(report);
  const label = setting === null ? 'the task label' : `the label \`${setting.taskLabel}\``;
  return { sources: setting?.taskSources ?? [], label };
}

const FILES: ReadonlyMap<string, string> = new Map([
  ['plan', '`.ralph/fix_plan.md`'],
  ['prd', '`.ralph/prd.json`'],
  ['beads', '`.beads/`'],
]);

function filesOf({ sources }: TaskSources): readonly string[] {
  return sources.map((source) => FILES.get(source)).filter((path) => path !== undefined);
}

function looksAtPrompt({ sources }: TaskSources): boolean {
  return sources.includes('prompt');
}

/** A run that ended before it knew its sources speaks of the label. */
function looksAtIssues({ sources }: TaskSources): boolean {
  return sources.length === 0 || sources.includes('issues');
}
