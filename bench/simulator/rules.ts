import type { Outcome } from '../../src/core/outcome.ts';
import { isKnownDone, type Fact } from './facts.ts';
import { mayWork, type Moment, type Situation } from './standing.ts';

/**
 * Returns the rule of spec §6 and §8 that demands this end after these calls, or null.
 * It implements the specification a second time, over the truth, so that the core is not judged by its own code.
 */
export function demandedBy(outcome: Outcome, after: Moment, situation: Situation): string | null {
  const { policy, tasks } = situation;
  const { facts, standings } = after;
  const counted = facts.filter(({ neutral, progress }) => !neutral || progress);
  const name = outcome.reason === 'circuit_open' ? outcome.circuitReason : outcome.reason;
  return holds() ? name : null;

  function holds(): boolean {
    if (outcome.reason === 'circuit_open') return standings.at(-1)?.opens.includes(outcome.circuitReason) === true;
    switch (outcome.reason) {
      case 'plan_complete':
      case 'project_complete':
      case 'completion_signals':
        return tasks.every((id) => isKnownDone(id, facts));
      case 'test_saturation':
        return lastAre(counted, policy.testOnlyIterations, ({ testOnly }) => testOnly);
      case 'safety':
        return lastAre(counted, 5, ({ overruled }) => overruled);
      case 'needs_human':
        return !tasks.some((id) => mayWork(id, after, situation));
      default:
        return false;
    }
  }
}

function lastAre(facts: readonly Fact[], times: number, is: (fact: Fact) => boolean): boolean {
  return facts.length >= times && facts.slice(-times).every(is);
}
