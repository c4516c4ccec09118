import type { Outcome } from '../../src/core/outcome.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { Fact } from './facts.ts';

/**
 * The rule of spec §6 and §8 that demands this end after these calls; null when none does.
 * Written from the specification a second time, over the truth, so that the core is not judged by itself.
 */
export function demandedBy(
  outcome: Outcome,
  facts: readonly Fact[],
  situation: { readonly policy: Policy; readonly tasks: readonly string[]; readonly isProbe: boolean },
): string | null {
  const { policy, tasks, isProbe } = situation;
  const counted = facts.filter(({ neutral, progress }) => !neutral || progress);
  const name = outcome.reason === 'circuit_open' ? outcome.circuitReason : outcome.reason;
  return holds() ? name : null;

  function holds(): boolean {
    switch (name) {
      case 'plan_complete':
      case 'project_complete':
      case 'completion_signals':
        return tasks.every((id) => facts.some((fact) => fact.task === id && fact.credited));
      case 'no_progress':
        return idleStreak(counted) >= policy.circuit.noProgress || (isProbe && counted.at(-1)?.progress === false);
      case 'same_error':
        return lastAre(counted, policy.circuit.sameError, ({ error }) => error);
      case 'permission_denied':
        return lastAre(counted, isProbe ? 1 : policy.circuit.permissionDenials, ({ denied }) => denied);
      case 'output_decline':
        return declinesTwice(counted, policy.circuit.outputDeclinePercent);
      case 'test_saturation':
        return lastAre(counted, policy.testOnlyIterations, ({ testOnly }) => testOnly);
      case 'safety':
        return lastAre(counted, 5, ({ overruled }) => overruled);
      case 'needs_human':
        return lastAre(counted, 2, ({ blocked }) => blocked) || tasks.every((id) => isClosed(id, counted, policy));
      default:
        return false;
    }
  }
}

function lastAre(facts: readonly Fact[], times: number, is: (fact: Fact) => boolean): boolean {
  return facts.length >= times && facts.slice(-times).every(is);
}

/** Calls without progress at the end; the first question among them is forgiven. */
function idleStreak(facts: readonly Fact[]): number {
  const streak = facts.slice(facts.findLastIndex(({ progress }) => progress) + 1);
  return streak.length - (streak.some(({ questionOnly }) => questionOnly) ? 1 : 0);
}

function declinesTwice(facts: readonly Fact[], percent: number): boolean {
  const streak = facts.slice(facts.findLastIndex(({ progress }) => progress) + 1);
  const answers = facts.filter(({ chars }) => chars !== null);
  const isShort = (fact: Fact): boolean => {
    const before = answers
      .slice(0, answers.indexOf(fact))
      .slice(-5)
      .map(({ chars }) => chars ?? 0)
      .sort((a, b) => a - b);
    const median =
      ((before[Math.floor((before.length - 1) / 2)] ?? 0) + (before[Math.floor(before.length / 2)] ?? 0)) / 2;
    return (fact.chars ?? 0) * 100 < median * (100 - percent);
  };
  return lastAre(
    streak.filter(({ chars }) => chars !== null),
    2,
    isShort,
  );
}

/** A task that is done, had all its attempts, or was given up by two BLOCKED in a row. */
function isClosed(id: string, facts: readonly Fact[], policy: Policy): boolean {
  const attempts = facts.filter(({ task }) => task === id);
  const isGivenUp = facts.some((fact, at) => fact.task === id && fact.blocked && facts[at - 1]?.blocked === true);
  return (
    isGivenUp ||
    attempts.some(({ credited }) => credited) ||
    (policy.maxIterationsPerTask > 0 && attempts.length >= policy.maxIterationsPerTask)
  );
}
