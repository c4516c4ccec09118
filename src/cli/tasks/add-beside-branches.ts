import type { AddedTask, NewTask } from '../../core/tasks/files/form/root-plan.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { toPlainLine } from '../arguments.ts';
import { DEFAULT_OPTIONAL_SECTIONS } from '../defaults.ts';

/** The plan of an unmerged branch; `mergesInto` returns true if git merges it into a text without a conflict. */
interface UnmergedPlan {
  readonly branch: string;
  readonly fork: string;
  readonly lane: string;
  mergesInto(text: string): Promise<boolean>;
}

/** Returns the plans of a queue's branches that the checkout has not merged. `path` is relative to the folder. */
export type FindUnmergedPlans = (folder: string, path: string) => Promise<readonly UnmergedPlan[]>;

/**
 * The checkout to add to; `folder` is its path. `note` receives a sentence if the task is not where people expect it.
 */
export interface MergingPlace {
  readonly folder: string;
  readonly findUnmerged: FindUnmergedPlans;
  readonly note: (text: string) => void;
}

/**
 * Adds a task to the plan at a place where no branch of the queue changes a neighbouring line, so that plain git merges
 * without a conflict. If there is no such place, the task goes where it belongs, because runs merge plans task by task.
 */
export async function addBesideBranches(
  { folder, findUnmerged, note }: MergingPlace,
  { path, text }: { readonly path: string; readonly text: string },
  wanted: NewTask,
): Promise<AddedTask> {
  const { addToPlan, listPlanAdditions: additionsToPlan } = await import('../../core/tasks/files/plan-edit.ts');
  const plan = { path, text, optionalSections: DEFAULT_OPTIONAL_SECTIONS.split(',') };
  const best = addToPlan(plan, wanted);
  const unmerged = best.kind === 'added' && text !== '' ? await unmergedIn(text, await findUnmerged(folder, path)) : [];
  if (best.kind !== 'added' || unmerged.length === 0) return best;
  const branches = listFirstNames(unmerged.map(({ branch }) => toPlainLine(branch)));
  const be = unmerged.length === 1 ? 'is' : 'are';
  for (const added of additionsToPlan(plan, wanted)) {
    if (added.kind !== 'added' || !(await mergesEach(unmerged, added.text))) continue;
    if (added.text !== best.text)
      note(
        `written to line ${added.line} instead of ${best.line}, and worked on before the tasks below it: ${branches} ${be} not merged yet, and git would report a conflict there.`,
      );
    return added;
  }
  note(
    `${branches} ${be} not merged yet, and git will report a conflict in ${path} if you merge by hand: take the branch's lines, and add the new task to them. The next run merges the list by itself.`,
  );
  return best;
}

/** Returns the plans that would change the text `base` and that git merges into it without a conflict. */
async function unmergedIn(base: string, plans: readonly UnmergedPlan[]): Promise<readonly UnmergedPlan[]> {
  const { mergePlans } = await import('../../core/tasks/files/plan-merge.ts');
  const open = plans.filter(({ fork, lane }) => mergePlans({ fork, lane, base }) !== base);
  const clean = await Promise.all(open.map(async (plan) => plan.mergesInto(base)));
  return open.filter((_, index) => clean[index]);
}

async function mergesEach(plans: readonly UnmergedPlan[], text: string): Promise<boolean> {
  const clean = await Promise.all(plans.map(async (plan) => plan.mergesInto(text)));
  return clean.every(Boolean);
}
