import type { ActionRules, Facts } from './facts.ts';
import { checks, cure, fine, problem, type Finding } from './finding.ts';
import { keyFinding, machineFindings } from './machine-findings.ts';
import { repositoryFindings } from './repository-findings.ts';
import { stepFindings } from './step-findings.ts';

/** What would stop runs of this repository, and what is fine, in the order of the checks. */
export function diagnose(facts: Facts, rules: ActionRules): readonly Finding[] {
  const findings = [
    ...workflowFiles(facts),
    ...facts.files.flatMap((file) =>
      file.kind === 'unreadable'
        ? []
        : file.workflow.uses.flatMap((step) => {
            const looked = { step, workflow: file.workflow, rules, repository: facts.repository };
            const where = file.workflow.path;
            return [...stepFindings(looked), ...machineFindings(looked, facts)].map((found) => ({ ...found, where }));
          }),
    ),
    keyFinding(facts),
    ...repositoryFindings(facts, rules),
  ];
  return findings.toSorted((a, b) => checks.indexOf(a.check) - checks.indexOf(b.check));
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
      : { ...fine('workflow-file', 'The workflow uses the action.'), where: file.workflow.path },
  );
}
