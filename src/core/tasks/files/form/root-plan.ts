/** The plan of the earliest Ralphs, before they marked it with an `@`. Anybody may have a file of this name. */
export const ROOT_PLAN = 'fix_plan.md';

/** What those Ralphs lay at the root under names that nobody else has. */
export const EARLY_MARKS: readonly string[] = [
  '@AGENT.md',
  'ralph_loop.sh',
  '.call_count',
  '.last_reset',
  '.exit_signals',
  '.response_analysis',
  '.circuit_breaker_state',
  '.circuit_breaker_history',
];

/** One of them beside it makes it a plan. */
export const BESIDE_ROOT_PLAN: readonly string[] = ['PROMPT.md', ...EARLY_MARKS];

/** Whether a `fix_plan.md` is the plan of a Ralph. `there`: the names beside it, as far as `BESIDE_ROOT_PLAN` lists them. */
export function isRootPlan(there: readonly string[]): boolean {
  return BESIDE_ROOT_PLAN.some((name) => there.includes(name));
}

/** What is known of files by their paths, without a `fix_plan.md` at the root that is no plan. */
export function withoutOtherPlan<T>(
  byPath: Readonly<Record<string, T>>,
  there: readonly string[],
): Readonly<Record<string, T>> {
  return isRootPlan(there) ? byPath : Object.fromEntries(Object.entries(byPath).filter(([path]) => path !== ROOT_PLAN));
}
