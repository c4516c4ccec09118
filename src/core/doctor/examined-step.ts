import type { EffectiveSetting } from '../settings/effective.ts';
import type { ActionRules, AskedValue, DefaultedInput, OtherWorkflow, RepositoryFacts } from './facts.ts';
import { isExpression, type RalphStep, type Workflow } from './workflow.ts';

/** A step of a workflow with everything that the checks of the step need. */
export interface ExaminedStep {
  readonly step: RalphStep;
  readonly workflow: Workflow;
  readonly rules: ActionRules;
  readonly repository: AskedValue<RepositoryFacts>;
  readonly others: readonly OtherWorkflow[];
  /** The settings of the workflow's runs; empty if unknown. */
  readonly settings: readonly EffectiveSetting[];
}

/** Returns an input of the step or the input's default; null for an expression, whose value only a run knows. */
export function findStepInput(
  { step, rules }: Pick<ExaminedStep, 'step' | 'rules'>,
  name: DefaultedInput,
): string | null {
  const text = Object.hasOwn(step.inputs, name) ? (step.inputs[name] ?? '') : (rules.defaults[name] ?? '');
  return isExpression(text) ? null : text;
}

/** Returns the URL of the repository's page at `path`; null if the repository is unknown. */
export function buildSettingsUrl(repository: AskedValue<RepositoryFacts>, path: string): string | null {
  return repository.kind === 'known' ? `${repository.value.webUrl}/${path}` : null;
}

/** Returns a setting of the repository. If the repository is unknown, the setting is unknown for the same reason. */
export function pickRepositorySetting<Name extends keyof RepositoryFacts['settings']>(
  repository: AskedValue<RepositoryFacts>,
  name: Name,
): RepositoryFacts['settings'][Name] | { readonly kind: 'unknown'; readonly why: string } {
  return repository.kind === 'known' ? repository.value.settings[name] : repository;
}
