/** Why a run ended: the closed union of spec §8. Times are instants in ms. */
export type Outcome =
  | { readonly kind: 'cancelled'; readonly reason: 'signal' | 'killed' }
  | { readonly kind: 'complete'; readonly reason: 'project_complete' | 'completion_signals' | 'plan_complete' }
  | { readonly kind: 'halted'; readonly reason: 'permission_denied' | 'test_saturation' | 'safety' }
  | { readonly kind: 'halted'; readonly reason: 'circuit_open'; readonly circuitReason: CircuitReason; readonly tripped: 'this-run' | 'earlier'; readonly probeAt: number }
  | { readonly kind: 'blocked'; readonly reason: 'needs_human' }
  | { readonly kind: 'parked'; readonly reason: ParkReason; readonly resumeAt: number }
  | { readonly kind: 'limit'; readonly reason: 'iterations' | 'minutes' | 'cost' }
  | { readonly kind: 'idle'; readonly reason: 'no_tasks' | 'all_done' | 'not_for_us' | 'answered' }
  | { readonly kind: 'paused'; readonly reason: 'by_person'; readonly by: string }
  | { readonly kind: 'refused'; readonly reason: 'not_allowed' | 'another_run'; readonly message: string }
  | { readonly kind: 'failed'; readonly reason: 'configuration' | 'infrastructure'; readonly message: string };

export type OutcomeKind = Outcome['kind'];
export type ParkReason = 'calls_per_hour' | 'tokens_per_hour' | 'cost_per_day' | 'usage_limit';
export type CircuitReason = 'no_progress' | 'same_error' | 'permission_denied' | 'output_decline' | 'state_unreadable';

/** How GitHub shows the end. A run that only met a circuit which an earlier one opened is not a failure of its own. */
export function conclude(outcome: Outcome, failOn: readonly OutcomeKind[]): 'success' | 'failure' {
  if (outcome.kind === 'halted' && outcome.reason === 'circuit_open' && outcome.tripped === 'earlier') return 'success';
  return failOn.includes(outcome.kind) ? 'failure' : 'success';
}

/** Exit code of `ralph`: 0 done, 1 a failure, 2 a configuration that cannot work. */
export function exitCode(outcome: Outcome, failOn: readonly OutcomeKind[]): 0 | 1 | 2 {
  if (conclude(outcome, failOn) === 'success') return 0;
  return outcome.kind === 'failed' && outcome.reason === 'configuration' ? 2 : 1;
}

/** One sentence or two for a person: what ended the run, and what to do about it. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'cancelled':
      return outcome.reason === 'signal'
        ? 'The run was cancelled. Finished iterations are kept; the next run goes on from there.'
        : 'The run was killed before it could end by itself. Finished iterations are kept; the next run goes on from there.';
    case 'complete':
      return completeSentences[outcome.reason];
    case 'halted':
      return outcome.reason === 'circuit_open' ? describeCircuit(outcome) : haltedSentences[outcome.reason];
    case 'blocked':
      return 'The agent cannot go on without a person: tasks are blocked or have failed. Read the last iterations in the summary, make the task clearer or remove what is in the way, then start a run for it again.';
    case 'parked':
      return `${parkedSentences[outcome.reason]} Runs resume at ${utc(outcome.resumeAt)}; until then they end at once without a call.`;
    case 'limit':
      return limitSentences[outcome.reason];
    case 'idle':
      return idleSentences[outcome.reason];
    case 'paused':
      return `Ralph is paused by ${outcome.by}. Resume it to go on.`;
    case 'refused':
    case 'failed':
      return outcome.message;
  }
}

type ReasonOf<Kind extends OutcomeKind> = Extract<Outcome, { kind: Kind }>['reason'];

const completeSentences: Readonly<Record<ReasonOf<'complete'>, string>> = {
  project_complete: 'The agent says that everything is done, repeatedly and without evidence against it. Review the pull request.',
  completion_signals: 'The agent signalled completion several times in a row, without evidence against it. Review the pull request.',
  plan_complete: 'Every required task is done. Review the pull request.',
};

const haltedSentences: Readonly<Record<Exclude<ReasonOf<'halted'>, 'circuit_open'>, string>> = {
  permission_denied: 'The agent was refused a tool that it needs, and on-permission-denied is halt. Add the command to allowed-tools, or reword the task so that it is not needed.',
  test_saturation: 'Several iterations in a row only ran or changed tests. Check whether the task is done already; if it is not, say in the task what is missing.',
  safety: 'The agent claimed five times to be finished while the evidence said otherwise. Check what the verification and the open tasks ask for, and make the task clearer.',
};

const circuitSentences: Readonly<Record<CircuitReason, string>> = {
  no_progress: 'iterations in a row changed no file content',
  same_error: 'the same error came back in every iteration',
  permission_denied: 'the agent was refused tools that it needs (see allowed-tools)',
  output_decline: 'the agent said less and less and changed nothing',
  state_unreadable: 'the stored state could not be read',
};

const parkedSentences: Readonly<Record<ParkReason, string>> = {
  calls_per_hour: 'The calls of this hour are used up (max-calls-per-hour).',
  tokens_per_hour: 'The tokens of this hour are used up (max-tokens-per-hour).',
  cost_per_day: 'The money for today is spent (max-cost-usd-per-day).',
  usage_limit: "The provider's usage limit is reached.",
};

const limitSentences: Readonly<Record<ReasonOf<'limit'>, string>> = {
  iterations: 'The run reached max-iterations with work left. The next run goes on; raise the limit to do more per run.',
  minutes: 'The run reached max-minutes with work left. The next run goes on; raise the limit (and the timeout of the job) to do more per run.',
  cost: 'The run reached max-cost-usd with work left. The next run goes on; raise the limit to do more per run.',
};

const idleSentences: Readonly<Record<ReasonOf<'idle'>, string>> = {
  no_tasks: 'There is nothing to do: no open task. Label an issue to give Ralph work.',
  all_done: 'There is nothing to do: every task is done and waits in the pull request.',
  not_for_us: 'There is nothing to do: this event is not for Ralph.',
  answered: 'The command was answered.',
};

function describeCircuit({ circuitReason, tripped, probeAt }: Extract<Outcome, { reason: 'circuit_open' }>): string {
  const why = circuitSentences[circuitReason];
  return tripped === 'this-run'
    ? `The circuit opened: ${why}. Read the last iterations in the summary and mend the cause; the first run after ${utc(probeAt)} probes with one iteration.`
    : `The circuit opened in an earlier run (${why}) and is still cooling down: no call was made. The first run after ${utc(probeAt)} probes with one iteration.`;
}

function utc(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
