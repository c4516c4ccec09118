import { parsePresentWorkflow, listStepsByHand } from '../../core/setup/by-hand.ts';
import type { SetupChoices } from '../../core/setup/files.ts';
import type { FileChange } from '../../core/setup/ownership.ts';
import type { Project } from '../../core/setup/project.ts';
import type { LeftToFile } from './checkout-files.ts';
import type { SetupReport } from './setup-schema.ts';
import type { SetupCheckout } from './setup-world.ts';
import { selectUsedStacks } from '../../core/setup/workflow.ts';

/** Builds the report of init: the facts that it found, and the changes that it makes or would make. */
export function buildSetupReport(
  facts: {
    readonly project: Project;
    readonly checkout: Extract<SetupCheckout, { kind: 'open' }>;
    readonly maxCostUsd: SetupReport['maxCostUsd'];
    readonly left: LeftToFile | null;
  },
  choices: SetupChoices,
  { changes, workflow }: { readonly changes: readonly FileChange[]; readonly workflow: string },
): SetupReport {
  const { project, checkout, maxCostUsd, left } = facts;
  const { home, defaultBranch, ignored } = checkout;
  const steps = listStepsByHand({
    choices,
    defaultBranch,
    ignored: ignored.filter((path) => changes.some((change) => change.path === path)),
    project,
    settingProblems: left?.problems ?? [],
    workflow: parsePresentWorkflow(workflow),
  });
  return {
    written: false,
    project: {
      stacks: selectUsedStacks(project).map(
        ({ language, folder, packageManager, frameworks, install, build, test, lint }) =>
          ({ language, folder, packageManager, frameworks: [...frameworks], install, build, test, lint }) as const,
      ),
      layout: project.layout.kind,
      defaultBranch,
      taskFiles: [...project.taskFiles],
      ralphWorkflow: project.ralphWorkflow,
      workflows: [...project.workflows],
      otherRalphs: [...project.otherRalphs],
      ci: {
        from: [...(project.learned?.from ?? [])],
        offered: listOfferedChecks(project, choices.verify),
        unread: [...project.unread],
      },
      packages: project.packages.map(({ folder, name }) => ({ folder, name })),
    },
    leftToFile: choices.leftTo === null ? null : { path: choices.leftTo.path, inputs: [...choices.leftTo.inputs] },
    files: changes.map((change) => ({ path: change.path, change: change.kind, text: textAfter(change) })),
    byHand: steps.map(({ what, path }) => ({
      what,
      url: path === null || home === null ? null : `${home.server}/${home.repository}${path}`,
    })),
    maxCostUsd,
  };
}

/** Returns checks of CI that the commands do not contain. */
export function listOfferedChecks({ learned }: Project, verify: readonly string[]): string[] {
  return (learned?.offered ?? []).filter((line) => !verify.includes(line));
}

function textAfter(change: FileChange): string | null {
  if ('after' in change) return change.after;
  return change.kind === 'left' ? change.wanted : null;
}
