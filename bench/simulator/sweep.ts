import { createCase, type CaseName } from './cases.ts';
import { findingsOf, type Findings } from './findings.ts';
import { playHistory } from './history.ts';
import { configOf, policies, type PolicyName } from './policies.ts';

/** The histories to play: seeds from `seed` on, with the agents and queues in turn. */
export interface Sweep {
  readonly seed: number;
  readonly count: number;
  readonly names: readonly CaseName[];
}

/** Plays the histories under one policy. */
export async function sweep({ seed, count, names }: Sweep, policy: PolicyName): Promise<readonly Findings[]> {
  const config = configOf(policies[policy]);
  const found: Findings[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const name = names[nth % names.length];
    if (name !== undefined) found.push(findingsOf(await playHistory(createCase(seed + nth, name), config)));
  }
  return found;
}

/** A goal of the default policy, and the histories that miss it. */
export interface Goal {
  readonly goal: string;
  readonly missedBy: readonly Findings[];
}

/**
 * Returns the goals. `missedBy` lists misses that no rule of the specification demands; the others are in `atSpecCost`.
 */
export function goalsOf(found: readonly Findings[], policy: PolicyName): readonly Goal[] {
  const mostForStuck = configOf(policies[policy]).policy.circuit.noProgress;
  // The calls for the stuck task, plus the probe of the next one.
  const mostToWait = mostForStuck + 1;
  return [
    { goal: 'no premature stop', missedBy: found.filter(({ premature }) => premature.length > 0) },
    { goal: 'completion is seen at once', missedBy: found.filter(({ misnamed }) => misnamed.length > 0) },
    { goal: 'no call after known completion', missedBy: found.filter(({ afterDone }) => afterDone.known > 0) },
    {
      goal: `at most ${String(mostForStuck)} calls for a stuck agent, and one for the next task`,
      missedBy: found.filter(
        ({ stagnation }) =>
          stagnation?.kind === 'still' &&
          stagnation.burnt - stagnation.held - (stagnation.steppedAside ? 1 : 0) > mostForStuck,
      ),
    },
    {
      goal: `no task that can be done waits for more than ${String(mostToWait)} calls on others that cannot`,
      missedBy: found.filter(({ longestWait }) => longestWait.calls - longestWait.held > mostToWait),
    },
    {
      goal: 'a task is done by its own work, or when verify says so',
      missedBy: found.filter(({ misjudged }) => misjudged > 0),
    },
    { goal: 'no task that can be done starves', missedBy: found.filter(({ starved }) => starved.length > 0) },
    { goal: 'no call on an open circuit but one probe', missedBy: found.filter(({ onOpen }) => onOpen > 0) },
    { goal: 'no call for a task whose turn it is not', missedBy: found.filter(({ outOfTurn }) => outOfTurn > 0) },
    { goal: 'no call beyond the limits', missedBy: found.filter(({ beyondLimits }) => beyondLimits > 0) },
    {
      goal: 'no circuit opens while a task makes progress, nor by same_error beside progress',
      missedBy: found.filter(({ wrongOpens }) => wrongOpens.length > 0),
    },
    { goal: 'no false alarm', missedBy: found.filter(({ falseAlarms }) => falseAlarms.length > 0) },
  ];
}

/** Returns the histories in which a rule or default of the specification prevents a goal, by reason. */
export function atSpecCost(
  found: readonly Findings[],
): readonly { readonly what: string; readonly why: string; readonly by: readonly Findings[] }[] {
  const rules = Object.entries(ruleCosts).map(([rule, why]) => ({
    what: `stopped by ${rule}`,
    why,
    by: found.filter(({ demanded }) => demanded.includes(rule)),
  }));
  const others = [
    {
      what: 'one call more, for a question',
      why: 'the first iteration that only asks is forgiven (§6)',
      by: found.filter(
        ({ stagnation, longestWait }) => longestWait.held > 0 || (stagnation?.kind === 'still' && stagnation.held > 0),
      ),
    },
    {
      what: 'calls after unsaid completion',
      why: 'a task is done only when an iteration says so in a block (§15.14), verify or not: three idle calls until the circuit opens, then a probe a run',
      by: found.filter(({ afterDone }) => afterDone.unsaid > 0),
    },
    {
      what: 'busy without use',
      why: 'any changed content is progress (§5), a change and its undoing in the next call too: only max-iterations-per-task, or three test-only calls, end it',
      by: found.filter(({ stagnation }) => stagnation?.kind === 'busy'),
    },
  ];
  return [...rules, ...others].filter(({ by }) => by.length > 0);
}

/** Reasons why a rule may end work that would have succeeded. */
const ruleCosts: Readonly<Record<string, string>> = {
  no_progress:
    'three idle calls in a row (§6) look the same whether the agent would have come back or not; every 2nd and every 3rd call with progress never trip it, every 4th does',
  same_error: 'the same error five times in a row, all without progress (§6)',
  permission_denied: 'two calls in a row that were refused and changed nothing (§6)',
  output_decline:
    'two short answers in a row without progress (§6) come one call before three idle ones: every 3rd with shrinking answers trips it',
  test_saturation:
    'three test-only calls in a row halt (§8 order 6), also where tests are the task and take longer than two calls',
  safety: 'five overruled EXIT_SIGNALs (§8 order 7), also from an agent that makes progress',
  needs_human: 'BLOCKED twice is believed, and eight calls on a task are all it gets (§8 order 8)',
  plan_complete:
    'a claim of the whole task that nothing contradicts is believed (§15.14): half a task with passing tests looks like a whole one',
};
