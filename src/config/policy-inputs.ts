import { denialModes, limitModes, sessionModes, type Policy } from '../core/policy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { choice, duration, flag, listField, number, whole } from './fields.ts';
import { renamedTo } from './renamed.ts';
import { ruleProblem } from './tool-rules.ts';
import { input, inputNamesIn, parseTexts, type GivenSettings, type InputProblem, type InputTable } from './table.ts';

/** A job on GitHub ends after five days at the latest, so no duration beyond that can mean anything. */
export const MAX_MINUTES = (5 * DAY_MS) / MINUTE_MS;

/** What inputs set of a policy: the rest is made of other inputs, the pipeline and the reservation. */
export type PolicySettings = Omit<
  Policy,
  'agents' | 'agentFailures' | 'verifies' | 'callsPerIteration' | 'agentSteps' | 'otherSteps' | 'maxCalls' | 'maxWaitMs'
>;

/** The inputs that make the policy of a run. */
export const policyInputs: InputTable<PolicySettings> = {
  allowedTools: input(
    'allowed-tools',
    listField()
      .refine((rules) => rules.length > 0, 'is empty: name at least one tool, for example Read,Edit,Write')
      .superRefine((rules, problems) => {
        for (const problem of rules.map(ruleProblem)) if (problem !== null) problems.addIssue(problem);
      }),
  ),
  session: input('session', choice(...sessionModes)),
  sessionExpiryMs: input('session-expiry-hours', duration(HOUR_MS, { min: 1, max: 720 })),
  maxIterations: input('max-iterations', whole({ min: 1, max: 1000 })),
  // No call begins in the last minute of a run.
  maxRunMs: input('max-minutes', duration(MINUTE_MS, { min: 2, max: MAX_MINUTES })),
  maxIterationsPerTask: input('max-iterations-per-task', whole({ min: 0, max: 1000 })),
  agentTimeoutMs: input('agent-timeout-minutes', duration(MINUTE_MS, { min: 0.1, max: MAX_MINUTES })),
  maxCallsPerHour: input('max-calls-per-hour', whole({ min: 1, max: 10_000 })),
  maxTokensPerHour: input('max-tokens-per-hour', whole({ min: 0, max: 1_000_000_000_000 })),
  maxCostUsd: input('max-cost-usd', number({ min: 0, max: 100_000 })),
  maxCostUsdPerDay: input('max-cost-usd-per-day', number({ min: 0, max: 100_000 })),
  onLimit: input('on-limit', choice(...limitModes)),
  onPermissionDenied: input('on-permission-denied', choice(...denialModes)),
  circuit: {
    noProgress: input('circuit-no-progress', whole({ min: 1, max: 100 })),
    sameError: input('circuit-same-error', whole({ min: 1, max: 100 })),
    permissionDenials: input('circuit-permission-denials', whole({ min: 1, max: 100 })),
    outputDeclinePercent: input('circuit-output-decline', whole({ min: 1, max: 100 })),
    cooldownMs: input('circuit-cooldown-minutes', duration(MINUTE_MS, { min: 0, max: MAX_MINUTES })),
    autoReset: input('circuit-auto-reset', flag()),
  },
  completionSignals: input('completion-signals', whole({ min: 1, max: 100 })),
  testOnlyIterations: input('test-only-iterations', whole({ min: 1, max: 100 })),
  maxTasksPerPr: input('max-tasks-per-pr', whole({ min: 0, max: 1000 })),
  maxLinesPerPr: input('max-lines-per-pr', whole({ min: 0, max: 1_000_000 })),
};

/** Names of the inputs that make the policy. */
export const POLICY_INPUT_NAMES = inputNamesIn(policyInputs);

/** Some of the inputs, checked; or every problem with them at once. */
export type GivenInputs =
  | { readonly kind: 'inputs'; readonly inputs: GivenSettings<PolicySettings> }
  | { readonly kind: 'problems'; readonly problems: readonly InputProblem[] };

/** Parses some of the inputs' texts as the action does. */
export function parsePolicyInputs(texts: Readonly<Record<string, string>>): GivenInputs {
  const { settings, problems } = parseTexts(policyInputs, texts);
  const unknown = Object.keys(texts).filter((name) => !POLICY_INPUT_NAMES.includes(name));
  const all = [
    ...problems,
    ...unknown.map((name) => ({ name, why: renamedTo(name) ?? 'is not an input that decisions depend on' })),
  ];
  if (all.length === 0) return { kind: 'inputs', inputs: settings };
  // One problem of each says enough.
  return { kind: 'problems', problems: [...new Map(all.map((problem) => [problem.name, problem])).values()] };
}

/** The policy with some of its settings given again. */
export function changePolicy(policy: Policy, given: GivenSettings<PolicySettings>): Policy {
  return { ...policy, ...given, circuit: { ...policy.circuit, ...given.circuit } };
}
