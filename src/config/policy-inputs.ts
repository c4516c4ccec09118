import { z } from 'zod';
import type { Policy } from '../core/policy.ts';
import { choice, flag, number, splitRules, whole } from './fields.ts';
import { dayMs, hourMs, minuteMs } from '../core/time.ts';

/** A job on GitHub ends after five days at the latest, so no duration beyond that can mean anything. */
const MAX_MINUTES = (5 * dayMs) / minuteMs;

/** The inputs that make the policy of a run. */
export const policyInputs = z.object({
  'allowed-tools': z
    .string()
    .transform(splitRules)
    .refine((rules) => rules.length > 0, 'is empty: name at least one tool, for example Read,Edit,Write'),
  session: choice('resume', 'task', 'fresh'),
  'session-expiry-hours': number({ min: 1, max: 720 }),
  'max-iterations': whole({ min: 1, max: 1000 }),
  // No call begins in the last minute of a run.
  'max-minutes': number({ min: 2, max: MAX_MINUTES }),
  'max-iterations-per-task': whole({ min: 0, max: 1000 }),
  'agent-timeout-minutes': number({ min: 0.1, max: MAX_MINUTES }),
  'max-calls-per-hour': whole({ min: 1, max: 10_000 }),
  'max-tokens-per-hour': whole({ min: 0, max: 1_000_000_000_000 }),
  'max-cost-usd': number({ min: 0, max: 100_000 }),
  'max-cost-usd-per-day': number({ min: 0, max: 100_000 }),
  'on-permission-denied': choice('count', 'halt', 'continue'),
  'cb-no-progress': whole({ min: 1, max: 100 }),
  'cb-same-error': whole({ min: 1, max: 100 }),
  'cb-permission-denials': whole({ min: 1, max: 100 }),
  'cb-output-decline': whole({ min: 1, max: 100 }),
  'cb-cooldown-minutes': number({ min: 0, max: MAX_MINUTES }),
  'cb-auto-reset': flag(),
  'completion-signals': whole({ min: 1, max: 100 }),
  'test-only-iterations': whole({ min: 1, max: 100 }),
});

/** The inputs that make a policy, parsed. */
export type PolicyInputs = z.infer<typeof policyInputs>;

/** The inputs as a policy; `verifies`: whether there are verify commands. */
export function policyOf(input: PolicyInputs, verifies: boolean): Policy {
  return {
    maxIterations: input['max-iterations'],
    maxRunMs: ms(input['max-minutes'], minuteMs),
    maxIterationsPerTask: input['max-iterations-per-task'],
    agentTimeoutMs: ms(input['agent-timeout-minutes'], minuteMs),
    maxCallsPerHour: input['max-calls-per-hour'],
    maxTokensPerHour: input['max-tokens-per-hour'],
    maxCostUsd: input['max-cost-usd'],
    maxCostUsdPerDay: input['max-cost-usd-per-day'],
    onPermissionDenied: input['on-permission-denied'],
    circuit: {
      noProgress: input['cb-no-progress'],
      sameError: input['cb-same-error'],
      permissionDenials: input['cb-permission-denials'],
      outputDeclinePercent: input['cb-output-decline'],
      cooldownMs: ms(input['cb-cooldown-minutes'], minuteMs),
      autoReset: input['cb-auto-reset'],
    },
    completionSignals: input['completion-signals'],
    testOnlyIterations: input['test-only-iterations'],
    session: input.session,
    sessionExpiryMs: ms(input['session-expiry-hours'], hourMs),
    verifies,
    allowedTools: input['allowed-tools'],
  };
}

/** Names of the inputs that make the policy. */
export const POLICY_INPUT_NAMES = Object.keys(policyInputs.shape);

/** Some of the inputs, checked; or every problem with them at once. */
export type GivenInputs =
  | { readonly kind: 'inputs'; readonly inputs: Partial<PolicyInputs> }
  | { readonly kind: 'problems'; readonly problems: readonly { readonly name: string; readonly why: string }[] };

/** Parses some of the inputs' texts as the action does. */
export function parsePolicyInputs(texts: Readonly<Record<string, string>>): GivenInputs {
  const parsed = policyInputs.partial().strict().safeParse(texts);
  // What is not given has no key, which zod's type does not say.
  if (parsed.success) return { kind: 'inputs', inputs: parsed.data as Partial<PolicyInputs> };
  const problems = new Map<string, string>();
  for (const issue of parsed.error.issues) {
    if (issue.code === 'unrecognized_keys')
      for (const name of issue.keys) problems.set(name, 'is no input that decisions depend on');
    else problems.set(String(issue.path[0]), issue.message);
  }
  return { kind: 'problems', problems: [...problems].map(([name, why]) => ({ name, why })) };
}

/** The policy with some inputs given anew. */
export function changePolicy(policy: Policy, given: Partial<PolicyInputs>): Policy {
  return policyOf({ ...inputsOf(policy), ...given }, policy.verifies);
}

/** The inputs that would make this policy. */
function inputsOf({ circuit, ...policy }: Policy): PolicyInputs {
  return {
    'max-iterations': policy.maxIterations,
    'max-minutes': policy.maxRunMs / minuteMs,
    'max-iterations-per-task': policy.maxIterationsPerTask,
    'agent-timeout-minutes': policy.agentTimeoutMs / minuteMs,
    'max-calls-per-hour': policy.maxCallsPerHour,
    'max-tokens-per-hour': policy.maxTokensPerHour,
    'max-cost-usd': policy.maxCostUsd,
    'max-cost-usd-per-day': policy.maxCostUsdPerDay,
    'on-permission-denied': policy.onPermissionDenied,
    'cb-no-progress': circuit.noProgress,
    'cb-same-error': circuit.sameError,
    'cb-permission-denials': circuit.permissionDenials,
    'cb-output-decline': circuit.outputDeclinePercent,
    'cb-cooldown-minutes': circuit.cooldownMs / minuteMs,
    'cb-auto-reset': circuit.autoReset,
    'completion-signals': policy.completionSignals,
    'test-only-iterations': policy.testOnlyIterations,
    session: policy.session,
    'session-expiry-hours': policy.sessionExpiryMs / hourMs,
    'allowed-tools': [...policy.allowedTools],
  };
}

/** Whole milliseconds: 1.1 minutes are 66,000.00000000001 in floating point. */
function ms(count: number, unitMs: number): number {
  return Math.round(count * unitMs);
}
