import { quoteFailure } from '../facts.ts';
import { AGENT_NAMES, AGENTS } from '../../core/agent-names.ts';
import { formatInstant } from '../../core/countdown.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { renderCode, renderProse, renderText } from '../markdown.ts';
import type { FoundLane } from '../overview/build-overview.ts';
import type { Overview } from '../overview/lane-waits.ts';

const TROUBLES = {
  limit: 'is at its usage limit',
  billing: 'has no credit',
  auth: 'refuses the key',
  failing: 'fails',
} as const;

/** Returns a line for each problem of the repository: open circuits, providers, a red base, and unreadable states. */
export function describeHealth(facts: {
  readonly lanes: readonly FoundLane[];
  readonly overview: Overview;
  readonly now: number;
}): readonly string[] {
  const { lanes, overview, now } = facts;
  const states = lanes.flatMap(({ lane, stored }) => (stored.kind === 'found' ? [{ lane, state: stored.state }] : []));
  const circuits = states.flatMap(({ lane, state: { circuit } }) =>
    circuit.kind === 'open'
      ? [
          `- The circuit of ${nameOfLane(lane)} is open (${wordsOfReason(circuit.reason)}).${circuit.failure === undefined ? '' : ` The last time, ${quoteFailure(circuit.failure)}`}`,
        ]
      : [],
  );
  const providers = AGENT_NAMES.flatMap((name) => {
    const worst = states
      .flatMap(({ state }) => state.providers[name] ?? [])
      .flatMap((one) => (one.kind === 'open' && now < one.until ? [one] : []))
      .toSorted((one, other) => other.until - one.until)[0];
    return worst === undefined
      ? []
      : [`- The provider of ${AGENTS[name].title} ${TROUBLES[worst.why]}, until ${formatInstant(worst.until)}.`];
  });
  const red = states.flatMap(({ state: { redBase } }) =>
    redBase === null || redBase.stage === 'repaired'
      ? []
      : [`- ${renderCode(redBase.command, 120)} fails on the base branch: ${renderText(redBase.words, 200)}`],
  );
  const unread = overview.branches.flatMap((lane) =>
    lane.kind === 'branch' ? [] : [`- ${renderProse(lane.why, 300)}`],
  );
  return [...circuits, ...providers, ...new Set(red), ...unread];
}

/** Renders the code of a reason as words. */
export function wordsOfReason(word: string): string {
  return renderText(word.replaceAll('_', ' '), 80);
}
