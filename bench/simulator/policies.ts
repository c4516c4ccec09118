import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../src/config/config.ts';
import { buildConfigFromInputs } from '../../src/config/inputs.ts';
import { readInputDefaults } from '../../testbed/runner.ts';

/** Inputs of the action that replace its defaults, by the name of the policy in the results. */
export const policies = {
  default: {},
  'default + verify': { verify: 'npm test' },
  'circuit-no-progress 2': { 'circuit-no-progress': '2' },
  'circuit-no-progress 5': { 'circuit-no-progress': '5' },
  'completion-signals 1': { 'completion-signals': '1' },
  'completion-signals 3': { 'completion-signals': '3' },
  'circuit-same-error 10': { 'circuit-same-error': '10' },
  'max-iterations-per-task 0': { 'max-iterations-per-task': '0' },
  'circuit-auto-reset': { 'circuit-auto-reset': 'true' },
  'session fresh': { session: 'fresh' },
} satisfies Record<string, Readonly<Record<string, string>>>;

export type PolicyName = keyof typeof policies;

const actionYml = readFileSync(fileURLToPath(new URL('../../action.yml', import.meta.url)), 'utf8');

/** Returns the action's own configuration for these inputs. */
export function configOf(inputs: Readonly<Record<string, string>>): Config {
  return buildConfigFromInputs({ ...readInputDefaults(actionYml, 'token'), ...inputs });
}
