/** Why a run ended: the closed union of spec §8. Times are instants in ms. */
export type Outcome =
  | { readonly kind: 'cancelled'; readonly reason: 'signal' | 'killed' }
  | { readonly kind: 'complete'; readonly reason: 'project_complete' | 'completion_signals' | 'plan_complete' }
  | { readonly kind: 'halted'; readonly reason: 'permission_denied' | 'test_saturation' | 'safety' }
  | {
      readonly kind: 'halted';
      readonly reason: 'circuit_open';
      readonly circuitReason: CircuitReason;
      readonly tripped: 'this-run' | 'earlier';
      readonly probeAt: number;
    }
  | { readonly kind: 'blocked'; readonly reason: 'needs_human' }
  | { readonly kind: 'parked'; readonly reason: ParkReason; readonly resumeAt: number }
  | { readonly kind: 'limit'; readonly reason: 'iterations' | 'minutes' | 'cost' }
  | { readonly kind: 'idle'; readonly reason: 'no_tasks' | 'all_done' | 'not_for_us' | 'answered' }
  /** An event changed what there is to do; `message` says how. */
  | { readonly kind: 'idle'; readonly reason: 'noted'; readonly message: string }
  | { readonly kind: 'paused'; readonly reason: 'by_person'; readonly by: string }
  | { readonly kind: 'refused'; readonly reason: 'not_allowed' | 'another_run'; readonly message: string }
  | { readonly kind: 'failed'; readonly reason: 'configuration' | 'infrastructure'; readonly message: string };

export type OutcomeKind = Outcome['kind'];
export type ParkReason = 'calls_per_hour' | 'tokens_per_hour' | 'cost_per_day' | 'usage_limit';
export type CircuitReason = 'no_progress' | 'same_error' | 'permission_denied' | 'output_decline' | 'state_unreadable';

/** How GitHub shows the end. A run that only met a circuit which an earlier one opened is not a failure of its own. */
export function conclude(outcome: Outcome, failOn: readonly OutcomeKind[]): 'success' | 'failure' {
  if (outcome.reason === 'circuit_open' && outcome.tripped === 'earlier') return 'success';
  return failOn.includes(outcome.kind) ? 'failure' : 'success';
}
