import { answerFindings } from './answer-findings.ts';
import { namesOf } from '../text/lists.ts';
import type { ActionRules, Facts } from './facts.ts';
import { checks, cure, fine, problem, warning, type Finding } from './finding.ts';
import { keyFinding, machineFindings } from './machine-findings.ts';
import { pipelineFindings } from './pipeline-findings.ts';
import { repositoryFindings } from './repository-findings.ts';
import { settingFindings } from './setting-findings.ts';
import { inputOf, stepFindings } from './step-findings.ts';
import type { Workflow } from './workflow.ts';

/** What would stop runs of this repository, and what is fine, in the order of the checks. */
export function diagnose(facts: Facts, rules: ActionRules): readonly Finding[] {
  const findings = [
    ...workflowFiles(facts),
    ...rivals(facts, rules),
    ...facts.files.flatMap((file) =>
      file.kind === 'unreadable'
        ? []
        : file.workflow.uses.flatMap((step) => {
            const where = file.workflow.path;
            const settings = facts.settings.find(({ workflow }) => workflow === where)?.settings ?? [];
            const { repository, others } = facts;
            const looked = { step, workflow: file.workflow, rules, repository, others, settings };
            return [...stepFindings(looked), ...answerFindings(looked), ...machineFindings(looked, facts)].map(
              (found) => ({ ...found, where }),
            );
          }),
    ),
    ...facts.settings.flatMap(settingFindings),
    ...facts.pipelines.flatMap(pipelineFindings),
    keyFinding(facts),
    ...repositoryFindings(facts, rules),
  ];
  return findings.toSorted((a, b) => checks.indexOf(a.check) - checks.indexOf(b.check));
}

/** Workflows that start on the same events for the same tasks: only one of their runs can work. */
function rivals({ files }: Facts, rules: ActionRules): readonly Finding[] {
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const tasksOf = ({ uses }: Workflow): readonly string[] =>
    uses.map((step) =>
      JSON.stringify([inputOf({ step, rules }, 'task-label'), inputOf({ step, rules }, 'branch-prefix')]),
    );
  return workflows.flatMap((workflow, at) =>
    workflows.slice(0, at).flatMap((earlier) => {
      const shared = workflow.triggers.filter(({ event }) => earlier.triggers.some((one) => one.event === event));
      const isSameWork = tasksOf(workflow).some((tasks) => tasksOf(earlier).includes(tasks));
      if (!isSameWork || shared.length === 0) return [];
      const events = namesOf([...new Set(shared.map(({ event }) => `\`${event}\``))]);
      const says = `It starts on ${events}, as \`${earlier.path}\` does, for the same tasks: only one of the two runs can work.`;
      const what = cure('Keep one of them, or give this one a `task-label` and a `branch-prefix` of its own.', {});
      return [{ ...warning('workflow-file', says, what), where: workflow.path }];
    }),
  );
}

function workflowFiles({ files }: Facts): readonly Finding[] {
  if (files.length === 0)
    return [
      problem(
        'workflow-file',
        'No workflow in `.github/workflows/` uses the action.',
        cure('Let `ralph init` write it.', { paste: 'ralph init' }),
      ),
    ];
  return files.map((file) =>
    file.kind === 'unreadable'
      ? {
          ...problem('workflow-file', `The workflow cannot be read: ${file.why}`, cure('Fix its YAML.', {})),
          where: file.path,
        }
      : { ...fine('workflow-file', useOf(file.workflow)), where: file.workflow.path },
  );
}

function useOf({ uses }: Workflow): string {
  const alike = uses.filter(({ knownBy }) => knownBy === 'inputs').map(({ action }) => `\`${action}\``);
  return alike.length === uses.length
    ? `The inputs of ${namesOf([...new Set(alike)])} look like those of this action, so it is checked as a copy of it.`
    : 'The workflow uses the action.';
}
